/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A UDP socket does not show the IPv4 identification that the ICRC covers. A sender that has been
 * seen to count from 0 in each call is held to that; one that does not is believed.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include "harness.h"
#include "link/wire.h"

#define SURE 16u

static const uint8_t from[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
static const uint8_t to[16] = {[10] = 0xff, 0xff, 10, 0, 0, 2};

struct sender {
	struct th *th;
	struct dpa_wire *wire;
	struct dpa_remote far; /* where the packets come from */
	_Atomic uint32_t refused;
};

static void set_up(struct sender *s)
{
	memset(s, 0, sizeof(*s));
	s->far.peer.wire = true;
	memcpy(s->far.net.dst, from, 16);
	memcpy(s->far.net.src, to, 16);
	s->th = th_new(&(struct th_opt){0});
	cr_assert_eq(posix_memalign((void **)&s->wire, DPA_CACHE_LINE, sizeof(*s->wire)), 0);
	memset(s->wire, 0, sizeof(*s->wire));
	atomic_store(&s->th->hw->wire, s->wire);
}

static void tear_down(struct sender *s)
{
	atomic_store(&s->th->hw->wire, NULL);
	free(s->wire);
	th_free(s->th);
}

/* A packet that left with this identification. */
struct made {
	struct dpa_frame f;
	uint8_t bytes[128];
};

static void make(struct sender *s, uint16_t id, struct made *m)
{
	struct dpa_roce_pkt k = {.opcode = DPA_BTH_SEND_ONLY,
				 .mig = true,
				 .pkey = DPA_ROCE_PKEY,
				 .dqpn = s->th->b.qp->qpn,
				 .psn = 7};

	m->f = (struct dpa_frame){.p = m->bytes,
				  .net = {.sport = 50000,
					  .dport = DPA_ROCE_PORT,
					  .df = true,
					  .hop = 64,
					  .ip_id = id}};
	memcpy(m->f.net.src, from, 16);
	memcpy(m->f.net.dst, to, 16);
	m->f.n = dpa_roce_encode_all(&m->f.net, &k, m->bytes, sizeof(m->bytes));
	cr_assert(m->f.n);
	m->f.net.ip_id = 0; /* the socket says nothing of it */
}

static bool taken(struct sender *s, const struct made *m)
{
	struct dpa_frame f = m->f;
	struct dpa_roce_pkt got;

	return dpa_frame_check(s->th->hw, &f, &got);
}

/* Frames of a slot off a lane come this way as well, and the slot is counted with its lane. */
Test(udp_identification, what_is_counted_with_its_lane_is_not_counted_again)
{
	struct dpa_frame f;
	struct sender s;
	struct made m;

	set_up(&s);
	make(&s, 0, &m);
	for (uint32_t i = 0; i < 3; i++) {
		f = m.f;
		dpa_frame_in(s.th->hw, s.th->peer, &f, false);
	}
	cr_expect_eq(s.wire->rx_stat.packets, 0);
	s.th->b.qp->peer = &s.far.peer;
	f = m.f;
	dpa_frame_in(s.th->hw, NULL, &f, false);
	cr_expect_eq(s.wire->rx_stat.packets, 1);
	s.th->b.qp->peer = NULL;
	tear_down(&s);
}

static bool believed(struct sender *s, uint16_t id)
{
	struct made m;

	make(s, id, &m);
	return taken(s, &m);
}

/* How sure we are of the only sender there is. */
static _Atomic uint8_t *sure_of(struct sender *s)
{
	for (uint32_t i = 0; i < 256; i++)
		if (atomic_load(&s->wire->counts_from_0[i]))
			return &s->wire->counts_from_0[i];
	cr_assert_fail("nothing is known of it");
	return NULL;
}

Test(udp_identification, who_counts_from_0_is_held_to_it)
{
	struct sender s;

	set_up(&s);
	cr_expect(believed(&s, 4711), "nothing is known of it");
	for (uint32_t i = 0; i < 100; i++)
		cr_expect(believed(&s, 0));
	cr_expect_eq(atomic_load(sure_of(&s)), SURE);
	cr_expect(believed(&s, 63), "pieces of one call");
	cr_expect_not(believed(&s, 4711), "one corrupted packet of 65,536 would look like this");
	cr_expect_eq(th_count(s.th, DPA_CNT_rx_icrc_encapsulated), 1);
	cr_expect(believed(&s, 4712), "another one soon after: it does not count from 0 after all");
	tear_down(&s);
}

#define ROUNDS 1000000u

static void *doubts(void *arg)
{
	struct sender *s = arg;
	struct made m;

	make(s, 1000, &m);
	for (uint32_t i = 0; i < ROUNDS; i++)
		atomic_fetch_add(&s->refused, !taken(s, &m));
	return NULL;
}

/*
 * Two threads doubted at once: how sure we were went below 0, around to 255, and its packets were
 * refused from then on.
 */
Test(udp_identification, two_threads_doubt_at_once)
{
	struct sender s;
	struct made m, from_0;
	pthread_t t;

	set_up(&s);
	make(&s, 1000, &m);
	make(&s, 0, &from_0);
	cr_assert_eq(pthread_create(&t, NULL, doubts, &s), 0);
	for (uint32_t i = 0; i < ROUNDS; i++)
		atomic_fetch_add(&s.refused, !taken(&s, &from_0) + !taken(&s, &m));
	pthread_join(t, NULL);
	cr_expect_eq(atomic_load(&s.refused), 0);
	tear_down(&s);
}
