/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_herd - a key-value store that uses the device as HERD does (Kalia and others, SIGCOMM 2014), by LID
 * alone, between processes of one host:
 *
 *   dpa_herd registry PORT by which the others exchange LIDs and QPNs; until SIGTERM
 *   dpa_herd master PORT CLIENTS WORKERS    has the request region and a UC QP for each client, and
 *                                           sleeps until the workers have ended
 *   dpa_herd worker PORT CLIENTS WORKERS N  polls the region, answers by UD, until each client ends
 *   dpa_herd client PORT CLIENTS WORKERS N REQUESTS [SEED]
 *
 * A client writes its request into the region by an inline WRITE on UC. The region is SysV shared
 * memory: the process that polls it is not the one that has registered it and the QPs. The answer
 * is an inline SEND with immediate by an address handle without a GRH. Address vectors have
 * is_global 0 and a LID, the path MTU is 4096, as in HERD. Each answer is checked: its number, the
 * value, the LID and QPN that it comes from. The last byte of a request is its opcode, because the
 * device writes that last.
 */
#include "herd_registry.h"
#include "vt.h"

#include <arpa/inet.h>
#include <assert.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <time.h>

enum { CLIENTS = 16, WORKERS = 8, WINDOW = 16, KEYS = 64, VALUE = 40, GRH = 40, QKEY = 0x11111111 };
enum { SQ = 128, SIGNAL_EACH = 64, LIMIT_S = 50 };
enum op { NONE, GET, PUT, END };

/* A cache line; GET and END have no value. */
struct request {
	uint64_t number;
	uint32_t key;
	uint8_t value[VALUE];
	uint8_t unused[11], op;
};

struct answer {
	uint64_t number;
	uint8_t value[VALUE];
};

static_assert(sizeof(struct request) == 64, "one cache line");

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static uint16_t lid;
static int clients, workers;

/* Return a slot by worker, client and position in the window. */
static size_t slot(int worker, int client, uint32_t at)
{
	return ((size_t)worker * (size_t)clients + (size_t)client) * WINDOW + at;
}

static size_t region_bytes(void)
{
	return slot(workers, 0, 0) * sizeof(struct request);
}

/* -------------------------------------------------------------------- device */

static void open_port(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_port_attr port;

	for (int i = 0; list && list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), vt_device))
			ctx = ibv_open_device(list[i]);
	CHECK(ctx, "there is no device %s", vt_device);
	ibv_free_device_list(list);
	CHECK_EQ(ibv_query_port(ctx, 1, &port), 0);
	CHECK_EQ(port.link_layer, IBV_LINK_LAYER_INFINIBAND);
	CHECK(port.lid, "the port has no LID");
	lid = port.lid;
	pd = ibv_alloc_pd(ctx);
	CHECK(pd, "alloc_pd: %s", strerror(errno));
}

static struct ibv_ah_attr to_lid(uint16_t dlid)
{
	return (struct ibv_ah_attr){.dlid = dlid, .port_num = 1};
}

static struct ibv_qp *new_qp(enum ibv_qp_type type, struct ibv_cq **send, struct ibv_cq **recv)
{
	struct ibv_qp_init_attr a = {.qp_type = type,
				     .cap = {.max_send_wr = SQ,
					     .max_recv_wr = type == IBV_QPT_UD ? SQ * 2 : 1,
					     .max_send_sge = 1,
					     .max_recv_sge = 1,
					     .max_inline_data = sizeof(struct request)}};
	struct ibv_qp_attr s = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_qp *qp;

