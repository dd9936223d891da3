/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* verify_program.c - the operations that both sides derive from the seed, and their bytes. */
#include "verify.h"

const char *const kind_name[] = {"send",      "write",	  "write_imm", "read",
				 "fetch_add", "cmp_swap", "count"};

uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static uint64_t word(uint64_t key, uint64_t i)
{
	uint64_t x = (key + i) * 0x9e3779b97f4a7c15ull;

	return x ^ (x >> 29);
}

void fill(uint8_t *p, size_t n, uint64_t key)
{
	size_t i = 0;
	uint64_t w;

	for (; i + 8 <= n; i += 8) {
		w = word(key, i);
		memcpy(p + i, &w, 8);
	}
	w = word(key, i);
	memcpy(p + i, &w, n - i);
}

size_t differs(const uint8_t *p, size_t n, uint64_t key)
{
	size_t i = 0;
	uint64_t w;

	for (; i + 8 <= n; i += 8) {
		w = word(key, i);
		if (memcmp(p + i, &w, 8))
			break;
	}
	for (w = word(key, i & ~7ull); i < n; i++) {
		if (!(i & 7))
			w = word(key, i);
		if (p[i] != (uint8_t)(w >> (8 * (i & 7))))
			return i;
	}
	return n;
}

void program_init(struct program *p, const struct verify *v, int side, uint32_t qp)
{
	*p = (struct program){
		.base = mix(mix(v->seed) + (uint64_t)side * MAX_QPS + qp),
		.share = v->total / 2 / v->qps,
		.length = UINT64_MAX,
	};
}

/* Mostly long, for there is much to move; every length from 1 on is possible. */
static uint32_t op_len(uint64_t r, uint32_t max)
{
	switch (r % 8) {
	case 0:
		return 1 + (uint32_t)(r >> 8) % (max < 256 ? max : 256);
	case 1:
	case 2:
		return 1 + (uint32_t)(r >> 8) % (max < 5000 ? max : 5000);
	case 3:
		return max;
	default:
		return 1 + (uint32_t)(r >> 8) % max;
	}
}

/*
 * The next operation. The peer sees the arrival of every fourth one, and of the last: so at any
 * position of the window the peer learns which places it may release.
 */
struct op program_next(struct program *p, uint32_t max)
{
	static const enum kind by[16] = {K_SEND,      K_WRITE,	   K_READ,     K_FETCH_ADD,
					 K_CMP_SWAP,  K_COUNT,	   K_WRITE,    K_READ,
					 K_WRITE_IMM, K_FETCH_ADD, K_SEND,     K_WRITE,
					 K_READ,      K_WRITE,	   K_CMP_SWAP, K_READ};
	uint64_t r = mix(p->base ^ mix(p->seq));
	struct op op = {.kind = by[r % 16], .key = mix(r)};

	op.len = op_len(r >> 4, max);
	if (p->seq % 4 == 3)
		op.kind = r & 16 ? K_SEND : K_WRITE_IMM;
	if (op.kind == K_FETCH_ADD || op.kind == K_CMP_SWAP || op.kind == K_COUNT)
		op.len = 8;
	p->bytes += op.len;
	if (p->bytes >= p->share) {
		op.last = true;
		op.kind = K_SEND;
		p->length = p->seq + 1;
	}
	p->seq++;
	return op;
}
