/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * udp/rx.c - datagrams from port 4791 become packets. Consecutive packets of one message become one
 * entry of the transport, which then moves their payload in one step, as with shared memory.
 */
#include <netinet/udp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <dpa_mad.h>
#include "port/port.h"
#include "ctx/qp.h"
#include "link/kick.h"
#include "link/udp/wire.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "link/udp/udp.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef IPV6_FLOWINFO
#define IPV6_FLOWINFO 11
#endif

#define DATAGRAMS 8		/* in one call */
#define ACK_LEN	  20		/* BTH, AETH, ICRC */
#define DQPN_AT	  5		/* in a BTH, 3 bytes */
#define ACK_BYTES (256u * 1024) /* send pending ACKs after this many bytes */

/* Consecutive packets of one message of one QP; all but the last have the same payload length. */
struct run {
	uint32_t n, len, dqpn;
	struct dpa_frame f;			   /* frame of the first packet */
	struct dpa_roce_pkt pkt[DPA_PULL_IOV + 1]; /* one more, which is checked */
};

struct batch {
	struct dpa_hw *hw;
	struct dpa_hw_qp *cur; /* locked; NULL: none */
	struct run run;
	int packets;
	uint32_t bytes;	   /* received since answers were sent */
	uint32_t at;	   /* datagrams before this one, */
	uint32_t begun;	   /* and before the one in which the run begins */
	uint32_t messages; /* number of messages that ended */
	bool ended;	   /* the last packet ended a message */
	bool arrived;	   /* from the modelled network: do not show it again */
};

static void deliver_each(struct batch *b)
{
	struct run *r = &b->run;

	for (uint32_t i = 0; i < r->n; i++)
		b->cur = dpa_pkt_deliver(b->hw, b->cur, NULL, &r->f, &r->pkt[i]);
}

static void join_run(const struct dpa_hw_qp *qp, const struct run *r, struct dpa_slot *s,
		     struct dpa_pieces *v)
{
	const struct dpa_roce_pkt *last = &r->pkt[r->n - 1];
	struct dpa_roce_pkt all = r->pkt[0];

	all.opcode = dpa_op_join(all.opcode, last->opcode);
	all.imm = last->imm;
	all.inv_rkey = last->inv_rkey;
	all.se = last->se;
	all.len = r->len;
	v->n = r->n;
	for (uint32_t i = 0; i < r->n; i++) {
		v->iov[i].iov_base = (void *)(uintptr_t)r->pkt[i].payload;
		v->iov[i].iov_len = r->pkt[i].len;
		all.ackreq |= r->pkt[i].ackreq;
		if (dpa_op_props(r->pkt[i].opcode) & DPA_OPP_AETH) {
			all.syndrome = r->pkt[i].syndrome;
			all.msn = r->pkt[i].msn;
		}
	}
	dpa_slot_of_pkt(&all, qp->dest_qpn & DPA_QPN_INDEX, s);
	s->flags |= DPA_PKT_IOV | dpa_pkt_mtu_flags(qp->mtu);
	s->from = dpa_from_of(&r->f);
}

/*
 * True if the QP expects this run, or will expect it: if packets before it are missing the
 * responder keeps it in its out-of-order queue.
 */
static bool is_run_wanted(const struct dpa_hw_qp *qp, const struct run *r)
{
	int32_t ahead = dpa_psn_diff(r->pkt[0].psn, qp->resp.epsn);

	return r->pkt[0].len == qp->mtu && (dpa_op_props(r->pkt[0].opcode) & DPA_OPP_RESP ||
					    !ahead || (ahead > 0 && qp->type == DPA_QP_RC));
}

