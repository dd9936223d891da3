/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcc_image.c - the image of the port: its process, the events of flows on their way to it, and its
 * answers.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "board/board_priv.h"
#include "tables/pcc.h"
#include "tables/pcc_priv.h"

#define N DPA_BOARD_PCC_RING

struct dpa_pcc_image {
	struct dpa_board *b;
	struct dpa_board_pcc_side *side; /* of its role */
	enum dpa_pcc_role role;
	pid_t pid;		 /* of the process that loaded it */
	_Atomic uint32_t number; /* of the image, once it is published */
	uint64_t request;	 /* the request that next_param() returned */
	/* Limits of parameters, copied by publish(), because others could write the shared ones. */
	struct limits {
		uint32_t nparams;
		struct limit {
			uint32_t min, max, may_set;
		} of[DPA_PCC_PARAMS];
	} limits[DPA_PCC_USER_SLOTS];
};

/* A process has one of each role; which, for dpa_board_pcc_leave(). */
static _Atomic(struct dpa_pcc_image *) the_image[DPA_PCC_ROLES];

struct dpa_board *dpa_pcc_image_board(const struct dpa_pcc_image *img)
{
	return img->b;
}

/* ------------------------------------------------------------------------ the bell */

static long image_futex(_Atomic uint32_t *word, int op, uint32_t val, const struct timespec *ts)
{
	return syscall(SYS_futex, word, op, val, ts, NULL, 0);
}

void dpa_pcc_bell_ring(struct dpa_board_pcc_side *side)
{
	atomic_fetch_add_explicit(&side->bell, 1, memory_order_seq_cst);
	image_futex(&side->bell, FUTEX_WAKE, INT32_MAX, NULL);
}

void dpa_pcc_announce(struct dpa_board_pcc_side *side, uint32_t ring)
{
	uint32_t w = ring / 64;
	uint64_t bit = UINT64_C(1) << ring % 64;

	atomic_thread_fence(memory_order_seq_cst);
	if (!(atomic_load_explicit(&side->pending[w], memory_order_seq_cst) & bit))
		atomic_fetch_or_explicit(&side->pending[w], bit, memory_order_seq_cst);
	if (!(atomic_load_explicit(&side->summary, memory_order_seq_cst) >> w & 1))
		atomic_fetch_or_explicit(&side->summary, UINT64_C(1) << w, memory_order_seq_cst);
	if (atomic_load_explicit(&side->asleep, memory_order_seq_cst))
		dpa_pcc_bell_ring(side);
}

static void image_wake(struct dpa_pcc_image *img)
{
	dpa_pcc_bell_ring(img->side);
}

static bool has_image_news(const struct dpa_pcc_image *img)
{
	uint64_t req = atomic_load_explicit(&img->b->shm->pcc.req, memory_order_acquire);

	return atomic_load_explicit(&img->side->summary, memory_order_seq_cst) ||
	       (img->role == DPA_PCC_RP && (req & DPA_BOARD_PCC_REQ_STATE) == DPA_PCC_REQ_POSTED);
}

/* May be repeated: a waker that dies on the way costs the time limit at most. */
static void image_wait(struct dpa_pcc_image *img, uint32_t ms)
{
	struct dpa_board_pcc_side *p = img->side;
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
	uint32_t seen = atomic_load_explicit(&p->bell, memory_order_seq_cst);
	bool owner = atomic_load_explicit(&p->owner, memory_order_acquire) == dpa_board_me(img->b);

	if (owner) {
		atomic_store_explicit(&p->asleep, 1, memory_order_seq_cst);
		if (has_image_news(img)) {
			atomic_store_explicit(&p->asleep, 0, memory_order_seq_cst);
			return;
		}
	}
	image_futex(&p->bell, FUTEX_WAIT, seen, &ts);
	if (owner)
		atomic_store_explicit(&p->asleep, 0, memory_order_seq_cst);
}

/* ---------------------------------------------------------------------- the flows */

