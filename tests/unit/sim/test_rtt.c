/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The algorithm that follows round trip times (device/pcc/rtt.c), several flows into one: the link
 * of test_incast.c without PFC, whose queue of 4 MiB must not fill. With ACKs as the only samples,
 * a raise for each of them, and cuts while the queue drains, 16 flows had 0.26 Gbit/s together.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include "sim/sim.h"

#define PAYLOAD_BPS (40e9 * 1024 / (1024 + DPA_SIM_HEADERS))
#define QUEUE	    (4u << 20)
#define SETTLE_NS   UINT64_C(50000000)
#define RUN_NS	    UINT64_C(300000000)

static struct dpa_sim_scenario s;
static struct dpa_sim_sample x;

static void incast(uint32_t n)
{
	double bytes[16] = {0}, all = 0, used;
	uint64_t queue = 0, lost = 0;
	char text[256], err[256];
	struct dpa_sim *sim;

	snprintf(text, sizeof(text),
		 "link = rate=40G,delay=2us,queue=4M,ecn=5000:200000:1%%,seed=3\nhost = 40G\ntime "
		 "= 300ms\n"
		 "sample = 1ms\nflow = count=%u,algorithm=rtt",
		 n);
	cr_assert(dpa_sim_parse(text, &s, err, sizeof(err)), "%s", err);
	sim = dpa_sim_new(&s);
	cr_assert_not_null(sim);
	while (dpa_sim_run(sim, &x))
		for (uint32_t i = 0; x.at > SETTLE_NS && i < n; i++) {
			queue = x.queue_max > queue ? x.queue_max : queue;
			bytes[i] += (double)x.flow[i].bytes;
			all += (double)x.flow[i].bytes;
			lost += x.flow[i].lost;
		}
	used = all * 8e9 / (double)(RUN_NS - SETTLE_NS) / PAYLOAD_BPS;
	cr_expect_geq(used, 0.85, "%u flows use %.3f", n, used);
	cr_expect_lt(queue, QUEUE, "%lu", queue);
	cr_expect_eq(lost, 0u, "%lu", lost);
	for (uint32_t i = 0; i < n; i++)
		cr_expect(fabs(bytes[i] * n / all - 1) < 0.25, "flow %u of %u: %.3f", i, n,
			  bytes[i] * n / all);
	dpa_sim_free(sim);
}

Test(rtt, two_into_one)
{
	incast(2);
}

Test(rtt, sixteen_into_one)
{
	incast(16);
}
