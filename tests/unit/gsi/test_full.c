/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_full.c - MADs to a process that does not run: those for others go on, and none comes back. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rig.h"

TestSuite(gsi_full, .init = gt_setup, .fini = gt_teardown, .timeout = 120);

/* More than the ring between two processes and the send queue hold. */
#define MANY 4000

static void send_until_taken(struct gt_proc *p, const struct dpa_gsi_addr *to, const uint8_t *mad)
{
	int rc;

	while ((rc = gt_send(p, to, mad)) == ENOBUFS || rc == EAGAIN)
		;
	cr_assert_eq(rc, 0);
}

/* Stop it, and wait until no thread of it runs. */
static void pause_proc(struct gt_proc *p)
{
	int status;

	cr_assert_eq(kill(p->pid, SIGSTOP), 0);
	cr_assert_eq(waitpid(p->pid, &status, WUNTRACED), p->pid);
	cr_assert(WIFSTOPPED(status));
}

/* Let an id of `to` get a first MAD: they are connected then. Returns the id. */
static uint32_t connect_procs(struct gt_proc *from, struct gt_proc *to)
{
	const struct dpa_gsi_addr there = gt_path(1, 1);
	uint32_t id = gt_id_new(to);
	uint8_t mad[DPA_MAD_BYTES];
	struct gt_answer a;

	gt_message(mad, DPA_CM_RTU, 1, id);
	cr_assert_eq(gt_send(from, &there, mad), 0);
	cr_assert(gt_recv(to, &a));
	return id;
}

/* Send MADs for this id until there is no room. Returns the number of those that were accepted. */
static uint32_t fill(struct gt_proc *p, const struct gt_proc *to, uint32_t id)
{
	const struct dpa_gsi_addr there = gt_path(1, 1);
	uint8_t mad[DPA_MAD_BYTES];
	uint32_t n = MANY;
	int rc;

	gt_message(mad, DPA_CM_RTU, 1, id);
	rc = gt_fill(p, &there, mad, &n);
	cr_assert_lt(n, MANY, "there is always room");
	cr_assert_eq(rc, to->num == p->num ? ENOBUFS : EAGAIN);
	return n;
}

/*
 * The MADs for a stopped process fill its ring and the send queue. They are lost after a while, all
 * of them: the next one must not wait as long again.
 */
Test(gsi_full, a_stopped_process_delays_no_other)
{
	const struct dpa_gsi_addr there = gt_path(1, 1);
	struct gt_proc p[3];
	uint8_t mad[DPA_MAD_BYTES];
	struct gt_answer a;
	uint32_t id[2];

	for (int i = 0; i < 3; i++)
		gt_start(&p[i], "board", 0, true);
	for (int i = 0; i < 2; i++)
		id[i] = connect_procs(&p[0], &p[1 + i]);
	pause_proc(&p[1]);
	fill(&p[0], &p[1], id[0]);
	gt_message(mad, DPA_CM_RTU, 2, id[1]);
	send_until_taken(&p[0], &there, mad);
	cr_expect(gt_recv(&p[2], &a), "it waits behind those for another process");
	kill(p[1].pid, SIGCONT);
	for (int i = 0; i < 3; i++)
		gt_stop(&p[i]);
}

/* Once it runs again it gets MADs again. */
Test(gsi_full, a_stopped_process_goes_on)
{
	const struct dpa_gsi_addr there = gt_path(1, 1);
	struct gt_proc p[2];
	uint8_t mad[DPA_MAD_BYTES];
	struct gt_answer a = {0};
	uint32_t id;

	for (int i = 0; i < 2; i++)
		gt_start(&p[i], "board", 0, true);
	id = connect_procs(&p[0], &p[1]);
	pause_proc(&p[1]);
	fill(&p[0], &p[1], id);
	gt_message(mad, DPA_CM_DREQ, 1, id);
	send_until_taken(&p[0], &there, mad); /* others were lost by then, and this one may be */
	kill(p[1].pid, SIGCONT);
	cr_assert(gt_recv(&p[1], &a), "the first of them at least");
	gt_message(mad, DPA_CM_DREQ, 2, id);
	do { /* the first may still be lost */
		send_until_taken(&p[0], &there, mad);
		while (memcmp(a.mad, mad, sizeof(mad)) && gt_look(&p[1], &a))
			;
	} while (memcmp(a.mad, mad, sizeof(mad)));
	for (int i = 0; i < 2; i++)
		gt_stop(&p[i]);
}

/*
 * There is no room in the socket of another board's: its process lives. A MAD that came back would
 * tell the driver that it has died.
 */
Test(gsi_full, nothing_comes_back_from_a_full_board)
{
	struct gt_proc p[2];
	struct gt_answer a;
	uint32_t id, n;

	gt_start(&p[0], "board", 0, true);
	gt_start(&p[1], "other", 0, true);
	cr_assert_neq(p[0].num, p[1].num);
	id = connect_procs(&p[0], &p[1]);
	pause_proc(&p[1]);
	n = fill(&p[0], &p[1], id);
	cr_expect_not(gt_look(&p[0], &a), "attribute %#x", a.mad[17]);
	kill(p[1].pid, SIGCONT);
	for (uint32_t i = 0; i < n; i++)
		cr_assert(gt_recv(&p[1], &a), "%u of %u", i, n);
	for (int i = 0; i < 2; i++)
		gt_stop(&p[i]);
}

/* Nor does a board that has no time to accept connections: there is none yet. */
Test(gsi_full, nothing_comes_back_from_a_board_that_accepts_nothing)
{
	const struct dpa_gsi_addr there = gt_path(1, 1);
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct gt_proc p[2];
	uint8_t mad[DPA_MAD_BYTES];
	struct gt_answer a;
	int fd[200], n = 0, rc;
	socklen_t len;

	gt_start(&p[0], "board", 0, true);
	gt_start(&p[1], "other", 0, true);
	gt_message(mad, DPA_CM_RTU, 1, gt_id_new(&p[1]));
	pause_proc(&p[1]);
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			  (size_t)snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1, "dpa-board-%u",
					   p[1].num));
	do { /* until its backlog is full */
		fd[n] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
		cr_assert_geq(fd[n], 0);
	} while (!connect(fd[n++], (struct sockaddr *)&sa, len) && n < 200);
	cr_assert_eq(errno, EAGAIN);
	rc = gt_send(&p[0], &there, mad);
	cr_expect_eq(rc, EAGAIN, "%d", rc);
	cr_expect_not(gt_look(&p[0], &a), "attribute %#x", a.mad[17]);
	kill(p[1].pid, SIGCONT);
	while (n)
		close(fd[--n]);
	send_until_taken(&p[0], &there, mad);
	cr_expect(gt_recv(&p[1], &a));
	for (int i = 0; i < 2; i++)
		gt_stop(&p[i]);
}
