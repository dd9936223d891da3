/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_send.c - the writes of post_send: WQEs, doorbell record, slot. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include "dpa.h"
#include "fake_hw.h"

static const struct ibv_qp_cap small = {.max_send_wr = 4,
					.max_recv_wr = 4,
					.max_send_sge = 2,
					.max_recv_sge = 2,
					.max_inline_data = 64};

static struct dpa_wqe_ctrl *wqe_at(struct dpa_hw_qp *hw, uint32_t index)
{
	uint32_t mask = (1u << hw->attr.log_sq) - 1;

	return (void *)((uint8_t *)hw->attr.sq + (size_t)(index & mask) * 64);
}

static int post(struct fake_setup *s, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int ret = ibv_post_send(s->qp, wr, &bad);

	if (ret)
		cr_assert_eq(bad, wr);
	return ret;
}

Test(send, send_with_two_sges)
{
	struct fake_setup s;
	struct ibv_sge sg[2] = {{0x1000, 100, 1}, {0x2000, 200, 2}};
	struct ibv_send_wr wr = {.wr_id = 77,
				 .sg_list = sg,
				 .num_sge = 2,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .imm_data = 0xabcd,
				 .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE};
	struct dpa_wqe_ctrl *c;
	struct dpa_sge *d;

	fake_setup(&s, IBV_QPT_RC, &small);
	cr_assert_eq(post(&s, &wr), 0);
	c = wqe_at(s.hw, 0);
	d = (void *)(c + 1);
	cr_assert_eq(c->opcode, DPA_OP_SEND_IMM);
	cr_assert_eq(c->flags, DPA_WQE_SIGNALED | DPA_WQE_FENCE);
	cr_assert_eq(c->nbb, 1);
	cr_assert_eq(c->nsge, 2);
	cr_assert_eq(c->index, 0);
	cr_assert_eq(c->wr_id, 77);
	cr_assert_eq(c->imm, 0xabcd);
	cr_assert_eq(c->length, 300);
	cr_assert_eq(d[0].addr, 0x1000);
	cr_assert_eq(d[1].length, 200);
	cr_assert_eq(d[1].lkey, 2);
	cr_assert_eq(s.hw->attr.dbrec->sq_pi, 1);
	cr_assert_eq(s.hw->rings, 1);
	cr_assert_eq(s.hw->kicks, 0);
	fake_teardown(&s);
}

Test(send, write_read_and_atomics)
{
	struct fake_setup s;
	struct ibv_sge sg = {0x1000, 8, 1};
	struct ibv_send_wr wr = {.sg_list = &sg, .num_sge = 1, .opcode = IBV_WR_RDMA_READ};
	struct dpa_wqe_raddr *r;
	struct dpa_wqe_atomic *a;

	fake_setup(&s, IBV_QPT_RC, &small);
	wr.wr.rdma.remote_addr = 0x123456789;
	wr.wr.rdma.rkey = 99;
	cr_assert_eq(post(&s, &wr), 0);
	r = (void *)(wqe_at(s.hw, 0) + 1);
	cr_assert_eq(r->addr, 0x123456789);
	cr_assert_eq(r->rkey, 99);
	cr_assert_eq(((struct dpa_sge *)(r + 1))->addr, 0x1000);

	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.remote_addr = 0x5000;
	wr.wr.atomic.compare_add = 3;
	wr.wr.atomic.swap = 4;
	wr.wr.atomic.rkey = 5;
	cr_assert_eq(post(&s, &wr), 0);
	cr_assert_eq(wqe_at(s.hw, 1)->nbb, 2);
	r = (void *)(wqe_at(s.hw, 1) + 1);
	a = (void *)(r + 1);
	cr_assert_eq(r->addr, 0x5000);
	cr_assert_eq(r->rkey, 5);
	cr_assert_eq(a->compare, 3);
	cr_assert_eq(a->swap_add, 4);
	cr_assert_eq(((struct dpa_sge *)(a + 1))->lkey, 1);

	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	cr_assert_eq(post(&s, &wr), 0);
	a = (void *)((struct dpa_wqe_raddr *)(wqe_at(s.hw, 3) + 1) + 1);
	cr_assert_eq(a->swap_add, 3);
	fake_teardown(&s);
}

