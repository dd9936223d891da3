/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mem.c - memory of the board's file, and the place of its parts.
 * A hole of the file is never touched. reserve() has the kernel allocate memory first, which may
 * fail, and then marks the unit for all processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "board_priv.h"
#include "mr_way.h"

static bool same_file(const struct dpa_board *b, int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == b->dev && st.st_ino == b->ino;
}

void dpa_board_fd_close(int fd, uint64_t dev, uint64_t ino)
{
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == dev && st.st_ino == ino)
		close(fd);
}

/* Any thread may find the descriptor closed. The new descriptor of the first one stays. */
int dpa_board_fd(struct dpa_board *b)
{
	int old = __atomic_load_n(&b->fd, __ATOMIC_RELAXED);
	int fd;

	if (same_file(b, old))
		return old;
	/*
	 * After closefrom() the number may belong to another file. The lock byte does not depend on
	 * it.
	 */
	fd = open(b->path, (b->peek ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && !same_file(b, fd)) {
		close(fd);
		return -1;
	}
	if (fd >= 0 && !__atomic_compare_exchange_n(&b->fd, &old, fd, false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED)) {
		close(fd);
		fd = old;
	}
	return fd;
}

bool dpa_board_present(struct dpa_board *b, uint64_t off)
{
	uint64_t unit = off / DPA_BOARD_UNIT;
	uint64_t w = atomic_load_explicit(&b->shm->present[unit / 64], memory_order_acquire);

	return (w >> (unit % 64)) & 1;
}

static int reserve_unit(struct dpa_board *b, uint64_t unit)
{
	int fd = dpa_board_fd(b);

	if (fd < 0)
		return EBADF;
	while (fallocate(fd, 0, (off_t)(unit * DPA_BOARD_UNIT), DPA_BOARD_UNIT))
		if (errno != EINTR)
			return errno == ENOSPC ? ENOMEM : errno;
	DPA_BOARD_STEP("reserved");
	atomic_fetch_or_explicit(&b->shm->present[unit / 64], 1ull << (unit % 64),
				 memory_order_release);
	return 0;
}

int dpa_board_reserve(struct dpa_board *b, uint64_t off, uint64_t len)
{
	for (uint64_t u = off / DPA_BOARD_UNIT; u * DPA_BOARD_UNIT < off + len; u++) {
		int rc = dpa_board_present(b, u * DPA_BOARD_UNIT) ? 0 : reserve_unit(b, u);

		if (rc)
			return rc;
	}
	return 0;
}

int dpa_board_reserve_entry(struct dpa_board *b, uint64_t off, uint64_t len)
{
	return dpa_board_reserve(b, off, len) ? ENOSPC : 0;
}

/* -------------------------------------------------------------- what lies where */

struct dpa_board_proc *dpa_board_proc(struct dpa_board *b, uint32_t slot)
{
	if (slot >= DPA_BOARD_PROCS ||
	    !dpa_board_present(b, DPA_BOARD_OFF_PROCS + slot * sizeof(struct dpa_board_proc)))
		return NULL;
	return &b->shm->procs[slot];
}

uint32_t dpa_board_proc_next(struct dpa_board *b, uint32_t slot)
{
	const uint32_t per = DPA_BOARD_UNIT / sizeof(struct dpa_board_proc);

	while (slot < DPA_BOARD_PROCS) {
		uint32_t unit = DPA_BOARD_OFF_PROCS / DPA_BOARD_UNIT + slot / per, bit = unit % 64;
		uint64_t w =
			atomic_load_explicit(&b->shm->present[unit / 64], memory_order_acquire) >>
			bit;

		if (w & 1)
			return slot;
		slot = (slot / per + (w ? (uint32_t)__builtin_ctzll(w) : 64 - bit)) * per;
	}
	return DPA_BOARD_PROCS;
}

static struct dpa_board_priv *proc_priv(struct dpa_board *b, uint32_t slot)
{
	if (slot >= DPA_BOARD_PROCS ||
	    !dpa_board_present(b, DPA_BOARD_OFF_PRIV + slot * sizeof(struct dpa_board_priv)))
		return NULL;
	return &b->shm->priv[slot];
}

struct dpa_board_cqinfo *dpa_board_cqinfo(struct dpa_board *b, uint32_t slot)
{
	struct dpa_board_priv *p = proc_priv(b, slot);

	return p ? p->cqs : NULL;
}

struct dpa_board_mrinfo *dpa_board_mrinfo(struct dpa_board *b, uint32_t slot)
{
	struct dpa_board_priv *p = proc_priv(b, slot);

	return p ? p->mrs : NULL;
}

_Atomic uint64_t *dpa_board_counters(struct dpa_board *b, uint32_t slot)
{
	struct dpa_board_priv *p = proc_priv(b, slot);

	return p ? p->counters : NULL;
}

_Atomic uint64_t *dpa_board_counters_past(struct dpa_board *b)
{
	return b->shm->head.counters_past;
}

struct dpa_board_uar *dpa_board_uar_page(struct dpa_board *b, uint32_t page)
{
	if (page >= b->uar_pages ||
	    !dpa_board_present(b, DPA_BOARD_OFF_UARS + page * sizeof(struct dpa_board_uar)))
		return NULL;
	return &b->shm->uars[page];
}

/* A page's address is the BAR base plus the page's offset. */
struct dpa_uar_slot *dpa_board_uar_addr(struct dpa_board *b, uint32_t page, uint32_t slot)
{
	if (page >= b->uar_pages || slot >= DPA_UAR_SLOTS ||
	    !dpa_board_present(b, DPA_BOARD_OFF_BAR + page * DPA_UAR_PAGE_SIZE))
		return NULL;
	return &b->shm->bar[page][slot];
}

struct dpa_board_qpinfo *dpa_board_qpinfo(struct dpa_board *b, uint32_t qpn)
{
	uint32_t i = qpn & (DPA_BOARD_QPNS - 1);

	if (qpn >> 16 != b->board_num ||
	    !dpa_board_present(b, DPA_BOARD_OFF_QPINFO + i * sizeof(struct dpa_board_qpinfo)))
		return NULL;
	return &b->shm->qpinfo[i];
}

const char *const dpa_counter_names[DPA_CNT_NUM] = {
#define X(n) #n,
	DPA_COUNTERS(X)
#undef X
};

const char *const dpa_share_why_text[DPA_SHARE_NUM] = {
#define X(name, text) text,
	DPA_SHARE_WHYS(X)
#undef X
};
