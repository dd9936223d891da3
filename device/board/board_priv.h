/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* board_priv.h - private to device/board. Only its files and tests include it. */
#ifndef DPA_BOARD_PRIV_H
#define DPA_BOARD_PRIV_H

#include "board_layout.h"

#define DPA_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Steps at which a test stops or kills the process; empty in a normal build. */
#ifdef DPA_BOARD_TEST_HOOKS
extern void (*dpa_board_step_hook)(const char *name);
#define DPA_BOARD_STEP(name)                                                                       \
	do {                                                                                       \
		if (dpa_board_step_hook)                                                           \
			dpa_board_step_hook(name);                                                 \
	} while (0)
#else
#define DPA_BOARD_STEP(name) ((void)0)
#endif

/* path.c: paths */
uint64_t dpa_board_netns(void);
uint32_t dpa_board_uid(void);
/* The default path for b->uid and b->netns. */
int dpa_board_place(const struct dpa_board *b, char *path, size_t len);

/* file.c: the file; mem.c: its memory */
struct dpa_board_err {
	char *text;
	size_t len;
};
/* Writes the message, if there is none yet, and returns rc. */
int dpa_board_fail(const struct dpa_board_err *e, int rc, const char *fmt, ...) DPA_PRINTF(3, 4);
/*
 * Opens the file at b->path, or creates it, and takes its admin lock. Sets b->fd, and b->num_fd if
 * the file is new. On success the file is a valid board of this version with its lists made, and is
 * still the file at that path.
 */
int dpa_board_file_open(struct dpa_board *b, const struct dpa_board_cfg *cfg,
			struct dpa_board_ident *id, const struct dpa_board_err *e);
int dpa_board_file_lock(int fd);    /* admin lock; waits */
int dpa_board_file_trylock(int fd); /* does not wait: EAGAIN */
void dpa_board_file_unlock(int fd);
bool dpa_board_file_named(int fd, const char *path); /* true if fd is still the file at path */
/*
 * Returns a descriptor of the board's file: b->fd, or a new one if the application closed b->fd; -1
 * on failure.
 */
int dpa_board_fd(struct dpa_board *b);
/*
 * Closes fd if it still is a descriptor of that file, and not of another file with the same number.
 */
void dpa_board_fd_close(int fd, uint64_t dev, uint64_t ino);
/*
 * Memory of the file. Reserve it before the first touch (ENOMEM), or test whether it is reserved.
 */
int dpa_board_reserve(struct dpa_board *b, uint64_t off, uint64_t len);
/*
 * For table entries: ENOSPC if the file cannot grow, so that callers can distinguish this from a
 * full table.
 */
int dpa_board_reserve_entry(struct dpa_board *b, uint64_t off, uint64_t len);
bool dpa_board_present(struct dpa_board *b, uint64_t off);

/* ident.c: identity of a file. EPROTO, and a message that names the file, if it is not ours. */
uint64_t dpa_board_ident_check(const struct dpa_board_ident *id);
uint64_t dpa_board_hash(const void *data, size_t len);
/*
 * Reads the identity of a board of any version for this user and namespace. ENOENT: the board is
 * not complete yet.
 */
int dpa_board_ident_read(const struct dpa_board *b, int fd, struct dpa_board_ident *id,
			 const struct dpa_board_err *e);
/*
 * EPROTO: another version made the file; the message names both versions, the processes that use the
 * file of b->fd, and the fix.
 */
int dpa_board_ident_version(const struct dpa_board *b, const char *ours,
			    const struct dpa_board_ident *id, const struct dpa_board_err *e);
int dpa_board_ident_numbers(const struct dpa_board *b, const struct dpa_board_ident *id,
			    const struct dpa_board_err *e);
int dpa_board_ident_fill(const struct dpa_board *b, const struct dpa_board_cfg *cfg,
			 struct dpa_board_ident *id, const struct dpa_board_err *e);

/*
 * True if the entry's owner word equals its QPN's owner word. Otherwise the entry is free or stale.
 */
static inline bool dpa_board_entry_held(struct dpa_board *b, uint32_t qpn, dpa_owner_t owner)
{
	uint32_t slot, gen;

	return owner && dpa_board_qpn_owner(b, qpn, &slot, &gen) && dpa_owner(slot, gen) == owner;
}

/* stale.c: removes boards of this user that no process will use again, except this one */
void dpa_board_sweep_stale(const struct dpa_board *b);

/* proc.c: process slots */
/* True if another descriptor holds a lock byte in [from, from + n). */
bool dpa_board_bytes_held(int fd, uint32_t from, uint32_t n);
/*
 * True if another process that does not end is attached to the mapped board. Context: the admin
 * lock.
 */
bool dpa_board_others(struct dpa_board *b, int fd);
bool dpa_board_proc_held(struct dpa_board *b, uint32_t slot);
/*
 * True if the process table has that process as LIVE. No system call; the process may have died
 * since.
 */
bool dpa_board_proc_live(struct dpa_board *b, uint32_t slot, uint32_t gen);
bool dpa_board_byte_take(int fd, uint32_t slot); /* false: another descriptor holds it */
/* Takes a process index, with its byte locked through map_fd. ENOSPC. Context: the board's lock. */
int dpa_board_proc_take(struct dpa_board *b, int map_fd, const struct dpa_board_cfg *cfg);
void dpa_board_proc_leave(struct dpa_board *b); /* context: the board's lock */

/* recover.c: the board's lock, and dead processes */
int dpa_board_lock_init(struct dpa_board_shm *shm);
int dpa_board_lock(struct dpa_board *b); /* 0 or errno; after EOWNERDEAD the state is repaired */
void dpa_board_unlock(struct dpa_board *b);
/*
 * Reaps dead processes. Context: the board's lock. all: checks every process; else
 * DPA_BOARD_REAP_SOME of them, the next ones in each call. A check is a system call that takes
 * longer the more processes there are.
 */
#define DPA_BOARD_REAP_SOME 256u
int dpa_board_reap_locked(struct dpa_board *b, bool all);
/* Frees what this process owns. Context: the board's lock. */
void dpa_board_free_own(struct dpa_board *b);

/* uar.c */
void dpa_board_uar_init(struct dpa_board_shm *shm, uint32_t pages);
/* Repairs the UAR list; true if pages were missing. Context: the board's lock. */
bool dpa_board_uar_repair(struct dpa_board_shm *shm, uint32_t pages);

/* steer.c: clears the word of a process that ended. Context: the board's lock */
void dpa_board_steer_gone(struct dpa_board *b, struct dpa_board_proc *p);

/* qpn.c */
void dpa_board_qpn_clear(struct dpa_board *b, uint32_t index, dpa_owner_t owner);

/*
 * cm.c. dpa_board_cm_gone(): announce that a process was reaped, if it had an endpoint. Context:
 * the board's lock. dpa_board_cm_left(): true if an id in the file has a peer that must be told
 * that the process ended. shm may be mapped read-only.
 */
void dpa_board_cm_gone(struct dpa_board *b, const struct dpa_board_proc *p);
bool dpa_board_cm_left(struct dpa_board_shm *shm);

/* num.c */
/* Binds that number. EADDRINUSE: another board has taken it. */
int dpa_board_num_again(uint32_t num, int *fd);
/* Binds a free number, a random one first. ENOSPC: there is none. */
int dpa_board_num_new(uint32_t *num, int *fd);
void dpa_board_num_claim(struct dpa_board *b); /* takes it over if no process holds it */

static inline dpa_owner_t dpa_board_me(const struct dpa_board *b)
{
	return dpa_owner(b->slot, b->gen);
}

#endif
