/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * np.c - probes on their way to the program of the notification point, and its answers: the states
 * are those of struct dpa_board_np_probe (board_layout.h).
 */
#include <errno.h>
#include <string.h>
#include "board/board_priv.h"
#include "tables/pcc.h"
#include "tables/pcc_priv.h"

#define STATE UINT64_C(3)
#define ONE   UINT64_C(4) /* of the number above the state */

static struct dpa_board_pcc_side *np_of(struct dpa_board *b)
{
	return &b->shm->pcc.np;
}

static struct dpa_board_np_probe *probe_of(struct dpa_board *b, uint32_t ring)
{
	return &b->shm->np_probes[ring];
}

static bool is_reserved(struct dpa_board *b)
{
	return dpa_board_present(b, DPA_BOARD_OFF_NP_PROBE + sizeof(b->shm->np_probes) - 1);
}

/* Words that another process may write at this moment: the state decides whether they count. */
static void put_words(_Atomic uint64_t *to, const uint8_t *from, uint32_t bytes)
{
	for (uint32_t i = 0; i * 8 < bytes; i++) {
		uint64_t w = 0;

		memcpy(&w, from + i * 8, bytes - i * 8 < 8 ? bytes - i * 8 : 8);
		atomic_store_explicit(&to[i], w, memory_order_relaxed);
	}
}

static void get_words(uint8_t *to, _Atomic uint64_t *from, uint32_t bytes)
{
	for (uint32_t i = 0; i * 8 < bytes; i++) {
		uint64_t w = atomic_load_explicit(&from[i], memory_order_relaxed);

		memcpy(to + i * 8, &w, bytes - i * 8 < 8 ? bytes - i * 8 : 8);
	}
}

/* Four bytes a word, and the probe's number beside them. */
#define ANSWER_WORDS (DPA_PCC_ANSWER / 4)
static void put_answer(struct dpa_board_np_probe *e, uint64_t serial,
		       const struct dpa_pcc_reply *reply)
{
	for (uint32_t i = 0; i <= ANSWER_WORDS; i++) {
		uint32_t w = reply->dscp;

		if (i < ANSWER_WORDS)
			memcpy(&w, reply->data + i * 4, 4);
		atomic_store_explicit(&e->answer[i], serial << 32 | w, memory_order_relaxed);
		DPA_BOARD_STEP("np-word");
	}
}

/* False: a part of it is an answer to another probe. */
static bool get_answer(struct dpa_pcc_reply *reply, struct dpa_board_np_probe *e, uint64_t serial)
{
	for (uint32_t i = 0; i <= ANSWER_WORDS; i++) {
		uint64_t word = atomic_load_explicit(&e->answer[i], memory_order_relaxed);
		uint32_t w = (uint32_t)word;

		if (word >> 32 != (uint32_t)serial)
			return false;
		if (i < ANSWER_WORDS)
			memcpy(reply->data + i * 4, &w, 4);
		else /* written by another process */
			reply->dscp = w <= DPA_PCC_DSCP_MAX ? (uint8_t)w : DPA_PCC_DSCP_NONE;
	}
	return true;
}

/* ------------------------------------------------------------- the flows' side */

bool dpa_board_pcc_probes(struct dpa_board *b, uint32_t number, struct dpa_pcc_probes *out)
{
	struct dpa_board_pcc_port *p = &b->shm->pcc;
	uint64_t w = atomic_load_explicit(&p->probes, memory_order_acquire);

	*out = (struct dpa_pcc_probes){
		.format = w & 3,
		.program = w & DPA_BOARD_PROBES_PROGRAM,
		.gns = w >> DPA_BOARD_PROBES_GNS & 15,
		.hops = (uint8_t)(w >> DPA_BOARD_PROBES_HOPS),
		.header = w >> DPA_BOARD_PROBES_HEADER & 15,
		.marker = atomic_load_explicit(&p->marker, memory_order_acquire),
	};
	/* the next image's could have come in between */
	return w >> DPA_BOARD_PCC_IMAGE == number && out->format < DPA_PCC_FORMATS &&
	       atomic_load_explicit(&p->probes, memory_order_relaxed) == w;
}

/* -------------------------------------------------------------- the QP's side */

