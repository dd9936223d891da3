/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_progress.c - a poller checks the socket, too, under any load of shared memory, and leaves no
 * ACK pending for long.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "ctx/schedule.h"
#include "link/udp/udp.h"
#include "transport/api.h"
#include "eu/progress.h"
#include "eu/sched.h"
#include "harness.h"
#include "link/udp/wire.h"

#define ACK_PSN 9

/* Make a QP with a socket, or a descriptor that poll(2) accepts as one. */
static struct th *on_the_wire(const struct th_opt *opt)
{
	struct th *th = th_new(opt);
	int fd = eventfd(0, EFD_NONBLOCK);

	cr_assert_geq(fd, 0);
	atomic_store(&th->hw->udp->fd, fd);
	return th;
}

static void off_the_wire(struct th *th)
{
	close(dpa_udp_fd(th->hw->udp));
	th_free(th);
}

static void watch_lanes(struct th *th)
{
	for (uint32_t i = 0; i < DPA_LANES; i++)
		dpa_hot_add(th->hw, &th->peer->rx[i]);
}

/* A call that finds a packet in shared memory. */
static void one_busy_call(struct th *th)
{
	struct dpa_cqe e;

	if (!dpa_lane_ready(&th->peer->rx[th->a.qp->lane]) &&
	    !dpa_lane_ready(&th->peer->rx[th->b.qp->lane])) {
		while (th_poll(&th->a.scq, &e))
			cr_assert_eq(e.status, DPA_CQE_OK);
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 8, 0);
	}
	cr_assert_gt(dpa_progress_once(th->hw), 0);
}

static uint32_t looks_of(struct th *th, uint32_t calls, bool busy)
{
	th_udp_looks = 0;
	while (calls--)
		busy ? one_busy_call(th) : (void)dpa_progress_once(th->hw);
	return th_udp_looks;
}

static void *asks(void *arg)
{
	return (void *)(uintptr_t)dpa_shares_cpu(arg);
}

/*
 * Another user of the host has the port and forwards packets. A thread that polls takes them
 * itself: the progress thread would need a core that pollers use.
 */
Test(udp_progress, a_poller_takes_what_is_passed_on)
{
	struct th *th = th_new(&(struct th_opt){0});
	const uint32_t eager = 4096, every = 32;

	th_fwd_looks = 0;
	for (uint32_t i = 0; i < 10; i++)
		(void)dpa_hw_progress(&th->ctx);
	cr_expect_eq(th_fwd_looks, 0u, "nobody passes packets on");
	atomic_store(&th->hw->udp->nin, 1);
	for (uint32_t i = 0; i < eager; i++)
		(void)dpa_hw_progress(&th->ctx);
	cr_expect_eq(th_fwd_looks, eager);
	th_udp_looks = 0;
	for (uint32_t i = 0; i < 10 * every; i++)
		(void)dpa_hw_progress(&th->ctx);
	cr_expect_eq(th_fwd_looks, eager + 10, "nothing came for long");
	cr_expect_eq(th_udp_looks, 0u, "it has no socket");
	atomic_store(&th->hw->udp->nin, 0);
	th_free(th);
}

/* A poller learns once of each other thread that polled on the same processor since. */
Test(udp_progress, other_pollers_of_the_processor)
{
	struct th *th = th_new(&(struct th_opt){.pull = true});
	pthread_t other;
	void *said;

	dpa_shares_cpu(th->hw);
	for (int i = 0; i < 3; i++) {
		cr_expect_not(dpa_shares_cpu(th->hw), "nobody else");
		cr_expect_not(dpa_shares_cpu(th->hw));
		cr_assert_eq(pthread_create(&other, NULL, asks, th->hw), 0);
		pthread_join(other, &said);
		cr_expect(said);
		cr_expect(dpa_shares_cpu(th->hw), "the other thread");
	}
	th_free(th);
}

/* A timer that is due now proves nothing about the application; one long overdue does. */
Test(udp_progress, what_lies_and_what_has_just_come)
{
	struct th *th = on_the_wire(&(struct th_opt){0});
	uint64_t due = th_now + 5000;

	cr_expect_not(dpa_anything(th->hw));
	cr_expect_not(dpa_left_lying(th->hw));
	dpa_schedule(th->a.qp, due);
	th_now = due - 1;
	cr_expect_not(dpa_anything(th->hw));
	th_now = due;
	cr_expect(dpa_anything(th->hw));
	cr_expect_not(dpa_left_lying(th->hw));
	th_now = due + 99999;
	cr_expect_not(dpa_left_lying(th->hw));
	th_now = due + 100000;
	cr_expect(dpa_left_lying(th->hw));
	dpa_unschedule(th->a.qp);
	cr_expect_not(dpa_left_lying(th->hw));
	off_the_wire(th);
}

