/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcc_event - the time from an event of a flow to the answer of the congestion control program;
 * bench/run does not start it. The program runs in another process (build/bin/samples/dpa_pcc);
 * this one reports round trips as a flow does, one at a time, and waits on the word that the flow
 * would read.
 *
 *   pcc_event [EVENTS]      prints: median, 99th percentile, mean, ns
 */
#include <stdio.h>
#include <stdlib.h>
#include "board/board_layout.h"
#include "tables/pcc.h"
#include "sort.h"
#include "timing.h"

#define GAP 3000 /* ns between an answer and the next event */

/* Report a round trip of 20 us that ends now; return the ns until the answer, 0: none in 2 s. */
static uint64_t one(struct dpa_board *b, _Atomic uint64_t *word, struct dpa_pcc_report *r)
{
	uint64_t was = atomic_load(word), begin = bench_now_ns(), now = begin;

	r->time = (uint32_t)begin;
	r->word[0] = r->time - 20000;
	if (!dpa_board_pcc_report(b, r))
		return 0;
	/* read the clock after the word: the answer may be there before the first look */
	do {
		bool there = atomic_load_explicit(word, memory_order_acquire) != was;

		now = bench_now_ns();
		if (there)
			return now - begin;
	} while (now - begin < 2000000000);
	return 0;
}

static void measure(struct dpa_board *b, uint32_t n, uint64_t *ns)
{
	uint32_t qpn = b->board_num << 16 | 1;
	struct dpa_pcc_report r = {.flow = 1u << 24 | qpn, .type = DPA_PCC_EV_RTT};
	_Atomic uint64_t *word = dpa_board_pcc_result(b, qpn);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t until;

		ns[i] = one(b, word, &r);
		if (!ns[i]) {
			fprintf(stderr, "no answer: is a program loaded? (dpa-run dpa_pcc)\n");
			exit(1);
		}
		sum += ns[i];
		for (until = bench_now_ns() + GAP; bench_now_ns() < until;)
			;
	}
	printf("%lu ", bench_median_ns(ns, n));
	printf("%lu %lu\n", ns[n - 1 - n / 100], sum / n);
}

int main(int argc, char **argv)
{
	uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100000;
	uint64_t *ns = calloc(n ? n : 1, sizeof(*ns));
	struct dpa_board_cfg cfg = {.lib_version = DPA_VERSION};
	char err[512] = "no memory";
	struct dpa_board *b;

	if (!n || !ns || dpa_board_open(&cfg, &b, err, sizeof(err)) || dpa_board_pcc_ring_open(b)) {
		fprintf(stderr, "pcc_event: %s\n", err);
		return 1;
	}
	measure(b, n, ns);
	dpa_board_close(b);
	free(ns);
	return 0;
}