Test(send, ud_takes_the_address_vector)
{
	struct fake_setup s;
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .sl = 3};
	struct ibv_sge sg = {0x1000, 8, 1};
	struct ibv_send_wr wr = {.sg_list = &sg, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct dpa_wqe_av *av;
	struct ibv_ah *ah;

	fake_setup(&s, IBV_QPT_UD, &small);
	attr.grh.sgid_index = 2;
	attr.grh.hop_limit = 9;
	attr.grh.flow_label = 0x12345;
	attr.grh.dgid.raw[15] = 42;
	wr.wr.ud.ah = ah = ibv_create_ah(s.pd, &attr);
	cr_assert(ah);
	wr.wr.ud.remote_qpn = 0x123456;
	wr.wr.ud.remote_qkey = 0x11111111;
	cr_assert_eq(post(&s, &wr), 0);
	av = (void *)(wqe_at(s.hw, 0) + 1);
	cr_assert_eq(av->dgid[15], 42);
	cr_assert_eq(av->dqpn, 0x123456);
	cr_assert_eq(av->qkey, 0x11111111);
	cr_assert_eq(av->sgid_index, 2);
	cr_assert_eq(av->hop_limit, 9);
	cr_assert_eq(av->flow_label, 0x12345);
	cr_assert_eq(av->sl, 3);
	cr_assert_eq(((struct dpa_sge *)(av + 1))->addr, 0x1000);
	wr.wr.ud.ah = NULL;
	cr_assert_eq(post(&s, &wr), EINVAL);
	cr_assert_eq(s.hw->attr.dbrec->sq_pi, 2);
	ibv_destroy_ah(ah);
	fake_teardown(&s);
}

/*
 * The device refuses operations that this transport does not have; operations of no transport are
 * refused at once.
 */
Test(send, what_the_transport_has_not_goes_as_its_opcode)
{
	struct fake_setup s;
	struct ibv_sge sg = {0x1000, 8, 1};
	struct ibv_send_wr wr = {.wr_id = 5, .sg_list = &sg, .num_sge = 1};
	struct dpa_wqe_ctrl *c;

	fake_setup(&s, IBV_QPT_UD, &small);
	wr.opcode = IBV_WR_RDMA_WRITE;
	cr_assert_eq(post(&s, &wr), 0);
	c = wqe_at(s.hw, 0);
	cr_assert_eq(c->opcode, DPA_OP_RDMA_WRITE);
	cr_assert_eq(c->nbb, 1);
	cr_assert_eq(c->nsge, 0);
	cr_assert_eq(c->wr_id, 5);
	cr_assert_eq(s.hw->attr.dbrec->sq_pi, 1);
	wr.opcode = IBV_WR_TSO;
	cr_assert_eq(post(&s, &wr), EINVAL);
	cr_assert_eq(s.hw->attr.dbrec->sq_pi, 1);
	fake_teardown(&s);
}

Test(send, inline_data_is_gathered_at_once)
{
	struct fake_setup s;
	char a[DPA_MAX_INLINE] = "hello, ", b[] = "world";
	struct ibv_sge sg[3] = {{(uintptr_t)a, 7, 0}, {0, 0, 0}, {(uintptr_t)b, 5, 0}};
	struct ibv_send_wr wr = {
		.sg_list = sg, .num_sge = 3, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE};

	fake_setup(&s, IBV_QPT_RC, &small);
	cr_assert_eq(post(&s, &wr), 0);
	a[0] = 'j';
	cr_assert_eq(wqe_at(s.hw, 0)->length, 12);
	cr_assert_eq(wqe_at(s.hw, 0)->nsge, 0);
	cr_assert_eq(wqe_at(s.hw, 0)->flags, DPA_WQE_INLINE);
	cr_assert_arr_eq(wqe_at(s.hw, 0) + 1, "hello, world", 12);
	sg[0].length = s.cap.max_inline_data;
	cr_assert_eq(post(&s, &wr), EINVAL, "too long");
	sg[0].length = UINT32_MAX;
	cr_assert_eq(post(&s, &wr), EINVAL, "the sum must not overflow");
	fake_teardown(&s);
}

