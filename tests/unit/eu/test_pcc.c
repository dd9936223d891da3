/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_pcc.c - the thread on which a congestion control algorithm runs, by placement
 * (docs/congestion.md): an algorithm that records its calling thread, under the real transport, on
 * real EUs.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include "wire/opcode.h"
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "eu/eu.h"
#include "eu/eu.c"
#include "harness.h"
#include "link/udp/wire.h"
#include "link/udp/udp.h"

TestSuite(eu_pcc, .timeout = 60);

/* ------------------------------------------------- the algorithm that tells */

static _Atomic uint32_t heard[DPA_PCC_EVENTS];
static _Atomic pid_t by[DPA_PCC_EVENTS]; /* the thread of the last call */

void dpa_inject_steal(struct dpa_hw *h, bool service)
{
}

static void tell_init(void *priv, const void *param, uint64_t now)
{
	(void)priv;
	(void)param;
	(void)now;
}

static void tell_event(void *priv, const void *param, const struct dpa_pcc_event *ev)
{
	(void)priv;
	(void)param;
	atomic_store(&by[ev->type], gettid());
	atomic_fetch_add(&heard[ev->type], 1);
}

/* It requests all events and limits nothing. */
static void tell_get(const void *priv, const void *param, struct dpa_pcc_result *res)
{
	(void)priv;
	(void)param;
	*res = (struct dpa_pcc_result){.rate = DPA_PCC_NO_LIMIT,
				       .wake = DPA_PCC_NEVER,
				       .window = 1 << 20,
				       .events = (1u << DPA_PCC_EVENTS) - 1};
}

static const struct dpa_pcc_algo tell = {
	.name = "tell", .init = tell_init, .on_event = tell_event, .get = tell_get};

/* --------------------------------------------------------------- the socket */

static struct th *th;
static _Atomic uint32_t comes; /* opcode of the packet in the socket; 0: none */
static _Atomic uint32_t psn;

/* The first thread that polls takes it. */
int dpa_udp_rx(struct dpa_hw *hw)
{
	struct dpa_roce_pkt k = {.opcode = (uint8_t)atomic_exchange(&comes, 0),
				 .pkey = DPA_ROCE_PKEY,
				 .dqpn = th->a.qp->qpn,
				 .psn = atomic_load(&psn),
				 .syndrome = DPA_AETH_ACK | DPA_AETH_NO_CREDITS,
				 .becn = true};
	struct dpa_frame f = {.n = 0};

	if (!k.opcode)
		return 0;
	dpa_qp_leave(dpa_pkt_deliver(hw, NULL, th->peer, &f, &k));
	return 1;
}

static void setup(void)
{
	th = th_new(&(struct th_opt){.psn = 7, .retry = 7, .timeout = 20, .wire = true});
	dpa_pcc_init(&th->a.qp->pcc, &tell, NULL, th_now);
	atomic_store(&th->hw->udp->fd, open("/dev/null", O_RDONLY | O_CLOEXEC));
	atomic_store(&psn, 7);
	cr_assert_eq(dpa_eu_init(th->hw), 0);
}

static void teardown(void)
{
	int fd = atomic_exchange(&th->hw->udp->fd, -1);

	dpa_eu_detach(th->a.qp);
	dpa_eu_fini(th->hw);
	close(fd);
	th_free(th);
}

/* Send one packet by a doorbell, as any poster does. */
static void post(void)
{
	struct th_side *s = &th->a;
	struct th_wr wr = {.op = DPA_OP_RDMA_WRITE,
			   .flags = DPA_WQE_SIGNALED,
			   .nsge = 1,
			   .sge = {{(uintptr_t)s->mem, 64, s->key}},
			   .raddr = (uintptr_t)th->b.mem,
			   .rkey = th->b.key};
	union {
		struct dpa_db db;
		uint64_t word;
	} u = {.db = {.opcode = DPA_OP_DOORBELL}};

	cr_assert(th_post(s, &wr));
	u.db.pi = s->pi;
	__atomic_store_n(&s->qp->slot->word, u.word, __ATOMIC_RELEASE);
	if (atomic_load_explicit(&s->qp->placement, memory_order_relaxed) == DPA_PLACE_EU)
		dpa_hw_kick_sq(s->qp);
	else
		dpa_hw_ring_sq(s->qp);
}

static void until_heard(uint32_t type, uint32_t times)
{
	while (atomic_load(&heard[type]) < times)
		sched_yield();
}

static bool is_eu(pid_t tid, const char *want)
{
	char path[64], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)tid);
	f = fopen(path, "r");
	cr_assert_not_null(f, "%s", path);
	cr_assert_not_null(fgets(name, sizeof(name), f));
	fclose(f);
	name[strcspn(name, "\n")] = '\0';
	return !strcmp(name, want);
}

/* The EU reports packets that it sends, and those that it takes from the socket. */
Test(eu_pcc, on_an_eu_by_eu_placement)
{
	static const struct {
		uint8_t opcode;
		uint32_t type;
	} in[] = {{DPA_BTH_CNP, DPA_PCC_CNP}, {DPA_BTH_RC | DPA_BTH_ACK, DPA_PCC_ACK}};

	setup();
	cr_assert_eq(dpa_hw_set_placement(th->a.qp, DPA_PLACE_EU, 3), 0);
	post();
	until_heard(DPA_PCC_SENT, 1);
	cr_expect(is_eu(atomic_load(&by[DPA_PCC_SENT]), "dpa-eu-3"));
	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
		atomic_store(&comes, in[i].opcode);
		post(); /* it is awake */
		until_heard(in[i].type, 1);
		cr_expect(is_eu(atomic_load(&by[in[i].type]), "dpa-eu-3"), "%u", in[i].type);
	}
	until_heard(DPA_PCC_SENT, 3);
	cr_expect(is_eu(atomic_load(&by[DPA_PCC_SENT]), "dpa-eu-3"));
	teardown();
}

/*
 * An application that polls takes packets from the socket as well, and reports their events itself:
 * it does not hand them to the EU.
 */
Test(eu_pcc, taken_completions_are_reported_by_the_application)
{
	setup();
	cr_assert_eq(dpa_hw_set_placement(th->a.qp, DPA_PLACE_EU, 0), 0);
	post();
	until_heard(DPA_PCC_SENT, 1);
	while (!atomic_load(&th->a.qp->eu->sleep))
		sched_yield();
	atomic_store(&comes, DPA_BTH_CNP);
	while (!atomic_load(&heard[DPA_PCC_CNP]))
		dpa_hw_progress(&th->ctx);
	cr_expect_eq(atomic_load(&by[DPA_PCC_CNP]), gettid());
	teardown();
}

Test(eu_pcc, on_the_posting_thread_by_inline_placement)
{
	setup();
	post();
	cr_expect_eq(atomic_load(&heard[DPA_PCC_SENT]), 1);
	cr_expect_eq(atomic_load(&by[DPA_PCC_SENT]), gettid());
	atomic_store(&comes, DPA_BTH_CNP);
	while (!atomic_load(&heard[DPA_PCC_CNP]))
		dpa_hw_progress(&th->ctx);
	cr_expect_eq(atomic_load(&by[DPA_PCC_CNP]), gettid());
	cr_expect_eq(th->hw->neus, 0, "there is no other thread");
	teardown();
}
