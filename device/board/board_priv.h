/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* board_priv.h - what the files of device/board share. Nobody else includes it (but tests). */
#ifndef DPA_BOARD_PRIV_H
#define DPA_BOARD_PRIV_H

#include "board_layout.h"

#define DPA_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Steps at which a test can stop or kill the process; nothing in a normal build. */
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

/* path.c: names and places */
uint64_t dpa_board_netns(void);
uint32_t dpa_board_uid(void);
/* The default path for b->uid and b->netns. */
int dpa_board_place(const struct dpa_board *b, char *path, size_t len);

/* file.c: the file; mem.c: its memory */
struct dpa_board_err {
	char *text;
	size_t len;
};
/* Fills in the line (if it is empty) and returns rc. */
int dpa_board_fail(const struct dpa_board_err *e, int rc, const char *fmt, ...) DPA_PRINTF(3, 4);
/*
 * Opens the file at b->path, creates it if there is none, and takes its admin lock: b->fd, and
 * b->num_fd if it is new. On success the file is a valid board of this version, still the one at
 * that name, with its lists made.
 */
int dpa_board_file_open(struct dpa_board *b, const struct dpa_board_cfg *cfg,
			struct dpa_board_ident *id, const struct dpa_board_err *e);
int dpa_board_file_lock(int fd);    /* admin lock, waits */
int dpa_board_file_trylock(int fd); /* does not: EAGAIN */
void dpa_board_file_unlock(int fd);
bool dpa_board_file_named(int fd, const char *path); /* is it the one at that name? */
/* A descriptor of the board's file: b->fd, or a new one if the application closed that. -1. */
int dpa_board_fd(struct dpa_board *b);
/* Closes fd if it is still the descriptor of that file and not a stranger's of its number. */
void dpa_board_fd_close(int fd, uint64_t dev, uint64_t ino);
/* Memory of the file: reserve before the first touch (ENOMEM), or ask whether it is there. */
int dpa_board_reserve(struct dpa_board *b, uint64_t off, uint64_t len);
/* For what is given out: ENOSPC, so that a file that cannot grow is no table that is full. */
int dpa_board_reserve_entry(struct dpa_board *b, uint64_t off, uint64_t len);
bool dpa_board_present(struct dpa_board *b, uint64_t off);

/* ident.c: what a file says it is. EPROTO and a line that names the file if it is not for us. */
uint64_t dpa_board_ident_check(const struct dpa_board_ident *id);
uint64_t dpa_board_hash(const void *data, size_t len);
/* A board of whatever version of this user and namespace; ENOENT while it is being made. */
int dpa_board_ident_read(const struct dpa_board *b, int fd, struct dpa_board_ident *id,
			 const struct dpa_board_err *e);
int dpa_board_ident_version(const struct dpa_board *b, const char *ours,
			    const struct dpa_board_ident *id, const struct dpa_board_err *e);
int dpa_board_ident_numbers(const struct dpa_board *b, const struct dpa_board_ident *id,
			    const struct dpa_board_err *e);
int dpa_board_ident_fill(const struct dpa_board *b, const struct dpa_board_cfg *cfg,
			 struct dpa_board_ident *id, const struct dpa_board_err *e);

/* Is the owner word of a table's entry that of its QPN? Otherwise the entry is free or stale. */
static inline bool dpa_board_entry_held(struct dpa_board *b, uint32_t qpn, dpa_owner_t owner)
{
	uint32_t slot, gen;

	return owner && dpa_board_qpn_owner(b, qpn, &slot, &gen) && dpa_owner(slot, gen) == owner;
}

/* stale.c: removes boards of this user beside this one that nobody will come back to */
void dpa_board_sweep_stale(const struct dpa_board *b);

/* proc.c: process slots */
/* Is a lock byte in [from, from + n) held through another descriptor? */
bool dpa_board_bytes_held(int fd, uint32_t from, uint32_t n);
/* Is another process on the mapped board that is not about to end? Under the admin lock. */
bool dpa_board_others(struct dpa_board *b, int fd);
bool dpa_board_proc_held(struct dpa_board *b, uint32_t slot);
/* True if the process table has that process as LIVE: no system call. It may have died since. */
bool dpa_board_proc_live(struct dpa_board *b, uint32_t slot, uint32_t gen);
bool dpa_board_byte_take(int fd, uint32_t slot); /* false: held through another descriptor */
/* Under the board's lock: takes a slot, with its byte locked through map_fd. ENOSPC. */
int dpa_board_proc_take(struct dpa_board *b, int map_fd, const struct dpa_board_cfg *cfg);
void dpa_board_proc_leave(struct dpa_board *b); /* under the board's lock */

/* recover.c: the board's lock, and who died */
int dpa_board_lock_init(struct dpa_board_shm *shm);
int dpa_board_lock(struct dpa_board *b); /* EOWNERDEAD is mended here; else 0 or errno */
void dpa_board_unlock(struct dpa_board *b);
/*
 * Under the board's lock. all: looks at every process; else at DPA_BOARD_REAP_SOME of them, other
 * ones each time: a look costs a system call that takes longer the more processes there are.
 */
#define DPA_BOARD_REAP_SOME 256u
int dpa_board_reap_locked(struct dpa_board *b, bool all);
/* Under the board's lock: frees what this process owns. */
void dpa_board_free_own(struct dpa_board *b);

/* uar.c */
void dpa_board_uar_init(struct dpa_board_shm *shm, uint32_t pages);
/* Under the board's lock: true if pages were missing. */
bool dpa_board_uar_repair(struct dpa_board_shm *shm, uint32_t pages);

/* steer.c: of a process that ended; under the board's lock */
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
/* Binds that number: EADDRINUSE if another board has it by now. */
int dpa_board_num_again(uint32_t num, int *fd);
/* Binds a free number, random first; ENOSPC if there is none. */
int dpa_board_num_new(uint32_t *num, int *fd);
void dpa_board_num_claim(struct dpa_board *b); /* takes it over if nobody holds it */

static inline dpa_owner_t dpa_board_me(const struct dpa_board *b)
{
	return dpa_owner(b->slot, b->gen);
}

#endif