Test(send, wqes_wrap_at_the_end_of_the_ring)
{
	struct fake_setup s;
	uint8_t data[1024], *ring;
	struct ibv_qp_cap cap = {.max_send_wr = 3, .max_send_sge = 1, .max_inline_data = 1000};
	struct ibv_sge sg = {(uintptr_t)data, 0, 0};
	struct ibv_send_wr wr = {.sg_list = &sg,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_INLINE};
	uint32_t index = 0, size, wraps = 0;

	fake_setup(&s, IBV_QPT_RC, &cap);
	ring = s.hw->attr.sq;
	size = 64u << s.hw->attr.log_sq;
	for (uint32_t i = 0; i < 1000; i++) {
		struct dpa_wqe_ctrl *c = wqe_at(s.hw, index);
		uint32_t at = (uint32_t)((uint8_t *)c - ring);

		sg.length = i * 37 % 1001;
		memset(data, (int)i, sizeof(data));
		cr_assert_eq(post(&s, &wr), 0);
		cr_assert_eq(c->index, index);
		cr_assert_eq(c->length, sg.length);
		cr_assert_eq(c->nbb, (48 + sg.length + 63) / 64);
		for (uint32_t j = 0; j < sg.length; j++)
			cr_assert_eq(ring[(at + 48 + j) % size], (uint8_t)i);
		wraps += at + c->nbb * 64u > size;
		index += c->nbb;
		cr_assert_eq(s.hw->attr.dbrec->sq_pi, index);
		fake_finish_sq(s.hw);
	}
	cr_assert_gt(wraps, 10);
	fake_teardown(&s);
}

Test(send, no_more_than_max_send_wr_are_outstanding)
{
	struct fake_setup s;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};

	fake_setup(&s, IBV_QPT_RC, &small);
	for (int round = 0; round < 100; round++) {
		for (uint32_t i = 0; i < s.cap.max_send_wr; i++)
			cr_assert_eq(post(&s, &wr), 0);
		cr_assert_eq(post(&s, &wr), ENOMEM);
		fake_finish_sq(s.hw);
	}
	fake_teardown(&s);
}

Test(send, a_list_rings_once_and_stops_at_the_bad_one)
{
	struct fake_setup s;
	struct ibv_send_wr wr[4] = {{.opcode = IBV_WR_SEND},
				    {.opcode = IBV_WR_SEND},
				    {.opcode = IBV_WR_BIND_MW},
				    {.opcode = IBV_WR_SEND}};
	struct ibv_send_wr *bad = NULL;

	fake_setup(&s, IBV_QPT_RC, &small);
	for (int i = 0; i < 3; i++)
		wr[i].next = &wr[i + 1];
	cr_assert_eq(ibv_post_send(s.qp, wr, &bad), EINVAL);
	cr_assert_eq(bad, &wr[2]);
	cr_assert_eq(s.hw->attr.dbrec->sq_pi, 2);
	cr_assert_eq(s.hw->rings, 1);
	cr_assert_eq(ibv_post_send(s.qp, &wr[2], &bad), EINVAL);
	cr_assert_eq(s.hw->rings, 1, "nothing was posted");
	fake_teardown(&s);
}

Test(send, bad_requests)
{
	struct fake_setup s;
	struct ibv_sge sg[40] = {{0x1000, 8, 1}};
	struct ibv_send_wr wr = {.sg_list = sg, .num_sge = 1, .opcode = IBV_WR_SEND};

	fake_setup(&s, IBV_QPT_RC, &small);
	wr.num_sge = (int)s.cap.max_send_sge + 1;
	cr_expect_eq(post(&s, &wr), EINVAL);
	wr.num_sge = -1;
	cr_expect_eq(post(&s, &wr), EINVAL);
	wr.send_flags = IBV_SEND_INLINE;
	cr_expect_eq(post(&s, &wr), EINVAL, "inline data of a negative number of pieces");
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_IP_CSUM;
	cr_expect_eq(post(&s, &wr), EINVAL);
	wr.send_flags = 1u << 31;
	cr_expect_eq(post(&s, &wr), EINVAL);
	wr.send_flags = 0;
	wr.opcode = 200;
	cr_expect_eq(post(&s, &wr), EINVAL);
	wr.opcode = -1;
	cr_expect_eq(post(&s, &wr), EINVAL);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = IBV_SEND_INLINE;
	cr_expect_eq(post(&s, &wr), EINVAL);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.send_flags = 0;
	wr.num_sge = 0;
	cr_expect_eq(post(&s, &wr), EINVAL);
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = 2;
	sg[0].length = sg[1].length = 0x7fffffff;
	cr_expect_eq(post(&s, &wr), EINVAL, "longer than 2^31");
	sg[0].length = 0x80000000;
	sg[1].length = 0;
	cr_expect_eq(post(&s, &wr), 0, "2^31 is allowed");
	fake_teardown(&s);
}