uint32_t dpa_board_pcc_disabled(struct dpa_board *b)
{
	return atomic_load_explicit(&b->shm->pcc.rp.disabled, memory_order_relaxed);
}

_Atomic uint64_t *dpa_board_pcc_result(struct dpa_board *b, uint32_t qpn)
{
	uint32_t i = qpn & (DPA_BOARD_QPNS - 1);

	if (qpn >> 16 != b->board_num ||
	    dpa_board_reserve(b, DPA_BOARD_OFF_PCC_RES + i * sizeof(uint64_t), sizeof(uint64_t)))
		return NULL;
	return &b->shm->pcc_results[i];
}

/* Value of seq while the entry of position p is free for it. */
static uint32_t lap_of(uint32_t p)
{
	return p - p % N;
}

static int reserve_ring(struct dpa_board *b)
{
	const uint64_t ends = sizeof(b->shm->pcc_ends[0]), ring = sizeof(b->shm->pcc_rings[0]);

	if (dpa_board_reserve(b, DPA_BOARD_OFF_PCC_ENDS + b->slot * ends, ends) ||
	    dpa_board_reserve(b, DPA_BOARD_OFF_PCC_RING + b->slot * ring, ring))
		return ENOMEM;
	return 0;
}

static bool has_ring(struct dpa_board *b, uint32_t ring)
{
	return dpa_board_present(b, DPA_BOARD_OFF_PCC_ENDS + ring * sizeof(b->shm->pcc_ends[0])) &&
	       dpa_board_present(b, DPA_BOARD_OFF_PCC_RING + ring * sizeof(b->shm->pcc_rings[0]));
}

/*
 * Fills entries that a dead predecessor of this process index took and never filled. One more than
 * there are entries: head lacks the last event taken by an owner that died then.
 */
int dpa_board_pcc_ring_open(struct dpa_board *b)
{
	struct dpa_board_pcc_ends *ends = &b->shm->pcc_ends[b->slot];
	uint32_t head, tail;

	if (reserve_ring(b))
		return ENOMEM;
	head = atomic_load_explicit(&ends->head, memory_order_acquire);
	tail = atomic_load_explicit(&ends->tail, memory_order_relaxed);
	for (uint32_t p = head; p - head <= N && p != tail; p++) {
		struct dpa_board_pcc_event *e = &b->shm->pcc_rings[b->slot].event[p % N];

		if (atomic_load_explicit(&e->seq, memory_order_acquire) != lap_of(p))
			continue;
		e->kind = 0;
		atomic_store_explicit(&e->seq, lap_of(p) + 1, memory_order_release);
	}
	return 0;
}

static bool push_report(struct dpa_board *b, const struct dpa_pcc_report *rep)
{
	_Atomic uint32_t *tail = &b->shm->pcc_ends[b->slot].tail;
	uint32_t p = atomic_load_explicit(tail, memory_order_relaxed);
	struct dpa_board_pcc_event *e;

	do {
		e = &b->shm->pcc_rings[b->slot].event[p % N];
		if (atomic_load_explicit(&e->seq, memory_order_acquire) != lap_of(p)) {
			uint32_t now = atomic_load_explicit(tail, memory_order_relaxed);

			if (now == p)
				return false; /* full */
			p = now;
			e = NULL;
			continue;
		}
	} while (!e || !atomic_compare_exchange_weak_explicit(tail, &p, p + 1, memory_order_relaxed,
							      memory_order_relaxed));
	DPA_BOARD_STEP("pcc-taken");
	e->flow = rep->flow;
	e->kind = (uint32_t)rep->type | (uint32_t)rep->subtype << 8 | (uint32_t)rep->flags << 16 |
		  (uint32_t)rep->slot << 24;
	e->sn = rep->sn;
	e->time = rep->time;
	memcpy(e->word, rep->word, sizeof(e->word));
	atomic_store_explicit(&e->seq, lap_of(p) + 1, memory_order_release);
	return true;
}