bool dpa_board_np_takes(struct dpa_board *b, const struct dpa_pcc_probes *probe)
{
	uint64_t w = atomic_load_explicit(&np_of(b)->word, memory_order_acquire);
	uint64_t marker = atomic_load_explicit(&b->shm->pcc.np_marker, memory_order_relaxed);
	uint32_t mask = w >> DPA_BOARD_NP_IGNORE_MASK & 15;
	uint32_t value = w >> DPA_BOARD_NP_IGNORE_VALUE & 15;

	if (!(w & DPA_BOARD_NP_THERE) || (w >> DPA_BOARD_NP_FORMAT & 3) != probe->format)
		return false;
	if (probe->format == DPA_PCC_IFA1)
		/* 0: none was set; it is no marker */
		return probe->marker && probe->marker == marker;
	return probe->format != DPA_PCC_IFA2 || !mask || (probe->gns & mask) != (value & mask);
}

void dpa_board_np_check(struct dpa_board *b)
{
	struct dpa_board_pcc_side *np = np_of(b);
	uint64_t w = atomic_load_explicit(&np->word, memory_order_acquire);
	dpa_owner_t o = atomic_load_explicit(&np->owner, memory_order_acquire);

	if (!o || dpa_board_alive(b, dpa_owner_slot(o), dpa_owner_gen(o)))
		return;
	/* a later owner's has another number */
	if (w)
		atomic_compare_exchange_strong_explicit(&np->word, &w, 0, memory_order_acq_rel,
							memory_order_relaxed);
	DPA_BOARD_STEP("np-drop");
	atomic_compare_exchange_strong_explicit(&np->owner, &o, 0, memory_order_acq_rel,
						memory_order_relaxed);
}

static bool take_entry(struct dpa_board *b, struct dpa_board_np_probe *e, bool of_dead)
{
	dpa_owner_t o = atomic_load_explicit(&e->owner, memory_order_relaxed);

	if (o && (!of_dead || dpa_board_alive(b, dpa_owner_slot(o), dpa_owner_gen(o))))
		return false;
	return atomic_compare_exchange_strong_explicit(&e->owner, &o, dpa_board_me(b),
						       memory_order_acq_rel, memory_order_relaxed);
}

static struct dpa_board_np_probe *take_free_probe(struct dpa_board *b)
{
	for (int of_dead = 0; of_dead < 2; of_dead++)
		for (uint32_t i = 0; i < DPA_BOARD_NP_PROBES; i++)
			if (take_entry(b, probe_of(b, i), of_dead))
				return probe_of(b, i);
	return NULL;
}

/* The next number: an answer to the last probe that was here does not count any more. */
static uint64_t next_number(struct dpa_board_np_probe *e)
{
	uint64_t s = atomic_load_explicit(&e->state, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(&e->state, &s,
						      ((s & ~STATE) + ONE) | DPA_NP_FREE,
						      memory_order_acq_rel, memory_order_relaxed))
		;
	return (s & ~STATE) + ONE;
}

bool dpa_board_np_post(struct dpa_board *b, struct dpa_pcc_probe *probe)
{
	struct dpa_board_np_probe *e = NULL;

	if (!dpa_board_reserve(b, DPA_BOARD_OFF_NP_PROBE, sizeof(b->shm->np_probes)))
		e = take_free_probe(b);
	if (!e)
		return false;
	DPA_BOARD_STEP("np-taken");
	probe->ring = (uint32_t)(e - b->shm->np_probes);
	probe->serial = next_number(e);
	atomic_store_explicit(&e->size, probe->size, memory_order_relaxed);
	atomic_store_explicit(&e->l4, probe->l4, memory_order_relaxed);
	atomic_store_explicit(&e->payload, probe->payload, memory_order_relaxed);
	atomic_store_explicit(&e->came, probe->came, memory_order_relaxed);
	put_words(e->packet, probe->packet, probe->size);
	atomic_store_explicit(&e->state, probe->serial | DPA_NP_POSTED, memory_order_release);
	DPA_BOARD_STEP("np-posted");
	dpa_pcc_announce(np_of(b), probe->ring);
	return true;
}

static void give_back_probe(struct dpa_board *b, struct dpa_board_np_probe *e)
{
	dpa_owner_t me = dpa_board_me(b);

	if (atomic_load_explicit(&e->owner, memory_order_relaxed) != me)
		return;
	next_number(e);
	DPA_BOARD_STEP("np-ended");
	atomic_compare_exchange_strong_explicit(&e->owner, &me, 0, memory_order_acq_rel,
						memory_order_relaxed);
}

enum dpa_np_state dpa_board_np_poll(struct dpa_board *b, uint32_t ring, uint64_t serial,
				    struct dpa_pcc_reply *reply)
{
	struct dpa_board_np_probe *e = probe_of(b, ring);
	uint64_t s = atomic_load_explicit(&e->state, memory_order_acquire);
	bool sends;

