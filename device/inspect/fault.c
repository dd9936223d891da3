/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fault.c - decides, from a seed, the faults of each frame. No clock, no lock, no state except the
 * frames that are held back. Each decision is a hash of the seed, the kind of fault and the number
 * of the frame, so that changing one rate does not affect other kinds.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "util/draw.h"
#include "inspect/fault.h"
#include "wire/opcode.h"

#define CNP 0x81

/* Further numbers that are drawn for a frame, besides the kinds of faults. */
enum { DRAW_BEHIND = DPA_FAULT_KINDS, DRAW_CUT, DRAW_FLIPS, DRAW_FLIP };

static uint64_t draw_random(const struct dpa_fault_spec *spec, uint64_t index, uint32_t what)
{
	return dpa_draw(spec->seed, index, what);
}

static uint32_t dqpn_of(const uint8_t *bth)
{
	return (uint32_t)bth[5] << 16 | (uint32_t)bth[6] << 8 | bth[7];
}

static bool is_response_opcode(uint8_t op)
{
	return op == CNP ||
	       ((op & DPA_BTH_TRANSPORT) != DPA_BTH_UD && (dpa_op_props(op) & DPA_OPP_RESP));
}

bool dpa_fault_meant(const struct dpa_fault_spec *spec, const uint8_t *p, uint32_t n)
{
	if (n < DPA_ROCE_BTH)
		return false;
	if (spec->qpn && spec->qpn != dqpn_of(p))
		return false;
	return spec->only == DPA_FAULT_ALL ||
	       is_response_opcode(p[0]) == (spec->only == DPA_FAULT_RESPONSES);
}

static void draw_flips(const struct dpa_fault_spec *spec, uint64_t index, uint32_t n,
		       struct dpa_fault_act *a)
{
	a->nflips = 1 + dpa_draw_below(draw_random(spec, index, DRAW_FLIPS), 3);
	for (uint32_t i = 0; i < a->nflips; i++) {
		uint32_t bit = dpa_draw_below(draw_random(spec, index, DRAW_FLIP + i), n * 8);

		/* flipping the same bit twice would have no effect */
		for (uint32_t k = 0; k < i; k++)
			if (a->flip[k] == bit) {
				bit = (bit + 1) % (n * 8);
				k = UINT32_MAX; /* compare all again */
			}
		a->flip[i] = bit;
	}
}

void dpa_fault_decide(const struct dpa_fault_spec *spec, uint64_t index, uint32_t n,
		      struct dpa_fault_act *a)
{
	memset(a, 0, sizeof(*a));
	for (uint32_t k = 0; k < DPA_FAULT_KINDS; k++)
		if (dpa_draw_below(draw_random(spec, index, k), DPA_FAULT_MILLION) < spec->ppm[k])
			a->kinds |= 1u << k;
	if (a->kinds & 1u << DPA_FAULT_DROP) {
		a->kinds = 1u << DPA_FAULT_DROP;
		return;
	}
	if (a->kinds & 1u << DPA_FAULT_REORDER) {
		a->kinds &= ~(1u << DPA_FAULT_DELAY);
		a->behind = 1 + dpa_draw_below(draw_random(spec, index, DRAW_BEHIND),
					       DPA_REORDER_BEHIND);
	}
	if (a->kinds & 1u << DPA_FAULT_TRUNCATE) {
		a->kinds &= ~(1u << DPA_FAULT_CORRUPT);
		a->cut = dpa_draw_below(draw_random(spec, index, DRAW_CUT), n);
	}
	if (a->kinds & 1u << DPA_FAULT_CORRUPT)
		draw_flips(spec, index, n, a);
}

uint32_t dpa_fault_damage(const struct dpa_fault_act *a, uint8_t *p, uint32_t n)
{
	if (a->kinds & 1u << DPA_FAULT_TRUNCATE)
		return a->cut;
	for (uint32_t i = 0; i < a->nflips; i++)
		p[a->flip[i] / 8] ^= (uint8_t)(1 << a->flip[i] % 8);
	return n;
}

uint32_t dpa_fault_key(const struct dpa_frame *f)
{
	uint64_t a, b;
	uint32_t qpn = 0;

	memcpy(&a, f->net.dst, 8);
	memcpy(&b, f->net.dst + 8, 8);
	if (f->n >= DPA_ROCE_BTH)
		qpn = dqpn_of(f->p);
	return (uint32_t)(dpa_mix64(a ^ dpa_mix64(b + qpn)) >> 32);
}

/* ------------------------------------------------------------- frames held back */

