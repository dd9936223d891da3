/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_failure CAUSE: two RC QPs of one process; one sends five messages, and CAUSE makes the third
 * fail (`gone`: the first). Prints what a program can see of it: completions, states and asynchronous events of both QPs.
 * With CAUSE `none` all is well, unless failures are injected: then the output is that of the real one.
 * It knows nothing of that. Before CAUSE: -s: the receiver has an SRQ; -e N: N events come, and it waits
 * for them; -u: it posts once the port is down, after that event, and prints the port's state; -f: it
 * waits for a device that fails, prints what is left of it, and opens it again; -r N: retries instead of
 * one, and each takes longer; -p PLACE: a region of its own is where the third message is sent from
 * (send), received (receive), written to (write), read from (read) or read into (into). With CAUSE
 * `unmapped` that region is for paging on demand, and has no pages. Exit status 0: it was all seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MESSAGES 5
#define THIRD	 2
#define BYTES	 64
#define LIMIT_MS 20000

struct side {
	const char *name;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_srq *srq;
static char memory[2 * MESSAGES * BYTES];
static struct side a = {.name = "sender"}, b = {.name = "receiver"};
static const char *cause;
static const char *place = "";
static void *own;
static struct ibv_mr *own_mr;
static int retries = 1;

static bool is(const char *name)
{
	return strcmp(cause, name) == 0;
}

static bool is_at(const char *name)
{
	return strcmp(place, name) == 0;
}

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	printf("%s failed: %s\n", what, strerror(errno));
	exit(1);
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	need(list && list[0], "a device");
	for (int i = 0; list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), "dpa0") == 0)
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	need(ctx, "ibv_open_device");
	need(!fcntl(ctx->async_fd, F_SETFL, fcntl(ctx->async_fd, F_GETFL) | O_NONBLOCK), "fcntl");
	need((pd = ibv_alloc_pd(ctx)), "ibv_alloc_pd");
	mr = ibv_reg_mr(pd, memory, sizeof(memory),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	need(mr, "ibv_reg_mr");
}

static void make_own_region(void)
{
	const int access =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(own != MAP_FAILED, "mmap");
	own_mr = ibv_reg_mr(pd, own, 4096, access | (is("unmapped") ? IBV_ACCESS_ON_DEMAND : 0));
	need(own_mr, "ibv_reg_mr");
}

static void use_own(struct ibv_sge *sge)
{
	sge->addr = (uintptr_t)own;
	sge->lkey = own_mr->lkey;
}

static void make_side(struct side *s, int cqe, bool with_srq)
{
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = MESSAGES,
						.max_recv_wr = MESSAGES,
						.max_send_sge = 1,
						.max_recv_sge = 1}};
	struct ibv_srq_init_attr shared = {.attr = {.max_wr = MESSAGES, .max_sge = 1}};
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags =
					   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};

	need((s->cq = ibv_create_cq(ctx, cqe, NULL, NULL, 0)), "ibv_create_cq");
	attr.send_cq = attr.recv_cq = s->cq;
	if (with_srq) {
		need((srq = ibv_create_srq(pd, &shared)), "ibv_create_srq");
		attr.srq = srq;
	}
	need((s->qp = ibv_create_qp(pd, &attr)), "ibv_create_qp");
	need(!ibv_modify_qp(s->qp, &init,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "to INIT");
}

static void connect_side(struct side *s, const struct side *peer)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = peer->qp->qp_num,
				   .min_rnr_timer = 1,
				   .max_dest_rd_atomic = 1,
				   .ah_attr = {.is_global = 1, .port_num = 1}};

	need(!ibv_query_gid(ctx, 1, 0, &attr.ah_attr.grh.dgid), "ibv_query_gid");
	attr.ah_attr.grh.hop_limit = 1;
	need(!ibv_modify_qp(s->qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "to RTR");
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .timeout = retries > 1 ? 15 : 10,
				    .max_rd_atomic = 1,
				    .retry_cnt = (uint8_t)retries};
	need(!ibv_modify_qp(s->qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	     "to RTS");
}

static void post_receives(void)
{
	for (int i = 0; i < MESSAGES; i++) {
		struct ibv_sge sge = {.addr = (uintptr_t)memory + (size_t)(MESSAGES + i) * BYTES,
				      .length = BYTES,
				      .lkey = mr->lkey};
		struct ibv_recv_wr wr = {.wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1}, *bad;

		if (i == THIRD && is("receive_bad_lkey"))
			sge.lkey ^= 0x5a00;
		if (i == THIRD && is_at("receive"))
			use_own(&sge);
		if (i == THIRD && is("receive_short"))
			sge.length = BYTES / 2;
		if (i >= THIRD && is("no_receive"))
			return;
		need(!(srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(b.qp, &wr, &bad)),
		     "a receive");
	}
}