	if (s == (serial | DPA_NP_POSTED))
		return DPA_NP_WAITS;
	sends = s == (serial | DPA_NP_ANSWERED) && get_answer(reply, e, serial);
	if ((s & ~STATE) == serial)
		give_back_probe(b, e);
	return sends ? DPA_NP_SENDS : DPA_NP_NONE;
}

void dpa_board_np_drop(struct dpa_board *b, uint32_t ring, uint64_t serial)
{
	struct dpa_board_np_probe *e = probe_of(b, ring);

	if ((atomic_load_explicit(&e->state, memory_order_relaxed) & ~STATE) == serial)
		give_back_probe(b, e);
}

void dpa_board_np_leave(struct dpa_board *b)
{
	for (uint32_t i = 0; i < DPA_BOARD_NP_PROBES && is_reserved(b); i++)
		give_back_probe(b, probe_of(b, i));
}

/* ---------------------------------------------------------- the program's side */

int dpa_pcc_np_publish(struct dpa_pcc_image *img, const struct dpa_pcc_probes *probes)
{
	struct dpa_board *b = dpa_pcc_image_board(img);
	struct dpa_board_pcc_side *np = np_of(b);
	uint64_t n = atomic_load_explicit(&np->bell, memory_order_relaxed);
	uint64_t w = DPA_BOARD_NP_THERE | (uint64_t)probes->format << DPA_BOARD_NP_FORMAT |
		     (uint64_t)(probes->ignore_mask & 15) << DPA_BOARD_NP_IGNORE_MASK |
		     (uint64_t)(probes->ignore_value & 15) << DPA_BOARD_NP_IGNORE_VALUE;

	if (atomic_load_explicit(&np->owner, memory_order_acquire) != dpa_board_me(b))
		return EPROTO;
	if (dpa_board_reserve(b, DPA_BOARD_OFF_NP_PROBE, sizeof(b->shm->np_probes)))
		return ENOMEM;
	atomic_store_explicit(&b->shm->pcc.np_marker, probes->marker, memory_order_release);
	dpa_pcc_look_everywhere(np);
	/* another word than that of the last owner, which a check may compare with */
	atomic_store_explicit(&np->word, w | (n + 1) << 16, memory_order_release);
	dpa_pcc_bell_ring(np);
	return 0;
}

bool dpa_pcc_np_take(struct dpa_pcc_image *img, uint32_t ring, struct dpa_pcc_probe *out)
{
	struct dpa_board *b = dpa_pcc_image_board(img);
	struct dpa_board_np_probe *e;
	uint64_t s;

	if (ring >= DPA_BOARD_NP_PROBES || !is_reserved(b))
		return false;
	e = probe_of(b, ring);
	s = atomic_load_explicit(&e->state, memory_order_acquire);
	if ((s & STATE) != DPA_NP_POSTED)
		return false;
	out->ring = ring;
	out->serial = s & ~STATE;
	out->size = atomic_load_explicit(&e->size, memory_order_relaxed);
	out->l4 = atomic_load_explicit(&e->l4, memory_order_relaxed);
	out->payload = atomic_load_explicit(&e->payload, memory_order_relaxed);
	out->came = atomic_load_explicit(&e->came, memory_order_relaxed);
	/* Once: what another process wrote is checked, then used. */
	if (out->size > DPA_PCC_PROBE_BYTES || out->l4 > out->payload || out->payload > out->size) {
		dpa_pcc_np_answer(img, out, NULL);
		return false;
	}
	get_words(out->packet, e->packet, out->size);
	DPA_BOARD_STEP("np-took");
	/* it may have been given up meanwhile */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&e->state, memory_order_relaxed) == s;
}

/*
 * An answer to a probe that was given up does not count: its number is not that of the next one. A
 * process that stops after it has looked at the state, and is no more the owner of the port when it
 * goes on, may write over the answer to a later probe. That answer is refused by its numbers.
 */
void dpa_pcc_np_answer(struct dpa_pcc_image *img, const struct dpa_pcc_probe *probe,
		       const struct dpa_pcc_reply *reply)
{
	struct dpa_board_np_probe *e = probe_of(dpa_pcc_image_board(img), probe->ring);
	uint64_t s = probe->serial | DPA_NP_POSTED;

	if (atomic_load_explicit(&e->state, memory_order_acquire) != s)
		return;
	DPA_BOARD_STEP("np-looked");
	if (reply)
		put_answer(e, probe->serial, reply);
	DPA_BOARD_STEP("np-answer");
	atomic_compare_exchange_strong_explicit(
		&e->state, &s, probe->serial | (reply ? DPA_NP_ANSWERED : DPA_NP_REFUSED),
		memory_order_acq_rel, memory_order_relaxed);
}
