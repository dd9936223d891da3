/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * udp/tx.c - entries of a remote's ring become packets and leave by UDP.
 *
 * Consecutive packets of one size go to the kernel as one datagram that it cuts (UDP_SEGMENT),
 * several of those in one call (sendmmsg). Each datagram is built in one contiguous buffer,
 * although the payload is in the application's memory. The payload is read for the ICRC anyway, and
 * the kernel copies one long buffer in half the time that it needs for one buffer for each packet.
 * So the ICRC covers the bytes that leave, even if another thread changes that memory meanwhile.
 */
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "link/kick.h"
#include "ctx/thread.h"
#include "link/inspect.h"
#include "link/udp/wire.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

#define SMALL 256u /* payload bytes: the checksum is computed after the copy, not with it */

/* Place of an entry's payload. */
struct source {
	const struct iovec *iov; /* the part not sent yet */
	struct iovec own[DPA_PULL_IOV];
};

/* One round of a flush: packets until an array is full. */
struct round {
	struct dpa_remote *r;
	struct dpa_wire_scratch *w;
	uint16_t sport;
	uint32_t npkt, nmsg;
	uint32_t mtu_bytes; /* of the message being built: segment size, bytes, segments */
	uint32_t bytes, segs;
	uint32_t total, limit; /* bytes of the round; at `limit` no more packets are added */
	uint8_t tclass;	       /* of the entry's packets */
	uint8_t msg_tclass;    /* of the message being built */
	bool together;	       /* like tx->together */
	bool behind;	       /* a packet without payload was added behind the limit */
	bool drops;	       /* the fault link drops some */
};

/* True if packets are captured or pass the fault link when they leave. */
static bool is_tx_shown(const struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->inspect, memory_order_relaxed) & DPA_INSPECT_TX;
}

static void set_source(struct source *src, struct dpa_lane_shm *shm, const struct dpa_slot *s)
{
	const uint8_t *data = shm->data + (size_t)(s->data % DPA_LANE_UNITS) * 64;

	src->iov = src->own;
	if (s->flags & DPA_PKT_PULL) {
		const struct dpa_pull *p = (const struct dpa_pull *)data;

		for (uint32_t i = 0; i < p->niov; i++) {
			src->own[i].iov_base = (void *)(uintptr_t)p->iov[i].addr;
			src->own[i].iov_len = p->iov[i].len;
		}
		return;
	}
	src->own[0].iov_base =
		(void *)(uintptr_t)(s->flags & DPA_PKT_INSLOT ? s->ext + dpa_ext_len(s->opcode)
							      : data);
	src->own[0].iov_len = s->len;
}

static void put_cmsg(struct msghdr *h, int level, int type, const void *data, size_t n)
{
	struct cmsghdr *c = (struct cmsghdr *)((uint8_t *)h->msg_control + h->msg_controllen);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(c), data, n);
	h->msg_controllen += CMSG_SPACE(n);
}

/* The traffic class of an entry's packets. A probe and its answer may have a DSCP of their own. */
static uint8_t tclass_of(const struct dpa_remote *r, const struct dpa_slot *s)
{
	uint32_t dscp;

	if (dpa_likely(!dpa_op_is_notice(s->opcode)) || s->opcode == DPA_BTH_CNP)
		return r->net.tclass;
	dscp = ((const struct dpa_ext *)s->ext)->dscp;
	return dscp ? (uint8_t)((dscp - 1) << 2 | (r->net.tclass & DPA_ECN_MASK)) : r->net.tclass;
}

/*
 * Sets destination and source address, traffic class and hop limit. msg_control has room for them.
 */
static void remote_address(struct dpa_remote *r, struct msghdr *h, int tclass)
{
	int hop = r->net.hop;

	h->msg_name = &r->to;
	h->msg_namelen = r->tolen;
	if (r->from) { /* the socket has all of them set */
		if (dpa_unlikely(tclass != r->net.tclass))
			put_cmsg(h, r->v4 ? IPPROTO_IP : IPPROTO_IPV6, r->v4 ? IP_TOS : IPV6_TCLASS,
				 &tclass, sizeof(tclass));
		return;
	}
	if (r->v4) {
		struct in_pktinfo pi = {.ipi_ifindex = (int)r->oif};

		memcpy(&pi.ipi_spec_dst, r->net.src + 12, 4);
		put_cmsg(h, IPPROTO_IP, IP_PKTINFO, &pi, sizeof(pi));
		put_cmsg(h, IPPROTO_IP, IP_TOS, &tclass, sizeof(tclass));
		put_cmsg(h, IPPROTO_IP, IP_TTL, &hop, sizeof(hop));
	} else {
		struct in6_pktinfo pi = {.ipi6_ifindex = r->oif};

		memcpy(&pi.ipi6_addr, r->net.src, 16);
		put_cmsg(h, IPPROTO_IPV6, IPV6_PKTINFO, &pi, sizeof(pi));
		put_cmsg(h, IPPROTO_IPV6, IPV6_TCLASS, &tclass, sizeof(tclass));
		put_cmsg(h, IPPROTO_IPV6, IPV6_HOPLIMIT, &hop, sizeof(hop));
	}
}

