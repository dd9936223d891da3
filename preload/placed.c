/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * placed.c - memory that was shared and is private again as a private mapping of the device's memfd
 * (DPA_BACK_PLACED in device/direct/pages.h). The kernel refuses there what is for anonymous memory
 * only. The mapping may outlive its region, the device and the fork that made it, so the list of
 * mappings is the only place that shows it. Nothing here allocates.
 */
#if defined(__x86_64__) && defined(__LP64__)

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "placed.h"
#include "preload.h"

#define NAME "/memfd:dpa-shared (deleted)"

enum kind { ANONYMOUS, PLACED, OTHER };

/* "start-end perms offset dev inode   name", cut to its first bytes. */
static enum kind mapping_kind_of(const char *line)
{
	const char *perms = strchr(line, ' '), *name = strpbrk(line, "/[");

	if (!perms || strlen(perms) < 5 || perms[4] != 'p')
		return OTHER;
	if (!name)
		return ANONYMOUS;
	if (!strcmp(name, NAME))
		return PLACED;
	return !strcmp(name, "[heap]") || !strncmp(name, "[anon:", 6) ? ANONYMOUS : OTHER;
}

struct range {
	uint64_t from, to;
	bool any, other;
};

static void look_at_mapping(struct range *r, const char *line)
{
	char *rest;
	uint64_t start = strtoull(line, &rest, 16), end;
	enum kind kind;

	if (*rest != '-')
		return;
	end = strtoull(rest + 1, NULL, 16);
	if (start >= r->to || end <= r->from)
		return;
	kind = mapping_kind_of(line);
	r->any |= kind == PLACED;
	r->other |= kind == OTHER;
}

bool pl_is_placed(const void *addr, size_t length)
{
	struct range r = {.from = (uintptr_t)addr, .to = (uintptr_t)addr + length};
	long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC), n;
	char text[1024], line[160];
	size_t len = 0;

	if (fd < 0)
		return false;
	while ((n = syscall(SYS_read, (int)fd, text, sizeof(text))) > 0)
		for (long i = 0; i < n; i++) {
			if (text[i] == '\n') {
				line[len] = 0;
				look_at_mapping(&r, line);
				len = 0;
			} else if (len < sizeof(line) - 1) {
				line[len++] = text[i];
			}
		}
	syscall(SYS_close, (int)fd);
	return r.any && !r.other;
}

#endif