Test(send, states_before_rts_are_refused)
{
	struct fake_setup s;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};

	fake_setup(&s, IBV_QPT_UC, &small);
	cr_assert_eq(post(&s, &wr), 0);
	cr_assert_eq(ibv_modify_qp(s.qp, &a, IBV_QP_STATE), 0);
	cr_assert_eq(s.hw->attr.dbrec->sq_pi, 0);
	cr_assert_eq(post(&s, &wr), EINVAL);
	fake_to_rts(s.qp);
	cr_assert_eq(post(&s, &wr), 0);
	cr_assert_eq(wqe_at(s.hw, 0)->index, 0, "indices start again");
	cr_assert_eq(s.hw->attr.dbrec->sq_pi, 1);
	a.qp_state = IBV_QPS_ERR;
	cr_assert_eq(ibv_modify_qp(s.qp, &a, IBV_QP_STATE), 0);
	cr_assert_eq(post(&s, &wr), 0, "it is flushed by the device");
	fake_teardown(&s);
}

Test(send, sq_sig_all_signals_all)
{
	struct fake_setup s;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .sq_sig_all = 1, .cap = small};
	struct ibv_send_wr *bad;
	struct ibv_qp *qp;

	fake_setup(&s, IBV_QPT_RC, &small);
	init.send_cq = init.recv_cq = s.scq;
	qp = ibv_create_qp(s.pd, &init);
	fake_to_rts(qp);
	cr_assert_eq(ibv_post_send(qp, &wr, &bad), 0);
	cr_assert_eq(wqe_at(fake_qp(qp), 0)->flags, DPA_WQE_SIGNALED);
	cr_assert_eq(fake_qp(qp)->attr.sq_sig_all, 1);
	ibv_destroy_qp(qp);
	fake_teardown(&s);
}

/* ------------------------------------------------------------ slot */

Test(slot, eu_placement_gets_a_blueflame_write)
{
	struct fake_setup s;
	uint64_t data = 0x1122334455667788;
	struct ibv_sge sg = {(uintptr_t)&data, 8, 0};
	struct ibv_send_wr wr = {
		.sg_list = &sg, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE};
	struct dpa_wqe_ctrl *bf;

	fake_setup(&s, IBV_QPT_RC, &small);
	s.hw->placement = DPA_PLACE_EU;
	bf = (void *)s.hw->slot.bf;
	for (uint32_t i = 0; i < 64; i++) {
		wr.wr_id = data = i;
		cr_assert_eq(post(&s, &wr), 0);
		cr_assert_eq(bf->index, i);
		cr_assert_eq(bf->wr_id, i);
		cr_assert_eq(bf->check, dpa_wqe_check(bf, bf->nbb));
		cr_assert_arr_eq(bf + 1, &data, 8);
		cr_assert_eq(wqe_at(s.hw, i)->check, 0);
		bf->check = 0; /* which only the slot has */
		cr_assert_arr_eq(bf, wqe_at(s.hw, i), 64);
		fake_finish_sq(s.hw);
	}
	cr_assert_eq(s.hw->slot.blueflames, 64);
	cr_assert_eq(s.hw->slot.doorbells, 0);
	cr_assert_eq(s.hw->kicks, 64);
	cr_assert_eq(s.hw->rings, 0);
	fake_teardown(&s);
}