/* It never checked again: packets of other hosts waited until shared memory was quiet. */
Test(udp_progress, shared_memory_does_not_starve_the_socket)
{
	struct th *th = on_the_wire(&(struct th_opt){.timeout = 14, .retry = 7});

	watch_lanes(th);
	cr_expect_eq(looks_of(th, DPA_WIRE_EAGER, true), DPA_WIRE_EAGER, "something may come");
	cr_expect_eq(looks_of(th, 10 * DPA_WIRE_EVERY_BUSY, true), 10);
	th_udp_packets = 1;
	cr_expect_eq(looks_of(th, DPA_WIRE_EVERY_BUSY, true), 1);
	cr_expect_eq(looks_of(th, 100, true), 100, "more of it may come");
	th_udp_packets = 0;
	off_the_wire(th);
}

Test(udp_progress, a_quiet_socket_costs_little)
{
	struct th *th = on_the_wire(&(struct th_opt){0});

	cr_expect_eq(looks_of(th, DPA_WIRE_EAGER, false), DPA_WIRE_EAGER);
	cr_expect_eq(looks_of(th, 10 * DPA_WIRE_EVERY, false), 10);
	off_the_wire(th);
}

static void owe_an_ack(struct th *th)
{
	struct dpa_hw_qp *qp = th->b.qp;
	struct th_pkt p;

	dpa_qp_set_flags(qp, dpa_pkt_mtu_flags(qp->mtu));
	dpa_qplock_lock(&qp->lock);
	qp->resp.ack_owed = true;
	qp->resp.ack_psn = ACK_PSN;
	dpa_pkt_done(qp, false);
	cr_assert_eq(atomic_load(&th->hw->acks.owed), 1);
	cr_assert_not(th_take(&th->b, &p), "it waits");
	cr_expect(qp->resp.ack_late);
}

static void expect_sent(struct th *th, const char *when)
{
	struct th_pkt p;

	cr_assert(th_take(&th->b, &p), "%s: its sender waits", when);
	cr_expect_eq(p.s.opcode, DPA_BTH_ACK, "%s", when);
	cr_expect_eq(p.s.psn, ACK_PSN, "%s", when);
	cr_expect_eq(atomic_load(&th->hw->acks.owed), 0, "%s", when);
	cr_expect_not(th_take(&th->b, &p), "%s: once", when);
	cr_expect_not(th->b.qp->resp.ack_late, "%s", when);
}

/*
 * The ACK of a message that arrived alone waits for an idle moment of the poller. While the
 * progress thread sleeps this may be the last poll for long: the sender's timer expired.
 */
Test(udp_progress, a_thread_that_polls_once_leaves_no_ack_behind)
{
	struct th *th = on_the_wire(&(struct th_opt){0});
	struct th_pkt p;

	th_udp_packets = 1;
	owe_an_ack(th);
	cr_assert_gt(dpa_hw_progress(&th->ctx), 0);
	cr_expect_not(th_take(&th->b, &p), "the parked EU is awake: it may wait for company");
	atomic_store(&th->hw->sleep.service, 1);
	cr_assert_gt(dpa_hw_progress(&th->ctx), 0);
	expect_sent(th, "busy");
	atomic_store(&th->hw->sleep.service, 0);

	th_udp_packets = 0;
	owe_an_ack(th);
	cr_assert_eq(dpa_hw_progress(&th->ctx), 0);
	expect_sent(th, "idle");
	off_the_wire(th);
}

/* The sender of the last message of a process that ends would send it again, without a receiver. */
Test(udp_progress, an_exit_leaves_no_ack_behind)
{
	struct th *th = on_the_wire(&(struct th_opt){0});
	struct th_pkt p;

	owe_an_ack(th);
	dpa_acks_leave(th->hw);
	expect_sent(th, "exit");

	/* a signal handler that exits in the middle of an operation */
	owe_an_ack(th);
	dpa_spin_lock(&th->b.qp->peer->tx[th->b.qp->lane].lock);
	dpa_acks_leave(th->hw);
	dpa_spin_unlock(&th->b.qp->peer->tx[th->b.qp->lane].lock);
	cr_expect_not(th_take(&th->b, &p));
	dpa_qplock_lock(&th->b.qp->lock);
	dpa_pkt_done(th->b.qp, false);
	dpa_spin_lock(&th->hw->pend.lock);
	dpa_acks_leave(th->hw);
	dpa_spin_unlock(&th->hw->pend.lock);
	cr_expect_not(th_take(&th->b, &p));
	dpa_qplock_lock(&th->b.qp->lock);
	dpa_pkt_done(th->b.qp, false);
	dpa_qplock_lock(&th->b.qp->lock);
	dpa_acks_leave(th->hw);
	cr_expect_not(th_take(&th->b, &p));
	dpa_qp_leave(th->b.qp);
	dpa_spin_lock(&th->hw->acks.lock);
	dpa_acks_leave(th->hw);
	dpa_spin_unlock(&th->hw->acks.lock);
	off_the_wire(th);
}

