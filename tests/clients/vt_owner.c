/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "vt_owner.h"

#include <sched.h>
#include <sys/mman.h>

enum { N = VT_INITIATORS, CQE = 256 };

#define REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define ALL    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | REMOTE)

static const char *const verb_name[VT_VERBS] = {"dereg_mr",
						"rereg_mr of the access",
						"rereg_mr elsewhere",
						"bind_mw",
						"unbinding",
						"local invalidate",
						"send with invalidate",
						"dealloc_mw",
						"QP to RESET",
						"QP to ERR",
						"QP without access",
						"destroy_qp"};

#define BIT(verb) (1u << (verb))
#define OF_QPS	  (BIT(VT_RESET) | BIT(VT_ERROR) | BIT(VT_NO_ACCESS) | BIT(VT_DESTROY))

static const unsigned int verbs_of[VT_KINDS] = {
	[VT_REGION] = BIT(VT_DEREG) | BIT(VT_REREG) | BIT(VT_MOVE) | OF_QPS,
	[VT_WINDOW_1] = BIT(VT_REBIND) | BIT(VT_UNBIND) | BIT(VT_DEALLOC) | OF_QPS,
	[VT_WINDOW_2] = BIT(VT_LOCAL_INV) | BIT(VT_SEND_INV) | BIT(VT_DEALLOC) | OF_QPS,
};

/* ------------------------------------------------------------------ completions */

/* Return the result of this one; drop those of others that no caller waits for any more. */
static enum ibv_wc_status result(struct vt_owner *w, uint64_t id)
{
	struct ibv_wc wc;

	do
		wc = vt_wc(&w->t, w->t.cq);
	while (wc.wr_id != id);
	return wc.status;
}

static bool post(struct vt_owner *w, struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	wr->wr_id = ++w->next_id;
	wr->send_flags = IBV_SEND_SIGNALED;
	return !vt_post(qp, wr) && result(w, wr->wr_id) == IBV_WC_SUCCESS;
}

/* ------------------------------------------------------------------ connections */

/* Begin a turn. False: the QP is in error again. */
static bool begin_turn(struct vt_owner *w, uint32_t i)
{
	const struct vt_opt *o = vt_initiator_opt(i);
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct vt_slot *s = &w->to->slot[i];
	struct vt_addr to = {.qpn = atomic_load(&s->here), .psn = vt_turn_psn(++w->turn[i])};

	to.gid = s->gid;
	CHECK_EQ(ibv_modify_qp(w->qp[i], &reset, IBV_QP_STATE), 0);
	vt_qp_init(&w->t, w->qp[i], o);
	vt_qp_rtr(&w->t, w->qp[i], o, &to);
	if (vt_qp_try_rts(w->qp[i], o, to.psn)) {
		CHECK_EQ(vt_state(w->qp[i]), IBV_QPS_ERR);
		return false;
	}
	/* an initiator that joined earlier with an ended key would end the QP in RTR */
	atomic_store(&s->there, (uint64_t)w->turn[i] << 32 | w->qp[i]->qp_num);
	return true;
}

/*
 * Begin the next turn. Its initiator joins when it can. A READ of an earlier turn that the ring
 * still holds is a duplicate in this one, and ends it if its key has ended (IBA 9.7.5).
 */
static void connect_qp(struct vt_owner *w, uint32_t i)
{
	while (!begin_turn(w, i))
		;
}

void vt_owner_repair(struct vt_owner *w)
{
	CHECK(!atomic_load(&w->to->trouble), "an initiator has failed");
	for (uint32_t i = 0; i < N; i++) {
		struct vt_slot *s = &w->to->slot[i];
		bool fresh = !w->met[i] && atomic_load_explicit(&s->here, memory_order_acquire);

		if (fresh || (w->met[i] && (atomic_load(&s->failed) == w->turn[i] ||
					    vt_state(w->qp[i]) == IBV_QPS_ERR))) {
			w->met[i] = true;
			connect_qp(w, i);
		}
	}
}

void vt_owner_forget(struct vt_owner *w, uint32_t i)
{
	atomic_store(&w->to->slot[i].there, 0);
	w->met[i] = false;
}

void vt_owner_connect(struct vt_owner *w)
{
	for (uint32_t i = 0; i < N; i++) {
		if (!w->qp[i])
			w->qp[i] = vt_qp_create(&w->t, vt_initiator_opt(i), w->t.cq);
		if (w->met[i])
			connect_qp(w, i);
	}
}

/* ------------------------------------------------------------------------- keys */

static struct ibv_mw_bind_info all_of_it(struct vt_owner *w)
{
	return (struct ibv_mw_bind_info){w->t.mr, (uintptr_t)w->t.buf, VT_PIECE, REMOTE};
}

/* Length 0: it is bound to nothing. */
static void bind_window(struct vt_owner *w, uint64_t length)
{
	struct ibv_mw_bind b = {
		.wr_id = ++w->next_id, .send_flags = IBV_SEND_SIGNALED, .bind_info = all_of_it(w)};

	b.bind_info.length = length;
	CHECK_EQ(ibv_bind_mw(w->pair[0], w->mw[0], &b), 0);
	CHECK_EQ(result(w, b.wr_id), IBV_WC_SUCCESS);
}