Test(slot, lists_and_long_wqes_get_a_doorbell)
{
	struct fake_setup s;
	uint8_t data[400] = {0};
	struct ibv_qp_cap cap = {.max_send_wr = 8, .max_send_sge = 1, .max_inline_data = 400};
	struct ibv_sge sg = {(uintptr_t)data, 400, 0};
	struct ibv_send_wr wr[2] = {{.opcode = IBV_WR_SEND}, {.opcode = IBV_WR_SEND}};
	struct dpa_db *db;

	fake_setup(&s, IBV_QPT_RC, &cap);
	s.hw->placement = DPA_PLACE_EU;
	db = (void *)&s.hw->slot.word;
	wr[0].next = &wr[1];
	cr_assert_eq(post(&s, wr), 0);
	cr_assert_eq(db->opcode, DPA_OP_DOORBELL);
	cr_assert_eq(db->pi, 2);
	wr[0].next = NULL;
	wr[0].sg_list = &sg;
	wr[0].num_sge = 1;
	wr[0].send_flags = IBV_SEND_INLINE;
	cr_assert_eq(post(&s, wr), 0);
	cr_assert_eq(db->opcode, DPA_OP_DOORBELL);
	cr_assert_eq(db->pi, s.hw->attr.dbrec->sq_pi);
	cr_assert_eq(s.hw->slot.doorbells, 2);
	fake_teardown(&s);
}

Test(slot, every_length_of_blueflame_write_arrives_whole)
{
	struct dpa_uar_slot slot;
	_Alignas(64) uint8_t wqe[DPA_BF_BLOCKS * 64];

	for (uint32_t nbb = 1; nbb <= DPA_BF_BLOCKS; nbb++) {
		_Alignas(64) struct dpa_uar_slot at;

		memset(&at, 0, sizeof(at));
		for (size_t i = 0; i < sizeof(wqe); i++)
			wqe[i] = (uint8_t)(i * 7 + nbb);
		dpa_bf_write(&at, wqe, nbb);
		((struct dpa_wqe_ctrl *)wqe)->check = dpa_wqe_check(wqe, nbb);
		cr_assert_arr_eq(at.bf, wqe, nbb * 64);
		memset(&slot, 0, sizeof(slot));
		cr_assert_arr_eq(at.bf + nbb * 64, &slot, sizeof(at) - nbb * 64,
				 "nothing behind it is touched");
	}
}

Test(slot, reset_leaves_no_old_wqe_in_the_slot)
{
	struct fake_setup s;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
	struct dpa_db *db;

	fake_setup(&s, IBV_QPT_RC, &small);
	s.hw->placement = DPA_PLACE_EU;
	cr_assert_eq(post(&s, &wr), 0);
	cr_assert_eq(ibv_modify_qp(s.qp, &a, IBV_QP_STATE), 0);
	db = (void *)&s.hw->slot.word;
	cr_assert_eq(db->opcode, DPA_OP_DOORBELL);
	cr_assert_eq(db->pi, 0);
	fake_teardown(&s);
}

/* -------------------------------------------------------- two threads */

enum { RACE_POSTS = 5000 };

static void *race_post(void *arg)
{
	struct fake_setup *s = arg;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;

	for (int i = 0; i < RACE_POSTS; i++) {
		wr.wr_id = (uint64_t)i;
		while (ibv_post_send(s->qp, &wr, &bad))
			sched_yield();
	}
	return NULL;
}

/* The device checks that indices are consecutive and finishes the WQEs that it has seen. */
Test(send, two_threads_post_to_one_qp)
{
	struct fake_setup s;
	pthread_t t[2];

	fake_setup(&s, IBV_QPT_UC, &small);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, race_post, &s), 0);
	for (uint32_t at = 0; at < 2 * RACE_POSTS;) {
		uint32_t pi = __atomic_load_n(&s.hw->attr.dbrec->sq_pi, __ATOMIC_ACQUIRE);

		if (at == pi)
			sched_yield();
		for (; at != pi; at += wqe_at(s.hw, at)->nbb)
			cr_assert_eq(wqe_at(s.hw, at)->index, at);
		__atomic_store_n(&s.hw->attr.dbrec->sq_ci, at, __ATOMIC_RELEASE);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	cr_assert_eq(s.hw->rings, 2 * RACE_POSTS);
	fake_teardown(&s);
}
