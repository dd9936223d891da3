/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fuzz_responder.c - all that is behind the codec: packets to QPs in the middle of their work
 * (qps.h), one by one, as dpa_pkt_deliver() gets them. Requester and responder, with their
 * out-of-order queues, timers and windows if packets may be lost.
 *
 * Input: a byte for the QPs (enum fuzz_kind), then packets: a byte (enum fuzz_how), length (16
 * bits), bytes. Without bytes: FLUSH delivers the packets that the QPs sent each other, else
 * fuzz_more(). The ICRC is not checked: a fuzzer does not find it.
 */
#include <stdlib.h>
#include "ctx/qp.h"
#include "qps.h"
#include "transport/api.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROOM 64 /* in front of a frame */

static void give(struct fuzz *f, uint8_t how, const uint8_t *p, size_t n)
{
	static uint8_t bytes[DPA_ROCE_MAX_HDR + DPA_ROCE_MAX_MTU + 8];
	struct dpa_frame frame = {.n = 0};
	struct dpa_roce_pkt k;
	struct dpa_hw_qp *qp;
	uint8_t *room;

	fuzz_net(f, &frame.net);
	frame.n = fuzz_put_right(f, how, &frame.net, p, n, bytes, sizeof(bytes));
	f->ahead[0] = f->ahead[1] = 0;
	room = malloc(ROOM + frame.n); /* the sanitizers see a byte too many */
	if (!room)
		abort();
	memset(room, 0, ROOM);
	memcpy(room + ROOM, bytes, frame.n);
	frame.p = room + ROOM;
	if (frame.n && dpa_roce_decode(frame.p, frame.n, &k) == DPA_ROCE_OK) {
		qp = dpa_pkt_deliver(f->th->hw, NULL, f->th->peer, &frame, &k);
		if (how & FLUSH)
			dpa_pkt_done(qp, true);
		else if (qp)
			dpa_qp_leave(qp);
	}
	free(room);
}

/* Carry packets between the two: for XRC the target is not B's own QP. */
static void let_talk(struct fuzz *f)
{
	if (f->qp[1] != f->th->b.qp)
		return;
	th_deliver(&f->th->a);
	th_deliver(&f->th->b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f;
	size_t at = 1;

	if (size < 4)
		return 0;
	fuzz_begin(&f, data[0]);
	f.th->peer->wire = data[0] & KIND_WIRE; /* messages of the memory link are not for it */
	fuzz_work(&f);
	while (size - at >= 3) {
		uint8_t how = data[at];
		size_t n = data[at + 1] | (size_t)data[at + 2] << 8;

		at += 3;
		if (n > size - at)
			n = size - at;
		if (n)
			give(&f, how, data + at, n);
		else if (how & FLUSH)
			let_talk(&f);
		else
			fuzz_more(&f, how);
		at += n;
		if (!(how & NO_TICK))
			th_tick(f.th);
		if (n) {
			th_drop_all(&f.th->a);
			th_drop_all(&f.th->b);
		}
	}
	fuzz_end(&f);
	return 0;
}