bool dpa_board_pcc_report(struct dpa_board *b, const struct dpa_pcc_report *rep)
{
	if (!push_report(b, rep))
		return false;
	DPA_BOARD_STEP("pcc-pushed");
	dpa_pcc_announce(&b->shm->pcc.rp, b->slot);
	return true;
}

static bool image_pending(struct dpa_pcc_image *img, uint64_t rings[DPA_PCC_RINGS / 64])
{
	struct dpa_board_pcc_side *p = img->side;
	uint64_t s = atomic_load_explicit(&p->summary, memory_order_seq_cst);

	if (!s)
		return false;
	s = atomic_exchange_explicit(&p->summary, 0, memory_order_seq_cst);
	for (uint32_t w = 0; w < DPA_PCC_RINGS / 64; w++)
		rings[w] = s >> w & 1 ? atomic_exchange_explicit(&p->pending[w], 0,
								 memory_order_seq_cst)
				      : 0;
	return true;
}

static void read_event(const struct dpa_board_pcc_event *e, struct dpa_pcc_report *out)
{
	*out = (struct dpa_pcc_report){.flow = e->flow,
				       .type = (uint8_t)e->kind,
				       .subtype = (uint8_t)(e->kind >> 8),
				       .flags = (uint8_t)(e->kind >> 16),
				       .slot = (uint8_t)(e->kind >> 24),
				       .sn = e->sn,
				       .time = e->time};
	memcpy(out->word, e->word, sizeof(e->word));
}

static uint32_t image_take(struct dpa_pcc_image *img, uint32_t ring, struct dpa_pcc_report *out,
			   uint32_t n)
{
	struct dpa_board_pcc_ends *ends = &img->b->shm->pcc_ends[ring];
	uint32_t h, got = 0;

	if (ring >= DPA_PCC_RINGS || !has_ring(img->b, ring))
		return 0;
	h = atomic_load_explicit(&ends->head, memory_order_relaxed);
	/* As many checks as there are entries: seq could have any value, for ever. */
	for (uint32_t looks = 0; got < n && looks <= N; looks++) {
		struct dpa_board_pcc_event *e = &img->b->shm->pcc_rings[ring].event[h % N];
		int32_t ahead = (int32_t)(atomic_load_explicit(&e->seq, memory_order_acquire) -
					  (lap_of(h) + 1));

		if (ahead < 0)
			break;
		if (!ahead) {
			read_event(e, &out[got]);
			atomic_store_explicit(&e->seq, lap_of(h) + N, memory_order_release);
			DPA_BOARD_STEP("pcc-took");
			got += out[got].type != 0;
		}
		/* ahead: an owner that died in the step above took it */
		atomic_store_explicit(&ends->head, ++h, memory_order_release);
	}
	return got;
}

static void image_answer(struct dpa_pcc_image *img, uint32_t flow, uint32_t rate, bool probe)
{
	uint32_t i = flow & (DPA_BOARD_QPNS - 1), epoch = flow >> 24, probes = 0;
	uint32_t number = atomic_load_explicit(&img->number, memory_order_relaxed);
	_Atomic uint64_t *word = &img->b->shm->pcc_results[i];
	uint64_t old, dscp = 0;

	if (!dpa_board_present(img->b, DPA_BOARD_OFF_PCC_RES + i * sizeof(uint64_t)))
		return;
	old = atomic_load_explicit(word, memory_order_relaxed);
	if (old >> 48 == number && (old >> 32 & 0xff) == epoch) {
		probes = (uint32_t)(old >> 24) & 0xff;
		dscp = old & UINT64_C(127) << DPA_PCC_RESULT_DSCP;
	}
	if (rate > DPA_PCC_RATE_ONE)
		rate = DPA_PCC_RATE_ONE;
	atomic_store_explicit(word, dpa_pcc_result_make(number, epoch, probes + probe, rate) | dscp,
			      memory_order_release);
}

static int image_set_header(struct dpa_pcc_image *img, uint32_t flow, const uint32_t *words,
			    uint32_t n)
{
	return dpa_pcc_header_set(img->b, atomic_load_explicit(&img->number, memory_order_relaxed),
				  flow, words, n);
}

