/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * system.c - dpa0 for every process of the machine: a line in /etc/ld.so.preload and the device
 * node. Lines of others in that file stay. The file is replaced in one step: a half-written file
 * would break every program that starts meanwhile.
 */
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "../dpactl.h"
#include "system.h"

#define LD_SO_PRELOAD "/etc/ld.so.preload"

/* buf = a/b */
static bool fits_buf(char *buf, const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);

	if (la + lb + 2 > PATH_MAX)
		return false;
	memmove(buf, a, la);
	buf[la] = '/';
	memcpy(buf + la + 1, b, lb + 1);
	return true;
}

bool where_am_i(struct where *w)
{
	static const char *const libs[] = {"lib", DPA_LIBDIR, "lib64"};
	static const char *const shares[] = {"../share/dpa", "../../share/dpa"};
	ssize_t n = readlink("/proc/self/exe", w->prefix, sizeof(w->prefix) - 1);
	char probe[PATH_MAX];

	memset(w->lib, 0, sizeof(*w) - sizeof(w->prefix));
	w->prefix[n > 0 ? n : 0] = '\0';
	for (int i = 0; i < 2 && strrchr(w->prefix, '/'); i++)
		*strrchr(w->prefix, '/') = '\0';
	for (size_t i = 0; i < sizeof(libs) / sizeof(libs[0]) && !w->preload[0]; i++) {
		if (libs[i][0] == '/')
			snprintf(w->lib, sizeof(w->lib), "%s", libs[i]);
		else if (!fits_buf(w->lib, w->prefix, libs[i]))
			continue;
		if (fits_buf(probe, w->lib, "libdpa-preload.so") && !access(probe, R_OK))
			memcpy(w->preload, probe, sizeof(probe));
	}
	if (!w->preload[0])
		return false;
	fits_buf(w->plugins, w->lib, "libibverbs");
	for (int i = 0; i < 2 && !w->tree[0]; i++)
		if (fits_buf(probe, w->lib, shares[i]) && !access(probe, R_OK) &&
		    !realpath(probe, w->tree))
			w->tree[0] = '\0';
	return true;
}

static int is_preload(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *base = strrchr(info->dlpi_name, '/');

	(void)size, (void)arg;
	return base && !strcmp(base, "/libdpa-preload.so");
}

bool preloaded_here(void)
{
	return dl_iterate_phdr(is_preload, NULL);
}

bool kernel_has_rdma(void)
{
	static const char *const forms[] = {"/lib/modules/%s/kernel/drivers/infiniband/core",
					    "/usr/lib/modules/%s/kernel/drivers/infiniband/core"};
	struct utsname u;
	char path[PATH_MAX];

	if (!access("/sys/module/ib_core", F_OK))
		return true;
	if (uname(&u))
		return false;
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), i ? forms[1] : forms[0], u.release);
		if (!access(path, F_OK))
			return true;
	}
	return false;
}

/* ---------------------------------------------------------- enable, disable */

static bool is_preload_word(const char *word, size_t len)
{
	static const char name[] = "/libdpa-preload.so";

	return len >= sizeof(name) - 1 &&
	       !strncmp(word + len - (sizeof(name) - 1), name, sizeof(name) - 1);
}

/* Copies what is others' from the file, entries apart by blanks, colons or line ends. */
static void copy_others(FILE *to)
{
	FILE *from = fopen(LD_SO_PRELOAD, "re");
	char *line = NULL;
	size_t cap = 0;

	if (!from) {
		if (errno != ENOENT)
			die(EXIT_NONE, LD_SO_PRELOAD ": %s", strerror(errno));
		return;
	}
	while (getline(&line, &cap, from) > 0) {
		bool wrote = false;

		if (line[strspn(line, " \t")] == '#') {
			fputs(line, to);
			continue;
		}
		for (char *p = line; *p;) {
			size_t n = strcspn(p, " \t:\n");

			if (n && !is_preload_word(p, n)) {
				fprintf(to, "%s%.*s", wrote ? " " : "", (int)n, p);
				wrote = true;
			}
			p += n;
			p += strspn(p, " \t:\n");
		}
		if (wrote)
			fputc('\n', to);
	}
	free(line);
	fclose(from);
}

static void rewrite_list(const char *add)
{
	char tmp[] = LD_SO_PRELOAD ".dpa-XXXXXX";
	struct stat st;
	FILE *f;
	int fd = mkstemp(tmp);

	if (fd < 0)
		die(EXIT_NONE, LD_SO_PRELOAD ": %s%s", strerror(errno),
		    errno == EACCES ? ": this is for root" : "");
	f = fdopen(fd, "w");
	if (!f)
		die(EXIT_NONE, "%s: %s", tmp, strerror(errno));
	copy_others(f);
	if (add)
		fprintf(f, "%s\n", add);
	if (fflush(f) || fchmod(fd, 0644) || fsync(fd) || fstat(fd, &st)) {
		unlink(tmp);
		die(EXIT_NONE, "%s: %s", tmp, strerror(errno));
	}
	fclose(f);
	if (st.st_size ? rename(tmp, LD_SO_PRELOAD)
		       : (unlink(LD_SO_PRELOAD) && errno != ENOENT) || unlink(tmp)) {
		int err = errno;

		unlink(tmp);
		die(EXIT_NONE, LD_SO_PRELOAD ": %s", strerror(err));
	}
}

static void make_dpa_node(void)
{
	struct stat st;

	if (!stat(DPA_NODE, &st))
		return;
	if ((mkdir("/dev/infiniband", 0755) && errno != EEXIST) || symlink("/dev/null", DPA_NODE))
		fprintf(stderr, "dpactl: %s: %s: programs without the preload will not see dpa0\n",
			DPA_NODE, strerror(errno));
}

static void check_words(struct ctl *c, const char *verb)
{
	if (!c->system)
		die(EXIT_USAGE, "%s what? --system: for every process of this machine", verb);
}

void cmd_enable(struct ctl *c)
{
	struct where w;

	check_words(c, "enable");
	if (!where_am_i(&w))
		die(EXIT_NONE, "no libdpa-preload.so below %s", w.prefix);
	if (strpbrk(w.preload, " \t:\n"))
		die(EXIT_NONE, "'%s' cannot be named in " LD_SO_PRELOAD, w.preload);
	rewrite_list(w.preload);
	make_dpa_node();
	printf("every program that starts from now on sees dpa0 (" LD_SO_PRELOAD ")\n");
}

void cmd_disable(struct ctl *c)
{
	check_words(c, "disable");
	if (!access(LD_SO_PRELOAD, F_OK))
		rewrite_list(NULL);
	printf("programs see dpa0 only if their environment names it\n");
}
