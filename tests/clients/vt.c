/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "vt.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define ALL_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

enum { WC_LIMIT_S = 30 };

const char *vt_device = "dpa0";
int vt_peer_ended = 1;
unsigned int vt_seconds;
bool vt_slow;

static uint64_t run_seed;

uint64_t vt_seed(void)
{
	return run_seed;
}

void vt_set_seed(uint64_t s)
{
	run_seed = s;
}

void vt_fail(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("    %s:%d: %s\n", base ? base + 1 : file, line, text);
	fflush(stdout);
	_exit(1);
}

void vt_skip(const char *fmt, ...)
{
	va_list ap;

	printf("    ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(VT_EXIT_SKIP);
}

static uint32_t or_default(uint32_t v, uint32_t d)
{
	return v ? v : d;
}

/* ------------------------------------------------------------- the other side */

static _Noreturn void peer_ended(void)
{
	printf("    the other side has ended\n");
	fflush(stdout);
	_exit(vt_peer_ended);
}

void vt_put(struct vt *t, const void *data, size_t n)
{
	ssize_t ret;

	do
		ret = send(t->sock, data, n, MSG_NOSIGNAL);
	while (ret < 0 && errno == EINTR);
	if (ret != (ssize_t)n)
		peer_ended();
}

void vt_get(struct vt *t, void *data, size_t n)
{
	ssize_t ret;

	do
		ret = recv(t->sock, data, n, MSG_WAITALL);
	while (ret < 0 && errno == EINTR);
	if (ret != (ssize_t)n)
		peer_ended();
}

void vt_sync(struct vt *t)
{
	char c = 's';

	vt_put(t, &c, 1);
	vt_get(t, &c, 1);
}

/* ------------------------------------------------------------------- opening */

/* The first IPv4 GID, else the first that is not empty. */
static int find_gid(struct ibv_context *ctx, union ibv_gid *gid)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	static const union ibv_gid none;
	struct ibv_port_attr port;
	int first = -1;

	CHECK_EQ(ibv_query_port(ctx, 1, &port), 0);
	for (int i = 0; i < port.gid_tbl_len; i++) {
		union ibv_gid g;

		if (ibv_query_gid(ctx, 1, i, &g) || !memcmp(&g, &none, sizeof(g)))
			continue;
		if (memcmp(g.raw, v4, sizeof(v4)) == 0) {
			*gid = g;
			return i;
		}
		if (first < 0) {
			first = i;
			*gid = g;
		}
	}
	CHECK(first >= 0, "the port has no GID");
	return first;
}

void vt_open_from(struct vt *t, struct ibv_device **list, int n)
{
	const char *comma = strchr(vt_device, ','),
		   *name = comma && t->side ? comma + 1 : vt_device;
	size_t len = comma && !t->side ? (size_t)(comma - vt_device) : strlen(name);

	for (int i = 0; i < n && !t->ctx; i++) {
		const char *have = ibv_get_device_name(list[i]);

		if (strlen(have) == len && memcmp(have, name, len) == 0) {
			t->ctx = ibv_open_device(list[i]);
			CHECK(t->ctx, "open of %s: %s", have, strerror(errno));
		}
	}
	CHECK(t->ctx, "there is no device %.*s", (int)len, name);
	t->pd = ibv_alloc_pd(t->ctx);
	CHECK(t->pd, "alloc_pd: %s", strerror(errno));
	t->gid_index = find_gid(t->ctx, &t->me.gid);
}

void vt_open(struct vt *t)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);

	CHECK(list, "no device list: %s", strerror(errno));
	vt_open_from(t, list, n);
	ibv_free_device_list(list);
}

