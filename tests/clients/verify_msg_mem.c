/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* verify_msg_mem.c - contents of messages, and their memory. */
#include "verify_msg.h"

#include <sys/mman.h>

/* Device memory is copied in words. */
static size_t words(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

void msg_put(struct msgs *m, size_t off, const void *from, size_t n)
{
	if (m->dm)
		CHECK_EQ(ibv_memcpy_to_dm(m->dm, off, from, words(n)), 0);
	else
		memcpy(m->t->buf + off, from, n);
}

void msg_get(struct msgs *m, size_t off, void *to, size_t n)
{
	if (m->dm)
		CHECK_EQ(ibv_memcpy_from_dm(to, m->dm, off, words(n)), 0);
	else
		memcpy(to, m->t->buf + off, n);
}

void msg_poison(struct msgs *m, size_t off)
{
	if (!m->dm) {
		memset(m->t->buf + off, MSG_POISON, msg_stride(m));
		return;
	}
	memset(m->wanted, MSG_POISON, msg_stride(m));
	msg_put(m, off, m->wanted, msg_stride(m));
}

bool msg_is_poison(const uint8_t *p, size_t n)
{
	return !n || (p[0] == MSG_POISON && !memcmp(p, p + 1, n - 1));
}

uint64_t msg_draw(struct msgs *m, uint64_t n)
{
	m->rng = mix(m->rng);
	return (m->rng >> 8) % n;
}

uint64_t msg_read_key(const struct msgs *m, int side)
{
	return mix(m->v->seed ^ 0x5ead) + (uint64_t)side;
}

static void make_dm(struct msgs *m, size_t len, int access)
{
	struct ibv_alloc_dm_attr a = {.length = len, .log_align_req = 6};

	m->dm = ibv_alloc_dm(m->t->ctx, &a);
	CHECK(m->dm, "alloc_dm of %zu bytes: %s", len, strerror(errno));
	m->t->mr = ibv_reg_dm_mr(m->t->pd, m->dm, 0, len,
				 (unsigned int)access | IBV_ACCESS_ZERO_BASED);
	m->t->buf = NULL; /* addresses are offsets */
}

void msg_memory_make(struct msgs *m)
{
	const size_t len = words(msg_at_read(m) + MSG_READ_AREA + m->v->max),
		     stride = msg_stride(m);
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;
	uint8_t *area = malloc(MSG_READ_AREA + words(m->v->max));
	struct vt *t = m->t;

	m->scratch = malloc(stride);
	m->wanted = malloc(stride);
	t->len = len;
	if (m->o.dm) {
		make_dm(m, len, access);
	} else {
		t->buf =
			mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(t->buf != MAP_FAILED, "%zu bytes: %s", len, strerror(errno));
		t->mr = ibv_reg_mr(t->pd, t->buf, len, access);
	}
	CHECK(t->mr && area && m->scratch && m->wanted, "%s", strerror(errno));
	for (size_t off = 0; off < msg_at_read(m); off += stride)
		msg_poison(m, off);
	fill(area, MSG_READ_AREA + m->v->max, msg_read_key(m, t->side));
	msg_put(m, msg_at_read(m), area, MSG_READ_AREA + m->v->max);
	free(area);
	t->me.rkey = t->mr->rkey;
	t->me.addr = (uintptr_t)t->buf;
}

void msg_memory_free(struct msgs *m)
{
	CHECK_EQ(ibv_dereg_mr(m->t->mr), 0);
	if (m->dm)
		CHECK_EQ(ibv_free_dm(m->dm), 0);
	else
		munmap(m->t->buf, m->t->len);
	free(m->scratch);
	free(m->wanted);
}

/* -------------------------------------------------------------------- messages */

/* Every length is possible; half of them are short, as most messages are. */
static uint32_t length(uint64_t r, uint32_t max)
{
	const uint32_t some = max < 300 ? max : 300, more = max < 5000 ? max : 5000;

	switch (r % 8) {
	case 0:
		return (uint32_t)(r >> 8) % 9;
	case 1:
	case 2:
	case 3:
		return (uint32_t)(r >> 8) % (some + 1);
	case 4:
	case 5:
		return (uint32_t)(r >> 8) % (more + 1);
	case 6:
		return max - (uint32_t)(r >> 8) % 3;
	default:
		return (uint32_t)(r >> 8) % (max + 1);
	}
}

/*
 * A WRITE on UC that the link duplicates or delays may arrive when another message uses its place:
 * on such a link there are none.
 */
static enum msg_op op_of(const struct msgs *m, uint64_t r, uint32_t len)
{
	if (m->o.kind == MSG_TAG)
		return M_SEND;
	if (!msg_datagrams(m) && r % 4 == 0 && !(m->o.kind == MSG_UC && m->o.twice))
		return M_WRITE_IMM;
	if (msg_reliable(m) && r % 4 == 1)
		return M_WRITE;
	return len >= MSG_HEAD && r % 4 == 2 ? M_SEND : M_SEND_IMM;
}

struct msg msg_program(const struct msgs *m, int side, uint32_t flow, uint32_t seq)
{
	uint64_t r = mix(mix(m->v->seed * 2 + (uint64_t)side) ^ ((uint64_t)flow << 32 | seq));
	struct msg p = {.len = length(r, m->v->max), .key = mix(r)};

	p.op = op_of(m, r >> 3, p.len);
	r = p.key;
	p.inl = r & 1;
	p.signal = (r >> 1 & 3) != 0;
	p.first = p.len > 1 && (r >> 3 & 3) == 0 ? 1 + (uint32_t)(r >> 16) % (p.len - 1) : p.len;
	p.read = (r >> 5 & 7) == 0;
	p.rndv = m->o.kind == MSG_TAG && (r >> 8 & 7) == 0;
	return p;
}

void msg_payload(const struct msgs *m, int side, uint32_t flow, uint32_t seq, const struct msg *p,
		 uint8_t *to)
{
	const uint32_t head[2] = {
		(uint32_t)side << 31 | flow << 24 | (uint32_t)(m->v->seed & 0xffffff), seq};

	fill(to, p->len, p->key);
	if (p->op == M_SEND && m->o.kind != MSG_TAG)
		memcpy(to, head, sizeof(head));
}