	*send = a.send_cq = ibv_create_cq(ctx, SQ, NULL, NULL, 0);
	*recv = a.recv_cq = ibv_create_cq(ctx, SQ * 2, NULL, NULL, 0);
	CHECK(*send && *recv, "create_cq: %s", strerror(errno));
	qp = ibv_create_qp(pd, &a);
	CHECK(qp, "create_qp: %s", strerror(errno));
	s.qkey = QKEY;
	s.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	CHECK_EQ(ibv_modify_qp(qp, &s,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
		 0);
	return qp;
}

static struct ibv_qp *new_ud(struct ibv_cq **send, struct ibv_cq **recv)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_UD, send, recv);
	struct ibv_qp_attr s = {.qp_state = IBV_QPS_RTR, .sq_psn = 3185};

	CHECK_EQ(ibv_modify_qp(qp, &s, IBV_QP_STATE), 0);
	s.qp_state = IBV_QPS_RTS;
	CHECK_EQ(ibv_modify_qp(qp, &s, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	return qp;
}

static void connect_uc(struct ibv_qp *qp, const struct herd_value *peer)
{
	struct ibv_qp_attr s = {.qp_state = IBV_QPS_RTR,
				.path_mtu = IBV_MTU_4096,
				.dest_qp_num = peer->qpn,
				.rq_psn = 3185,
				.sq_psn = 3185,
				.ah_attr = to_lid(peer->lid)};

	CHECK_EQ(ibv_modify_qp(qp, &s,
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN),
		 0);
	s.qp_state = IBV_QPS_RTS;
	CHECK_EQ(ibv_modify_qp(qp, &s, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

static struct ibv_wc wait_wc(struct ibv_cq *cq)
{
	time_t end = time(NULL) + LIMIT_S;
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		CHECK(time(NULL) < end, "no completion within %d s", LIMIT_S);
	CHECK_EQ(n, 1);
	CHECK(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
	return wc;
}

/* The sends of a QP that have been posted, and their completions that have not been polled. */
struct sends {
	struct ibv_cq *cq;
	uint64_t posted, signalled;
};

static void all_sent(struct sends *s)
{
	for (; s->signalled; s->signalled--)
		wait_wc(s->cq);
}

/*
 * One send in SIGNAL_EACH is signalled, and the process waits for it before the next signalled one,
 * so that the SQ does not overflow. The last one is signalled, too: a process that ends takes its
 * queues with it.
 */
static unsigned int flags_of_next(struct sends *s, bool last)
{
	if (s->posted++ % SIGNAL_EACH == 0)
		all_sent(s);
	else if (!last)
		return IBV_SEND_INLINE;
	s->signalled++;
	return IBV_SEND_INLINE | IBV_SEND_SIGNALED;
}

/* -------------------------------------------------------------------- master */

static void run_master(void)
{
	int id = shmget(IPC_PRIVATE, region_bytes(), IPC_CREAT | 0600);
	void *region = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
	struct herd_value me = {.lid = lid, .addr = (uintptr_t)region, .shm = id};
	struct ibv_qp *qp[CLIENTS];
	struct ibv_cq *send, *recv;
	struct ibv_mr *mr;

	CHECK(region != (void *)-1, "shared memory: %s", strerror(errno));
	mr = ibv_reg_mr(pd, region, region_bytes(),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(mr, "reg_mr: %s", strerror(errno));
	me.rkey = mr->rkey;
	herd_publish(&me, "region");
	for (int i = 0; i < workers; i++)
		herd_lookup("worker-%d-attached", i);
	CHECK_EQ(shmctl(id, IPC_RMID, NULL), 0);
	for (int i = 0; i < clients; i++) {
		qp[i] = new_qp(IBV_QPT_UC, &send, &recv);
		me.qpn = qp[i]->qp_num;
		herd_publish(&me, "master-%d", i);
	}
	for (int i = 0; i < clients; i++) {
		struct herd_value peer = herd_lookup("client-conn-%d", i);

		connect_uc(qp[i], &peer);
		herd_publish(&me, "master-%d-ready", i);
	}
	for (int i = 0; i < workers; i++) /* no verb is called here */
		herd_lookup("worker-%d-ended", i);
	printf("master: %d clients\n", clients);
}

/* -------------------------------------------------------------------- worker */

struct worker {
	int n;
	struct request *region;
	struct ibv_qp *qp;
	struct sends sends;
	struct ibv_ah *ah[CLIENTS];
	struct herd_value peer[CLIENTS];
	uint32_t at[CLIENTS]; /* in the window */
	uint8_t store[CLIENTS][KEYS][VALUE];
};

static void answer(struct worker *w, int client, const struct request *r)
{
	struct answer a = {.number = r->number};
	struct ibv_sge sge = {(uintptr_t)&a, sizeof(a), 0};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .imm_data = htonl((uint32_t)w->n),
				 .wr.ud = {.ah = w->ah[client],
					   .remote_qpn = w->peer[client].qpn,
					   .remote_qkey = QKEY}};

	CHECK(r->key < KEYS, "key %u", r->key);
	if (r->op == PUT)
		memcpy(w->store[client][r->key], r->value, VALUE);
	memcpy(a.value, w->store[client][r->key], VALUE);
	wr.send_flags = flags_of_next(&w->sends, r->op == END);
	CHECK_EQ(vt_post(w->qp, &wr), 0);
}

/* True: the client ends. */
static bool serve(struct worker *w, int client)
{
	struct request *r = &w->region[slot(w->n, client, w->at[client] % WINDOW)], got;

	if (__atomic_load_n(&r->op, __ATOMIC_ACQUIRE) == NONE)
		return false;
	got = *r;
	/* before the answer: after it the client writes here again */
	__atomic_store_n(&r->op, NONE, __ATOMIC_RELEASE);
	w->at[client]++;
	answer(w, client, &got);
	return got.op == END;
}

static void run_worker(int n)
{
	static struct worker w;
	struct herd_value region = herd_lookup("region"), me = {.lid = lid};
	struct ibv_cq *recv;
	int left = clients;

	w.n = n;
	w.region = shmat(region.shm, NULL, 0);
	CHECK(w.region != (void *)-1, "shmat: %s", strerror(errno));
	herd_publish(&me, "worker-%d-attached", n);
	w.qp = new_ud(&w.sends.cq, &recv);
	me.qpn = w.qp->qp_num;
	herd_publish(&me, "worker-%d", n);
	for (int i = 0; i < clients; i++) {
		w.peer[i] = herd_lookup("client-dgram-%d", i);
		w.ah[i] = ibv_create_ah(
			pd, &(struct ibv_ah_attr){.dlid = w.peer[i].lid, .port_num = 1});
		CHECK(w.ah[i], "create_ah: %s", strerror(errno));
	}
	while (left)
		for (int i = 0; i < clients; i++)
			left -= serve(&w, i);
	all_sent(&w.sends);
	herd_publish(&me, "worker-%d-ended", n);
	printf("worker %d: %llu answers\n", n, (unsigned long long)w.sends.posted);
}

/* -------------------------------------------------------------------- client */

struct client {
	int n;
	struct ibv_qp *uc, *ud;
	struct ibv_cq *ud_recv;
	struct sends writes;
	struct ibv_mr *mr;
	uint8_t *buf; /* receives of ROOM bytes */
	struct herd_value master, peer[WORKERS];
	uint64_t checked, sent[WORKERS];
	struct {
		bool waits;
		struct answer wanted;
	} window[WORKERS][WINDOW];
	uint8_t store[WORKERS][KEYS][VALUE]; /* values that the workers must have of this client */
};

enum { RECVS = WORKERS * WINDOW, ROOM = GRH + sizeof(struct answer) };

static void post_recv(struct client *c, uint64_t i)
{
	struct ibv_sge sge = {(uintptr_t)c->buf + i * ROOM, ROOM, c->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

	vt_poison(c->buf + i * ROOM, ROOM);
	CHECK_EQ(ibv_post_recv(c->ud, &wr, &bad), 0);
}

static void take_answer(struct client *c)
{
	struct ibv_wc wc = wait_wc(c->ud_recv);
	const struct answer *a = (const void *)(c->buf + wc.wr_id * ROOM + GRH), *wanted;
	uint32_t w = ntohl(wc.imm_data);

	CHECK_EQ(wc.byte_len, ROOM);
	CHECK_EQ(wc.wc_flags & (IBV_WC_GRH | IBV_WC_WITH_IMM), IBV_WC_WITH_IMM);
	CHECK(w < (uint32_t)workers, "an answer of worker %u", w);
	CHECK_EQ(wc.slid, c->peer[w].lid);
	CHECK_EQ(wc.src_qp, c->peer[w].qpn);
	CHECK(c->window[w][a->number % WINDOW].waits, "answer %llu of worker %u comes twice",
	      (unsigned long long)a->number, w);
	wanted = &c->window[w][a->number % WINDOW].wanted;
	CHECK_EQ(a->number, wanted->number);
	CHECK(!memcmp(a->value, wanted->value, VALUE), "answer %llu of worker %u: another value",
	      (unsigned long long)a->number, w);
	c->window[w][a->number % WINDOW].waits = false;
	c->checked++;
	post_recv(c, wc.wr_id);
}

static void ask(struct client *c, uint32_t w, enum op op, uint32_t key)
{
	const uint64_t number = c->sent[w]++;
	struct request r = {.number = number, .key = key, .op = (uint8_t)op};
	struct ibv_sge sge = {(uintptr_t)&r, sizeof(r), 0};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};

	while (c->window[w][number % WINDOW].waits)
		take_answer(c);
	if (op == PUT) {
		vt_fill(r.value, VALUE, (uint32_t)c->writes.posted);
		memcpy(c->store[w][key], r.value, VALUE);
	}
	c->window[w][number % WINDOW].waits = true;
	c->window[w][number % WINDOW].wanted.number = number;
	memcpy(c->window[w][number % WINDOW].wanted.value, c->store[w][key], VALUE);
	wr.wr.rdma.rkey = c->master.rkey;
	wr.wr.rdma.remote_addr =
		c->master.addr + slot((int)w, c->n, number % WINDOW) * sizeof(struct request);
	wr.send_flags = flags_of_next(&c->writes, false);
	CHECK_EQ(vt_post(c->uc, &wr), 0);
}

static void join(struct client *c)
{
	struct ibv_cq *unused;
	struct herd_value me = {.lid = lid};

	c->uc = new_qp(IBV_QPT_UC, &c->writes.cq, &unused);
	c->ud = new_ud(&unused, &c->ud_recv);
	c->buf = calloc(RECVS, ROOM);
	c->mr = ibv_reg_mr(pd, c->buf, RECVS * ROOM, IBV_ACCESS_LOCAL_WRITE);
	CHECK(c->buf && c->mr, "reg_mr: %s", strerror(errno));
	for (uint64_t i = 0; i < RECVS; i++)
		post_recv(c, i);
	me.qpn = c->uc->qp_num;
	herd_publish(&me, "client-conn-%d", c->n);
	me.qpn = c->ud->qp_num;
	herd_publish(&me, "client-dgram-%d", c->n);
	c->master = herd_lookup("master-%d", c->n);
	connect_uc(c->uc, &c->master);
	herd_lookup("master-%d-ready", c->n);
	for (int i = 0; i < workers; i++)
		c->peer[i] = herd_lookup("worker-%d", i);
}

static void run_client(int n, uint64_t requests, uint32_t seed)
{
	static struct client c;
	uint32_t x = seed + (uint32_t)n;

	c.n = n;
	join(&c);
	for (uint64_t i = 0; i < requests; i++) {
		x = x * 1664525 + 1013904223;
		ask(&c, (x >> 8) % (uint32_t)workers, x >> 31 ? PUT : GET, (x >> 16) % KEYS);
	}
	for (int i = 0; i < workers; i++)
		ask(&c, (uint32_t)i, END, 0);
	while (c.checked < c.writes.posted)
		take_answer(&c);
	printf("client %d: %llu answers are right, seed %u\n", n, (unsigned long long)c.checked,
	       seed);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	int n = argc > 5 ? atoi(argv[5]) : 0;

	if (!strcmp(what, "registry"))
		herd_registry_serve(argv[2]);
	CHECK(argc >= 5, "usage: dpa_herd registry|master|worker|client PORT [...]");
	clients = atoi(argv[3]);
	workers = atoi(argv[4]);
	CHECK(clients > 0 && clients <= CLIENTS && workers > 0 && workers <= WORKERS,
	      "1 to %d clients, 1 to %d workers", CLIENTS, WORKERS);
	herd_registry_connect(argv[2]);
	open_port();
	if (!strcmp(what, "master"))
		run_master();
	else if (!strcmp(what, "worker") && argc == 6 && n >= 0 && n < workers)
		run_worker(n);
	else if (!strcmp(what, "client") && argc >= 7 && n >= 0 && n < clients)
		run_client(n, strtoull(argv[6], NULL, 10),
			   argc > 7 ? (uint32_t)strtoul(argv[7], NULL, 10) : 1);
	else
		CHECK(false, "what is '%s'?", what);
	return 0;
}
