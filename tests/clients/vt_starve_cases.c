/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_starve_cases.c - UC and UD to a receiver that has one receive posted at a time: most messages
 * wait for it while the sender continues. They may be lost, but each success is one message that
 * was sent, complete, and only once.
 */
#include "vt.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>

enum { LEN = 3000, UD_LEN = 1000, GRH = 40, ROOM = 4096, WANTED = 5000 };
enum { SEND_AT, RECV_AT = ROOM };

struct mode {
	enum ibv_qp_type type;
	uint32_t len, grh;
};

/* Send messages, each with the pattern of its number, until the receiver reports the end. */
static void sender(struct vt *t, const struct mode *m)
{
	struct ibv_ah *ah = m->type == IBV_QPT_UD ? vt_ah(t, &t->peer) : NULL;
	ssize_t r = -1;
	char done;

	for (uint32_t n = 0; r < 0; n++, r = recv(t->sock, &done, 1, MSG_DONTWAIT)) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, IBV_WR_SEND_WITH_IMM, &sge, SEND_AT, 0, m->len);

		vt_fill(t->buf + SEND_AT, m->len, n);
		wr.wr_id = n;
		wr.imm_data = htonl(n);
		if (ah) {
			wr.wr.ud.ah = ah;
			wr.wr.ud.remote_qpn = t->peer.qpn;
			wr.wr.ud.remote_qkey = t->peer.qkey;
		}
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		vt_wc_is(t, n, IBV_WC_SUCCESS);
		memset(t->buf + SEND_AT, 0xee, m->len);
	}
	CHECK(r == 1, "the other side has ended");
	if (ah)
		CHECK_EQ(ibv_destroy_ah(ah), 0);
}

static void receiver(struct vt *t, const struct mode *m)
{
	const uint32_t room = m->len + m->grh;
	uint32_t next = 0;

	for (uint32_t got = 0; got < WANTED; got++) {
		struct ibv_wc wc;
		uint32_t n;

		vt_poison(t->buf + RECV_AT, ROOM);
		CHECK_EQ(vt_recv(t, RECV_AT, room, got), 0);
		wc = vt_wc_is(t, got, IBV_WC_SUCCESS);
		n = ntohl(wc.imm_data);
		CHECK(n >= next, "message %u behind message %u", n, next - 1);
		CHECK_EQ(wc.byte_len, room);
		CHECK(vt_differs(t->buf + RECV_AT + m->grh, m->len, n) == m->len,
		      "message %u: byte %zu is wrong", n,
		      vt_differs(t->buf + RECV_AT + m->grh, m->len, n));
		CHECK(vt_is_poison(t->buf + RECV_AT + room, ROOM - room),
		      "message %u: bytes behind it were written", n);
		next = n + 1;
		if (got % 16 == 0)
			sched_yield();
	}
	CHECK_EQ(send(t->sock, "d", 1, MSG_NOSIGNAL), 1);
}

static void starve(struct vt *t, const struct mode *m)
{
	struct vt_opt o = {.type = m->type};

	vt_setup(t, &o);
	if (t->side == 0)
		sender(t, m);
	else
		receiver(t, m);
	vt_close(t);
}

static void uc_send(struct vt *t)
{
	starve(t, &(struct mode){IBV_QPT_UC, LEN, 0});
}

static void ud(struct vt *t)
{
	starve(t, &(struct mode){IBV_QPT_UD, UD_LEN, GRH});
}

static const struct vt_case cases[] = {
	{"uc_send", uc_send, VT_BOTH, 0},
	{"ud", ud, VT_BOTH, 0},
};

VT_MAIN(cases)