static void start_msg(struct round *b, uint32_t seg)
{
	struct msghdr *h = &b->w->msg[b->nmsg].msg_hdr;

	memset(h, 0, sizeof(*h));
	h->msg_iov = &b->w->iov[b->nmsg];
	h->msg_iovlen = 1;
	h->msg_iov->iov_base = b->w->bytes + b->total;
	h->msg_iov->iov_len = 0;
	h->msg_control = b->w->ctl[b->nmsg];
	remote_address(b->r, h, b->tclass);
	b->msg_tclass = b->tclass;
	b->nmsg++;
	b->mtu_bytes = seg;
	b->bytes = b->segs = 0;
}

static void end_msg(struct round *b)
{
	uint16_t seg = (uint16_t)b->mtu_bytes;

	if (b->mtu_bytes && b->segs > 1)
		put_cmsg(&b->w->msg[b->nmsg - 1].msg_hdr, IPPROTO_UDP, UDP_SEGMENT, &seg,
			 sizeof(seg));
	b->mtu_bytes = 0; /* no packet is joined to it */
}

/* Returns the next part of the payload, n bytes at most; *k: its length. */
static const uint8_t *take_source_piece(struct source *src, uint32_t n, uint32_t *k)
{
	struct iovec *v = (struct iovec *)(uintptr_t)src->iov;
	const uint8_t *at = v->iov_base;

	*k = v->iov_len < n ? (uint32_t)v->iov_len : n;
	v->iov_base = (uint8_t *)v->iov_base + *k;
	v->iov_len -= *k;
	if (!v->iov_len)
		src->iov++;
	return at;
}

static void take_bytes(struct source *src, uint8_t *dst, uint32_t n)
{
	for (uint32_t k; n; n -= k, dst += k) {
		const uint8_t *at = take_source_piece(src, n, &k);

		memcpy(dst, at, k);
	}
}

/*
 * Writes what follows a header: payload, pad and ICRC. The ICRC is computed over the copy that
 * leaves.
 */
static void put_rest(const struct dpa_roce_net *net, uint8_t *p, uint32_t hdr, uint32_t len,
		     struct source *src)
{
	uint32_t n = hdr + len + dpa_roce_pad(len), crc, k;

	if (len <= SMALL) {
		take_bytes(src, p + hdr, len);
		memset(p + hdr + len, 0, n - hdr - len);
		dpa_icrc_put(p + n, dpa_icrc_of(net, p, n + DPA_ROCE_ICRC));
		return;
	}
	crc = dpa_icrc_begin(net, n + DPA_ROCE_ICRC, p);
	crc = dpa_icrc_add(crc, p + DPA_ROCE_BTH, hdr - DPA_ROCE_BTH);
	p += hdr;
	for (uint32_t left = len; left; left -= k, p += k) {
		const uint8_t *at = take_source_piece(src, left, &k);

		crc = dpa_icrc_add_copy(crc, p, at, k);
	}
	memset(p, 0, dpa_roce_pad(len));
	crc = dpa_icrc_add(crc, p, dpa_roce_pad(len));
	dpa_icrc_put(p + dpa_roce_pad(len), dpa_icrc_end(crc));
}

static void skip_bytes(struct source *src, uint32_t n)
{
	for (uint32_t k; n; n -= k)
		take_source_piece(src, n, &k);
}

