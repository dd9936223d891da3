/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_receive.c - consecutive packets of one message are given to the transport together, also
 * those of several datagrams; different ones are not, and no buffer is reused before it was read.
 * Over real sockets, with a header of the test in place of the codec.
 */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "ctx/qp.h"
#include "ctx/thread.h"
#include "link/peer.h"
#include "transport/api.h"
#include "gsi/gsi.h"
#include "link/inspect.h"
#include "link/udp/wire.h"
#include "wire/opcode.h"
#include "link/udp/udp.h"
#include "ctx/ops.h"

enum { MTU = 1024, QPN = 5, SINGLE = 8, CE = 3 };

struct head { /* opcode and QPN as in a BTH */
	uint8_t opcode, rsvd[4], dqpn[3];
	uint32_t psn;
};
#define FRAME (sizeof(struct head) + MTU)
#define ACK   20

static struct dpa_hw *hw;
static struct dpa_wire wire;
static struct dpa_hw_qp *qps[2]; /* QPN, QPN + 1 */
static int to, from[2];
static uint32_t calls, sizes[64], singles, marked;
static bool told_soon;
static uint8_t order[8]; /* opcodes as they were delivered */
static uint32_t num_order;

/* ------------------------------------------------------------ surroundings */

uint32_t dpa_spin_pauses = 200;
_Thread_local __attribute__((tls_model("initial-exec"))) struct dpa_thread dpa_me;

struct dpa_wire *dpa_wire_get(struct dpa_hw *h)
{
	(void)h;
	return &wire;
}

bool dpa_frame_check(struct dpa_hw *h, struct dpa_frame *f, struct dpa_roce_pkt *pkt)
{
	struct head x;

	(void)h;
	memcpy(&x, f->p, sizeof(x));
	cr_assert_eq(f->n, x.opcode == DPA_BTH_ACK ? ACK : FRAME);
	*pkt = (struct dpa_roce_pkt){.opcode = x.opcode,
				     .dqpn = x.dqpn[2],
				     .psn = x.psn,
				     .payload = f->p + sizeof(x),
				     .len = f->n == FRAME ? MTU : 0};
	return true;
}

static void note_order(uint8_t opcode)
{
	if (num_order < 8)
		order[num_order++] = opcode;
}

static void expect_bytes(const uint8_t *p, uint32_t psn)
{
	for (uint32_t i = 0; i < MTU; i++)
		cr_assert_eq(p[i], (uint8_t)(psn * 31 + i), "PSN %u, byte %u", psn, i);
}

struct dpa_hw_qp *dpa_pkt_deliver(struct dpa_hw *h, struct dpa_hw_qp *cur, struct dpa_peer *peer,
				  const struct dpa_frame *f, const struct dpa_roce_pkt *pkt)
{
	(void)h;
	(void)peer;
	(void)f;
	note_order(pkt->opcode);
	if (!pkt->len)
		return cur;
	expect_bytes(pkt->payload, pkt->psn);
	qps[pkt->dqpn - QPN]->resp.epsn = pkt->psn + 1;
	singles++;
	return cur;
}

static void receive(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		    const uint8_t *payload)
{
	const struct dpa_pieces *v = (const struct dpa_pieces *)payload;

	(void)peer;
	note_order(s->opcode);
	cr_assert(s->flags & DPA_PKT_IOV);
	cr_assert_eq(s->len, v->n * MTU);
	cr_assert_eq(s->psn, qp->resp.epsn);
	for (uint32_t i = 0; i < v->n; i++) {
		cr_assert_eq(v->iov[i].iov_len, MTU);
		expect_bytes(v->iov[i].iov_base, s->psn + i);
	}
	qp->resp.epsn += v->n;
	cr_assert_lt(calls, 64);
	sizes[calls++] = v->n;
}

void dpa_slot_of_pkt(const struct dpa_roce_pkt *pkt, uint32_t src, struct dpa_slot *s)
{
	*s = (struct dpa_slot){.opcode = pkt->opcode, .src = (uint16_t)src, .psn = pkt->psn};
	s->len = pkt->len;
}

bool dpa_id_fits(struct dpa_hw_qp *qp, const struct dpa_frame *f)
{
	return true;
}

void dpa_id_learn(struct dpa_hw_qp *qp, const struct dpa_frame *f, uint64_t before)
{
}

struct dpa_peer *dpa_sender_of(struct dpa_hw_qp *qp, const struct dpa_frame *f)
{
	static struct dpa_peer peer;

	(void)qp;
	(void)f;
	return &peer;
}

static void done(struct dpa_hw_qp *qp, bool soon)
{
	told_soon = soon;
	memset(&qp->lock, 0, sizeof(qp->lock));
}

