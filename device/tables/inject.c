/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inject.c - failures that are injected into one process: requests of a tool, and the rules that the
 * process follows. A record is taken, by the process or by a tool for it, under the admin lock. It is
 * free again when its owner is dead: no process gives it back. Processes look at their own entry at
 * their ticks; the tool wakes them.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "board/board_priv.h"
#include "tables/tables.h"

/* A mapping of the file that can be written, with the admin lock held. */
struct writer {
	struct dpa_board b; /* only what memory of the file needs */
	int fd;
};

static int open_writer(struct dpa_board *b, struct writer *w)
{
	struct stat st;
	int rc = 0;

	w->fd = open(b->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (w->fd < 0)
		return errno;
	if (fstat(w->fd, &st) || st.st_dev != b->dev || st.st_ino != b->ino)
		rc = ENOENT; /* that board is gone */
	if (!rc)
		rc = dpa_board_file_lock(w->fd);
	w->b = *b;
	w->b.fd = w->fd;
	w->b.shm =
		rc ? MAP_FAILED
		   : mmap(NULL, DPA_BOARD_FILE_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	if (!rc && w->b.shm == MAP_FAILED)
		rc = errno;
	if (rc)
		close(w->fd);
	return rc;
}

static void close_writer(struct writer *w)
{
	munmap(w->b.shm, DPA_BOARD_FILE_LEN);
	close(w->fd); /* and releases the lock */
}

static uint64_t inject_offset_of(uint32_t i)
{
	return DPA_BOARD_OFF_INJECTS + i * sizeof(struct dpa_board_inject);
}

static struct dpa_board_inject *record_of(struct dpa_board *b, uint32_t slot)
{
	uint32_t i = atomic_load_explicit(&b->shm->procs[slot].inject, memory_order_acquire);

	return i && i <= DPA_BOARD_INJECTS && dpa_board_present(b, inject_offset_of(i - 1))
		       ? &b->shm->injects[i - 1]
		       : NULL;
}

/* `b` is the board as its opener has it, for the check of processes. Context: the admin lock. */
static bool is_free(struct dpa_board *b, const struct writer *w, uint32_t i)
{
	dpa_owner_t o;

	if (!dpa_board_present(b, inject_offset_of(i)))
		return true;
	o = atomic_load_explicit(&w->b.shm->injects[i].owner, memory_order_relaxed);
	return !o || !dpa_board_alive(b, dpa_owner_slot(o), dpa_owner_gen(o));
}

/* Context: the admin lock. */
static int take_record(struct dpa_board *b, struct writer *w, uint32_t slot, uint32_t gen)
{
	for (uint32_t i = 0; i < DPA_BOARD_INJECTS; i++) {
		struct dpa_board_inject *r = &w->b.shm->injects[i];
		int rc;

		if (!is_free(b, w, i))
			continue;
		rc = dpa_board_reserve_entry(&w->b, inject_offset_of(i), sizeof(*r));
		if (rc)
			return rc;
		memset((void *)r, 0, sizeof(*r));
		atomic_store_explicit(&r->owner, dpa_owner(slot, gen), memory_order_relaxed);
		atomic_store_explicit(&w->b.shm->procs[slot].inject, i + 1, memory_order_release);
		return 0;
	}
	return ENOSPC;
}

struct dpa_board_inject *dpa_board_inject_mine(struct dpa_board *b, bool take)
{
	struct writer w;

	if (!atomic_load_explicit(&b->self->inject, memory_order_acquire)) {
		if (!take || open_writer(b, &w))
			return NULL;
		if (!record_of(&w.b, b->slot))
			take_record(b, &w, b->slot, b->gen);
		close_writer(&w);
	}
	return record_of(b, b->slot);
}

const struct dpa_board_inject *dpa_board_inject_of(struct dpa_board *b, uint32_t slot)
{
	return record_of(b, slot);
}

/* ---------------------------------------------------------------------- texts */

/* Copies a text that is valid while `gen` is even and does not change. */
static bool copy_inject_text(const _Atomic uint32_t *at, const char *from, char *text,
			     uint32_t *gen)
{
	*gen = atomic_load_explicit(at, memory_order_acquire);
	if (*gen & 1)
		return false; /* being written */
	for (size_t i = 0; i < DPA_BOARD_INJECT_TEXT; i++)
		text[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE); /* before the second read */
	text[DPA_BOARD_INJECT_TEXT - 1] = '\0';
	return atomic_load_explicit(at, memory_order_relaxed) == *gen;
}

/* If a writer died the generation is odd: the next writer continues from it. One writer at a time. */
static uint32_t put_inject_text(_Atomic uint32_t *at, char *to, const char *text)
{
	uint32_t odd = atomic_load_explicit(at, memory_order_relaxed) | 1;

	atomic_store_explicit(at, odd, memory_order_relaxed);
	for (size_t i = 0; i < DPA_BOARD_INJECT_TEXT; i++) {
		__atomic_store_n(&to[i], *text, __ATOMIC_RELEASE); /* after the odd number */
		text += *text != '\0';
	}
	odd = odd + 1 ? odd + 1 : 2; /* 0 means: none ever */
	atomic_store_explicit(at, odd, memory_order_release);
	return odd;
}

uint32_t dpa_board_inject_gen(const struct dpa_board_inject *r)
{
	return atomic_load_explicit(&r->gen, memory_order_acquire);
}

bool dpa_board_inject_request(const struct dpa_board_inject *r, char *text, uint32_t *gen)
{
	return copy_inject_text(&r->gen, r->request, text, gen);
}

void dpa_board_inject_follow(struct dpa_board_inject *r, uint32_t gen, const char *now)
{
	put_inject_text(&r->now_gen, r->now, now);
	atomic_store_explicit(&r->seen, gen, memory_order_release);
}

bool dpa_board_inject_now(const struct dpa_board_inject *r, char *text)
{
	uint32_t gen;

	return copy_inject_text(&r->now_gen, r->now, text, &gen);
}

uint32_t dpa_board_inject_seen(const struct dpa_board_inject *r)
{
	return atomic_load_explicit(&r->seen, memory_order_acquire);
}

int dpa_board_inject_put(struct dpa_board *b, uint32_t slot, uint32_t gen, const char *text,
			 uint32_t *request)
{
	struct dpa_board_inject *r;
	struct writer w;
	int rc;

	if (strlen(text) >= DPA_BOARD_INJECT_TEXT)
		return EINVAL;
	rc = open_writer(b, &w);
	if (rc)
		return rc;
	if (!dpa_board_alive(b, slot, gen))
		rc = ESRCH;
	else if (!record_of(&w.b, slot))
		rc = take_record(b, &w, slot, gen);
	r = rc ? NULL : record_of(&w.b, slot);
	if (r)
		*request = put_inject_text(&r->gen, r->request, text);
	close_writer(&w);
	return rc;
}
