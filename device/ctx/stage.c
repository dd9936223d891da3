/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "util/sys.h"
#include "ctx/thread.h"
#include "ctx/copy.h"
#include "ctx/stage.h"

#define SIZE ((size_t)DPA_STAGE_PIECES * DPA_STAGE_BYTES)
#define HIGH 1024u /* descriptors: below the range of select(2) and of an ordinary limit */
#define ROOM 64u   /* distance to the limit */

/* The header in front of the payloads. */
struct head {
	uint64_t mark, turn;
};
_Static_assert(sizeof(struct head) == sizeof(((struct dpa_puts *)0)->got), "as it is read");

/*
 * Moves a descriptor to a number that open(2) does not return by chance; keeps it if there is none.
 */
static int move_high(int fd)
{
	struct rlimit lim;
	int high = -1;

	if (!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur > 2 * ROOM)
		high = fcntl(fd, F_DUPFD_CLOEXEC,
			     (int)((lim.rlim_cur < HIGH ? lim.rlim_cur : HIGH) - ROOM));
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

void dpa_stage_open(struct dpa_stage *s)
{
	int fd = memfd_create("dpa-stage", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *base;

	if (fd < 0)
		return;
	if (getrandom(&s->mark, sizeof(s->mark), 0) != sizeof(s->mark) ||
	    ftruncate(fd, (off_t)SIZE))
		goto err;
	base = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		goto err;
	/* A process that gets the descriptor from us cannot change it. */
	if (fcntl(fd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)) {
		munmap(base, SIZE);
		goto err;
	}
	dpa_sys_madvise(base, SIZE, MADV_DONTFORK);
	s->base = base;
	s->fd = move_high(fd);
	return;
err:
	close(fd);
}

void dpa_stage_close(struct dpa_stage *s)
{
	if (!s->base)
		return;
	munmap(s->base, SIZE);
	close(s->fd);
	s->base = NULL;
}

static struct head *stage_head_of(const struct dpa_puts *p)
{
	return (struct head *)(void *)(p->stage->base + (size_t)p->piece * DPA_STAGE_BYTES);
}

/* Prefers the segment that this thread had last: it is in its cache. */
static bool take_segment(struct dpa_stage *s, uint32_t *piece)
{
	uint32_t was = atomic_load_explicit(&s->taken, memory_order_relaxed);

	for (uint32_t k = 0, i = dpa_me.stage; k < DPA_STAGE_PIECES;
	     k++, i = (i + 1) % DPA_STAGE_PIECES) {
		if (was >> i & 1)
			continue;
		was = atomic_fetch_or_explicit(&s->taken, 1u << i, memory_order_acquire);
		if (was >> i & 1)
			continue;
		*piece = dpa_me.stage = i;
		return true;
	}
	return false;
}

bool dpa_puts_begin(struct dpa_stage *s, struct dpa_puts *p)
{
	if (!s->base || atomic_load_explicit(&s->broken, memory_order_relaxed) ||
	    !take_segment(s, &p->piece))
		return false;
	p->stage = s;
	p->n = 0;
	p->niov = 1;
	p->bytes = sizeof(struct head);
	return true;
}

bool dpa_puts_add(struct dpa_puts *p, uint64_t dst, const void *src, uint32_t n)
{
	const struct iovec to = {.iov_base = (void *)(uintptr_t)dst, .iov_len = n};

	if (p->n == DPA_PUTS || n > DPA_STAGE_BYTES - p->bytes)
		return false;
	memcpy((uint8_t *)stage_head_of(p) + p->bytes, src, n);
	p->bytes += n;
	p->len[p->n++] = (uint16_t)n;
	p->niov += (uint32_t)dpa_last_apart(&to, 1, dst + n, &p->to[p->niov]);
	return true;
}

/* Returns the number of bytes behind the header that were placed. */
static size_t read_all_puts(struct dpa_puts *p)
{
	struct dpa_stage *s = p->stage;
	struct head *h = stage_head_of(p);
	const struct head want = {.mark = s->mark, .turn = ++h->turn};
	long ret;

	h->mark = want.mark;
	p->to[0] = (struct iovec){.iov_base = p->got, .iov_len = sizeof(p->got)};
	/* The system call itself: the library's is a cancellation point, and locks are held. */
	ret = syscall(SYS_preadv, s->fd, p->to, (unsigned long)p->niov,
		      (unsigned long)p->piece * DPA_STAGE_BYTES, 0ul);
	if (ret >= (long)sizeof(*h) && !memcmp(p->got, &want, sizeof(want)))
		return (size_t)ret - sizeof(*h);
	atomic_store_explicit(&s->broken, true, memory_order_relaxed);
	return 0;
}

uint32_t dpa_puts_end(struct dpa_puts *p)
{
	size_t there = p->n ? read_all_puts(p) : 0;
	uint32_t n = 0;

	while (n < p->n && p->len[n] <= there)
		there -= p->len[n++];
	atomic_fetch_and_explicit(&p->stage->taken, ~(1u << p->piece), memory_order_release);
	return n;
}