void dpa_wire_marked(struct dpa_hw_qp *qp, uint8_t tclass)
{
	(void)qp;
	(void)tclass;
	marked++;
}

void dpa_wire_count_rx(struct dpa_hw *h, const struct dpa_slot *s, uint32_t packets)
{
	(void)h;
	(void)s;
	(void)packets;
}

static void answer(struct dpa_hw_qp *qp)
{
	(void)qp;
}

/* None of these is used here. */
static bool mad(struct dpa_hw *h, const struct dpa_frame *f, struct dpa_roce_pkt *pkt,
		bool may_forward)
{
	(void)h;
	(void)f;
	(void)may_forward;
	cr_assert_fail("QPN %u", pkt->dqpn);
	return false;
}

static const struct dpa_qp_ops qp_ops = {.receive = receive, .done = done, .answer = answer};
static const struct dpa_hw_ops hw_ops = {.rdma = &qp_ops, .mad = mad};

bool dpa_frame_forward(struct dpa_hw *h, const struct dpa_frame *f, uint32_t dqpn)
{
	(void)h;
	(void)f;
	cr_assert_fail("QPN %u", dqpn);
	return false;
}

struct dpa_hw_qp *dpa_group_deliver(struct dpa_hw *h, struct dpa_hw_qp *cur,
				    const struct dpa_frame *f, const struct dpa_roce_pkt *pkt)
{
	(void)h;
	(void)f;
	(void)pkt;
	return cur;
}

/* A modelled network that stores the packets. */
static struct {
	struct dpa_frame f;
	uint8_t room[64 + FRAME];
	dpa_inspect_emit_fn *emit;
	void *arg;
} held[8];
static uint32_t num_held;

void dpa_inspect(struct dpa_hw *h, enum dpa_inspect_at at, const struct dpa_frame *f,
		 dpa_inspect_emit_fn *emit, void *arg)
{
	(void)h;
	cr_assert_eq(at, DPA_AT_RX);
	cr_assert_lt(num_held, 8u);
	held[num_held].f = *f;
	memcpy(held[num_held].room + 64, f->p, f->n);
	held[num_held].f.p = held[num_held].room + 64;
	held[num_held].emit = emit;
	held[num_held++].arg = arg;
}

bool dpa_udp_probe(struct dpa_hw *h, const uint8_t *p, uint32_t n)
{
	(void)h;
	(void)p;
	(void)n;
	return false;
}

/* -------------------------------------------------------------------- rig */

static int udp_socket(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void setup(void)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int on = 1;

	hw = calloc(1, sizeof(*hw));
	cr_assert_not_null(hw);
	hw->board = calloc(1, sizeof(*hw->board));
	hw->udp = calloc(1, sizeof(*hw->udp));
	hw->ops = &hw_ops;
	hw->qps.tab = calloc(DPA_BOARD_QPNS, sizeof(*hw->qps.tab));
	wire.rx_buf = malloc(DPA_WIRE_BUFS * DPA_WIRE_BUF);
	cr_assert(hw->board && hw->udp && hw->qps.tab && wire.rx_buf);
	for (uint32_t i = 0; i < 2; i++) {
		cr_assert_eq(posix_memalign((void **)&qps[i], 2 * DPA_CACHE_LINE, sizeof(**qps)),
			     0);
		memset(qps[i], 0, sizeof(**qps));
		qps[i]->ops = &qp_ops;
		qps[i]->qpn = QPN + i;
		qps[i]->mtu = MTU;
		qps[i]->type = DPA_QP_RC;
		atomic_store(&hw->qps.tab[QPN + i], qps[i]);
		from[i] = udp_socket();
	}
	to = udp_socket();
	cr_assert_eq(setsockopt(to, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on)), 0);
	if (setsockopt(to, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)))
		cr_skip_test("the kernel joins no datagrams");
	cr_assert_eq(getsockname(to, (struct sockaddr *)&a, &len), 0);
	for (uint32_t i = 0; i < 2; i++)
		cr_assert_eq(connect(from[i], (struct sockaddr *)&a, len), 0);
	atomic_store(&hw->udp->fd, to);
}

static void teardown(void)
{
	close(to);
	for (uint32_t i = 0; i < 2; i++) {
		close(from[i]);
		free(qps[i]);
	}
	free(wire.rx_buf);
	free(hw->qps.tab);
	free(hw->board);
	free(hw->udp);
	free(hw);
}

TestSuite(udp_receive, .init = setup, .fini = teardown);

