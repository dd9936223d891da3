/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fork.c - fork(). A forked child has neither the engine's thread nor the device. Connections
 * belong to the parent. Ids and listeners continue in the child after the parent has ended
 * (daemon(3)): cma_inherit(). The channel's timer notifies a child that waits at its channel. After
 * a fork a process lets the timers of idle channels expire after a while; its engine extends them
 * again and again until the process ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cma/cma.h"
#include "cma/kernel.h"

/*
 * ms until a channel's timer notifies a child that the parent ended: at the fork, and from then on
 */
#define HELD_FIRST 100
#define HELD_OFF   3000

/* Extends the timers of the idle channels of a process that forked: see above. */
static void hold_off(long ms, uint64_t again)
{
	const struct itimerspec its = {
		.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}};

	cma.hold_due = cma_now() + again;
	cma_fd_hold_all(&its);
}

void cma_fork_round(void)
{
	if (cma.forked && cma_now() >= cma.hold_due)
		hold_off(HELD_OFF, HELD_OFF / 3);
}

/* True if it is gone or a zombie: then no part of it runs. */
static bool has_owner_ended(pid_t pid)
{
	char path[32], stat[256], *p;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return kill(pid, 0) && errno == ESRCH;
	n = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	if (n <= 0)
		return true;
	stat[n] = 0;
	p = strrchr(stat, ')'); /* pid (name) state */
	return p && (p[2] == 'Z' || p[2] == 'X');
}

/* The parent's waiting threads do not exist here. */
static void forget_sleepers(void)
{
	for (struct cma_channel *ch = cma.channels; ch; ch = ch->next) {
		ch->users = ch->sleepers = 0;
		sem_init(&ch->wake, 0, 0);
	}
}

static void share_channels(bool on)
{
	for (struct cma_channel *ch = cma.channels; ch; ch = ch->next)
		ch->shared = on;
}

void cma_inherit(void)
{
	if (!cma.owner || !has_owner_ended(cma.owner))
		return;
	if (cma.listeners && cma_engine_start())
		return; /* no descriptor or no memory: the next call tries again */
	cma.owner = 0;
	share_channels(false);
	for (struct cma_channel *ch = cma.channels; ch; ch = ch->next) {
		cma_fd_show(ch, ch->head); /* no longer the parent's events */
		(void)cma_fd_expired(ch);  /* it expired to report the end of the parent */
	}
	cma_listeners_serve();
}

static pid_t forking;

static void cm_before_fork(void)
{
	cma_lock();
	cma_kernel_before_fork();
	forking = getpid(); /* the child may check its parent after that has ended */
}

static void cm_after_fork_parent(void)
{
	cma_kernel_after_fork();
	if (cma.engine == CMA_ENGINE_ON && cma.channels && !cma.owner) {
		cma.forked = cma.may_expire = true;
		/* daemon(3): nothing of this process may run any more */
		hold_off(HELD_FIRST, HELD_FIRST / 3);
		cma_engine_wake();
	}
	cma_unlock();
}

/* Connections and requests are the parent's: ids in the child have no connection. */
static void forget_connections(void)
{
	for (uint32_t i = 0; i < cma.num_ids; i++) {
		struct cma_id *id = cma.ids[i];

		if (!id || !id->conn)
			continue;
		id->conn = NULL;
		cma_id_enter(id, CMA_DISCONNECT);
	}
	cma_reach_forget();
	cma_neighbour_forget();
	cma.heap_len = 0;
	cma.num_conns = 0;
	cma_early_forget();
	cma_unsent_forget();
}

static void cm_after_fork_child(void)
{
	forget_sleepers();
	cma_fd_forget();
	cma_kernel_forget();
	if (cma.engine == CMA_ENGINE_ON) {
		forget_connections();
		cma_engine_forget();
		cma.forked = false;
		cma.may_expire = true;
		if (cma.channels)
			cma.owner = forking;
		share_channels(true);
	}
	cma_unlock();
}

/*
 * Registered after the device's handlers, so that ours run before them: the engine waits for locks
 * of the device while it holds cma.lock.
 */
void cma_watch_fork(void)
{
	static bool done;

	if (done)
		return;
	dpa_hw_watch_fork();
	done = !pthread_atfork(cm_before_fork, cm_after_fork_parent, cm_after_fork_child);
}
