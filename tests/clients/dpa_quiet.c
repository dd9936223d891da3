/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_quiet - a process with a connected QP, RC or UC, that does nothing until it is told to.
 *
 *   dpa_quiet --side 0|1 --socket FD [--uc]
 *
 * Two processes connect over a socket pair of which each inherited an end, exchange one message, and
 * print "ready". Then each carries out the words that it reads on standard input, one a line, and
 * prints a line about each:
 *
 *   send    post a SEND and poll until it is complete: "sent STATUS"
 *   post    post a SEND: "posted"
 *   reap    poll until something is complete: "reaped STATUS"
 *   wait    sleep in ibv_get_cq_event() until something is complete: "event STATUS"
 *   jump    the same, until SIGUSR1 comes: its handler leaves the call by siglongjmp(): "jumped"
 */
#include "vt.h"

#include <getopt.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

enum { LEN = 64, RECEIVES = 32, SEND_ID = 1, RECV_ID = 2, LIMIT_S = 600 };

static struct vt_opt attr = {.event = true, .len = 2 * LEN};
static sigjmp_buf out;

static void leave(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static void post_send(struct vt *t)
{
	CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, LEN, SEND_ID, IBV_SEND_SIGNALED), 0);
}

static const char *next_status(struct vt *t)
{
	return ibv_wc_status_str(vt_wc(t, t->cq).status);
}

static void arm(struct vt *t)
{
	CHECK_EQ(ibv_req_notify_cq(t->cq, 0), 0);
}

static void take_event(struct vt *t)
{
	struct ibv_cq *cq;
	void *arg;

	CHECK_EQ(ibv_get_cq_event(t->channel, &cq, &arg), 0);
	ibv_ack_cq_events(cq, 1);
}

static void jump(struct vt *t)
{
	signal(SIGUSR1, leave);
	arm(t);
	if (sigsetjmp(out, 1) == 0) {
		take_event(t);
		vt_fail(__FILE__, __LINE__, "an event came");
	}
	signal(SIGUSR1, SIG_DFL);
}

static void carry_out(struct vt *t, const char *word)
{
	if (strcmp(word, "send") == 0) {
		post_send(t);
		printf("sent %s\n", next_status(t));
	} else if (strcmp(word, "post") == 0) {
		post_send(t);
		printf("posted\n");
	} else if (strcmp(word, "reap") == 0) {
		printf("reaped %s\n", next_status(t));
	} else if (strcmp(word, "wait") == 0) {
		arm(t);
		take_event(t);
		printf("event %s\n", next_status(t));
	} else if (strcmp(word, "jump") == 0) {
		jump(t);
		printf("jumped\n");
	} else {
		vt_fail(__FILE__, __LINE__, "no word: %s", word);
	}
}

static void begin(struct vt *t)
{
	vt_setup(t, &attr);
	for (int i = 0; i < RECEIVES; i++)
		CHECK_EQ(vt_recv(t, LEN, LEN, RECV_ID), 0);
	vt_sync(t);
	if (t->side)
		post_send(t);
	vt_wc_is(t, t->side ? SEND_ID : RECV_ID, IBV_WC_SUCCESS);
	vt_sync(t);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"side", required_argument, NULL, 's'},
						{"socket", required_argument, NULL, 'f'},
						{"uc", no_argument, NULL, 'u'},
						{0}};
	struct vt t = {.side = -1, .sock = -1};
	char word[32];
	int opt;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 's')
			t.side = atoi(optarg);
		else if (opt == 'f')
			t.sock = atoi(optarg);
		else if (opt == 'u')
			attr.type = IBV_QPT_UC;
		else
			return 2;
	}
	if (t.sock < 0 || t.side < 0 || t.side > 1)
		return 2;
	alarm(LIMIT_S);
	begin(&t);
	printf("ready\n");
	while (scanf("%31s", word) == 1)
		carry_out(&t, word);
	return 0;
}