/* Before its first answer a flow has the highest rate: it is not paced. */
static int image_set_dscp(struct dpa_pcc_image *img, uint32_t flow, uint8_t dscp)
{
	uint32_t i = flow & (DPA_BOARD_QPNS - 1), epoch = flow >> 24;
	uint32_t number = atomic_load_explicit(&img->number, memory_order_relaxed);
	_Atomic uint64_t *word = &img->b->shm->pcc_results[i];
	uint64_t old, bits = dscp <= DPA_PCC_DSCP_MAX ? dscp + 1u : 0;

	if (!dpa_board_present(img->b, DPA_BOARD_OFF_PCC_RES + i * sizeof(uint64_t)))
		return ENOENT;
	old = atomic_load_explicit(word, memory_order_relaxed);
	if (old >> 48 != number || (old >> 32 & 0xff) != epoch)
		old = dpa_pcc_result_make(number, epoch, 0, DPA_PCC_RATE_ONE);
	old &= ~(UINT64_C(127) << DPA_PCC_RESULT_DSCP);
	atomic_store_explicit(word, old | bits << DPA_PCC_RESULT_DSCP, memory_order_release);
	return 0;
}

/* ------------------------------------------------------------------- its process */

static enum dpa_pcc_state image_take_over(struct dpa_pcc_image *img)
{
	struct dpa_board_pcc_side *p = img->side;
	dpa_owner_t none = 0, me = dpa_board_me(img->b);

	if (atomic_load_explicit(&p->owner, memory_order_acquire) == me)
		return DPA_PCC_ACTIVE;
	if (img->role == DPA_PCC_RP)
		dpa_board_pcc_check(img->b);
	else
		dpa_board_np_check(img->b);
	return atomic_compare_exchange_strong_explicit(&p->owner, &none, me, memory_order_acq_rel,
						       memory_order_acquire)
		       ? DPA_PCC_ACTIVE
		       : DPA_PCC_STANDBY;
}

static int image_load(void *port, enum dpa_pcc_role role, struct dpa_pcc_image **image,
		      enum dpa_pcc_state *state)
{
	struct dpa_pcc_image *img = calloc(1, sizeof(*img)), *old = atomic_load(&the_image[role]);

	if (!img)
		return ENOMEM;
	img->b = port;
	img->role = role;
	img->side = role == DPA_PCC_RP ? &img->b->shm->pcc.rp : &img->b->shm->pcc.np;
	img->pid = getpid();
	/* An image that a forked child has inherited is the parent's. */
	if ((old && old->pid == img->pid) ||
	    !atomic_compare_exchange_strong(&the_image[role], &old, img)) {
		free(img);
		return EALREADY;
	}
	*image = img;
	*state = image_take_over(img);
	return 0;
}

static void give_up_image(struct dpa_pcc_image *img)
{
	struct dpa_board_pcc_side *p = img->side;
	dpa_owner_t me = dpa_board_me(img->b);

	if (atomic_load_explicit(&p->owner, memory_order_acquire) != me)
		return;
	if (img->role == DPA_PCC_RP)
		dpa_pcc_word_drop_image(img->b,
					atomic_load_explicit(&img->number, memory_order_relaxed));
	else
		atomic_store_explicit(&p->word, 0, memory_order_release);
	DPA_BOARD_STEP("pcc-unload");
	atomic_store_explicit(&p->asleep, 0, memory_order_seq_cst);
	atomic_compare_exchange_strong_explicit(&p->owner, &me, 0, memory_order_acq_rel,
						memory_order_relaxed);
	dpa_pcc_bell_ring(p); /* for standby processes */
}

static void image_unload(struct dpa_pcc_image *img)
{
	give_up_image(img);
	atomic_store(&the_image[img->role], NULL);
	free(img);
}

void dpa_board_pcc_leave(struct dpa_board *b)
{
	for (uint32_t i = 0; i < DPA_PCC_ROLES; i++) {
		struct dpa_pcc_image *img = atomic_load(&the_image[i]);

		if (img && img->b == b)
			give_up_image(img);
	}
	dpa_board_np_leave(b);
}