static struct ibv_mw *new_window(struct vt_owner *w, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(w->t.pd, type);

	CHECK(mw, "alloc_mw: %s", strerror(errno));
	return mw;
}

static void tell(struct vt_owner *w, uint32_t i, uint32_t key)
{
	atomic_store_explicit(&w->to->slot[i].rkey, key, memory_order_seq_cst);
}

/* A QP that has failed meanwhile gets one after its repair. */
void vt_owner_more_keys(struct vt_owner *w)
{
	for (uint32_t i = 0; i < N; i++) {
		struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW};
		struct ibv_mw *mw;

		if (w->kind != VT_WINDOW_2 || w->mw[i] || !w->met[i])
			continue;
		mw = new_window(w, IBV_MW_TYPE_2);
		wr.bind_mw.mw = mw;
		wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
		wr.bind_mw.bind_info = all_of_it(w);
		if (!post(w, w->qp[i], &wr)) {
			CHECK_EQ(ibv_dealloc_mw(mw), 0);
			continue;
		}
		mw->rkey = wr.bind_mw.rkey;
		w->mw[i] = mw;
		tell(w, i, mw->rkey);
	}
}

static void dealloc_windows(struct vt_owner *w)
{
	for (uint32_t i = 0; i < N; i++) {
		if (w->mw[i])
			CHECK_EQ(ibv_dealloc_mw(w->mw[i]), 0);
		w->mw[i] = NULL;
	}
}

void vt_owner_end_keys(struct vt_owner *w)
{
	for (uint32_t i = 0; i < N; i++) {
		tell(w, i, 0);
		atomic_store(&w->to->slot[i].invalidate, 0);
	}
	dealloc_windows(w);
	if (w->t.mr)
		CHECK_EQ(ibv_dereg_mr(w->t.mr), 0);
	w->t.mr = NULL;
}

/* With windows no initiator gets the region's key. */
void vt_owner_make_keys(struct vt_owner *w)
{
	uint32_t key = 0;

	w->kind = (enum vt_kind)(vt_draw(&w->x) % VT_KINDS);
	w->t.mr = ibv_reg_mr(w->t.pd, w->t.buf, VT_PIECE, ALL);
	CHECK(w->t.mr, "reg_mr: %s", strerror(errno));
	if (w->kind == VT_WINDOW_2) {
		vt_owner_more_keys(w);
		return;
	}
	if (w->kind == VT_WINDOW_1) {
		w->mw[0] = new_window(w, IBV_MW_TYPE_1);
		bind_window(w, VT_PIECE);
		key = w->mw[0]->rkey;
	} else {
		key = w->t.mr->rkey;
	}
	for (uint32_t i = 0; i < N; i++)
		tell(w, i, key);
}

/* ------------------------------------------------------------------------ verbs */

bool vt_is_of_qps(enum vt_verb verb)
{
	return BIT(verb) & OF_QPS;
}

const char *vt_verb_name(enum vt_verb verb)
{
	return verb_name[verb];
}

enum vt_verb vt_owner_draw_verb(struct vt_owner *w)
{
	enum vt_verb verb;

	do
		verb = (enum vt_verb)(vt_draw(&w->x) % VT_VERBS);
	while (!(BIT(verb) & verbs_of[w->kind]));
	return verb;
}

static void set_qps(struct vt_owner *w, enum vt_verb verb)
{
	for (uint32_t i = 0; i < N; i++) {
		struct ibv_qp_attr a = {.qp_state = verb == VT_RESET ? IBV_QPS_RESET : IBV_QPS_ERR};
		enum ibv_qp_state was = vt_state(w->qp[i]);

		if (was == IBV_QPS_RESET || (verb == VT_NO_ACCESS && was == IBV_QPS_ERR))
			continue; /* its initiator is new, or has failed */
		if (ibv_modify_qp(w->qp[i], &a,
				  verb == VT_NO_ACCESS ? IBV_QP_ACCESS_FLAGS : IBV_QP_STATE))
			CHECK(verb == VT_NO_ACCESS && vt_state(w->qp[i]) == IBV_QPS_ERR,
			      "modify_qp");
	}
}

static void destroy_qps(struct vt_owner *w)
{
	for (uint32_t i = 0; i < N; i++) {
		CHECK_EQ(ibv_destroy_qp(w->qp[i]), 0);
		w->qp[i] = NULL;
	}
}

static void invalidate(struct vt_owner *w, uint32_t i)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_LOCAL_INV};

	if (!w->mw[i])
		return;
	wr.invalidate_rkey = w->mw[i]->rkey;
	if (post(w, w->qp[i], &wr))
		return;
	CHECK_EQ(ibv_dealloc_mw(w->mw[i]), 0); /* the QP is in error: the other way to end it */
	w->mw[i] = NULL;
}