static void make_buffer(struct vt *t, const struct vt_opt *o)
{
	t->len = o->len ? o->len : 65536;
	t->buf = mmap(NULL, t->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(t->buf != MAP_FAILED, "%s", strerror(errno));
	t->mr = ibv_reg_mr(t->pd, t->buf, t->len, o->mr_access ? o->mr_access : ALL_ACCESS);
	CHECK(t->mr, "reg_mr: %s", strerror(errno));
	t->me.rkey = t->mr->rkey;
	t->me.addr = (uintptr_t)t->buf;
}

void vt_prepare(struct vt *t, const struct vt_opt *o)
{
	uint32_t cqe = or_default(o->send_wr, 64) + or_default(o->recv_wr, 64);

	if (!t->ctx)
		vt_open(t);
	make_buffer(t, o);
	if (o->event) {
		t->channel = ibv_create_comp_channel(t->ctx);
		CHECK(t->channel, "create_comp_channel: %s", strerror(errno));
	}
	t->cq = o->cq;
	if (!t->cq)
		t->cq = ibv_create_cq(t->ctx, (int)or_default(o->cqe, cqe), NULL, t->channel, 0);
	CHECK(t->cq, "create_cq: %s", strerror(errno));
	t->qp = vt_qp_create(t, o, t->cq);
}

void vt_setup(struct vt *t, const struct vt_opt *o)
{
	vt_prepare(t, o);
	vt_connect(t, t->qp, o, &t->peer);
}

void vt_close(struct vt *t)
{
	vt_sync(t);
	if (t->qp)
		CHECK_EQ(ibv_destroy_qp(t->qp), 0);
	if (t->cq)
		CHECK_EQ(ibv_destroy_cq(t->cq), 0);
	if (t->channel)
		CHECK_EQ(ibv_destroy_comp_channel(t->channel), 0);
	if (t->mr)
		CHECK_EQ(ibv_dereg_mr(t->mr), 0);
	if (t->buf)
		munmap(t->buf, t->len);
	CHECK_EQ(ibv_dealloc_pd(t->pd), 0);
	CHECK_EQ(ibv_close_device(t->ctx), 0);
}

/* ------------------------------------------------------------------------ QPs */

static enum ibv_qp_type qp_type(const struct vt_opt *o)
{
	return o->type ? o->type : IBV_QPT_RC;
}

struct ibv_qp *vt_qp_create(struct vt *t, const struct vt_opt *o, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr a = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = o->srq,
		.cap = {.max_send_wr = or_default(o->send_wr, 64),
			.max_recv_wr = o->srq ? 0 : or_default(o->recv_wr, 64),
			.max_send_sge = or_default(o->sge, 4),
			.max_recv_sge = o->srq ? 0 : or_default(o->sge, 4),
			.max_inline_data = o->inl},
		.qp_type = qp_type(o),
		.sq_sig_all = o->sig_all,
	};
	struct ibv_qp *qp = ibv_create_qp(t->pd, &a);

	CHECK(qp, "create_qp: %s", strerror(errno));
	return qp;
}

void vt_qp_init(struct vt *t, struct ibv_qp *qp, const struct vt_opt *o)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = 0x11111111,
		.qp_access_flags = o->no_qp_access
					   ? 0
					   : IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
						     IBV_ACCESS_REMOTE_ATOMIC,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (qp_type(o) == IBV_QPT_UC)
		a.qp_access_flags &= IBV_ACCESS_REMOTE_WRITE;
	mask |= qp_type(o) == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	CHECK_EQ(ibv_modify_qp(qp, &a, mask), 0);
}

static struct ibv_ah_attr ah_attr(struct vt *t, const struct vt_addr *dst)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = dst->gid, .sgid_index = (uint8_t)t->gid_index, .hop_limit = 64},
	};
}

struct ibv_ah *vt_ah(struct vt *t, const struct vt_addr *dst)
{
	struct ibv_ah_attr a = ah_attr(t, dst);
	struct ibv_ah *ah = ibv_create_ah(t->pd, &a);

	CHECK(ah, "create_ah: %s", strerror(errno));
	return ah;
}