/* Adds one packet. The caller checked the room for it. */
static void add_packet(struct round *b, const struct dpa_roce_pkt *pkt, struct source *src,
		       uint32_t slot, uint32_t nth)
{
	uint8_t *p = b->w->bytes + b->total;
	uint32_t hdr = dpa_roce_encode(pkt, p), pad = dpa_roce_pad(pkt->len);
	uint32_t total = hdr + pkt->len + pad + DPA_ROCE_ICRC;
	struct dpa_roce_net net = b->r->net;

	if (dpa_unlikely(b->drops) && dpa_inspect_drops(b->r->peer.hw, p, total)) {
		skip_bytes(src, pkt->len);
		return;
	}
	b->npkt++;
	/*
	 * Two packets of different sizes are faster in separate datagrams: the first arrives while
	 * the second is sent. This does not hold if the receiver also waits for the second one, in
	 * most cases an ACK.
	 */
	if (b->mtu_bytes &&
	    (total > b->mtu_bytes || (b->segs == 1 && total < b->mtu_bytes && !b->together) ||
	     b->tclass != b->msg_tclass || b->r->no_gso || b->segs == DPA_GSO_SEGS ||
	     b->bytes + total > DPA_GSO_BYTES))
		end_msg(b);
	if (!b->mtu_bytes) {
		start_msg(b, total);
		b->w->first[b->nmsg - 1].slot = slot;
		b->w->first[b->nmsg - 1].nth = nth;
	}
	net.sport = b->sport;
	net.ip_id = (uint16_t)b->segs;
	put_rest(&net, p, hdr, pkt->len, src);
	b->w->iov[b->nmsg - 1].iov_len += total;
	b->bytes += total;
	b->total += total;
	b->segs++;
	if (total < b->mtu_bytes) /* a shorter packet is the last of its datagram */
		end_msg(b);
}

/* Builds the header of packet nth of n of an entry. */
static void make_segment(const struct dpa_slot *s, const struct dpa_roce_pkt *whole, uint32_t mtu,
			 uint32_t nth, uint32_t n, struct dpa_roce_pkt *pkt)
{
	*pkt = *whole;
	pkt->opcode = dpa_op_split(s->opcode, nth == 0, nth == n - 1);
	pkt->psn = dpa_psn_add(s->psn, nth);
	pkt->len = nth == n - 1 ? s->len - nth * mtu : mtu;
	if (nth < n - 1)
		pkt->ackreq = pkt->se = false;
}

static uint32_t slot_packets(const struct dpa_slot *s, uint32_t mtu)
{
	return (s->opcode & DPA_BTH_TRANSPORT) == DPA_BTH_UD ? 1 : dpa_npkts(s->len, mtu);
}

/*
 * An ACK behind the last part of a message is sent with it; otherwise it would cost a system call.
 */
static bool is_round_full(struct round *b, const struct dpa_slot *s)
{
	if (b->total < b->limit)
		return false;
	if (s->len || b->behind)
		return true;
	b->behind = true;
	return false;
}

/* Adds packets of the entry, from number *nth on. False: the round is full. */
static bool add_slot(struct round *b, struct dpa_tx *tx, const struct dpa_slot *s, uint32_t index,
		     uint32_t *nth)
{
	uint32_t mtu = 128u << (s->flags >> DPA_PKT_MTU_SHIFT & 7), n = slot_packets(s, mtu);
	struct dpa_roce_pkt whole, pkt;
	struct source src;
	uint32_t skip = *nth * mtu;

	dpa_pkt_of_slot(s, &whole);
	set_source(&src, tx->shm, s);
	skip_bytes(&src, skip); /* the part that the previous round sent */
	b->tclass = tclass_of(b->r, s);
	for (; *nth < n; ++*nth) {
		if (b->npkt == DPA_WIRE_PKTS || b->nmsg == DPA_WIRE_MSGS || is_round_full(b, s))
			return false;
		make_segment(s, &whole, mtu, *nth, n, &pkt);
		add_packet(b, &pkt, &src, index, *nth);
	}
	*nth = 0;
	return true;
}

/* True for a packet that its QP sends again after a loss: no response and no datagram. */
static bool is_request_entry(const struct dpa_slot *s)
{
	uint8_t tr = s->opcode & DPA_BTH_TRANSPORT;

	return tr != DPA_BTH_UD && !dpa_op_is_notice(s->opcode) &&
	       !(dpa_op_props(s->opcode) & DPA_OPP_RESP);
}

/*
 * Drops what was not sent. Packets of the QP that sends now (src: index of its QPN) are reported to
 * it; others are lost. Datagrams, responses and packets that other QPs left to be sent together may
 * lie between its requests.
 */
static uint32_t give_up_unsent(struct dpa_tx *tx, uint32_t src, uint32_t at, uint32_t nth,
			       uint32_t *psn)
{
	uint32_t lost = tx->head - at;

	*psn = DPA_WIRE_NO_PSN;
	for (; at != tx->head && *psn == DPA_WIRE_NO_PSN; at++, nth = 0) {
		const struct dpa_slot *s = &tx->shm->slots[at % DPA_LANE_SLOTS];

		if (s->src == src && is_request_entry(s))
			*psn = dpa_psn_add(s->psn, nth);
	}
	return lost;
}

