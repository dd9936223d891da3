/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_unreliable - datagrams, or with --uc messages of an unreliable connection, to and fro between
 * two hosts, one at a time; every byte of them is checked.
 *
 *   dpa_unreliable [options]            server: waits for the client on TCP port -p
 *   dpa_unreliable [options] HOST       client
 *
 * Each datagram has another path (flow label, traffic class, hop limit) and must arrive with it in
 * the 40 bytes in front of it. The answer uses these, by ibv_create_ah_from_wc() and
 * ibv_init_ah_from_wc() in turn, and must arrive by the same path.
 */
#include "vt.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <signal.h>

enum { GRH = 40, UD_MAX = 1024, UC_MAX = 100000, RECVS = 4, QKEY = 0x11111111 };
enum { SEND_AT = 0, RECV_AT = UC_MAX, WRITE_AT = 2 * UC_MAX, LEN = 3 * UC_MAX };

struct path {
	uint32_t flow;
	uint8_t tclass, hop;
};

static struct vt t;
static int messages = 300;

static bool is_v4(const union ibv_gid *g)
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};

	return !memcmp(g->raw, mapped, sizeof(mapped));
}

/* Return the path of message n, known to both sides. */
static struct path path_of(uint32_t n)
{
	uint32_t x = n * 2654435761u, y = n / 2 * 2654435761u; /* two differ only in the label */

	return (struct path){.flow = n % 8 == 1	  ? 0xfffff
				     : n % 8 == 2 ? 1
				     : n % 8 == 3 ? 0
						  : x >> 12,
			     .tclass = (uint8_t)(y & 0xfc),
			     .hop = (uint8_t)(1 + (y >> 8) % 255)};
}

static uint32_t length_of(uint32_t n, uint32_t max)
{
	return n % 4 == 0 ? max - n % 3 : (n * 2654435761u >> 8) % (n % 4 == 1 ? 9 : max + 1);
}

static uint32_t seed_of(uint32_t n, int side)
{
	return 2 * n + (uint32_t)side;
}

/* And the bytes behind them, of `room`, are unchanged. */
static void bytes_are(const uint8_t *p, uint32_t len, uint32_t n, uint32_t room)
{
	size_t at = vt_differs(p, len, seed_of(n, !t.side));

	CHECK(at == len, "message %u of %u bytes: byte %zu is wrong", n, len, at);
	CHECK(vt_is_poison(p + len, room - len), "message %u: bytes behind its %u were written", n,
	      len);
}

/* The answer may arrive before the completion of the message that it answers. */
static struct ibv_wc early;
static bool is_early;

