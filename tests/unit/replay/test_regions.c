/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "priv.h"

#define FAR  (UINT64_C(1) << 30) /* farther apart than ranges of one region */
#define MOST 16384u		 /* regions of a flow */

/* ---- Stand-ins for the device and the events */

static struct rp rp;
static struct dpa_replay_opt opt;
static char note[200];
static int refusal; /* of the device: an errno */
static uint32_t nkeys;
static struct dpa_replay_event event;

int alone_register(struct alone *a, void *mem, uint64_t iova, uint64_t len, uint32_t access,
		   uint32_t *key)
{
	*key = ++nkeys;
	return refusal;
}

void rp_note(struct rp *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(note, sizeof(note), fmt, ap);
	va_end(ap);
}

struct dpa_replay_event *rp_event(struct rp *r, enum dpa_replay_what what)
{
	return &event;
}

/* ---- A flow */

static void begin(uint32_t npkt)
{
	memset(&rp, 0, sizeof(rp));
	memset(&opt, 0, sizeof(opt));
	rp.o = &opt;
	rp.pkt = calloc(npkt, sizeof(*rp.pkt));
	cr_assert(rp.pkt);
	nkeys = 0;
	refusal = 0;
	note[0] = '\0';
}

static void end(void)
{
	rp_regions_free(&rp);
	free(rp.region);
	free(rp.pkt);
}

static struct rp_pkt *request(uint8_t opcode, uint32_t rkey, uint64_t va, uint32_t len)
{
	struct rp_pkt *p = &rp.pkt[rp.npkt++];

	p->icrc = true;
	p->verdict = DPA_ROCE_OK;
	p->k.opcode = opcode;
	p->k.rkey = rkey;
	p->k.va = va;
	p->k.dmalen = len;
	return p;
}

static struct rp_pkt *add_write(uint32_t rkey, uint64_t va, uint32_t len)
{
	return request(DPA_BTH_WRITE_ONLY, rkey, va, len);
}

static void user(uint32_t rkey, uint64_t addr, uint64_t len)
{
	opt.region[opt.nregions++] = (struct dpa_replay_region){
		.rkey = rkey, .addr = addr, .len = len, .access = DPA_ACCESS_REMOTE_WRITE};
}

static bool is_range(const struct dpa_replay_region *r, uint64_t addr, uint64_t len)
{
	return r->addr == addr && r->len == len;
}

/* ---- Ranges */

/* Two far ranges, then one that is near to both; all of them in every order. */
Test(replay_regions, near_ranges_are_one_region_in_any_order)
{
	static const uint8_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
					    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	const uint64_t at[] = {0x1000, 0x1000 + FAR / 5, 0x1000 + 2 * (FAR / 5)};

	for (int i = 0; i < 6; i++) {
		begin(5);
		for (int k = 0; k < 3; k++)
			add_write(7, at[orders[i][k]], 8);
		add_write(8, at[1], 8); /* another key is never near */
		request(DPA_BTH_READ_REQUEST, 7, at[2] + 2 * FAR, 16);
		cr_assert(rp_regions_make(&rp));
		cr_assert_eq(rp.nregion, 3);
		cr_expect(is_range(&rp.region[0].r, at[0], at[2] - at[0] + 8));
		cr_expect_eq(rp.region[0].r.access, DPA_ACCESS_REMOTE_WRITE);
		cr_expect(is_range(&rp.region[1].r, at[2] + 2 * FAR, 16));
		cr_expect_eq(rp.region[1].r.access, DPA_ACCESS_REMOTE_READ);
		cr_expect(is_range(&rp.region[2].r, at[1], 8));
		end();
	}
}

Test(replay_regions, keys_are_made_in_the_order_of_the_packets)
{
	begin(4);
	add_write(9, FAR, 8);
	add_write(3, FAR, 8);
	add_write(9, 8 * FAR, 8);
	add_write(9, 1, 8);
	cr_assert(rp_regions_make(&rp));
	cr_expect_eq(rp_key(&rp, 9, FAR), 1);
	cr_expect_eq(rp_key(&rp, 3, FAR), 2);
	cr_expect_eq(rp_key(&rp, 9, 8 * FAR + 8), 3);
	cr_expect_eq(rp_key(&rp, 9, 0), 4, "the next one above");
	cr_expect_eq(rp_key(&rp, 9, 9 * FAR), 3, "the one below");
	cr_expect_geq(rp_key(&rp, 4, FAR), 0xfffffffeu, "no such key");
	cr_expect_geq(rp_key(&rp, 0, FAR), 0xfffffffeu, "no such key");
	cr_expect_geq(rp_key(&rp, 10, FAR), 0xfffffffeu, "no such key");
	end();
}