/* Logs an error once, until another kind of error comes: a missing route affects every packet. */
static void complain_send(struct dpa_remote *r, int err)
{
	if (err == EAGAIN || r->last_err == err)
		return;
	r->last_err = err;
	dpa_log(r->peer.hw, DPA_LOG_WARN, "packets to another host are not sent: %s",
		strerror(err));
}

/*
 * Returns how many left. Uses the call that makes the kernel read least: for one small packet it
 * takes 7 % less time. The system calls themselves: the library's are cancellation points, and this
 * thread holds locks.
 */
static long send_messages(int fd, struct mmsghdr *m, uint32_t n)
{
	const struct msghdr *h = &m->msg_hdr;

	if (n > 1)
		return syscall(SYS_sendmmsg, fd, m, n, MSG_DONTWAIT);
	if (h->msg_iovlen == 1 && !h->msg_controllen)
		return syscall(SYS_sendto, fd, h->msg_iov->iov_base, h->msg_iov->iov_len,
			       MSG_DONTWAIT, h->msg_name, h->msg_namelen) < 0
			       ? -1
			       : 1;
	return syscall(SYS_sendmsg, fd, h, MSG_DONTWAIT) < 0 ? -1 : 1;
}

static int send_round(struct dpa_remote *r, struct round *b, uint32_t lane, uint32_t *sent)
{
	int fd = dpa_remote_fd(r, lane);

	dpa_app_is_at_it(r->peer.hw);
	for (*sent = 0; *sent < b->nmsg;) {
		long k = send_messages(fd, b->w->msg + *sent, b->nmsg - *sent);

		if (k <= 0)
			return k < 0 ? errno : EAGAIN;
		*sent += (uint32_t)k;
	}
	return 0;
}

/* ---- one by one, while frames are inspected */

/*
 * Sends a frame that goes on. arg is the ring. Called now or later, without locks that matter here.
 */
static void emit_frame(void *arg, const struct dpa_frame *f)
{
	struct dpa_tx *tx = arg;
	struct dpa_remote *r = dpa_remote_of(tx->peer);
	uint8_t ctl[DPA_WIRE_CTL] __attribute__((aligned(8)));
	struct iovec iov = {.iov_base = (void *)(uintptr_t)f->p, .iov_len = f->n};
	struct msghdr h = {.msg_control = ctl};
	int fd = dpa_remote_fd(r, (uint32_t)(tx - r->peer.tx));

	/* ECN marks of the network that is modelled here are not the path's */
	remote_address(r, &h, (f->net.tclass & ~DPA_ECN_MASK) | (r->net.tclass & DPA_ECN_MASK));
	h.msg_iov = &iov;
	h.msg_iovlen = 1;
	if (syscall(SYS_sendmsg, fd, &h, MSG_DONTWAIT) < 0) {
		dpa_count(r->peer.hw, DPA_CNT_tx_dropped, 1);
		complain_send(r, errno);
	}
}

static void show_tx_entry(struct dpa_remote *r, struct dpa_tx *tx, const struct dpa_slot *s)
{
	uint32_t mtu = 128u << (s->flags >> DPA_PKT_MTU_SHIFT & 7), n = slot_packets(s, mtu);
	uint8_t payload[DPA_ROCE_MAX_MTU], room[DPA_FRAME_ROOM + DPA_FRAME_BYTES];
	struct dpa_frame f = {.net = r->net, .p = room + DPA_FRAME_ROOM, .ip_known = true};
	struct dpa_roce_pkt whole, pkt;
	struct source src;

	f.net.sport = dpa_remote_port(r, (uint32_t)(tx - r->peer.tx));
	f.net.tclass = tclass_of(r, s);
	dpa_pkt_of_slot(s, &whole);
	set_source(&src, tx->shm, s);
	for (uint32_t i = 0; i < n; i++) {
		make_segment(s, &whole, mtu, i, n, &pkt);
		take_bytes(&src, payload, pkt.len);
		pkt.payload = payload;
		f.n = dpa_roce_encode_all(&f.net, &pkt, room + DPA_FRAME_ROOM, DPA_FRAME_BYTES);
		dpa_inspect_tx(r->peer.hw, &f, emit_frame, tx, &r->users);
	}
}

/*
 * Starts at the front again, so that only as much of a ring's memory is touched as leaves at once.
 */
static void empty_ring(struct dpa_tx *tx)
{
	tx->head = tx->tail = tx->dhead = tx->dtail = 0;
	tx->full_since = 0;
	atomic_store_explicit(&tx->shm->tail, 0, memory_order_relaxed);
	atomic_store_explicit(&tx->shm->dtail, 0, memory_order_relaxed);
}