/* Delivers the run as one entry if its QP expects it; else packet by packet. */
static void deliver_run(struct batch *b)
{
	struct run *r = &b->run;
	struct dpa_hw *hw = b->hw;
	struct dpa_hw_qp *qp;
	struct dpa_pieces v;
	struct dpa_peer *peer;
	struct dpa_slot s;
	uint64_t before;

	if (r->n <= 1) {
		deliver_each(b);
		r->n = 0;
		return;
	}
	qp = atomic_load_explicit(&hw->qps.tab[r->dqpn & DPA_QPN_INDEX], memory_order_acquire);
	if (qp != b->cur) {
		dpa_pkt_end(b->cur, true);
		if (qp) {
			dpa_qplock_lock(&qp->lock);
			dpa_pkt_collect(qp);
		}
		b->cur = qp;
	}
	peer = qp && qp->qpn == r->dqpn && qp->type != DPA_QP_UD ? dpa_sender_of(qp, &r->f) : NULL;
	if (!peer || !is_run_wanted(qp, r)) {
		deliver_each(b);
	} else if (dpa_likely(dpa_id_fits(qp, &r->f))) {
		if (dpa_unlikely((r->f.net.tclass & DPA_ECN_MASK) == DPA_ECN_CE))
			dpa_wire_marked(qp, r->f.net.tclass);
		join_run(qp, r, &s, &v);
		dpa_wire_count_rx(hw, &s, r->n);
		before = dpa_id_progress(qp);
		qp->ops->receive(qp, peer, &s, (const uint8_t *)&v);
		dpa_id_learn(qp, &r->f, before);
	}
	r->n = 0;
}

static bool run_follows(const struct run *r, const struct dpa_roce_pkt *pkt)
{
	const struct dpa_roce_pkt *prev;
	const uint16_t kind = DPA_OPP_SEND | DPA_OPP_WRITE | DPA_OPP_READ | DPA_OPP_RESP;
	uint16_t p, q;

	if (!r->n || r->n == DPA_PULL_IOV)
		return false;
	prev = &r->pkt[r->n - 1];
	if (pkt->dqpn != r->dqpn || pkt->psn != dpa_psn_add(prev->psn, 1) ||
	    ((pkt->opcode ^ prev->opcode) & DPA_BTH_TRANSPORT))
		return false;
	p = dpa_op_props(prev->opcode);
	q = dpa_op_props(pkt->opcode);
	return (p & kind) == (q & kind) && !(p & DPA_OPP_END) && !(q & DPA_OPP_START) &&
	       (p & (DPA_OPP_SEND | DPA_OPP_WRITE | DPA_OPP_READ)) && r->pkt[0].len && pkt->len &&
	       prev->len == r->pkt[0].len && pkt->len <= prev->len;
}

/* For dpa_inspect() where the caller itself delivers the packet. */
static void emit_nothing(void *arg, const struct dpa_frame *f)
{
}

/*
 * The modelled network is in front of the process that owns the QP: it takes the packet, which
 * arrives later by dpa_udp_arrive().
 */
static bool is_frame_modelled(struct batch *b, const struct dpa_frame *f, uint32_t dqpn)
{
	struct dpa_hw *hw = b->hw;

	if (!(atomic_load_explicit(&hw->inspect, memory_order_relaxed) & DPA_INSPECT_MODEL))
		return false;
	return f->group || dqpn == DPA_QPN_MCAST || dqpn == DPA_MAD_QPN ||
	       dpa_qpn_is_ours(hw, dqpn);
}

/* True if the packet is delivered now. */
static bool is_packet_good(struct batch *b, struct dpa_frame *f, struct dpa_roce_pkt *pkt)
{
	bool good = dpa_frame_check(b->hw, f, pkt);

	b->packets++;
	if (dpa_likely(!(atomic_load_explicit(&b->hw->inspect, memory_order_relaxed) &
			 DPA_INSPECT_LOOK)) ||
	    b->arrived)
		return good;
	/* dpa_pkt_deliver() drops the others; a run of packets does not pass there */
	if (good && dpa_link_is_cut(b->hw) && !f->group && pkt->dqpn != DPA_QPN_MCAST &&
	    pkt->dqpn != DPA_MAD_QPN && dpa_qpn_is_ours(b->hw, pkt->dqpn)) {
		dpa_count(b->hw, DPA_CNT_rx_dropped, 1);
		return false;
	}
	if (good && is_frame_modelled(b, f, pkt->dqpn)) {
		dpa_inspect(b->hw, DPA_AT_RX, f, dpa_udp_arrive, b->hw);
		return false;
	}
	dpa_inspect(b->hw, DPA_AT_RX, f, emit_nothing, NULL);
	return good;
}