/* Put one packet at b: a header, and a payload that encodes its PSN. */
static void put_packet(uint8_t *b, uint8_t opcode, uint32_t qpn, uint32_t psn)
{
	struct head x = {.dqpn = {0, 0, (uint8_t)qpn}, .psn = psn, .opcode = opcode};

	memcpy(b, &x, sizeof(x));
	for (uint32_t k = 0; opcode != DPA_BTH_ACK && k < MTU; k++)
		b[sizeof(x) + k] = (uint8_t)(psn * 31 + k);
}

/* Send packets that the kernel gives to the receiver as one. */
static void send_joined(int fd, uint8_t *b, size_t n)
{
	uint16_t seg = FRAME;
	union {
		struct cmsghdr h;
		uint8_t room[CMSG_SPACE(sizeof(seg))];
	} c = {.h = {.cmsg_len = CMSG_LEN(sizeof(seg)),
		     .cmsg_level = IPPROTO_UDP,
		     .cmsg_type = UDP_SEGMENT}};
	struct iovec iov = {.iov_base = b, .iov_len = n};
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)};

	memcpy(CMSG_DATA(&c.h), &seg, sizeof(seg));
	cr_assert_eq(sendmsg(fd, &m, 0), (ssize_t)n);
}

/* Send n packets of a WRITE in one datagram, from its PSN on; the last of them ends the message. */
static void datagram(int fd, uint32_t qpn, uint32_t psn, uint32_t n, bool first, bool last)
{
	uint8_t *b = malloc(n * FRAME);

	cr_assert_not_null(b);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t opcode = DPA_BTH_WRITE_MIDDLE;

		if (first && !i)
			opcode = DPA_BTH_WRITE_FIRST;
		if (last && i == n - 1)
			opcode = DPA_BTH_WRITE_LAST;
		put_packet(b + i * FRAME, opcode, qpn, psn + i);
	}
	send_joined(fd, b, n * FRAME);
	free(b);
}

/* Send one packet and an ACK after it. */
static void with_ack(uint8_t opcode, uint32_t psn, uint32_t ack_qpn)
{
	uint8_t b[FRAME + ACK] = {0};

	put_packet(b, opcode, QPN, psn);
	put_packet(b + FRAME, DPA_BTH_ACK, ack_qpn, 77);
	send_joined(from[0], b, sizeof(b));
}

static void expect_order(const char *what, uint32_t n, const uint8_t *of)
{
	num_order = 0;
	dpa_udp_rx(hw);
	cr_assert_eq(num_order, n, "%s: %u", what, num_order);
	for (uint32_t i = 0; i < n; i++)
		cr_expect_eq(order[i], of[i], "%s: 0x%x", what, order[i]);
}

static void expect_calls(const char *what, uint32_t n, const uint32_t *of)
{
	uint32_t packets = 0;

	for (uint32_t i = 0; i < n; i++)
		packets += of[i];
	cr_assert_eq(dpa_udp_rx(hw), (int)packets, "%s", what);
	cr_assert_eq(calls, n, "%s: %u", what, calls);
	for (uint32_t i = 0; i < n; i++)
		cr_expect_eq(sizes[i], of[i], "%s: %u of %u", what, sizes[i], i);
	cr_expect_eq(singles, 0, "%s", what);
	calls = 0;
	qps[0]->resp.epsn = qps[1]->resp.epsn = 0;
}

/* ------------------------------------------------------------------ tests */

Test(udp_receive, datagrams_of_a_message_together)
{
	datagram(from[0], QPN, 0, 4, true, false);
	datagram(from[0], QPN, 4, 5, false, false);
	datagram(from[0], QPN, 9, 3, false, true);
	expect_calls("a message", 1, (uint32_t[]){12});
	datagram(from[0], QPN, 0, 4, true, true);
	datagram(from[0], QPN, 4, 4, true, true);
	expect_calls("two messages", 2, (uint32_t[]){4, 4});
	datagram(from[0], QPN, 0, 4, true, false);
	expect_calls("nothing behind it yet", 1, (uint32_t[]){4});
}

Test(udp_receive, what_differs_is_apart)
{
	int tos = CE, none = 0;

	datagram(from[0], QPN, 0, 4, true, false);
	datagram(from[0], QPN + 1, 0, 4, true, false);
	datagram(from[0], QPN, 4, 4, false, true);
	expect_calls("another QP", 3, (uint32_t[]){4, 4, 4});
	datagram(from[0], QPN, 0, 4, true, false);
	datagram(from[1], QPN, 4, 4, false, true);
	expect_calls("from another port", 2, (uint32_t[]){4, 4});
	cr_expect_eq(marked, 0);
	datagram(from[0], QPN, 0, 4, true, false);
	cr_assert_eq(setsockopt(from[0], IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), 0);
	datagram(from[0], QPN, 4, 4, false, false);
	cr_assert_eq(setsockopt(from[0], IPPROTO_IP, IP_TOS, &none, sizeof(none)), 0);
	datagram(from[0], QPN, 8, 4, false, true);
	expect_calls("marked on the way", 3, (uint32_t[]){4, 4, 4});
	cr_expect_eq(marked, 1);
}

