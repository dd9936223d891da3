/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_events.c - completion channels and asynchronous events, through libibverbs's own calls. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include "dpa.h"
#include "fake_hw.h"
#include "redirect/fds.h"

static const struct ibv_qp_cap cap = {.max_send_wr = 1, .max_recv_wr = 1};

static bool readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void nonblock(int fd)
{
	cr_assert_eq(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

Test(channel, one_event_for_each_arming)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);
	struct dpa_cqe e = {.wr_id = 1};
	struct ibv_cq *cq, *from;
	void *cq_context;

	cr_assert(ch);
	cq = ibv_create_cq(ctx, 16, &e, ch, 0);
	cr_assert(cq);
	fake_cqe(fake_cq(cq), &e);
	cr_assert(!readable(ch->fd), "not armed");
	cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
	fake_cqe(fake_cq(cq), &e);
	fake_cqe(fake_cq(cq), &e);
	cr_assert(readable(ch->fd));
	cr_assert_eq(ibv_get_cq_event(ch, &from, &cq_context), 0);
	cr_assert_eq(from, cq);
	cr_assert_eq(cq_context, &e);
	cr_assert(!readable(ch->fd));
	cr_assert_eq(ibv_req_notify_cq(cq, 1), 0);
	fake_cqe(fake_cq(cq), &e);
	cr_assert(!readable(ch->fd), "not solicited");
	e.flags = DPA_CQE_F_SOLICITED;
	fake_cqe(fake_cq(cq), &e);
	cr_assert(readable(ch->fd));
	nonblock(ch->fd);
	cr_assert_eq(ibv_get_cq_event(ch, &from, &cq_context), 0);
	cr_assert_eq(ibv_get_cq_event(ch, &from, &cq_context), -1);
	cr_assert_eq(errno, EAGAIN);
	ibv_ack_cq_events(cq, 2);
	cr_assert_eq(ibv_destroy_comp_channel(ch), EBUSY);
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	cr_assert_eq(ibv_destroy_comp_channel(ch), 0);
	ibv_close_device(ctx);
}

Test(channel, cqs_of_a_channel_do_not_mix)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);
	struct dpa_cqe e = {.wr_id = 1};
	struct ibv_cq *cq[3], *from;
	void *cq_context;

	for (int i = 0; i < 3; i++) {
		cq[i] = ibv_create_cq(ctx, 16, NULL, ch, 0);
		ibv_req_notify_cq(cq[i], 0);
		fake_cqe(fake_cq(cq[i]), &e);
	}
	/* an unread event is dropped with its CQ */
	cr_assert_eq(ibv_destroy_cq(cq[1]), 0);
	nonblock(ch->fd);
	cr_assert_eq(ibv_get_cq_event(ch, &from, &cq_context), 0);
	cr_assert_eq(from, cq[0]);
	cr_assert_eq(ibv_get_cq_event(ch, &from, &cq_context), 0);
	cr_assert_eq(from, cq[2]);
	cr_assert_eq(ibv_get_cq_event(ch, &from, &cq_context), -1);
	ibv_ack_cq_events(cq[0], 1);
	ibv_ack_cq_events(cq[2], 1);
	ibv_destroy_cq(cq[0]);
	ibv_destroy_cq(cq[2]);
	ibv_destroy_comp_channel(ch);
	ibv_close_device(ctx);
}

static struct dpa_hw_cq *late_cq;

static void complete_late(void)
{
	struct dpa_cqe e = {.wr_id = 1};

	fake_cqe(late_cq, &e);
}

Test(channel, a_read_that_does_not_block_still_drives_progress)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, ch, 0), *from;
	void *cq_context;

	nonblock(ch->fd);
	ibv_req_notify_cq(cq, 0);
	late_cq = fake_cq(cq);
	fake_on_progress = complete_late;
	cr_assert_eq(ibv_get_cq_event(ch, &from, &cq_context), 0);
	ibv_ack_cq_events(cq, 1);
	ibv_destroy_cq(cq);
	ibv_destroy_comp_channel(ch);
	ibv_close_device(ctx);
}

static void *fire(void *arg)
{
	complete_late();
	return NULL;
}

Test(channel, a_blocking_read_waits)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 1024, NULL, ch, 0), *from;
	void *cq_context;
	pthread_t t;

	late_cq = fake_cq(cq);
	for (int i = 0; i < 200; i++) {
		ibv_req_notify_cq(cq, 0);
		pthread_create(&t, NULL, fire, NULL);
		cr_assert_eq(ibv_get_cq_event(ch, &from, &cq_context), 0);
		pthread_join(t, NULL);
	}
	ibv_ack_cq_events(cq, 200);
	ibv_destroy_cq(cq);
	ibv_destroy_comp_channel(ch);
	ibv_close_device(ctx);
}