static void sent(void)
{
	struct ibv_wc wc;

	for (;;) {
		wc = vt_wc(&t, t.cq);
		CHECK(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
		if (wc.wr_id == RECVS)
			return;
		CHECK(!is_early, "two messages at once");
		early = wc;
		is_early = true;
	}
}

static struct ibv_wc received(void)
{
	struct ibv_wc wc = is_early ? early : vt_wc(&t, t.cq);

	is_early = false;
	CHECK(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
	CHECK(wc.wr_id < RECVS, "it was sent twice");
	return wc;
}

/* ------------------------------------------------------------------ datagrams */

static void put(uint8_t *p, uint32_t v, int bytes)
{
	for (; bytes--; v >>= 8)
		p[bytes] = (uint8_t)v;
}

static uint32_t ip_sum(const uint8_t *p)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

/*
 * Check the header in front: n bytes of UDP payload, p from the peer to this side. Not given by the
 * path: the ECN bits, and the identification of IPv4, which has no flow label.
 */
static void grh_is(const uint8_t *g, const struct path *p, uint32_t n)
{
	bool v4 = is_v4(&t.peer.gid);
	const uint8_t *at = g + (v4 ? 20 : 0);
	uint32_t tclass = p->tclass | (v4 ? at[1] & 3u : at[1] >> 4 & 3u);
	uint8_t w[GRH] = {0};

	if (v4) {
		w[0] = 0x45;
		w[1] = (uint8_t)tclass;
		put(w + 2, 20 + 8 + n, 2);
		memcpy(w + 4, at + 4, 2);
		w[6] = 0x40; /* don't fragment */
		w[8] = p->hop;
		w[9] = 17;
		memcpy(w + 12, t.peer.gid.raw + 12, 4);
		memcpy(w + 16, t.me.gid.raw + 12, 4);
		put(w + 10, ip_sum(w), 2);
	} else {
		put(w, 6u << 28 | tclass << 20 | p->flow, 4);
		put(w + 4, 8 + n, 2);
		w[6] = 17;
		w[7] = p->hop;
		memcpy(w + 8, t.peer.gid.raw, 16);
		memcpy(w + 24, t.me.gid.raw, 16);
	}
	for (int i = 0; i < (v4 ? 20 : GRH); i++)
		CHECK(at[i] == w[i], "byte %d of the IP header is %#x, not %#x", i, at[i], w[i]);
}

static void post_recv_ud(uint64_t i)
{
	vt_poison(t.buf + RECV_AT + i * (GRH + UD_MAX), GRH + UD_MAX);
	CHECK_EQ(vt_recv(&t, RECV_AT + i * (GRH + UD_MAX), GRH + UD_MAX, i), 0);
}

/* Wait for datagram n of the other side and check it; *grh: its header. */
static struct ibv_wc take(uint32_t n, struct ibv_grh *grh)
{
	uint32_t len = length_of(n, UD_MAX);
	struct path p = path_of(n);
	struct ibv_wc wc = received();
	const uint8_t *at = t.buf + RECV_AT + wc.wr_id * (GRH + UD_MAX);

	CHECK_EQ(wc.opcode, IBV_WC_RECV);
	CHECK_EQ(wc.wc_flags & (IBV_WC_GRH | IBV_WC_WITH_IMM), IBV_WC_GRH | IBV_WC_WITH_IMM);
	CHECK_EQ(ntohl(wc.imm_data), n);
	CHECK_EQ(wc.src_qp, t.peer.qpn);
	CHECK_EQ(wc.byte_len, GRH + len);
	/* BTH, DETH, immediate, padded payload, ICRC */
	grh_is(at, &p, 12 + 8 + 4 + ((len + 3) & ~3u) + 4);
	bytes_are(at + GRH, len, n, UD_MAX);
	memcpy(grh, at, GRH);
	post_recv_ud(wc.wr_id);
	return wc;
}

static void send_to(struct ibv_ah *ah, uint32_t qpn, uint32_t n)
{
	uint32_t len = length_of(n, UD_MAX);
	struct ibv_sge sge;
	struct ibv_send_wr wr = vt_wr(&t, IBV_WR_SEND_WITH_IMM, &sge, SEND_AT, 0, len);

	vt_fill(t.buf + SEND_AT, len, seed_of(n, t.side));
	wr.wr_id = RECVS;
	wr.imm_data = htonl(n);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = QKEY;
	CHECK_EQ(vt_post(t.qp, &wr), 0);
	sent();
	CHECK_EQ(ibv_destroy_ah(ah), 0);
}

static struct ibv_ah *ask(uint32_t n)
{
	struct path p = path_of(n);
	struct ibv_ah_attr a = {.is_global = 1,
				.port_num = 1,
				.grh = {.dgid = t.peer.gid,
					.sgid_index = (uint8_t)t.gid_index,
					.flow_label = p.flow,
					.traffic_class = p.tclass,
					.hop_limit = p.hop}};

	return ibv_create_ah(t.pd, &a);
}

static struct ibv_ah *answer(uint32_t n, struct ibv_wc *wc, struct ibv_grh *grh)
{
	struct path p = path_of(n);
	struct ibv_ah_attr a;

	if (n % 2)
		return ibv_create_ah_from_wc(t.pd, wc, grh, 1);
	memset(&a, 0, sizeof(a));
	CHECK_EQ(ibv_init_ah_from_wc(t.ctx, 1, wc, grh, &a), 0);
	CHECK(a.is_global && !memcmp(&a.grh.dgid, &t.peer.gid, sizeof(a.grh.dgid)),
	      "the answer does not go to who asked");
	CHECK_EQ(a.grh.sgid_index, t.gid_index);
	CHECK_EQ(a.grh.flow_label, is_v4(&t.peer.gid) ? 0 : p.flow);
	CHECK_EQ(a.grh.traffic_class & 0xfc, p.tclass);
	CHECK_EQ(a.grh.hop_limit, p.hop);
	return ibv_create_ah(t.pd, &a);
}

static void datagrams(void)
{
	struct vt_opt o = {.type = IBV_QPT_UD, .len = LEN};

	vt_setup(&t, &o);
	for (uint64_t i = 0; i < RECVS; i++)
		post_recv_ud(i);
	vt_sync(&t);
	for (uint32_t n = 0; n < (uint32_t)messages; n++) {
		struct ibv_ah *ah = NULL;
		struct ibv_grh grh;
		struct ibv_wc wc = {.src_qp = t.peer.qpn};

		if (t.side == 1)
			ah = ask(n);
		else {
			wc = take(n, &grh);
			ah = answer(n, &wc, &grh);
		}
		CHECK(ah, "message %u, no address handle: %s", n, strerror(errno));
		send_to(ah, wc.src_qp, n);
		if (t.side == 1)
			take(n, &grh);
	}
}

/* ------------------------------------------------------ an unreliable connection */

/* SENDs, and WRITEs with immediate, in turn. */
static void uc_send(uint32_t n)
{
	bool write = n % 2;
	uint32_t len = length_of(n, UC_MAX);
	struct ibv_sge sge;
	struct ibv_send_wr wr = vt_wr(&t, write ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND_WITH_IMM,
				      &sge, SEND_AT, WRITE_AT, len);

	vt_fill(t.buf + SEND_AT, len, seed_of(n, t.side));
	wr.wr_id = RECVS;
	wr.imm_data = htonl(n);
	CHECK_EQ(vt_post(t.qp, &wr), 0);
	sent();
}

static void uc_recv(void)
{
	vt_poison(t.buf + RECV_AT, UC_MAX);
	vt_poison(t.buf + WRITE_AT, UC_MAX);
	CHECK_EQ(vt_recv(&t, RECV_AT, UC_MAX, 0), 0);
}

static void uc_take(uint32_t n)
{
	uint32_t len = length_of(n, UC_MAX);
	struct ibv_wc wc = received();

	CHECK_EQ(wc.opcode, n % 2 ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
	CHECK_EQ(ntohl(wc.imm_data), n);
	CHECK_EQ(wc.byte_len, len);
	bytes_are(t.buf + (n % 2 ? WRITE_AT : RECV_AT), len, n, UC_MAX);
	if (n % 2)
		CHECK(vt_is_poison(t.buf + RECV_AT, UC_MAX), "message %u wrote to its receive", n);
	uc_recv();
}

static void connection(void)
{
	struct vt_opt o = {.type = IBV_QPT_UC, .len = LEN};

	vt_setup(&t, &o);
	uc_recv();
	vt_sync(&t);
	for (uint32_t n = 0; n < (uint32_t)messages; n++) {
		if (t.side == 1)
			uc_send(n);
		uc_take(n);
		if (t.side == 0)
			uc_send(n);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"device", required_argument, NULL, 'd'},
						{"gid-index", required_argument, NULL, 'g'},
						{"port", required_argument, NULL, 'p'},
						{"messages", required_argument, NULL, 'n'},
						{"uc", no_argument, NULL, 'u'},
						{0}};
	const char *port = "18515", *host;
	bool uc = false;
	int c, gid = -1;

	while ((c = getopt_long(argc, argv, "d:g:p:n:", options, NULL)) != -1) {
		CHECK(c != '?', "usage: dpa_unreliable [-d DEVICE] [-g GID-INDEX] [-p TCP-PORT] "
				"[-n MESSAGES] [--uc] [HOST]");
		if (c == 'd')
			vt_device = optarg;
		else if (c == 'g')
			gid = atoi(optarg);
		else if (c == 'p')
			port = optarg;
		else if (c == 'n')
			messages = atoi(optarg);
		else
			uc = true;
	}
	host = optind < argc ? argv[optind] : NULL;
	signal(SIGPIPE, SIG_IGN);
	t.side = host != NULL;
	t.sock = vt_tcp(host, port);
	vt_open(&t);
	if (gid >= 0) {
		t.gid_index = gid;
		CHECK_EQ(ibv_query_gid(t.ctx, 1, gid, &t.me.gid), 0);
	}
	if (uc)
		connection();
	else
		datagrams();
	vt_close(&t);
	printf("%d messages each way, all right\n", messages);
	return 0;
}