/* All five as one list. A request that is refused ends it, and is named. */
static int post_sends(void)
{
	struct ibv_send_wr wr[MESSAGES] = {0}, *bad = NULL;
	struct ibv_sge sge[MESSAGES];
	int err;

	for (int i = 0; i < MESSAGES; i++) {
		sge[i] = (struct ibv_sge){.addr = (uintptr_t)memory + (size_t)i * BYTES,
					  .length = BYTES,
					  .lkey = mr->lkey};
		wr[i] = (struct ibv_send_wr){.wr_id = (uint64_t)i,
					     .sg_list = &sge[i],
					     .num_sge = 1,
					     .opcode = IBV_WR_SEND,
					     .send_flags = IBV_SEND_SIGNALED,
					     .next = i + 1 < MESSAGES ? &wr[i + 1] : NULL};
	}
	if (is("bad_lkey"))
		sge[THIRD].lkey ^= 0x5a00;
	if (is_at("send") || is_at("into"))
		use_own(&sge[THIRD]);
	if (is_at("write") || is_at("read") || is_at("into")) {
		wr[THIRD].opcode = is_at("write") ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
		wr[THIRD].wr.rdma.remote_addr = (uintptr_t)(is_at("into") ? memory : own);
		wr[THIRD].wr.rdma.rkey = is_at("into") ? mr->rkey : own_mr->rkey;
	}
	if (is("bad_rkey")) {
		wr[THIRD].opcode = IBV_WR_RDMA_WRITE;
		wr[THIRD].wr.rdma.remote_addr = (uintptr_t)memory;
		wr[THIRD].wr.rdma.rkey = mr->rkey ^ 0x5a00;
	}
	err = ibv_post_send(a.qp, wr, &bad);
	if (err)
		printf("post: %s, bad_wr %d\n", strerror(err), bad ? (int)bad->wr_id : -1);
	return err ? (int)(bad - wr) : MESSAGES;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Prints completions until there are n of this side. Their number; less: none came for `ms`. */
static int show_completions(const struct side *s, int n, int ms)
{
	long end = now_ms() + ms;
	struct ibv_wc wc;
	int got = 0, r;

	do {
		r = ibv_poll_cq(s->cq, 1, &wc);
		if (r < 0)
			printf("%s: poll: %s\n", s->name, strerror(-r));
		if (r <= 0)
			continue; /* to the condition */
		printf("%s: %d %s vendor 0x%x qp %s\n", s->name, (int)wc.wr_id,
		       ibv_wc_status_str(wc.status), wc.vendor_err,
		       wc.qp_num == s->qp->qp_num ? "right" : "wrong");
		got++;
		end = now_ms() + ms;
	} while (got < n && (r > 0 || now_ms() < end));
	return got;
}

/* Takes one asynchronous event; waits for it for ms. False: there is none. */
static bool show_event(int ms)
{
	struct pollfd p = {.fd = ctx->async_fd, .events = POLLIN};
	struct ibv_async_event ev;

	if (poll(&p, 1, ms) <= 0 || ibv_get_async_event(ctx, &ev))
		return false;
	printf("event: %s\n", ibv_event_type_str(ev.event_type));
	ibv_ack_async_event(&ev);
	return true;
}

static void show_port(void)
{
	struct ibv_port_attr attr;

	need(!ibv_query_port(ctx, 1, &attr), "ibv_query_port");
	printf("port: %s, phys_state %u\n", ibv_port_state_str(attr.state), attr.phys_state);
}

static enum ibv_qp_state state_of(const struct side *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	need(!ibv_query_qp(s->qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	return attr.qp_state;
}

static void show_state(const struct side *s)
{
	static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

	printf("%s: state %s\n", s->name, names[state_of(s)]);
}

/* Everything that is in the CQ. */
static void drain(const struct side *s)
{
	while (show_completions(s, 1, 0))
		;
}

/*
 * With events: they come last, so everything is in the CQs then. Without: every message of the sender
 * ends, and the receiver has what the sender knows it has.
 */
static void show_all(int posted, int events)
{
	need(!events || show_event(LIMIT_MS), "an event");
	for (int i = 1; i < events; i++)
		need(show_event(LIMIT_MS), "an event");
	if (events)
		drain(&a);
	else
		need(show_completions(&a, posted, LIMIT_MS) == posted, "a completion");
	show_state(&a);
	show_state(&b);
	drain(&b);
	while (show_event(0))
		;
}

static void show_result(const char *verb, int err)
{
	printf("%s: %s\n", verb, strerror(err));
}

/* The receives were posted before. A program that does not destroy objects of a dead device may close it. */
static void show_fatal(void)
{
	struct ibv_async_event ev;
	struct ibv_port_attr attr;
	struct ibv_qp *qp = b.qp;
	struct ibv_pd *other;

	need(show_event(LIMIT_MS), "an event");
	other = ibv_alloc_pd(ctx);
	show_result("alloc_pd", other ? 0 : errno);
	show_result("query_port", ibv_query_port(ctx, 1, &attr));
	show_result("destroy_qp", ibv_destroy_qp(qp));
	show_result("get_async_event", ibv_get_async_event(ctx, &ev) ? errno : 0);
	need(show_completions(&b, MESSAGES, LIMIT_MS) == MESSAGES, "a completion");
	show_result("close_device", ibv_close_device(ctx));
	open_device();
	show_port();
}

int main(int argc, char **argv)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	bool shared = false, down = false, fatal = false;
	int opt, events = 0;

	while ((opt = getopt(argc, argv, "sufe:r:p:")) != -1) {
		if (opt == 's')
			shared = true;
		else if (opt == 'u')
			down = true;
		else if (opt == 'f')
			fatal = true;
		else if (opt == 'r')
			retries = atoi(optarg);
		else if (opt == 'p')
			place = optarg;
		else if (opt == 'e')
			events = atoi(optarg);
		else
			return 2;
	}
	if (optind != argc - 1)
		return 2;
	cause = argv[optind];
	open_device();
	if (place[0])
		make_own_region();
	make_side(&a, is("short_cq") ? THIRD : 2 * MESSAGES, false);
	make_side(&b, 2 * MESSAGES, shared);
	connect_side(&a, &b);
	connect_side(&b, &a);
	post_receives();
	if (fatal) {
		show_fatal();
		return 0;
	}
	if (down) {
		need(show_event(LIMIT_MS), "an event");
		show_port();
	}
	if (is("unmapped"))
		need(!munmap(own, 4096), "munmap");
	if (is("gone"))
		need(!ibv_modify_qp(b.qp, &reset, IBV_QP_STATE), "to RESET");
	show_all(post_sends(), events);
	return 0;
}