/* Of a key that the user names no other region is made; its first one is for all addresses. */
Test(replay_regions, regions_of_the_user_are_first)
{
	uint8_t *known;

	begin(3);
	user(5, 16 * FAR, 4096);
	user(4, 0, 64);
	user(5, FAR, 4096);
	add_write(5, 3 * FAR, 8);
	add_write(6, 3 * FAR, 8);
	cr_assert(rp_regions_make(&rp));
	cr_expect_eq(rp.nregion, 4);
	cr_expect_eq(rp_key(&rp, 5, 0), 1);
	cr_expect_eq(rp_key(&rp, 5, 99 * FAR), 1);
	cr_expect_eq(rp_key(&rp, 4, 99 * FAR), 2);
	cr_expect_eq(rp_key(&rp, 6, 3 * FAR), 4);
	cr_expect(!rp_lacks_memory(&rp, &rp.pkt[0]));
	cr_expect_null(rp_memory(&rp, 5, 3 * FAR, 8, &known));
	cr_expect_null(rp_memory(&rp, 5, 16 * FAR + 4089, 8, &known));
	cr_expect(rp_memory(&rp, 5, 16 * FAR + 4088, 8, &known));
	end();
}

Test(replay_regions, packets_that_make_no_region)
{
	begin(7);
	add_write(1, 0, 8)->flow = 1;
	add_write(1, 0, 8)->icrc = false;
	add_write(1, 0, 8)->refused = true;
	add_write(1, 0, 8)->verdict = DPA_ROCE_OK + 1;
	add_write(1, 0, 0);
	add_write(1, UINT64_MAX - 3, 8);
	request(DPA_BTH_SEND_ONLY, 1, 0, 8);
	cr_assert(rp_regions_make(&rp));
	cr_expect_eq(rp.nregion, 0);
	cr_expect_geq(rp_key(&rp, 1, 0), 0xfffffffeu);
	end();
}

Test(replay_regions, the_first_regions_within_the_limit_remain)
{
	begin(MOST + 2);
	user(MOST + 9, 0, 8);
	for (uint32_t i = 0; i < MOST + 1; i++)
		add_write(MOST + 1 - i, FAR, 8);
	cr_assert(rp_regions_make(&rp));
	cr_expect_str_eq(note, "not replayed: more than 16384 regions");
	cr_expect_eq(rp.nregion, MOST + 1);
	cr_expect(!rp_lacks_memory(&rp, &rp.pkt[MOST - 1]));
	cr_expect(rp_lacks_memory(&rp, &rp.pkt[MOST]));
	end();
}

/* It was that of a lack of memory, whatever the device returned. */
Test(replay_regions, a_note_has_the_error_of_the_device)
{
	begin(1);
	add_write(0x77, FAR, 8);
	refusal = EFAULT;
	cr_assert(rp_regions_make(&rp));
	cr_expect_str_eq(note, "not replayed: no memory for 0x8 bytes of rkey 0x77: Bad address",
			 "%s", note);
	cr_expect_geq(rp_key(&rp, 0x77, FAR), 0xfffffffeu);
	cr_expect(rp_lacks_memory(&rp, &rp.pkt[0]));
	end();
}

/* A flow without a request that names memory: there is no array of regions. */
Test(replay_regions, none)
{
	begin(1);
	cr_assert(rp_regions_make(&rp));
	cr_expect_eq(rp.nregion, 0);
	end();
}

/* Each request of many finds the region of its own key and range: their keys differ. */
static void look_up_all(uint32_t keys, uint32_t ranges)
{
	const uint32_t n = keys * ranges;

	begin(n);
	for (uint32_t i = 0; i < n; i++)
		add_write(1 + i % keys, (1 + i / keys) * FAR, 8);
	cr_assert(rp_regions_make(&rp));
	cr_assert_eq(rp.nregion, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct rp_region *x = rp.region;
		uint32_t j = 0;

		while (j < n && (x[j].r.rkey != rp.pkt[i].k.rkey || x[j].r.addr != rp.pkt[i].k.va))
			j++;
		cr_assert_lt(j, n);
		cr_assert_eq(rp_key(&rp, rp.pkt[i].k.rkey, rp.pkt[i].k.va), x[j].key, "packet %u",
			     i);
	}
	end();
}

Test(replay_regions, many_are_found)
{
	look_up_all(1000, 1);
	look_up_all(1, 1000);
	look_up_all(40, 40);
}