/* More datagrams than buffers, and more packets than can be combined. */
Test(udp_receive, buffers_are_read_before_they_are_used_again)
{
	uint32_t n = 2 * DPA_WIRE_BUFS;

	for (uint32_t i = 0; i < n; i++)
		datagram(from[0], QPN, 3 * i, 3, !i, i == n - 1);
	expect_calls("short ones", 2, (uint32_t[]){3 * DPA_WIRE_BUFS, 3 * DPA_WIRE_BUFS});
	for (uint32_t i = 0; i < 3; i++)
		datagram(from[0], QPN, 20 * i, 20, !i, i == 2);
	expect_calls("long ones", 2, (uint32_t[]){DPA_PULL_IOV, 60 - DPA_PULL_IOV});
}

static int waits(void)
{
	char b;

	return recv(to, &b, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/*
 * A thread that waits for one message gets it before its sender gets the ACK, and without a second
 * read of a socket that most likely has no more. A stream's sender does not wait for it.
 */
Test(udp_receive, one_message_at_a_time)
{
	expect_calls("nothing", 0, NULL);
	datagram(from[0], QPN, 0, 4, true, true);
	datagram(from[0], QPN, 0, 4, true, true);
	expect_calls("after a vain look", 1, (uint32_t[]){4});
	cr_expect_not(told_soon);
	cr_expect(waits(), "no second call");
	expect_calls("not after one that found something", 1, (uint32_t[]){4});
	cr_expect_not(waits());
	cr_expect_not(told_soon);

	datagram(from[0], QPN, 0, 4, true, false);
	datagram(from[0], QPN, 4, 4, false, true);
	expect_calls("one of two datagrams", 1, (uint32_t[]){8});
	cr_expect_not(told_soon);
	datagram(from[0], QPN, 0, 4, true, false);
	expect_calls("the begin of one", 1, (uint32_t[]){4});
	cr_expect(told_soon, "its sender may wait for the window");
	datagram(from[0], QPN, 0, 4, true, true);
	datagram(from[0], QPN, 4, 4, true, true);
	expect_calls("two", 2, (uint32_t[]){4, 4});
	cr_expect(told_soon);
	datagram(from[0], QPN, 0, 4, true, true);
	qps[0]->resp.ack_late = true;
	expect_calls("one, and the last one's sender waits still", 1, (uint32_t[]){4});
	cr_expect(told_soon);
}

/*
 * The peer acknowledged a message and then sent its answer; the ACK comes last in the datagram
 * because it is shorter. A program must see its send completed before the answer.
 */
Test(udp_receive, an_ack_behind_requests_is_taken_first)
{
	with_ack(DPA_BTH_SEND_ONLY, 0, QPN);
	expect_order("an answer", 2, (uint8_t[]){DPA_BTH_ACK, DPA_BTH_SEND_ONLY});
	datagram(from[0], QPN, 1, 3, true, false);
	with_ack(DPA_BTH_WRITE_LAST, 4, QPN);
	expect_order("the last part of one", 2, (uint8_t[]){DPA_BTH_ACK, DPA_BTH_WRITE_ONLY});
	cr_expect_eq(sizes[0], 4, "which is one run for all that");
	with_ack(DPA_BTH_READ_RESP_ONLY, 5, QPN);
	expect_order("a response is before it", 2,
		     (uint8_t[]){DPA_BTH_READ_RESP_ONLY, DPA_BTH_ACK});
	with_ack(DPA_BTH_SEND_ONLY, 5, QPN + 1);
	expect_order("another QP's", 2, (uint8_t[]){DPA_BTH_SEND_ONLY, DPA_BTH_ACK});
}

/* The modelled network takes the packets one by one; they arrive later, with its marks. */
Test(udp_receive, through_a_modelled_network)
{
	atomic_store(&hw->inspect, DPA_INSPECT_MODEL);
	datagram(from[0], QPN, 0, 4, true, true);
	cr_expect_eq(dpa_udp_rx(hw), 4);
	cr_expect_eq(num_held, 4u);
	cr_expect_eq(calls + singles, 0u);
	held[2].f.net.tclass |= CE;
	for (uint32_t i = 0; i < 4; i++)
		held[i].emit(held[i].arg, &held[i].f);
	cr_expect_eq(singles, 4u);
	cr_expect_eq(qps[0]->resp.epsn, 4u);
	cr_expect_eq(num_held, 4u, "once");
}
