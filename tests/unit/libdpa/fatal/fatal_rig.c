/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fatal_rig.h"

char crash_dir[64];
static char prefix[80];

void crash_setup(void)
{
	strcpy(crash_dir, "/tmp/dpa-crash-XXXXXX");
	cr_assert(mkdtemp(crash_dir));
	snprintf(prefix, sizeof(prefix), "%s/fatal", crash_dir);
}

void crash_teardown(void)
{
	char cmd[96];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", crash_dir);
	cr_assert_eq(system(cmd), 0);
}

void crash_path(char *buf, size_t len, const char *kind)
{
	snprintf(buf, len, "%s.%d.%s", prefix, (int)getpid(), kind);
}

/* Return the file's text; fail if there is none. */
const char *crash_text(void)
{
	static char buf[16384];
	char path[200];
	FILE *f;
	size_t n;

	crash_path(path, sizeof(path), "crash");
	f = fopen(path, "r");
	cr_assert(f, "no %s", path);
	n = fread(buf, 1, sizeof(buf) - 1, f);
	buf[n] = '\0';
	fclose(f);
	return buf;
}

void has(const char *text, const char *what)
{
	cr_assert(strstr(text, what), "no '%s' in:\n%s", what, text);
}

bool crash_has_program(const char *name)
{
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "command -v %s >/dev/null 2>&1", name);
	return system(cmd) == 0;
}

/* Run gdb on the two files, with the command in the crash file. */
void crash_gdb(char *out, size_t len, const char *commands)
{
	char core[200], image[200], cmd[900];
	size_t n;
	FILE *p;

	crash_path(core, sizeof(core), "core");
	crash_path(image, sizeof(image), "so");
	snprintf(cmd, sizeof(cmd), "gdb -q -nx -batch %s %s %s 2>&1 </dev/null", commands, image,
		 core);
	unsetenv("LD_PRELOAD"); /* preloaded by sanitizers */
	p = popen(cmd, "r");
	cr_assert(p);
	n = fread(out, 1, len - 1, p);
	out[n] = '\0';
	cr_assert_eq(pclose(p), 0, "%s", out);
}

void fatal_rig_start(struct rig *r)
{
	rig_create(r, fatal_app);
	r->dpa->log_path = prefix;
	OK(doca_dpa_set_log_level(r->dpa, DOCA_DPA_DEV_LOG_LEVEL_DISABLE));
	rig_go(r, sizeof(struct fatal_shared));
}

void fatal_rig_run(struct rig *r, doca_dpa_func_t *func, uint64_t address)
{
	struct fatal_shared s = {.address = address, .comp = rig_thread(r, func, 64)};

	OK(doca_dpa_h2d_memcpy(r->dpa, r->shared, &s, sizeof(s)));
	OK(doca_dpa_thread_run(r->thread));
}
