/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_keys.c - R_Keys: what an attacker can learn about them, and the cost of a guess. */
#include "ctx/mr.h"
#include "requests.h"

#define REGIONS 4096u
#define TAGS	(1u << DPA_KEY_TAG_BITS)

static uint32_t tag_of(uint32_t key)
{
	return key & (TAGS - 1);
}

static uint32_t new_region(struct th *th, uint32_t access)
{
	struct dpa_mr_attr mr = {.pdn = 1, .access = access, .length = 4096};
	uint32_t key;

	mr.addr = mr.iova = (uintptr_t)th->b.mem;
	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &mr, &key), 0);
	return key;
}

/*
 * ReDMArk: keys that count up. Here the low 14 bits are random: each value has about the same
 * frequency.
 */
Test(security_keys, tags_are_random)
{
	static uint32_t bucket[16];
	struct th *th = rc();
	uint32_t last = 0, next = 0, bits[DPA_KEY_TAG_BITS] = {0};

	for (uint32_t i = 0; i < REGIONS; i++) {
		uint32_t key = new_region(th, TH_ALL), tag = tag_of(key);

		next += tag == last + 1;
		last = tag;
		bucket[tag * 16 / TAGS]++;
		for (uint32_t b = 0; b < DPA_KEY_TAG_BITS; b++)
			bits[b] += tag >> b & 1;
	}
	cr_expect_lt(next, 8u, "%u keys follow the one before", next);
	for (int i = 0; i < 16; i++) /* 256 expected, standard deviation 15.5: 8 of them */
		cr_expect(bucket[i] > 132 && bucket[i] < 380, "%u keys in sixteenth %d", bucket[i],
			  i);
	for (uint32_t b = 0; b < DPA_KEY_TAG_BITS; b++) /* 2048, 32 */
		cr_expect(bits[b] > 1792 && bits[b] < 2304, "bit %u is set in %u", b, bits[b]);
	th_free(th);
}

/* The same memory, the same entry: another key each time, and the old one is invalid. */
Test(security_keys, a_key_ends_with_its_region)
{
	struct th *th = rc();

	for (int i = 0; i < 64; i++) {
		uint32_t key = new_region(th, TH_ALL);
		uint64_t addr;

		cr_expect_eq(dpa_mr_check_remote(th->b.qp, key, (uintptr_t)th->b.mem, 8,
						 DPA_ACCESS_REMOTE_WRITE, &addr),
			     0);
		cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
		cr_expect_neq(dpa_mr_check_remote(th->b.qp, key, (uintptr_t)th->b.mem, 8,
						  DPA_ACCESS_REMOTE_WRITE, &addr),
			      0);
	}
	th_free(th);
}

/*
 * A wrong guess ends the connection: there is no second one, and nothing was written or revealed.
 */
Test(security_keys, one_guess_a_connection)
{
	static const uint8_t ops[] = {DPA_BTH_WRITE_ONLY, DPA_BTH_READ_REQUEST,
				      DPA_BTH_COMPARE_SWAP, DPA_BTH_FETCH_ADD};

	for (int i = 0; i < 4; i++) {
		struct th *th = rc();
		uint8_t before[4096];
		struct th_pkt p;

		th_fill(th->b.mem, sizeof(before), 9);
		memcpy(before, th->b.mem, sizeof(before));
		give_remote(th, ops[i], 0, (uintptr_t)th->b.mem, th->b.key ^ 1, 8);
		expect_ack(th, 0, NAK(DPA_NAK_REM_ACCESS));
		expect_error(th, DPA_EVENT_QP_ACCESS_ERR);
		give_remote(th, ops[i], 0, (uintptr_t)th->b.mem, th->b.key, 8);
		th_flush(&th->b);
		while (th_take(&th->b, &p)) /* the message for "no answer" on this link */
			cr_expect_eq(p.s.opcode, DPA_LINK_NO_QP);
		cr_expect_arr_eq(th->b.mem, before, sizeof(before));
		th_free(th);
	}
}

/*
 * A key of another protection domain is as wrong as one that does not exist (NeVerMore: tenants).
 */
Test(security_keys, another_domains_key_is_wrong)
{
	struct th *th = rc();
	uint64_t addr;

	th->b.qp->pdn = 2;
	cr_expect_neq(dpa_mr_check_remote(th->b.qp, th->b.key, (uintptr_t)th->b.mem, 8,
					  DPA_ACCESS_REMOTE_READ, &addr),
		      0);
	th->b.qp->pdn = 1;
	cr_expect_eq(dpa_mr_check_remote(th->b.qp, th->b.key, (uintptr_t)th->b.mem, 8,
					 DPA_ACCESS_REMOTE_READ, &addr),
		     0);
	th_free(th);
}

/* Ranges that wrap, or that exceed the region at either end: none gets an address. */
Test(security_keys, no_address_outside_the_region)
{
	struct th *th = rc();
	uint32_t key = new_region(th, TH_ALL);
	uint64_t base = (uintptr_t)th->b.mem, seed = 11, addr;

	for (int i = 0; i < 200000; i++) {
		uint64_t va = base + (int64_t)(int32_t)th_rand(&seed) % 8192;
		uint64_t len = th_rand(&seed) % 8192;
		bool in = va >= base && va <= base + 4096 && len <= base + 4096 - va;

		if (i % 16 == 0)
			va = (uint64_t)th_rand(&seed) << 32 | th_rand(&seed), in = false;
		if (i % 16 == 1)
			len = UINT64_MAX - th_rand(&seed) % 8192, in = false;
		if (!dpa_mr_check_remote(th->b.qp, key, va, len, DPA_ACCESS_REMOTE_WRITE, &addr)) {
			cr_assert(in ||
				  (va >= base && va - base <= 4096 && len <= 4096 - (va - base)));
			cr_assert_eq(addr, va);
		} else {
			cr_assert_not(in);
		}
	}
	th_free(th);
}

/* IBA 9.7.4 (key-first) */
Test(security_keys, a_write_that_ends_outside_writes_nothing)
{
	struct th *th = rc();
	uint32_t key = new_region(th, TH_ALL);
	struct th_pkt p;
	uint8_t before[8192];

	th_fill(th->b.mem, sizeof(before), 3);
	memcpy(before, th->b.mem, sizeof(before));
	th_forge(&th->a, &p, DPA_BTH_WRITE_FIRST, PSN0, MTU);
	*th_ext(&p) = (struct dpa_ext){
		.va = (uintptr_t)th->b.mem + 2048, .rkey = key, .dmalen = 2 * MTU + 1};
	th_give(&th->b, &p);
	expect_ack(th, 0, NAK(DPA_NAK_REM_ACCESS));
	cr_expect_arr_eq(th->b.mem, before, sizeof(before));
	th_free(th);
}