/* Ask its initiator to send it, if possible: it runs, and its QP has not failed. */
static bool ask_for_send(struct vt_owner *w, uint32_t i, uint64_t *id)
{
	struct ibv_recv_wr wr = {.wr_id = ++w->next_id}, *bad;

	*id = wr.wr_id;
	if (!w->mw[i] || !vt_is_rc(i) || w->away[i] || ibv_post_recv(w->qp[i], &wr, &bad))
		return false;
	atomic_store(&w->to->slot[i].invalidate, w->mw[i]->rkey);
	return true;
}

/* False: the receive was flushed. */
static bool is_invalidated(const struct ibv_wc *wc, const struct ibv_mw *mw)
{
	if (wc->status != IBV_WC_SUCCESS)
		return false;
	CHECK(wc->wc_flags & IBV_WC_WITH_INV, "%#x", wc->wc_flags);
	CHECK_EQ(wc->invalidated_rkey, mw->rkey);
	return true;
}

static void invalidate_from_afar(struct vt_owner *w)
{
	bool asked[N], ended[N] = {false};
	uint64_t id[N];
	struct ibv_wc wc;

	for (uint32_t i = 0; i < N; i++)
		asked[i] = ask_for_send(w, i, &id[i]);
	for (uint32_t i = 0; i < N; i++)
		while (asked[i] && !ended[i] && atomic_load(&w->to->slot[i].failed) != w->turn[i]) {
			if (ibv_poll_cq(w->t.cq, 1, &wc) != 1) {
				sched_yield();
				continue;
			}
			for (uint32_t k = 0; k < N; k++)
				if (asked[k] && wc.wr_id == id[k]) {
					ended[k] = is_invalidated(&wc, w->mw[k]);
					asked[k] = ended[k];
				}
		}
	for (uint32_t i = 0; i < N; i++)
		if (!ended[i])
			invalidate(w, i);
}

void vt_owner_take_away(struct vt_owner *w, enum vt_verb verb)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(w->t.cq, 1, &wc) > 0) /* of receives that were flushed */
		;
	switch (verb) {
	case VT_DEREG:
		CHECK_EQ(ibv_dereg_mr(w->t.mr), 0);
		w->t.mr = NULL;
		break;
	case VT_REREG:
		CHECK_EQ(ibv_rereg_mr(w->t.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_LOCAL_WRITE),
			 0);
		break;
	case VT_MOVE:
		CHECK_EQ(ibv_rereg_mr(w->t.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, w->elsewhere,
				      VT_PIECE, 0),
			 0);
		break;
	case VT_REBIND:
		bind_window(w, VT_PIECE);
		break;
	case VT_UNBIND:
		bind_window(w, 0);
		break;
	case VT_LOCAL_INV:
		for (uint32_t i = 0; i < N; i++)
			invalidate(w, i);
		break;
	case VT_SEND_INV:
		invalidate_from_afar(w);
		break;
	case VT_DEALLOC:
		dealloc_windows(w);
		break;
	case VT_DESTROY:
		destroy_qps(w);
		break;
	default:
		set_qps(w, verb);
	}
}

/* ------------------------------------------------------------------ begin and end */

static void make_pair(struct vt_owner *w)
{
	static const struct vt_opt o = {.send_wr = 8, .recv_wr = 8};

	for (int i = 0; i < 2; i++) {
		w->pair[i] = vt_qp_create(&w->t, &o, w->t.cq);
		vt_qp_init(&w->t, w->pair[i], &o);
	}
	for (int i = 0; i < 2; i++) {
		struct vt_addr to = {.gid = w->t.me.gid, .qpn = w->pair[!i]->qp_num, .psn = 100};

		vt_qp_rtr(&w->t, w->pair[i], &o, &to);
		vt_qp_rts(&w->t, w->pair[i], &o, 100);
	}
}

static uint8_t *memory(void)
{
	uint8_t *p =
		mmap(NULL, VT_PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED, "mmap");
	return p;
}

void vt_owner_open(struct vt_owner *w)
{
	vt_open(&w->t);
	w->t.buf = memory();
	w->elsewhere = memory();
	w->t.cq = ibv_create_cq(w->t.ctx, CQE, NULL, NULL, 0);
	CHECK(w->t.cq, "create_cq: %s", strerror(errno));
	w->to->addr = (uintptr_t)w->t.buf;
	w->to->gid = w->t.me.gid;
	make_pair(w);
	vt_owner_connect(w);
	vt_owner_make_keys(w);
}

void vt_owner_close(struct vt_owner *w)
{
	vt_owner_end_keys(w);
	destroy_qps(w);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(ibv_destroy_qp(w->pair[i]), 0);
	CHECK_EQ(ibv_destroy_cq(w->t.cq), 0);
	CHECK_EQ(ibv_dealloc_pd(w->t.pd), 0);
	CHECK_EQ(ibv_close_device(w->t.ctx), 0);
	munmap(w->t.buf, VT_PIECE);
	munmap(w->elsewhere, VT_PIECE);
}