static void write_image_slot(struct dpa_board_pcc_slot *to, const struct dpa_pcc_slot *from)
{
	memset(to, 0, sizeof(*to));
	to->id = from->id;
	to->major = from->major;
	to->minor = from->minor;
	to->nparams = from->nparams < DPA_PCC_PARAMS ? from->nparams : DPA_PCC_PARAMS;
	to->ncounters = from->ncounters < DPA_PCC_COUNTERS ? from->ncounters : DPA_PCC_COUNTERS;
	memcpy(to->text, from->text, sizeof(to->text));
	for (uint32_t i = 0; i < to->nparams; i++) {
		to->def[i] = from->params[i].def;
		to->min[i] = from->params[i].min;
		to->max[i] = from->params[i].max;
		to->may_set[i] = (uint8_t)from->params[i].may_set;
		to->values[i] = from->params[i].value;
		memcpy(to->ptext[i], from->params[i].text, DPA_PCC_TEXT);
	}
	memcpy(to->ctext, from->counters, sizeof(from->counters));
}

static void keep_limits(struct limits *to, const struct dpa_pcc_slot *from, bool populated)
{
	memset(to, 0, sizeof(*to));
	if (!populated)
		return;
	to->nparams = from->nparams < DPA_PCC_PARAMS ? from->nparams : DPA_PCC_PARAMS;
	for (uint32_t i = 0; i < to->nparams; i++)
		to->of[i] = (struct limit){from->params[i].min, from->params[i].max,
					   from->params[i].may_set & 1};
}

/* Rings with events that a former owner had taken note of. */
void dpa_pcc_look_everywhere(struct dpa_board_pcc_side *side)
{
	for (uint32_t i = 0; i < DPA_PCC_RINGS / 64; i++)
		atomic_store_explicit(&side->pending[i], UINT64_MAX, memory_order_seq_cst);
	atomic_store_explicit(&side->summary, UINT64_MAX, memory_order_seq_cst);
}

/* The probes of image `number`, before its slots can act. */
static void put_probes(struct dpa_board_pcc_port *p, const struct dpa_pcc_probes *probes,
		       uint32_t number)
{
	uint64_t w = (uint64_t)number << DPA_BOARD_PCC_IMAGE | probes->format;

	if (probes->program || probes->format != DPA_PCC_CCMAD)
		w |= DPA_BOARD_PROBES_PROGRAM;
	w |= (uint64_t)(probes->gns & 15) << DPA_BOARD_PROBES_GNS |
	     (uint64_t)probes->hops << DPA_BOARD_PROBES_HOPS |
	     (uint64_t)(probes->header & 15) << DPA_BOARD_PROBES_HEADER;
	atomic_store_explicit(&p->probes, 0, memory_order_release);
	atomic_store_explicit(&p->marker, probes->marker, memory_order_release);
	atomic_store_explicit(&p->probes, w, memory_order_release);
}

