/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * door.h - the entry for packets of the UDP socket: a QP whose peer is on another host, and packets
 * for it.
 */
#ifndef DPA_TEST_SECURITY_DOOR_H
#define DPA_TEST_SECURITY_DOOR_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include "wire/opcode.h"
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "harness.h"
#include "device/link/udp/wire.h"

#define PSN0 1000u
#define MTU  1024u
#define ROOM 64

struct door {
	struct th *th;
	struct dpa_remote *remote;
	struct dpa_frame f;
	struct dpa_roce_pkt k;
	uint8_t buf[ROOM + 4200], data[4096];
};

static inline void addr(uint8_t gid[16], uint8_t last)
{
	memset(gid, 0, 16);
	gid[10] = gid[11] = 0xff;
	gid[12] = 10;
	gid[15] = last;
}

/* B's peer is on another host, at 10.0.0.1; we are 10.0.0.2. */
static inline struct door *door_of(uint32_t type)
{
	struct door *d = NULL;

	cr_assert_eq(posix_memalign((void **)&d, DPA_CACHE_LINE, sizeof(*d)), 0);
	memset(d, 0, sizeof(*d));
	d->th = th_new(&(struct th_opt){.type = type, .psn = PSN0, .retry = 7, .timeout = 14});
	cr_assert_eq(posix_memalign((void **)&d->remote, DPA_CACHE_LINE, sizeof(*d->remote)), 0);
	memset(d->remote, 0, sizeof(*d->remote));
	d->remote->peer.hw = d->th->hw;
	d->remote->peer.wire = true;
	addr(d->remote->net.src, 2);
	addr(d->remote->net.dst, 1);
	addr(d->f.net.src, 1);
	addr(d->f.net.dst, 2);
	d->f.net.sport = 50000;
	d->f.net.dport = DPA_ROCE_PORT;
	d->f.net.df = true;
	d->f.net.hop = 64;
	d->f.sure = true;
	if (type != DPA_QP_UD)
		d->th->b.qp->peer = &d->remote->peer;
	th_fill(d->data, sizeof(d->data), 77);
	d->k = (struct dpa_roce_pkt){.opcode = (type == DPA_QP_UC   ? DPA_BTH_UC
						: type == DPA_QP_UD ? DPA_BTH_UD
								    : DPA_BTH_RC) |
					       DPA_BTH_SEND_ONLY,
				     .mig = true,
				     .pkey = DPA_ROCE_PKEY,
				     .dqpn = d->th->b.qp->qpn,
				     .psn = PSN0,
				     .qkey = 0x11111111,
				     .sqpn = 0x123456,
				     .payload = d->data,
				     .len = 100};
	th_recv(&d->th->b, 1, 0, 4096);
	th_recv(&d->th->b, 2, 4096, 4096);
	return d;
}

static inline void close_door(struct door *d)
{
	d->th->b.qp->peer = NULL;
	th_free(d->th);
	free(d->remote);
	free(d);
}

/*
 * Give the packet as bytes; icrc_xor: error of its ICRC. Answers stay pending: there is no wire
 * here.
 */
static inline void knock(struct door *d, uint32_t icrc_xor)
{
	struct dpa_hw_qp *qp;
	struct dpa_roce_pkt got;

	d->f.p = d->buf + ROOM;
	d->f.n = dpa_roce_encode_all(&d->f.net, &d->k, d->buf + ROOM, sizeof(d->buf) - ROOM);
	cr_assert(d->f.n);
	for (int i = 0; i < 4; i++)
		d->buf[ROOM + d->f.n - 4 + (uint32_t)i] ^= (uint8_t)(icrc_xor >> (8 * i));
	d->f.ip_known = true;
	if (!dpa_frame_check(d->th->hw, &d->f, &got))
		return;
	if (!dpa_qpn_is_ours(d->th->hw, got.dqpn)) {
		dpa_count(d->th->hw, DPA_CNT_rx_dropped, 1);
		return;
	}
	qp = dpa_pkt_deliver(d->th->hw, NULL, NULL, &d->f, &got);
	if (qp)
		dpa_qp_leave(qp);
}

static inline uint64_t errors(struct door *d)
{
	return th_count(d->th, DPA_CNT_rx_dropped) + th_count(d->th, DPA_CNT_rx_malformed) +
	       th_count(d->th, DPA_CNT_rx_icrc_encapsulated);
}

/* Check that the QP is unchanged, and that nothing was received, written or is pending. */
static inline void expect_untouched(struct door *d, const char *why)
{
	struct dpa_resp *r = &d->th->b.qp->resp;
	static const uint8_t zero[8192];
	struct dpa_cqe e;

	cr_expect_eq(r->epsn, PSN0, "%s", why);
	cr_expect_eq(r->msn, 0, "%s", why);
	cr_expect_not(r->have_wqe, "%s", why);
	cr_expect_not(r->ack_owed, "%s", why);
	cr_expect_eq(d->th->b.qp->rq_ci, 0, "%s", why);
	cr_expect_eq(d->th->b.qp->state, DPA_QPS_RTS, "%s", why);
	cr_expect_not(th_poll(&d->th->b.rcq, &e), "%s", why);
	cr_expect_arr_eq(d->th->b.mem, zero, sizeof(zero), "%s", why);
}

static inline void expect_refused(struct door *d, uint32_t icrc_xor, const char *why)
{
	uint64_t before = errors(d);

	knock(d, icrc_xor);
	cr_expect_eq(errors(d), before + 1, "%s: it is counted", why);
	expect_untouched(d, why);
}

static inline void expect_taken(struct door *d)
{
	uint64_t before = errors(d);
	struct dpa_cqe e;

	knock(d, 0);
	cr_expect_eq(errors(d), before);
	cr_assert(th_poll(&d->th->b.rcq, &e), "the right one is taken");
	cr_expect_eq(e.status, DPA_CQE_OK);
}

#endif