/*
 * A thread that waited has its event or has waited long enough, and may not call for an unknown
 * time.
 */
Test(udp_progress, a_thread_that_waited_leaves_no_ack_behind)
{
	struct th *th = on_the_wire(&(struct th_opt){0});
	int fd[2];

	cr_assert_eq(pipe(fd), 0);
	th_udp_packets = 1; /* there is no idle moment */
	atomic_store(&th->hw->sleep.service, 1);
	owe_an_ack(th);
	cr_expect_eq(dpa_hw_wait_fd(&th->ctx, fd[0], 0), EAGAIN);
	expect_sent(th, "timed out");
	cr_assert_eq(write(fd[1], "e", 1), 1);
	owe_an_ack(th);
	cr_expect_eq(dpa_hw_wait_fd(&th->ctx, fd[0], -1), 0);
	expect_sent(th, "an event");
	atomic_store(&th->hw->sleep.service, 0);
	close(fd[0]);
	close(fd[1]);
	off_the_wire(th);
}

struct waiter {
	struct th *th;
	int fd[2];
	_Atomic pid_t tid;
	int ret;
};

static void *waits(void *arg)
{
	struct waiter *w = arg;

	atomic_store(&w->tid, (pid_t)syscall(SYS_gettid));
	w->ret = dpa_hw_wait_fd(&w->th->ctx, w->fd[0], -1);
	return NULL;
}

static bool sleeps(pid_t tid)
{
	char name[64], state = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/self/task/%d/stat", tid);
	f = fopen(name, "r");
	cr_assert(f);
	cr_assert_eq(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
	fclose(f);
	return state == 'S';
}

static void begins_to_wait(struct waiter *w, pthread_t *thread)
{
	cr_assert_eq(pipe(w->fd), 0);
	cr_assert_eq(pthread_create(thread, NULL, waits, w), 0);
}

static void falls_asleep(const struct waiter *w)
{
	uint32_t looks = 0;

	while (!atomic_load(&w->tid) || (!sleeps(atomic_load(&w->tid)) && ++looks < 20000))
		sched_yield();
	cr_expect_lt(looks, 20000, "it never sleeps");
}

static void has_its_event(struct waiter *w, pthread_t thread)
{
	cr_assert_eq(write(w->fd[1], "e", 1), 1);
	pthread_join(thread, NULL);
	cr_expect_eq(w->ret, 0);
	close(w->fd[0]);
	close(w->fd[1]);
}

/*
 * A packet is present, and the thread that handles it has lost its processor: a thread that waits
 * for an event polled for it until its time slice was over.
 */
Test(udp_progress, a_waiter_beside_another_thread_sleeps)
{
	struct waiter w = {.th = th_new(&(struct th_opt){0})};
	struct dpa_rx *rx = &w.th->peer->rx[w.th->a.qp->lane];
	pthread_t thread;

	watch_lanes(w.th);
	th_send(&w.th->a, DPA_OP_RDMA_WRITE, 0, 8, 0);
	cr_assert(dpa_lane_ready(rx));
	dpa_spin_lock(&rx->lock);
	begins_to_wait(&w, &thread);
	falls_asleep(&w);
	dpa_spin_unlock(&rx->lock);
	has_its_event(&w, thread);
	cr_expect_not(dpa_lane_ready(rx), "it took the packet then");
	th_free(w.th);
}

/* The same with datagrams: the socket is readable, and another thread handles them. */
Test(udp_progress, a_waiter_beside_another_receiver_sleeps)
{
	struct waiter w = {.th = on_the_wire(&(struct th_opt){0})};
	pthread_t thread;

	cr_assert_eq(eventfd_write(dpa_udp_fd(w.th->hw->udp), 1), 0);
	begins_to_wait(&w, &thread);
	falls_asleep(&w);
	has_its_event(&w, thread);
	off_the_wire(w.th);
}