/* Takes and locks memory to build packets in. Its scratch is NULL if there is no memory. */
static struct dpa_wire_room *take_wire_room(struct dpa_hw *hw, uint32_t first)
{
	struct dpa_wire *w = atomic_load_explicit(&hw->wire, memory_order_relaxed);
	struct dpa_wire_room *room = NULL;

	for (uint32_t i = 0; i < DPA_WIRE_ROOMS && !room; i++) {
		room = &w->room[(first + i) % DPA_WIRE_ROOMS];
		if (!dpa_spin_try(&room->lock))
			room = NULL;
	}
	if (!room) {
		room = &w->room[first % DPA_WIRE_ROOMS];
		dpa_spin_lock(&room->lock);
	}
	if (dpa_unlikely(!room->scratch))
		room->scratch = malloc(sizeof(*room->scratch));
	return room;
}

uint32_t dpa_wire_flush(struct dpa_tx *tx, uint32_t src, uint32_t *psn)
{
	struct dpa_remote *r = dpa_remote_of(tx->peer);
	uint32_t lane = (uint32_t)(tx - r->peer.tx), at = tx->tail, nth = 0, lost = 0, sent;
	struct dpa_wire_scratch *w = NULL;
	struct dpa_wire_room *room;
	bool drops;
	int err;

	if (at == tx->head)
		return 0;
	drops = dpa_unlikely(is_tx_shown(r->peer.hw)) && dpa_inspect_only_drops(r->peer.hw);
	if (dpa_unlikely(is_tx_shown(r->peer.hw)) && !drops) {
		for (; at != tx->head; at++)
			show_tx_entry(r, tx, &tx->shm->slots[at % DPA_LANE_SLOTS]);
		empty_ring(tx);
		return 0;
	}
	room = take_wire_room(r->peer.hw, lane);
	w = room->scratch;
	while (w && at != tx->head) {
		struct round b = {.r = r,
				  .w = w,
				  .sport = dpa_remote_port(r, lane),
				  .limit = tx->piece ? tx->piece : DPA_WIRE_ROUND,
				  .together = tx->together,
				  .drops = drops};

		while (at != tx->head &&
		       add_slot(&b, tx, &tx->shm->slots[at % DPA_LANE_SLOTS], at, &nth))
			at++;
		end_msg(&b);
		err = send_round(r, &b, lane, &sent);
		if (dpa_unlikely(err == EIO || err == EINVAL) && !r->no_gso) {
			/* a device without checksum offload: send packets one by one */
			r->no_gso = true;
			at = w->first[sent].slot;
			nth = w->first[sent].nth;
			continue;
		}
		if (dpa_unlikely(err)) {
			lost = give_up_unsent(tx, src, w->first[sent].slot, w->first[sent].nth,
					      psn);
			complain_send(r, err);
			if (err == EINVAL) /* GSO was not the cause */
				r->no_gso = false;
			dpa_count(r->peer.hw, DPA_CNT_tx_dropped, lost);
			break;
		}
	}
	if (dpa_unlikely(!w))
		lost = give_up_unsent(tx, src, at, 0, psn);
	dpa_spin_unlock(&room->lock);
	empty_ring(tx); /* in every case */
	return lost;
}

bool dpa_wire_joins(const struct dpa_tx *tx)
{
	return !dpa_remote_of(tx->peer)->no_gso && !is_tx_shown(tx->peer->hw);
}

void dpa_wire_cork(struct dpa_tx *tx)
{
	struct dpa_hw *hw = tx->peer->hw;

	if (tx->corked)
		return;
	tx->corked = true;
	dpa_spin_lock(&hw->cork.lock);
	tx->cork_next = hw->cork.list;
	hw->cork.list = tx;
	atomic_store_explicit(&hw->cork.any, 1, memory_order_release);
	dpa_spin_unlock(&hw->cork.lock);
}

void dpa_corks_send(struct dpa_hw *hw)
{
	struct dpa_tx *tx, *next;
	uint32_t psn;

	dpa_spin_lock(&hw->cork.lock);
	tx = hw->cork.list;
	hw->cork.list = NULL;
	atomic_store_explicit(&hw->cork.any, 0, memory_order_relaxed);
	dpa_spin_unlock(&hw->cork.lock);
	for (; tx; tx = next) {
		next = tx->cork_next;
		dpa_spin_lock(&tx->lock);
		tx->corked = false;
		dpa_wire_flush(tx, UINT32_MAX, &psn); /* no room: lost, and sent again later */
		dpa_spin_unlock(&tx->lock);
	}
}