static void push_held(struct dpa_held_list *l, struct dpa_held *h)
{
	h->next = NULL;
	if (l->tail)
		l->tail->next = h;
	else
		l->head = h;
	l->tail = h;
}

static struct dpa_held *pop_held(struct dpa_held_list *l)
{
	struct dpa_held *h = l->head;

	l->head = h->next;
	if (!l->head)
		l->tail = NULL;
	return h;
}

int dpa_fault_set(struct dpa_fault *q, const struct dpa_fault_spec *spec)
{
	q->index = 0;
	q->spec = *spec;
	for (struct dpa_held *h = q->delayed.head; h; h = h->next)
		h->due = 0;
	for (struct dpa_held *h = q->reordered.head; h; h = h->next)
		h->due = 0;
	if (q->pool || (!spec->ppm[DPA_FAULT_REORDER] && !spec->ppm[DPA_FAULT_DELAY]))
		return 0;
	/* memory is allocated at first touch, and stays */
	q->pool = mmap(NULL, DPA_HELD_FRAMES * sizeof(*q->pool), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (q->pool != MAP_FAILED)
		return 0;
	q->pool = NULL;
	memset(&q->spec, 0, sizeof(q->spec));
	return ENOMEM;
}

void dpa_fault_free(struct dpa_fault *q)
{
	if (q->pool)
		munmap(q->pool, DPA_HELD_FRAMES * sizeof(*q->pool));
	memset(q, 0, sizeof(*q));
}

static struct dpa_held *take_held_room(struct dpa_fault *q)
{
	struct dpa_held *h = q->free;

	if (h)
		q->free = h->next;
	else if (q->pool && q->fresh < DPA_HELD_FRAMES)
		h = &q->pool[q->fresh++];
	return h;
}

bool dpa_fault_hold(struct dpa_fault *q, uint64_t now, const struct dpa_fault_act *a,
		    const struct dpa_shown *s)
{
	bool reorder = a->kinds & 1u << DPA_FAULT_REORDER;
	struct dpa_held *h;

	if (s->f.n > DPA_FRAME_BYTES)
		return false;
	h = take_held_room(q);
	if (!h)
		return false;
	h->s = *s;
	h->s.f.p = h->room + DPA_FRAME_ROOM;
	memcpy(h->room + DPA_FRAME_ROOM, s->f.p, s->f.n);
	h->s.f.n = dpa_fault_damage(a, h->room + DPA_FRAME_ROOM, s->f.n);
	h->key = dpa_fault_key(&s->f);
	h->behind = a->behind;
	h->due = now + (reorder ? DPA_REORDER_NS : (uint64_t)q->spec.delay_us * 1000);
	push_held(reorder ? &q->reordered : &q->delayed, h);
	q->held++;
	return true;
}

struct dpa_held *dpa_fault_overtaken(struct dpa_fault *q, uint32_t key)
{
	struct dpa_held_list go = {0}, stay = {0};

	if (!q->reordered.head)
		return NULL;
	while (q->reordered.head) {
		struct dpa_held *h = pop_held(&q->reordered);

		push_held(h->key == key && --h->behind == 0 ? &go : &stay, h);
	}
	q->reordered = stay;
	return go.head;
}

static struct dpa_held_list *next_list(struct dpa_fault *q)
{
	const struct dpa_held *d = q->delayed.head, *r = q->reordered.head;

	if (!d || (r && r->due < d->due))
		return &q->reordered;
	return &q->delayed;
}

uint64_t dpa_fault_next(struct dpa_fault *q)
{
	const struct dpa_held *h = next_list(q)->head;

	return h ? h->due : UINT64_MAX;
}

struct dpa_held *dpa_fault_due(struct dpa_fault *q, uint64_t now)
{
	struct dpa_held_list go = {0};

	for (;;) {
		struct dpa_held_list *l = next_list(q);

		if (!l->head || l->head->due > now)
			return go.head;
		push_held(&go, pop_held(l));
	}
}

struct dpa_held *dpa_fault_of(struct dpa_fault *q, const void *arg)
{
	struct dpa_held_list *from[] = {&q->delayed, &q->reordered}, go = {0};

	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		struct dpa_held_list stay = {0};

		while (from[i]->head) {
			struct dpa_held *h = pop_held(from[i]);

			push_held(h->s.at == DPA_AT_SHM && h->s.arg == arg ? &go : &stay, h);
		}
		*from[i] = stay;
	}
	return go.head;
}

void dpa_fault_done(struct dpa_fault *q, struct dpa_held *list)
{
	while (list) {
		struct dpa_held *next = list->next;

		list->next = q->free;
		q->free = list;
		q->held--;
		list = next;
	}
}
