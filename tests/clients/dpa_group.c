/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_group - UD QPs of one process that join, send to and receive from multicast groups, by
 * commands on stdin, one a line. Each line is answered by one on stdout:
 *
 *   attach QP GROUP, detach QP GROUP   ok, or the errno's name
 *   send QP GROUP WORD                 ok: the send has completed
 *   join INTERFACE GROUP               ok: the IP stack has joined it (what dpa0 does by itself,
 * and kernel drivers leave to others) until QP WORD                      what QP received up to and
 * with this word, each as WORD,SOURCE,GROUP from its GRH; fails after 30 s
 *
 * QP: a number below --qps. GROUP: an IPv4 or IPv6 address.
 */
#include "vt.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

enum { QPS = 8, RECVS = 64, ROOM = 256, GRH = 40, QKEY = 0x11111111, HOPS = 3 };

struct one {
	struct ibv_cq *cq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf; /* RECVS of ROOM bytes, and one to send from */
};

static struct vt t = {.gid_index = -1};
static struct one ones[QPS];
static int nqps = 1, gid_index;

static void post(struct one *o, uint64_t i)
{
	struct ibv_sge sge = {(uintptr_t)o->buf + i * ROOM, ROOM, o->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

	CHECK_EQ(ibv_post_recv(o->qp, &wr, &bad), 0);
}

static void open_one(struct one *o)
{
	struct ibv_qp_init_attr a = {.cap = {.max_send_wr = 4,
					     .max_recv_wr = RECVS,
					     .max_send_sge = 1,
					     .max_recv_sge = 1},
				     .qp_type = IBV_QPT_UD};
	struct ibv_qp_attr s = {.port_num = 1, .qkey = QKEY};

	o->buf = calloc(RECVS + 1, ROOM);
	o->mr = ibv_reg_mr(t.pd, o->buf, (RECVS + 1) * ROOM, IBV_ACCESS_LOCAL_WRITE);
	o->cq = ibv_create_cq(t.ctx, 4, NULL, NULL, 0);
	o->rcq = ibv_create_cq(t.ctx, RECVS, NULL, NULL, 0);
	CHECK(o->buf && o->mr && o->cq && o->rcq, "%s", strerror(errno));
	a.send_cq = o->cq;
	a.recv_cq = o->rcq;
	o->qp = ibv_create_qp(t.pd, &a);
	CHECK(o->qp, "create_qp: %s", strerror(errno));
	s.qp_state = IBV_QPS_INIT;
	CHECK_EQ(ibv_modify_qp(o->qp, &s,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		 0);
	for (uint64_t i = 0; i < RECVS; i++)
		post(o, i);
	s.qp_state = IBV_QPS_RTR;
	CHECK_EQ(ibv_modify_qp(o->qp, &s, IBV_QP_STATE), 0);
	s.qp_state = IBV_QPS_RTS;
	CHECK_EQ(ibv_modify_qp(o->qp, &s, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

static union ibv_gid group_of(const char *text)
{
	union ibv_gid g = {.raw = {[10] = 0xff, [11] = 0xff}};

	if (!inet_pton(AF_INET, text, g.raw + 12))
		CHECK_EQ(inet_pton(AF_INET6, text, g.raw), 1);
	return g;
}

static struct ibv_wc wait_wc(struct ibv_cq *cq)
{
	time_t end = time(NULL) + 30;
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(cq, 1, &wc);
		CHECK(n >= 0, "poll_cq");
		CHECK(n || time(NULL) < end, "no completion within 30 s");
	} while (!n);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	return wc;
}

static void do_send(struct one *o, const char *group, const char *word)
{
	struct ibv_ah_attr a = {.is_global = 1,
				.port_num = 1,
				.grh = {.dgid = group_of(group),
					.sgid_index = (uint8_t)gid_index,
					.hop_limit = HOPS}};
	struct ibv_sge sge = {(uintptr_t)o->buf + RECVS * ROOM, (uint32_t)strlen(word) + 1,
			      o->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};

	wr.wr.ud.ah = ibv_create_ah(t.pd, &a);
	CHECK(wr.wr.ud.ah, "create_ah: %s", strerror(errno));
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = QKEY;
	strcpy((char *)o->buf + RECVS * ROOM, word);
	CHECK_EQ(vt_post(o->qp, &wr), 0);
	wait_wc(o->cq);
	CHECK_EQ(ibv_destroy_ah(wr.wr.ud.ah), 0);
}

/* Get the addresses of the IP header in front, which must be correct. */
static void addresses(const uint8_t *g, char *src, char *dst)
{
	bool v6 = g[0] >> 4 == 6;
	uint32_t sum = 0;

	CHECK_EQ(v6 ? g[7] : g[28], HOPS);
	CHECK_EQ(v6 ? g[6] : g[29], 17);
	for (int i = 20; i < 40 && !v6; i += 2)
		sum += (uint32_t)g[i] << 8 | g[i + 1];
	CHECK(v6 || sum % 0xffff == 0, "IPv4 header checksum");
	inet_ntop(v6 ? AF_INET6 : AF_INET, g + (v6 ? 8 : 32), src, INET6_ADDRSTRLEN);
	inet_ntop(v6 ? AF_INET6 : AF_INET, g + (v6 ? 24 : 36), dst, INET6_ADDRSTRLEN);
}

static void do_until(struct one *o, const char *word)
{
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	bool last;

	do {
		struct ibv_wc wc = wait_wc(o->rcq);
		const uint8_t *p = o->buf + wc.wr_id * ROOM;
		const char *got = (const char *)p + GRH;

		CHECK(wc.wc_flags & IBV_WC_GRH, "no GRH");
		CHECK(wc.byte_len > GRH && !p[wc.byte_len - 1], "not a word");
		addresses(p, src, dst);
		last = !strcmp(got, word);
		printf("%s,%s,%s%c", got, src, dst, last ? '\n' : ' ');
		post(o, wc.wr_id);
	} while (!last);
}

/* The socket stays open as long as the program runs. */
static int do_join(const char *interface, const union ibv_gid *g)
{
	struct group_req r = {.gr_interface = if_nametoindex(interface)};
	bool v4 = g->raw[0] != 0xff;
	struct sockaddr_in *a4 = (struct sockaddr_in *)&r.gr_group;
	struct sockaddr_in6 *a6 = (struct sockaddr_in6 *)&r.gr_group;
	int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM, 0);

	if (v4) {
		a4->sin_family = AF_INET;
		memcpy(&a4->sin_addr, g->raw + 12, 4);
	} else {
		a6->sin6_family = AF_INET6;
		memcpy(&a6->sin6_addr, g->raw, 16);
	}
	return setsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, MCAST_JOIN_GROUP, &r, sizeof(r))
		       ? errno
		       : 0;
}

static void command(char *line)
{
	char *save, *what = strtok_r(line, " \n", &save), *qp = strtok_r(NULL, " \n", &save);
	char *group = strtok_r(NULL, " \n", &save), *word = strtok_r(NULL, " \n", &save);
	union ibv_gid gid;
	struct one *o;
	int ret = 0;

	CHECK(what && qp && group, "what is '%s'?", what ? what : "");
	if (!strcmp(what, "join")) {
		gid = group_of(group);
		ret = do_join(qp, &gid);
		printf("%s\n", ret ? strerrorname_np(ret) : "ok");
		return;
	}
	CHECK(atoi(qp) < nqps, "there is no QP %s", qp);
	o = &ones[atoi(qp)];
	if (!strcmp(what, "until")) {
		do_until(o, group);
		return;
	}
	gid = group_of(group);
	if (!strcmp(what, "send") && word)
		do_send(o, group, word);
	else if (!strcmp(what, "attach"))
		ret = ibv_attach_mcast(o->qp, &gid, 0);
	else if (!strcmp(what, "detach"))
		ret = ibv_detach_mcast(o->qp, &gid, 0);
	else
		CHECK(false, "what is '%s'?", what);
	printf("%s\n", ret ? strerrorname_np(ret) : "ok");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"device", required_argument, NULL, 'd'},
						{"gid-index", required_argument, NULL, 'g'},
						{"qps", required_argument, NULL, 'q'},
						{0}};
	char line[256];
	int c;

	while ((c = getopt_long(argc, argv, "d:g:q:", options, NULL)) != -1) {
		CHECK(c != '?', "usage: dpa_group [-d DEVICE] [-g INDEX] [-q QPS]");
		if (c == 'd')
			vt_device = optarg;
		else
			*(c == 'g' ? &gid_index : &nqps) = atoi(optarg);
	}
	CHECK(nqps > 0 && nqps <= QPS, "at most %d QPs", QPS);
	setvbuf(stdout, NULL, _IOLBF, 0);
	vt_open(&t);
	for (int i = 0; i < nqps; i++)
		open_one(&ones[i]);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin))
		command(line);
	return 0;
}