/* For another process or another adapter instance. */
static void pass_on_packet(struct batch *b, struct dpa_frame *f, uint32_t dqpn)
{
	if (!dpa_frame_forward(b->hw, f, dqpn))
		dpa_count(b->hw, DPA_CNT_rx_dropped, 1);
}

/* Leaves a run that is not delivered yet as it is. */
static void ack_ahead(struct batch *b, struct dpa_frame *f)
{
	struct dpa_roce_pkt pkt;

	if (!is_packet_good(b, f, &pkt))
		return;
	if (dpa_likely(dpa_qpn_is_ours(b->hw, pkt.dqpn)))
		b->cur = dpa_pkt_deliver(b->hw, b->cur, NULL, f, &pkt);
	else
		pass_on_packet(b, f, pkt.dqpn);
}

static void receive_one_packet(struct batch *b, struct dpa_frame *f)
{
	struct run *r = &b->run;
	struct dpa_roce_pkt *pkt = &r->pkt[r->n];

	if (!is_packet_good(b, f, pkt))
		return;
	if (dpa_unlikely(f->group || pkt->dqpn == DPA_QPN_MCAST)) {
		deliver_run(b); /* as below */
		b->cur = dpa_group_deliver(b->hw, b->cur, f, pkt);
		return;
	}
	if (dpa_unlikely(pkt->dqpn == DPA_MAD_QPN) && !b->hw->ops->mad(b->hw, f, pkt, true))
		return;
	if (dpa_unlikely(!dpa_qpn_is_ours(b->hw, pkt->dqpn))) {
		pass_on_packet(b, f, pkt->dqpn);
		return;
	}
	if (!run_follows(r, pkt) || f->other_id != r->f.other_id) {
		deliver_run(b);
		if (pkt != r->pkt)
			r->pkt[0] = *pkt;
		pkt = r->pkt;
		r->f = *f;
		r->dqpn = pkt->dqpn;
		b->begun = b->at;
		r->len = 0;
	}
	if ((pkt->opcode & DPA_BTH_TRANSPORT) == DPA_BTH_UD) {
		/*
		 * Its 40 bytes overwrite the end of the previous packet, which must be delivered by
		 * now.
		 */
		b->cur = dpa_pkt_deliver(b->hw, b->cur, NULL, f, pkt);
		return;
	}
	if (!dpa_op_is_notice(pkt->opcode)) {
		b->ended = dpa_op_props(pkt->opcode) & DPA_OPP_END;
		b->messages += b->ended && !(dpa_op_props(pkt->opcode) & DPA_OPP_RESP);
	}
	r->n++;
	r->len += pkt->len;
}

void dpa_udp_arrive(void *arg, const struct dpa_frame *f)
{
	struct dpa_frame copy = *f;
	struct batch b;

	b.hw = arg;
	b.cur = NULL;
	b.packets = 0;
	b.bytes = b.at = b.begun = b.messages = 0;
	b.run.n = 0;
	b.ended = false;
	b.arrived = true;
	receive_one_packet(&b, &copy);
	deliver_run(&b);
	dpa_pkt_end(b.cur, true);
}

/*
 * Reads addresses, traffic class, flow label, hop limit and segment size from the ancillary data.
 */
static void read_cmsgs(struct msghdr *h, struct dpa_frame *f, uint32_t *seg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		const void *d = CMSG_DATA(c);
		int v = 0;

		if (c->cmsg_len >= CMSG_LEN(sizeof(int)))
			memcpy(&v, d, sizeof(v));
		else if (c->cmsg_len >= CMSG_LEN(1))
			v = *(const uint8_t *)d;
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			memcpy(f->net.dst, &((const struct in6_pktinfo *)d)->ipi6_addr, 16);
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			memset(f->net.dst, 0, 10);
			memset(f->net.dst + 10, 0xff, 2);
			memcpy(f->net.dst + 12, &((const struct in_pktinfo *)d)->ipi_addr, 4);
		} else if ((c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) ||
			   (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)) {
			f->net.tclass = (uint8_t)v;
		} else if ((c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT) ||
			   (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL)) {
			f->net.hop = (uint8_t)v;
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_FLOWINFO) {
			f->net.flow = ntohl((uint32_t)v) & 0xfffff;
		} else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
			*seg = (uint32_t)v;
		}
	}
}

