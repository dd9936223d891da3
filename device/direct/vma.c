/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vma.c - the mappings of this process: by a query by address, or from the text; vma.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "ctx/range.h"
#include "util/sys.h"
#include "direct/raw.h"
#include "vma.h"

char *dpa_maps_line(struct dpa_maps *m)
{
	for (;;) {
		char *line = m->buf + m->at, *end = memchr(line, '\n', m->n - m->at);
		ssize_t got;

		if (end) {
			*end = 0;
			m->at = (size_t)(end - m->buf) + 1;
			return line;
		}
		memmove(m->buf, line, m->n - m->at);
		m->n -= m->at;
		m->at = 0;
		if (m->n == sizeof(m->buf))
			return NULL;
		got = read(m->fd, m->buf + m->n, sizeof(m->buf) - m->n);
		if (got <= 0)
			return NULL;
		m->n += (size_t)got;
	}
}

bool dpa_maps_next(struct dpa_maps *m, struct dpa_vma *v)
{
	char *line = dpa_maps_line(m), *p = line;

	if (!line)
		return false;
	memset(v, 0, sizeof(*v));
	v->start = strtoull(p, &p, 16);
	v->end = strtoull(p + 1, &p, 16);
	v->prot = (p[1] == 'r' ? PROT_READ : 0) | (p[2] == 'w' ? PROT_WRITE : 0) |
		  (p[3] == 'x' ? PROT_EXEC : 0);
	v->shared = p[4] == 's';
	v->offset = strtoull(p + 5, &p, 16);
	v->dev_major = (uint32_t)strtoul(p, &p, 16);
	v->dev_minor = (uint32_t)strtoul(p + 1, &p, 16);
	v->inode = strtoull(p, &p, 10);
	p += strspn(p, " ");
	snprintf(v->name, sizeof(v->name), "%s", p);
	return true;
}

bool dpa_maps_open(struct dpa_maps *m)
{
	m->fd = dpa_raw_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	m->n = m->at = 0;
	return m->fd >= 0;
}

void dpa_maps_close(struct dpa_maps *m)
{
	dpa_sys_close(m->fd);
}

#define COVERING_OR_NEXT 0x10 /* PROCMAP_QUERY_COVERING_OR_NEXT_VMA */

static int query_vma(const struct dpa_maps *m, struct dpa_map_query *q, struct dpa_vma *v)
{
	if (ioctl(m->fd, DPA_MAP_QUERY, q))
		return errno == ENOENT || errno == ENAMETOOLONG ? errno : ENOTTY;
	*v = (struct dpa_vma){.start = q->start,
			      .end = q->end,
			      .offset = q->offset,
			      .inode = q->inode,
			      .dev_major = q->dev_major,
			      .dev_minor = q->dev_minor,
			      .prot = (q->vma_flags & DPA_VMA_READ ? PROT_READ : 0) |
				      (q->vma_flags & DPA_VMA_WRITE ? PROT_WRITE : 0) |
				      (q->vma_flags & DPA_VMA_EXEC ? PROT_EXEC : 0),
			      .shared = q->vma_flags & DPA_VMA_SHARED};
	return 0;
}

int dpa_maps_query(const struct dpa_maps *m, uint64_t addr, struct dpa_vma *v)
{
	struct dpa_map_query q = {.size = sizeof(q), .addr = addr, .flags = COVERING_OR_NEXT};

	return query_vma(m, &q, v);
}

int dpa_maps_query_named(const struct dpa_maps *m, uint64_t addr, uint32_t which, struct dpa_vma *v)
{
	struct dpa_map_query q = {
		.size = sizeof(q), .addr = addr, .flags = COVERING_OR_NEXT | which};
	char name[256]; /* longer than any that is looked for; the kernel cuts none */
	int err;

	q.name_addr = (uintptr_t)name;
	q.name_size = sizeof(name);
	err = query_vma(m, &q, v);
	if (err == ENAMETOOLONG) {
		q.name_addr = q.name_size = 0;
		return query_vma(m, &q, v);
	}
	if (!err && q.name_size)
		snprintf(v->name, sizeof(v->name), "%.*s", (int)sizeof(v->name) - 1, name);
	return err;
}

bool dpa_maps_at(struct dpa_maps *m, uint64_t addr, struct dpa_vma *v)
{
	int err = dpa_maps_query(m, addr, v);

	if (err != ENOTTY)
		return !err;
	while (dpa_maps_next(m, v))
		if (v->end > addr)
			return true;
	return false;
}