/* The application may get the number of a closed channel for any file later. */
Test(channel, a_closed_descriptor_is_forgotten)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);
	int fd = ch->fd;
	void *owner;

	cr_assert_eq(dpa_fd_find(fd, &owner), DPA_FD_CHANNEL);
	ibv_destroy_comp_channel(ch);
	cr_assert_eq(dpa_fd_find(fd, &owner), DPA_FD_NONE);
	fd = ctx->cmd_fd;
	cr_assert_eq(dpa_fd_find(fd, &owner), DPA_FD_CMD);
	ibv_close_device(ctx);
	cr_assert_eq(dpa_fd_find(fd, &owner), DPA_FD_NONE);
}

Test(async, events_carry_their_element)
{
	struct fake_setup s;
	struct ibv_async_event ev;

	fake_setup(&s, IBV_QPT_RC, &cap);
	nonblock(s.ctx->async_fd);
	cr_assert_eq(ibv_get_async_event(s.ctx, &ev), -1);
	cr_assert_eq(errno, EAGAIN);
	fake_event(DPA_EVENT_GID_CHANGE, NULL);
	fake_event(DPA_EVENT_QP_FATAL, s.qp);
	fake_event(DPA_EVENT_CQ_ERR, s.rcq);
	cr_assert(readable(s.ctx->async_fd));
	cr_assert_eq(ibv_get_async_event(s.ctx, &ev), 0);
	cr_assert_eq(ev.event_type, IBV_EVENT_GID_CHANGE);
	cr_assert_eq(ev.element.port_num, 1);
	ibv_ack_async_event(&ev);
	cr_assert_eq(ibv_get_async_event(s.ctx, &ev), 0);
	cr_assert_eq(ev.event_type, IBV_EVENT_QP_FATAL);
	cr_assert_eq(ev.element.qp, s.qp);
	ibv_ack_async_event(&ev);
	cr_assert_eq(ibv_get_async_event(s.ctx, &ev), 0);
	cr_assert_eq(ev.event_type, IBV_EVENT_CQ_ERR);
	cr_assert_eq(ev.element.cq, s.rcq);
	ibv_ack_async_event(&ev);
	cr_assert(!readable(s.ctx->async_fd));
	fake_teardown(&s);
}

Test(async, unread_events_go_with_their_object)
{
	struct fake_setup s;
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = cap};
	struct ibv_async_event ev;
	struct ibv_qp *qp;

	fake_setup(&s, IBV_QPT_RC, &cap);
	nonblock(s.ctx->async_fd);
	init.send_cq = init.recv_cq = s.scq;
	qp = ibv_create_qp(s.pd, &init);
	fake_event(DPA_EVENT_QP_FATAL, qp);
	fake_event(DPA_EVENT_SQ_DRAINED, s.qp);
	fake_event(DPA_EVENT_COMM_EST, qp);
	cr_assert_eq(ibv_destroy_qp(qp), 0);
	cr_assert_eq(ibv_get_async_event(s.ctx, &ev), 0);
	cr_assert_eq(ev.element.qp, s.qp);
	ibv_ack_async_event(&ev);
	cr_assert_eq(ibv_get_async_event(s.ctx, &ev), -1);
	fake_event(DPA_EVENT_SQ_DRAINED, s.qp);
	cr_assert(readable(s.ctx->async_fd));
	fake_teardown(&s);
}

static void *ack(void *arg)
{
	ibv_ack_async_event(arg);
	return NULL;
}

Test(async, destroy_waits_for_the_ack)
{
	struct fake_setup s;
	struct ibv_async_event ev;
	pthread_t t;

	fake_setup(&s, IBV_QPT_RC, &cap);
	fake_event(DPA_EVENT_COMM_EST, s.qp);
	cr_assert_eq(ibv_get_async_event(s.ctx, &ev), 0);
	cr_assert_eq(pthread_create(&t, NULL, ack, &ev), 0);
	fake_teardown(&s);
	pthread_join(t, NULL);
}

Test(async, srq_limit)
{
	struct fake_setup s;
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_async_event ev;
	struct ibv_srq *srq;

	fake_setup(&s, IBV_QPT_RC, &cap);
	srq = ibv_create_srq(s.pd, &init);
	fake_event(DPA_EVENT_SRQ_LIMIT_REACHED, srq);
	cr_assert_eq(ibv_get_async_event(s.ctx, &ev), 0);
	cr_assert_eq(ev.element.srq, srq);
	ibv_ack_async_event(&ev);
	cr_assert_eq(ibv_destroy_srq(srq), 0);
	fake_teardown(&s);
}

static void *write_events(void *arg)
{
	for (int i = 0; i < 500; i++)
		fake_event(DPA_EVENT_GID_CHANGE, NULL);
	return NULL;
}

Test(async, none_is_lost_between_threads)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_async_event ev;
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, write_events, NULL);
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(ibv_get_async_event(ctx, &ev), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	cr_assert(!readable(ctx->async_fd));
	ibv_close_device(ctx);
}
