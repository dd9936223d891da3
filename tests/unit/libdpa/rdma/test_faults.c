/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_faults.c - errors of device code, signals, and the state after both. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "rig.h"

static void crash_path(char *path, size_t len, const char *kind)
{
	snprintf(path, len, "/tmp/doca_dpa_fatal.%d.%s", (int)getpid(), kind);
}

static void remove_files(void)
{
	static const char *const kinds[] = {"core", "crash", "so"};
	char path[64];

	for (int i = 0; i < 3; i++) {
		crash_path(path, sizeof(path), kinds[i]);
		unlink(path);
	}
}

/* The text file contains the error. */
static void crash_says(const char *what)
{
	char path[64], text[4096];
	size_t n;
	FILE *f;

	crash_path(path, sizeof(path), "crash");
	f = fopen(path, "r");
	cr_assert(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	cr_assert(strstr(text, what), "no '%s' in %s", what, text);
}

TestSuite(faults, .timeout = 60, .fini = remove_files);

/*
 * The command ends the context; the peers get the end of their connections, and all can be
 * destroyed.
 */
static void fatal(struct rig *r, struct cmd c, const char *what)
{
	struct ibv_wc wc;

	OK(doca_dpa_peek_at_last_error(r->dpa));
	rig_begin(r, c);
	while (doca_dpa_peek_at_last_error(r->dpa) == DOCA_SUCCESS)
		sched_yield();
	IS(doca_dpa_peek_at_last_error(r->dpa), BAD_STATE);
	peer_send(r, 0, IBV_WR_SEND, 0, 8, 0);
	wc = peer_wc(r, 0);
	cr_assert_neq(wc.status, IBV_WC_SUCCESS);
	r->foul = true;
	rig_down(r);
	crash_says(what);
}

Test(faults, a_handle_of_nothing)
{
	struct rig r;
	struct cmd c;

	rig_up(&r);
	c = send_cmd(&r, CMD_SEND, 0, 8, FLUSH);
	c.rdma ^= 1;
	fatal(&r, c, "no started RDMA context");
}

Test(faults, a_handle_of_something_else)
{
	struct rig r;
	struct cmd c;

	rig_up(&r);
	c = send_cmd(&r, CMD_RECV, 0, 8, 0);
	c.rdma = r.board->comp;
	fatal(&r, c, "no started RDMA context");
}

Test(faults, a_handle_of_before)
{
	struct rig r;
	struct cmd c;

	rig_up(&r);
	c = (struct cmd){.op = CMD_RECV_ACK, .rdma = r.handle};
	OK(doca_ctx_stop(r.ctx));
	for (int i = 0; i < RIG_CONNS; i++)
		peer_destroy(&r.peer[i]);
	rig_start(&r);
	fatal(&r, c, "no started RDMA context");
}

Test(faults, a_connection_beyond_the_table)
{
	struct rig r;
	struct cmd c;

	rig_up(&r);
	c = send_cmd(&r, CMD_SEND, 0, 8, FLUSH);
	c.conn = RIG_CONNS;
	fatal(&r, c, "connection id that is not connected");
}

/* Connection 0 is connected, 1 is only exported: d holds the details of its peer. */
static void half_connected(struct rig *r, struct dpa_rdma_details *d)
{
	const void *details;
	size_t size;

	rig_make(r);
	OK(doca_ctx_start(r->ctx));
	OK(doca_rdma_get_dpa_handle(r->rdma, &r->handle));
	rig_connect(r, 0);
	OK(doca_rdma_export(r->rdma, &details, &size, &r->conn[1]));
	peer_make(r, &r->peer[1], d);
}

Test(faults, a_connection_that_is_not_connected)
{
	struct dpa_rdma_details d;
	struct rig r;
	struct cmd c;

	half_connected(&r, &d);
	c = send_cmd(&r, CMD_SEND, 0, 8, FLUSH);
	c.conn = 1;
	fatal(&r, c, "connection id that is not connected");
}

Test(faults, unknown_flags)
{
	struct rig r;

	rig_up(&r);
	fatal(&r, send_cmd(&r, CMD_SEND, 0, 8, 4), "flags that are unknown");
}

Test(faults, a_signal_to_nowhere)
{
	struct rig r;

	rig_up(&r);
	fatal(&r, (struct cmd){.op = CMD_SIGNAL_SET, .rdma = r.handle}, "no sync event of a peer");
}

Test(faults, connecting_after_the_end)
{
	struct dpa_rdma_details d;
	struct rig r;
	struct cmd c;

	half_connected(&r, &d);
	c = send_cmd(&r, CMD_SEND, 0, 8, FLUSH);
	c.rdma = 0;
	rig_begin(&r, c);
	while (doca_dpa_peek_at_last_error(r.dpa) == DOCA_SUCCESS)
		sched_yield();
	/* the QPs fail a moment later: until then it may connect, and ends at once */
	peer_send(&r, 0, IBV_WR_SEND, 0, 8, 0);
	cr_assert_neq(peer_wc(&r, 0).status, IBV_WC_SUCCESS);
	IS(doca_rdma_connect(r.rdma, &d, sizeof(d), r.conn[1]), CONNECTION_ABORTED);
	r.foul = true;
	rig_down(&r);
}

/* ------------------------------------------------------------------- signals */

struct signals {
	struct doca_sync_event *se;
	struct doca_sync_event_remote_net *remote;
	struct doca_rdma_connection *c[2];
	uint64_t handle;
};

/* The two ends of the context's own two connections; the event is at the second one's side. */
static void signals_up(struct rig *r, struct signals *s)
{
	const void *d0, *d1;
	const uint8_t *blob;
	size_t size;

	rig_make(r);
	OK(doca_ctx_start(r->ctx));
	OK(doca_rdma_get_dpa_handle(r->rdma, &r->handle));
	OK(doca_rdma_export(r->rdma, &d0, &size, &s->c[0]));
	OK(doca_rdma_export(r->rdma, &d1, &size, &s->c[1]));
	OK(doca_rdma_connect(r->rdma, d1, size, s->c[0]));
	OK(doca_rdma_connect(r->rdma, d0, size, s->c[1]));
	OK(doca_sync_event_create(&s->se));
	OK(doca_sync_event_add_publisher_location_remote_net(s->se));
	OK(doca_sync_event_add_subscriber_location_cpu(s->se, r->dev));
	OK(doca_sync_event_start(s->se));
	OK(doca_sync_event_export_to_remote_net(s->se, &blob, &size));
	OK(doca_sync_event_remote_net_create_from_export(r->dev, blob, size, &s->remote));
	OK(doca_sync_event_remote_net_get_dpa_handle(s->remote, r->dpa, &s->handle));
}

static void signals_down(struct rig *r, struct signals *s)
{
	OK(doca_sync_event_remote_net_destroy(s->remote));
	rig_do(r, (struct cmd){.op = CMD_FINISH});
	r->foul = true; /* has finished */
	OK(doca_ctx_stop(r->ctx));
	OK(doca_sync_event_destroy(s->se));
	rig_down(r);
}

static void signal_peer(struct rig *r, const struct signals *s, uint64_t op, uint64_t value)
{
	rig_do(r, (struct cmd){.op = op, .rdma = r->handle, .event = s->handle, .value = value});
}

/* 4b.4: each is reported once, although it has no flags. */
Test(faults, signals)
{
	struct signals s;
	uint64_t value;
	struct rig r;

	signals_up(&r, &s);
	signal_peer(&r, &s, CMD_SIGNAL_SET, 40);
	cr_assert_eq(rig_element(&r).type, 0u);
	OK(doca_sync_event_get(s.se, &value));
	cr_assert_eq(value, 40u);
	signal_peer(&r, &s, CMD_SIGNAL_ADD, 3);
	cr_assert_eq(rig_element(&r).type, 0u);
	OK(doca_sync_event_get(s.se, &value));
	cr_assert_eq(value, 43u);
	cr_assert(rig_no_element(&r));
	signals_down(&r, &s);
}

/* The host waits in the API's call for an action of a peer's device code. */
Test(faults, a_signal_wakes_the_waiter)
{
	struct signals s;
	struct rig r;

	signals_up(&r, &s);
	for (uint64_t i = 1; i <= 20; i++) {
		rig_begin(&r, (struct cmd){.op = i % 2 ? CMD_SIGNAL_SET : CMD_SIGNAL_ADD,
					   .rdma = r.handle,
					   .event = s.handle,
					   .value = i % 2 ? i : 1});
		OK(doca_sync_event_wait_gt(s.se, i - 1, ~0ull));
		rig_wait(&r);
		rig_element(&r);
	}
	signals_down(&r, &s);
}