static int image_publish(struct dpa_pcc_image *img, const struct dpa_pcc_slot *slots,
			 uint32_t populated, uint32_t enabled, uint32_t disabled_events,
			 const struct dpa_pcc_probes *probes, struct dpa_pcc_words *words)
{
	struct dpa_board *b = img->b;
	struct dpa_board_pcc_port *p = &b->shm->pcc;
	uint64_t old = atomic_load_explicit(&p->rp.word, memory_order_acquire), new;
	uint32_t number;

	if (atomic_load_explicit(&p->rp.owner, memory_order_acquire) != dpa_board_me(b))
		return EPROTO;
	if (dpa_board_reserve(b, DPA_BOARD_OFF_PCC_SLOT, sizeof(b->shm->pcc_slots)))
		return ENOMEM;
	for (uint32_t i = 0; i < DPA_PCC_USER_SLOTS; i++) {
		write_image_slot(&b->shm->pcc_slots[i], &slots[i]);
		keep_limits(&img->limits[i], &slots[i], populated >> i & 1);
		for (uint32_t k = 0; k < DPA_PCC_COUNTERS; k++)
			atomic_store_explicit(&p->base[i][k], 0, memory_order_relaxed);
		words->counters[i] = b->shm->pcc_slots[i].counters;
		words->params[i] = b->shm->pcc_slots[i].values;
	}
	atomic_store_explicit(&p->rp.disabled, disabled_events, memory_order_relaxed);
	dpa_pcc_look_everywhere(&p->rp);
	do {
		number = (dpa_pcc_word_image(old) + 1) & 0xffff;
		number = number ? number : 1;
		atomic_store_explicit(&img->number, number, memory_order_relaxed);
		put_probes(p, probes, number);
		new = (old & ((UINT64_C(1) << DPA_BOARD_PCC_IMAGE) - 1) & ~UINT64_C(0xff00ff)) |
		      (uint64_t)number << DPA_BOARD_PCC_IMAGE | (enabled & populated & 0xff) |
		      (uint64_t)(populated & 0xff) << DPA_BOARD_PCC_POPULATED;
		if (dpa_pcc_word_counting(new) >= 0)
			new = dpa_pcc_word_counting_set(new, dpa_pcc_word_acting(new));
	} while (!dpa_pcc_word_change(b, &old, new));
	return 0;
}

static void image_answer_param(struct dpa_pcc_image *img, int err)
{
	uint64_t next = (uint32_t)img->request & ~DPA_BOARD_PCC_REQ_STATE;

	next |= (uint64_t)(uint32_t)err << DPA_BOARD_PCC_REQ_VALUE | DPA_PCC_REQ_ANSWERED;
	atomic_compare_exchange_strong_explicit(&img->b->shm->pcc.req, &img->request, next,
						memory_order_acq_rel, memory_order_relaxed);
}

static bool image_may_set(const struct dpa_pcc_image *img, uint32_t slot, uint32_t id,
			  uint32_t value)
{
	const struct limits *l = &img->limits[slot];

	return id < l->nparams && l->of[id].may_set && value >= l->of[id].min &&
	       value <= l->of[id].max;
}

/* The caller has checked it, but against the limits of the image at that time. */
static bool image_next_param(struct dpa_pcc_image *img, uint32_t *slot, uint32_t *id,
			     uint32_t *value)
{
	uint64_t r = atomic_load_explicit(&img->b->shm->pcc.req, memory_order_acquire);

	if ((r & DPA_BOARD_PCC_REQ_STATE) != DPA_PCC_REQ_POSTED)
		return false;
	img->request = r;
	*slot = (uint32_t)(r >> DPA_BOARD_PCC_REQ_SLOT) % DPA_PCC_USER_SLOTS;
	*id = (uint32_t)(r >> DPA_BOARD_PCC_REQ_ID) & 63;
	*value = (uint32_t)(r >> DPA_BOARD_PCC_REQ_VALUE);
	if (image_may_set(img, *slot, *id, *value))
		return true;
	image_answer_param(img, ERANGE);
	return false;
}

const struct dpa_pcc_ops dpa_board_pcc_ops = {
	.answer = image_answer,
	.answer_param = image_answer_param,
	.answer_probe = dpa_pcc_np_answer,
	.count = dpa_board_pcc_count,
	.enable = dpa_board_pcc_enable,
	.load = image_load,
	.next_param = image_next_param,
	.pending = image_pending,
	.port_bytes = dpa_board_pcc_port_bytes,
	.publish = image_publish,
	.publish_np = dpa_pcc_np_publish,
	.query = dpa_board_pcc_query,
	.read_counters = dpa_board_pcc_read_counters,
	.read_slot = dpa_board_pcc_read_slot,
	.set_dscp = image_set_dscp,
	.set_header = image_set_header,
	.set_param = dpa_board_pcc_set_param,
	.take = image_take,
	.take_over = image_take_over,
	.take_probe = dpa_pcc_np_take,
	.unload = image_unload,
	.wait = image_wait,
	.wake = image_wake,
};