static void set_source_addr(struct dpa_frame *f, const struct sockaddr_storage *from)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)from;

	if (from->ss_family == AF_INET6) {
		memcpy(f->net.src, &a6->sin6_addr, 16);
		f->net.sport = ntohs(a6->sin6_port);
		return;
	}
	memset(f->net.src + 10, 0xff, 2);
	memcpy(f->net.src + 12, &a4->sin_addr, 4);
	f->net.sport = ntohs(a4->sin_port);
}

/* True if all that a run takes from its first packet is equal. */
static bool same_path(const struct dpa_roce_net *x, const struct dpa_roce_net *y)
{
	return !memcmp(x->src, y->src, 16) && !memcmp(x->dst, y->dst, 16) && x->sport == y->sport &&
	       x->tclass == y->tclass && x->hop == y->hop;
}

static bool is_rc_request_bth(uint8_t opcode)
{
	uint16_t p = dpa_op_props(opcode);

	return (opcode & DPA_BTH_TRANSPORT) == DPA_BTH_RC && !(p & DPA_OPP_RESP) &&
	       (p & (DPA_OPP_SEND | DPA_OPP_WRITE | DPA_OPP_READ | DPA_OPP_ATOMIC));
}

/*
 * True for packets of one QP that the kernel joined and that end with an ACK behind requests. The
 * peer sends both at the same time, the ACK last, because the kernel does not join a longer packet
 * behind a shorter one. The ACK is taken first: a program that answers a message has its CQE by
 * then, and an adapter sends the ACK before. Programs depend on this order: the CQE of a send comes
 * before the CQE of its answer.
 */
static bool ack_is_last(const uint8_t *p, uint32_t n, uint32_t seg)
{
	const uint32_t last = (n - 1) / seg * seg;

	if (dpa_likely(!last || n - last != ACK_LEN || p[last] != DPA_BTH_ACK))
		return false;
	for (uint32_t at = 0; at < last; at += seg)
		if (!is_rc_request_bth(p[at]) ||
		    memcmp(p + at + DQPN_AT, p + last + DQPN_AT, 3) != 0)
			return false;
	return true;
}

/* True if the message continues behind the run, most likely in the next datagram. */
static bool message_continues(const struct run *r)
{
	uint16_t p = r->n ? dpa_op_props(r->pkt[r->n - 1].opcode) : DPA_OPP_END;

	return !(p & DPA_OPP_END) && (p & (DPA_OPP_SEND | DPA_OPP_WRITE | DPA_OPP_READ));
}

static void set_segment(struct dpa_frame *f, uint8_t *p, uint32_t n, uint32_t i)
{
	f->p = p;
	f->n = n;
	f->net.ip_id = (uint16_t)i; /* a guess */
	f->net.df = true;
}

/*
 * Receives one datagram, or several that the kernel joined. False: there is none. A run may stay
 * undelivered, so that the next datagram can extend it: then one system call copies its packets
 * together.
 */
