/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * area.c - areas of peers (direct/share.h), mapped here at first use. An entry's serial is that of
 * the mapped area, and 0 while there is no mapping:
 *
 *   user      holds a hazard pointer, fences, reads the serial (acquire)
 *   mapper    under map_lock: serial = 0 (seq_cst), fence, no hazard pointer names the peer: unmaps
 *             the old mapping; then maps the new one, then sets its serial (release)
 *
 * What the peer wrote is copied once and checked: a mapping is as long as the copy says, within a
 * file that cannot shrink. An area that ended is unmapped when another has its place: until then it
 * is an address without pages.
 *
 * The kernel hands the file over, again for each mapping, to a process that it lets reach the memory
 * of the peer by process_vm_writev(2): pidfd_getfd(2) makes the same check. An area that it has
 * refused is not asked for again; one for which this process had no descriptor or memory left is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "util/sys.h"
#include "link/kick.h"
#include "link/fds.h"
#include "direct/share.h"
#include "direct/direct.h"

struct dpa_area_map {
	_Atomic uint32_t serial;
	_Atomic uint32_t refused; /* serial of the area that could not be mapped; 0: none */
	uint64_t start, length;
	uint8_t *base; /* NULL: not mapped; under map_lock */
};

static bool is_self_peer(const struct dpa_peer *p)
{
	return p->export == p->hw->export;
}

uint8_t *dpa_area_at(struct dpa_peer *p, uint32_t entry, uint64_t addr, uint64_t n,
		     uint32_t *unmapped)
{
	uint32_t i = atomic_load_explicit(&p->export->mr_area[entry], memory_order_acquire), serial;
	struct dpa_area_map *m = atomic_load_explicit(&p->maps, memory_order_acquire);
	uint64_t off;

	*unmapped = 0;
	if (dpa_likely(!i) || i > DPA_AREAS)
		return NULL;
	serial = atomic_load_explicit(&p->export->area[i - 1].serial, memory_order_acquire);
	if (!serial)
		return NULL;
	if (is_self_peer(p))
		return p->hw->share ? dpa_share_at(p->hw, i - 1, serial, addr, n) : NULL;
	if (dpa_unlikely(!m ||
			 atomic_load_explicit(&m[i - 1].serial, memory_order_seq_cst) != serial)) {
		if (!m || atomic_load_explicit(&m[i - 1].refused, memory_order_relaxed) != serial)
			*unmapped = i;
		return NULL;
	}
	off = addr - m[i - 1].start;
	if (off >= m[i - 1].length || n > m[i - 1].length - off)
		return NULL;
	return m[i - 1].base + off;
}

/* True if a thread of this process holds a hazard pointer for the peer. */
static bool at_work(const struct dpa_peer *p)
{
	const struct dpa_export *e = p->hw->export;
	uint32_t n = atomic_load_explicit(&e->hazards_used, memory_order_seq_cst);

	for (uint32_t i = 0; i < n && i < DPA_HAZARDS; i++) {
		uint64_t w = atomic_load_explicit(&e->hazard[i].word, memory_order_seq_cst);

		if (w && (w & ((1u << DPA_HAZARD_ID_BITS) - 1)) == dpa_hazard_id(p->slot, p->gen))
			return true;
	}
	return false;
}

static struct dpa_area_map *area_table(struct dpa_peer *p)
{
	struct dpa_area_map *m = atomic_load_explicit(&p->maps, memory_order_relaxed);

	if (!m) {
		m = calloc(DPA_AREAS, sizeof(*m));
		atomic_store_explicit(&p->maps, m, memory_order_release);
	}
	return m;
}

/* Copies the peer's current area and returns its serial; 0: there is none, or it is changing. */
static uint32_t read_area(const struct dpa_peer *p, uint32_t i, struct dpa_area *a)
{
	const struct dpa_area *from = &p->export->area[i];
	uint32_t serial = atomic_load_explicit(&from->serial, memory_order_acquire);

	a->start = from->start;
	a->length = from->length;
	a->off = from->off;
	dpa_acquire_fence();
	if (atomic_load_explicit(&from->serial, memory_order_relaxed) != serial)
		return 0;
	if (!a->length || (a->start | a->length | a->off) % DPA_PAGE ||
	    a->length > DPA_SHARE_BYTES || a->off > DPA_SHARE_BYTES - a->length ||
	    a->start + a->length < a->start)
		return 0;
	return serial;
}