void vt_qp_rtr(struct vt *t, struct ibv_qp *qp, const struct vt_opt *o, const struct vt_addr *dst)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.ah_attr = ah_attr(t, dst),
		.path_mtu = o->mtu ? o->mtu : IBV_MTU_1024,
		.dest_qp_num = dst->qpn,
		.rq_psn = dst->psn,
		.max_dest_rd_atomic = (uint8_t)or_default(o->rd_atomic, 4),
		.min_rnr_timer = (uint8_t)or_default(o->min_rnr, 1),
	};
	int mask = IBV_QP_STATE;

	if (qp_type(o) != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (qp_type(o) == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	CHECK_EQ(ibv_modify_qp(qp, &a, mask), 0);
}

int vt_qp_try_rts(struct ibv_qp *qp, const struct vt_opt *o, uint32_t psn)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn,
		.timeout = (uint8_t)or_default(o->timeout, 14),
		.retry_cnt = (uint8_t)or_default(o->retry_cnt, 7),
		.rnr_retry = o->no_rnr ? 0 : (uint8_t)or_default(o->rnr_retry, 7),
		.max_rd_atomic = (uint8_t)or_default(o->rd_atomic, 4),
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp_type(o) == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(qp, &a, mask);
}

void vt_qp_rts(struct vt *t, struct ibv_qp *qp, const struct vt_opt *o, uint32_t psn)
{
	CHECK_EQ(vt_qp_try_rts(qp, o, psn), 0);
}

void vt_connect(struct vt *t, struct ibv_qp *qp, const struct vt_opt *o, struct vt_addr *peer)
{
	struct vt_addr me = t->me;

	me.qpn = qp->qp_num;
	/*
	 * entries of the previous connection that are still in the ring are old for the next one: a
	 * third of the numbers behind
	 */
	me.psn = (uint32_t)(vt_seed() * 2654435761u + qp->qp_num + 0x555555 * t->connections++) &
		 0xffffff;
	me.qkey = 0x11111111;
	vt_qp_init(t, qp, o);
	vt_put(t, &me, sizeof(me));
	vt_get(t, peer, sizeof(*peer));
	vt_qp_rtr(t, qp, o, peer);
	vt_qp_rts(t, qp, o, me.psn);
	t->me = me;
	vt_sync(t);
}

void vt_connect_pair(struct vt *t, struct ibv_qp *a, struct ibv_qp *b, const struct vt_opt *o)
{
	struct vt_addr to_a = t->me, to_b = t->me;

	to_a.qpn = a->qp_num;
	to_b.qpn = b->qp_num;
	to_a.psn = to_b.psn = 0;
	vt_qp_init(t, a, o);
	vt_qp_init(t, b, o);
	vt_qp_rtr(t, a, o, &to_b);
	vt_qp_rtr(t, b, o, &to_a);
	vt_qp_rts(t, a, o, 0);
	vt_qp_rts(t, b, o, 0);
}

void vt_reconnect(struct vt *t, const struct vt_opt *o)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
	struct ibv_wc wc;

	vt_sync(t);
	CHECK_EQ(ibv_modify_qp(t->qp, &a, IBV_QP_STATE), 0);
	while (ibv_poll_cq(t->cq, 1, &wc) > 0)
		;
	vt_sync(t);
	vt_connect(t, t->qp, o, &t->peer);
}

enum ibv_qp_state vt_state(struct ibv_qp *qp)
{
	struct ibv_qp_attr a;
	struct ibv_qp_init_attr ia;

	CHECK_EQ(ibv_query_qp(qp, &a, IBV_QP_STATE, &ia), 0);
	return a.qp_state;
}

/* ---------------------------------------------------------------- completions */

struct ibv_wc vt_wc(struct vt *t, struct ibv_cq *cq)
{
	time_t limit = time(NULL) + WC_LIMIT_S;
	struct ibv_wc wc;