static bool one_datagram(struct batch *b, int fd, uint8_t *buf, uint32_t *segments)
{
	struct sockaddr_storage from;
	uint8_t ctl[256] __attribute__((aligned(8)));
	struct iovec iov = {.iov_base = buf, .iov_len = DPA_WIRE_BUF - DPA_WIRE_ROOM};
	struct msghdr h = {.msg_name = &from,
			   .msg_namelen = sizeof(from),
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = ctl,
			   .msg_controllen = sizeof(ctl)};
	struct dpa_frame f = {.net = {.dport = DPA_ROCE_PORT, .df = true}, .sure = true};
	/*
	 * The system call itself: the library's is a cancellation point, and this thread holds
	 * locks.
	 */
	long n = syscall(SYS_recvmsg, fd, &h, MSG_DONTWAIT);
	uint32_t seg = 0;

	if (n < 0)
		return false;
	set_source_addr(&f, &from);
	read_cmsgs(&h, &f, &seg);
	f.group = dpa_gid_is_mcast(f.net.dst);
	if (b->run.n && !same_path(&b->run.f.net, &f.net))
		deliver_run(b);
	*segments = 0;
	if (!n)
		return true;
	if (!seg || seg > (uint32_t)n)
		seg = (uint32_t)n;
	*segments = ((uint32_t)n + seg - 1) / seg;
	b->bytes += (uint32_t)n;
	if (ack_is_last(buf, (uint32_t)n, seg)) {
		n -= ACK_LEN;
		set_segment(&f, buf + n, ACK_LEN, *segments - 1);
		ack_ahead(b, &f);
	}
	for (uint32_t at = 0, i = 0; at < (uint32_t)n; at += seg, i++) {
		set_segment(&f, buf + at, (uint32_t)n - at < seg ? (uint32_t)n - at : seg, i);
		if (dpa_unlikely(f.p[0] == 0xff) && dpa_udp_probe(b->hw, f.p, f.n))
			continue; /* a probe of this instance */
		receive_one_packet(b, &f);
	}
	if (!message_continues(&b->run))
		deliver_run(b);
	return true;
}

/*
 * The sender of a long message waits for its window: sends an ACK from time to time within a batch,
 * and at once if a packet is missing.
 */
static void ack_stream(struct batch *b)
{
	bool gap = b->cur && b->cur->resp.ack_owed && b->cur->resp.nak_sent;

	if (b->bytes < ACK_BYTES && !gap)
		return;
	b->bytes = 0;
	if (b->cur)
		b->cur->ops->answer(b->cur);
}

/*
 * True if the pending ACK may wait. A program that waits for one message gets it before the sender
 * gets the ACK: dpa_pkt_end(). For a long message the ACK is delayed once only, because the sender
 * may wait for the window.
 */
static bool may_wait_more(const struct batch *b)
{
	return b->packets <= 2 ||
	       (b->messages <= 1 && b->ended && b->cur && !b->cur->resp.ack_late);
}

int dpa_udp_rx(struct dpa_hw *hw)
{
	int fd = dpa_udp_fd(hw->udp);
	/*
	 * If the port is open packets must be taken even before this process has a path to another
	 * host.
	 */
	struct dpa_wire *w = fd < 0 ? NULL : dpa_wire_get(hw);
	uint32_t segments = 0;
	struct dpa_run run;
	struct batch b;

	if (fd < 0 || !w || !dpa_spin_try(&w->rx_lock))
		return 0;
	run.qp = NULL;
	run.n = 0;
	dpa_me.run = &run;
	b.hw = hw;
	b.cur = NULL;
	b.packets = 0;
	b.bytes = 0;
	b.run.n = 0;
	b.messages = 0;
	b.ended = false;
	b.arrived = false;
	/*
	 * Saves a second, empty call if there is only one message. That is a single packet, perhaps
	 * with an ACK behind it, or a message in one datagram after a call that found nothing.
	 */
	for (b.at = 0; b.at < DATAGRAMS; b.at++) {
		uint8_t *buf = w->rx_buf + b.at % DPA_WIRE_BUFS * DPA_WIRE_BUF;

		if (b.run.n && b.at - b.begun >= DPA_WIRE_BUFS)
			deliver_run(&b); /* its first packet lies in this buffer */
		if (!one_datagram(&b, fd, buf + DPA_WIRE_ROOM, &segments) || segments < 3 ||
		    (w->rx_idle && !b.at && b.ended))
			break;
		ack_stream(&b);
	}
	deliver_run(&b);
	dpa_pkt_end(b.cur, !may_wait_more(&b));
	dpa_me.run = NULL;
	w->rx_idle = !b.packets;
	dpa_spin_unlock(&w->rx_lock);
	return b.packets;
}