static bool unmap_area(struct dpa_peer *p, struct dpa_area_map *m)
{
	atomic_store_explicit(&m->serial, 0, memory_order_seq_cst);
	dpa_full_fence();
	if (!m->base)
		return true;
	if (at_work(p))
		return false;
	munmap(m->base, m->length);
	m->base = NULL;
	return true;
}

#ifndef SYS_pidfd_getfd /* Linux 5.6 */
#define SYS_pidfd_getfd 438
#endif

/* Is it what the peer says it has? A descriptor's number may be another file's by now. */
static bool is_what_it_says(const struct dpa_export *e, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_ino == e->share_inode &&
	       ((uint64_t)major(st.st_dev) << 32 | minor(st.st_dev)) == e->share_dev &&
	       dpa_fd_is_sealed(fd, DPA_SHARE_BYTES);
}

/*
 * Where a filter keeps that call from us (Docker's) but not process_vm_readv, which was tried when
 * the two met: by the peer's /proc, whose check is a weaker one.
 */
static int open_at_peer(const struct dpa_peer *p, int number)
{
	char path[48];

	if (!p->can_pull)
		return -1; /* errno is the refusal */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)p->pid, number);
	return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Did this process lack something that it may have later? Else: refused, gone, or another file. */
static bool is_passing(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM || err == EAGAIN || err == EINTR;
}

/*
 * The peer's memfd, to be closed; -1 and *again: it may be had later. Under a QP's lock: none of
 * these calls is a cancellation point.
 */
static int fetch_file(const struct dpa_peer *p, bool *again)
{
	int number = __atomic_load_n(&p->export->share_fd, __ATOMIC_RELAXED), fd = -1;

	*again = false;
	if (number < 0 || p->pidfd < 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_getfd, p->pidfd, number, 0);
	if (fd < 0 && (errno == EPERM || errno == ENOSYS))
		fd = open_at_peer(p, number);
	*again = fd < 0 && is_passing(errno);
	if (fd < 0 || is_what_it_says(p->export, fd))
		return fd;
	dpa_sys_close(fd);
	return -1;
}

static void *map_file(const struct dpa_peer *p, const struct dpa_area *a, bool *again)
{
	int fd = fetch_file(p, again);
	void *base;

	if (fd < 0)
		return NULL;
	base = mmap(NULL, a->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)a->off);
	*again = base == MAP_FAILED && is_passing(errno);
	dpa_sys_close(fd);
	return base == MAP_FAILED ? NULL : base;
}

static bool map_area(struct dpa_peer *p, uint32_t i)
{
	struct dpa_area_map *m = area_table(p);
	struct dpa_area a;
	uint32_t serial;
	void *base;
	bool again;

	if (!m)
		return false;
	m += i;
	serial = read_area(p, i, &a);
	if (!serial)
		return false;
	if (atomic_load_explicit(&m->serial, memory_order_relaxed) == serial)
		return true;
	if (!unmap_area(p, m))
		return false;
	base = map_file(p, &a, &again);
	if (!base) {
		if (!again)
			atomic_store_explicit(&m->refused, serial, memory_order_relaxed);
		return false;
	}
	dpa_sys_madvise(base, a.length, MADV_DONTFORK);
	m->base = base;
	m->start = a.start;
	m->length = a.length;
	atomic_store_explicit(&m->serial, serial, memory_order_release);
	return true;
}

bool dpa_area_map(struct dpa_peer *p, uint32_t unmapped)
{
	bool done;

	if (!dpa_spin_try(&p->map_lock))
		return false;
	done = map_area(p, unmapped - 1);
	dpa_spin_unlock(&p->map_lock);
	return done;
}

void dpa_areas_unmap(struct dpa_peer *p)
{
	struct dpa_area_map *m;

	dpa_spin_lock(&p->map_lock);
	m = atomic_load_explicit(&p->maps, memory_order_relaxed);
	for (uint32_t i = 0; m && i < DPA_AREAS; i++) {
		atomic_store_explicit(&m[i].serial, 0, memory_order_seq_cst);
		if (m[i].base)
			munmap(m[i].base, m[i].length);
		m[i].base = NULL;
	}
	dpa_spin_unlock(&p->map_lock);
}

void dpa_areas_fini(struct dpa_hw *hw)
{
	for (struct dpa_peer *p = hw->all_peers; p; p = p->next) {
		dpa_areas_unmap(p);
		free(atomic_load_explicit(&p->maps, memory_order_relaxed));
	}
}
