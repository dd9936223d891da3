/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * icrc_rate - the cost of the ICRC: each implementation of CRC-32, packets of several sizes in
 * cache; the best of several rounds, because other work of the machine only adds time.
 */
#include "timing.h"

#include <stdio.h>
#include <wire/crc32.h>
#include <wire/roce.h>

#define ROUNDS 9
#define BYTES  (8u << 20) /* of a round */
#define MOST   4096u

static uint8_t from[MOST], to[MOST];
static volatile uint32_t sink;

/* Return the seconds for one packet of n bytes. */
static double copy_cost(dpa_crc32_fn *fn, uint8_t *dst, uint32_t n)
{
	uint32_t times = BYTES / (n + 64), s = ~0u;
	double best = 1e9;

	for (int r = 0; r < ROUNDS; r++) {
		double t = bench_seconds();

		for (uint32_t i = 0; i < times; i++)
			s = fn(s, dst, from, n);
		t = (bench_seconds() - t) / times;
		best = t < best ? t : best;
	}
	sink = s;
	return best;
}

static void print_rates(const char *name, dpa_crc32_fn *fn)
{
	static const uint32_t sizes[] = {16, 60, 256, 1024, 4096};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		double sum = copy_cost(fn, NULL, sizes[i]), copy = copy_cost(fn, to, sizes[i]);

		printf("%-8s %5u B  sum %8.1f ns %6.2f GB/s   and copy %8.1f ns %6.2f GB/s\n", name,
		       sizes[i], sum * 1e9, sizes[i] / sum * 1e-9, copy * 1e9,
		       sizes[i] / copy * 1e-9);
	}
}

static void whole_packets(void)
{
	struct dpa_roce_net net = {.src = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1},
				   .dst = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 2}};
	static const uint32_t sizes[] = {20, 1040, 4112};
	static uint8_t p[4112];
	uint16_t id;
	bool df;

	for (size_t i = 0; i < 3; i++) {
		double ok = 1e9, solve = 1e9;

		for (int r = 0; r < ROUNDS; r++) {
			double t = bench_seconds(), u;

			for (int k = 0; k < 1000; k++)
				sink = dpa_icrc_ok(&net, p, sizes[i]);
			u = bench_seconds();
			for (int k = 0; k < 1000; k++)
				sink = dpa_icrc_solve(&net, p, sizes[i], &id, &df);
			ok = u - t < ok ? u - t : ok;
			solve = bench_seconds() - u < solve ? bench_seconds() - u : solve;
		}
		printf("packet   %5u B  check %6.1f ns   solve for the identification %6.1f ns\n",
		       sizes[i], ok * 1e6, solve * 1e6);
	}
}

int main(void)
{
	for (uint32_t i = 0; i < MOST; i++)
		from[i] = (uint8_t)(i * 2654435761u >> 13);
	print_rates("tables", dpa_crc32_table);
	if (dpa_crc32_clmul_init())
		print_rates("clmul", dpa_crc32_clmul);
	if (dpa_crc32_vclmul_init())
		print_rates("vclmul", dpa_crc32_vclmul);
	if (dpa_crc32_arm_init())
		print_rates("arm", dpa_crc32_arm);
	whole_packets();
	return 0;
}