	for (uint32_t i = 1;; i++) {
		int n = ibv_poll_cq(cq, 1, &wc);

		CHECK(n >= 0, "poll_cq failed");
		if (n == 1)
			return wc;
		if (i % 256 == 0) {
			sched_yield();
			CHECK(time(NULL) < limit, "no completion within %d s (side %d)", WC_LIMIT_S,
			      t->side);
		}
	}
}

struct ibv_wc vt_wc_is(struct vt *t, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = vt_wc(t, t->cq);

	if (wc.wr_id != wr_id || wc.status != status)
		vt_fail(__FILE__, __LINE__,
			"side %d: completion wr_id %llu \"%s\" (vendor_err %#x), "
			"expected wr_id %llu \"%s\"",
			t->side, (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status),
			wc.vendor_err, (unsigned long long)wr_id, ibv_wc_status_str(status));
	return wc;
}

void vt_wc_none(struct vt *t, struct ibv_cq *cq)
{
	struct ibv_wc wc;

	for (int i = 0; i < 100; i++)
		if (ibv_poll_cq(cq, 1, &wc) != 0)
			vt_fail(__FILE__, __LINE__, "side %d: unexpected completion wr_id %llu %s",
				t->side, (unsigned long long)wc.wr_id,
				ibv_wc_status_str(wc.status));
}

/* -------------------------------------------------------------- work requests */

uint32_t vt_active_mtu(struct vt *t)
{
	struct ibv_port_attr a;

	CHECK_EQ(ibv_query_port(t->ctx, 1, &a), 0);
	return 128u << a.active_mtu;
}

struct ibv_send_wr vt_wr(struct vt *t, enum ibv_wr_opcode op, struct ibv_sge *sge, size_t off,
			 size_t roff, uint32_t len)
{
	struct ibv_send_wr wr = {
		.opcode = op,
		.sg_list = sge,
		.num_sge = len ? 1 : 0,
		.send_flags = IBV_SEND_SIGNALED,
	};

	*sge = (struct ibv_sge){(uintptr_t)t->buf + off, len, t->mr->lkey};
	if (op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = t->peer.addr + roff;
		wr.wr.atomic.rkey = t->peer.rkey;
	} else {
		wr.wr.rdma.remote_addr = t->peer.addr + roff;
		wr.wr.rdma.rkey = t->peer.rkey;
	}
	return wr;
}

int vt_post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;

	return ibv_post_send(qp, wr, &bad);
}

int vt_send(struct vt *t, enum ibv_wr_opcode op, size_t off, size_t roff, uint32_t len,
	    uint64_t wr_id, unsigned int flags)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = vt_wr(t, op, &sge, off, roff, len);

	wr.wr_id = wr_id;
	wr.send_flags = flags;
	return vt_post(t->qp, &wr);
}

int vt_recv(struct vt *t, size_t off, uint32_t len, uint64_t wr_id)
{
	struct ibv_sge sge = {(uintptr_t)t->buf + off, len, t->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = len ? 1 : 0}, *bad;

	return ibv_post_recv(t->qp, &wr, &bad);
}

/* ---------------------------------------------------------------------- bytes */

static uint8_t pattern(size_t i, uint32_t seed)
{
	return (uint8_t)(((i + seed) * 2654435761u) >> 13);
}

void vt_fill(void *p, size_t n, uint32_t seed)
{
	uint8_t *b = p;

	for (size_t i = 0; i < n; i++)
		b[i] = pattern(i, seed);
}

size_t vt_differs(const void *p, size_t n, uint32_t seed)
{
	const uint8_t *b = p;
	size_t i = 0;

	while (i < n && b[i] == pattern(i, seed))
		i++;
	return i;
}

void vt_poison(void *p, size_t n)
{
	memset(p, VT_POISON, n);
}

bool vt_is_poison(const void *p, size_t n)
{
	const uint8_t *b = p;

	return !n || (b[0] == VT_POISON && !memcmp(b, b + 1, n - 1));
}
