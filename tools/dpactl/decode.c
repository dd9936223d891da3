/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* decode.c - lists the RoCEv2 packets of a pcap or pcapng file with the device's own codec. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <dpa_mad.h>
#include <wire/pcap.h>
#include "dpactl.h"

#define NS_PER_S 1000000000u

struct file {
	uint8_t *p;
	size_t n, room;
};

/* A packet of the file with all that is known of it. */
struct entry {
	uint32_t no; /* of the file's packets, from 1, as other tools count */
	struct dpa_pcap_rec rec;
	struct dpa_roce_net net;
	const uint8_t *udp;
	size_t n;
	const char *bad; /* why it is malformed */
	bool decoded;	 /* there is a BTH */
	bool icrc;	 /* right */
	struct dpa_roce_pkt pkt;
};

struct tally {
	uint32_t roce, other, malformed, bad_icrc;
	struct json_object *packets; /* NULL: text output */
	struct json_object *journal;
};

static void load_packet_file(struct file *f, const char *path)
{
	int fd = strcmp(path, "-") == 0 ? 0 : open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = 1;

	if (fd < 0)
		die(EXIT_USAGE, "%s: %s", path, strerror(errno));
	while (got) {
		if (f->n == f->room) {
			f->room = f->room ? f->room * 2 : 1 << 16;
			f->p = realloc(f->p, f->room);
			if (!f->p)
				die(EXIT_USAGE, "%s: no memory for it", path);
		}
		got = read(fd, f->p + f->n, f->room - f->n);
		if (got < 0 && errno != EINTR)
			die(EXIT_USAGE, "%s: %s", path, strerror(errno));
		f->n += got > 0 ? (size_t)got : 0;
	}
	if (fd)
		close(fd);
}

/* ---- Fields: the same in text and in JSON */

typedef void field_fn(void *arg, const char *name, uint64_t v, bool hex);

static void each_field(const struct dpa_roce_pkt *k, field_fn *fn, void *arg)
{
	uint32_t ext = dpa_roce_ext_of(k->opcode);

	if (ext & DPA_ROCE_DETH) {
		fn(arg, "qkey", k->qkey, true);
		fn(arg, "sqpn", k->sqpn, true);
	}
	if (ext & DPA_ROCE_XRCETH)
		fn(arg, "xrcsrq", k->xrcsrq, true);
	if (ext & DPA_ROCE_FETH)
		fn(arg, "feth", k->feth, true);
	if (ext & (DPA_ROCE_RETH | DPA_ROCE_ATOMICETH)) {
		fn(arg, "va", k->va, true);
		fn(arg, "rkey", k->rkey, true);
	}
	if (ext & DPA_ROCE_RETH)
		fn(arg, "dmalen", k->dmalen, false);
	if (ext & DPA_ROCE_ATOMICETH) {
		fn(arg, "swap_add", k->swap_add, true);
		fn(arg, "compare", k->compare, true);
	}
	if (ext & DPA_ROCE_AETH) {
		fn(arg, "syndrome", k->syndrome, true);
		fn(arg, "msn", k->msn, false);
	}
	if (ext & DPA_ROCE_ATOMICACKETH)
		fn(arg, "orig", k->orig, true);
	if (ext & DPA_ROCE_IMMDT)
		fn(arg, "imm", k->imm, true);
	if (ext & DPA_ROCE_IETH)
		fn(arg, "inv_rkey", k->inv_rkey, true);
}

/* The meaning of an AETH's syndrome (IBA 9.7.5.2.1, tables 44 to 46). */
static const char *syndrome_name(uint8_t s)
{
	static const char *const naks[] = {
		"NAK PSN sequence error", "NAK invalid request", "NAK remote access error",
		"NAK remote operational error", "NAK invalid RD request"};

	switch (s >> 5) {
	case 0:
		return "ACK";
	case 1:
		return "RNR NAK";
	case 3:
		return (s & 31) < 5 ? naks[s & 31] : "NAK reserved";
	default:
		return "reserved";
	}
}

/* ---- Messages of the communication manager: what the payload of a datagram to QP1 is */

/* False: the packet is no datagram to QP1. Else *m is decoded, or *bad names why it is not. */
static bool is_qp1_datagram(const struct dpa_roce_pkt *k, struct dpa_mad *m, const char **bad)
{
	enum dpa_mad_verdict v;

	if (!(dpa_roce_ext_of(k->opcode) & DPA_ROCE_DETH) || k->dqpn != DPA_MAD_QPN ||
	    k->qkey != DPA_MAD_QKEY)
		return false;
	v = dpa_mad_decode(k->payload, k->len, m);
	*bad = v == DPA_MAD_OK ? NULL : dpa_mad_verdict_name(v);
	return true;
}

/* The IP CM header of a request's private data, if it has one. */
static bool is_ip(const struct dpa_mad *m, struct dpa_cm_ip *ip)
{
	return (m->attr == DPA_CM_REQ && dpa_cm_ip_decode(m->req.data, ip)) ||
	       (m->attr == DPA_CM_SIDR_REQ && dpa_cm_ip_decode(m->sidr_req.data, ip));
}

/* Its addresses as GIDs, which gid_text() prints. */
static void to_gid(const struct dpa_cm_ip *ip, const uint8_t addr[16], uint8_t gid[16])
{
	memcpy(gid, addr, 16);
	if (ip->ip_version == 4)
		gid[10] = gid[11] = 0xff;
}

/* ---- Text */

static void cm_field_text(void *arg, const char *name, uint64_t v)
{
	printf(" %s=0x%" PRIx64, name, v);
}

static void mad_text(const struct dpa_roce_pkt *k)
{
	char src[64], dst[64];
	uint8_t a[16], b[16];
	struct dpa_cm_ip ip;
	const char *bad;
	struct dpa_mad m;

	if (!is_qp1_datagram(k, &m, &bad))
		return;
	if (bad) {
		printf("  MAD: %s", bad);
		return;
	}
	printf("  CM %s tid=0x%" PRIx64, dpa_mad_attr_name(m.attr), m.tid);
	dpa_mad_each(&m, cm_field_text, NULL);
	if (!is_ip(&m, &ip))
		return;
	to_gid(&ip, ip.src, a);
	to_gid(&ip, ip.dst, b);
	printf(" ip %s port %u > %s", gid_text(a, src, sizeof(src)), ip.sport,
	       gid_text(b, dst, sizeof(dst)));
}

static void field_text(void *arg, const char *name, uint64_t v, bool hex)
{
	printf(hex ? " %s=0x%" PRIx64 : " %s=%" PRIu64, name, v);
}

static void pkt_text(const struct dpa_roce_pkt *k)
{
	printf("  %s  qp=0x%06x psn=%u", dpa_roce_opcode_name(k->opcode), k->dqpn, k->psn);
	if (k->pkey != DPA_ROCE_PKEY)
		printf(" pkey=0x%04x", k->pkey);
	printf("%s%s%s%s", k->ackreq ? " ackreq" : "", k->se ? " solicited" : "",
	       k->fecn ? " fecn" : "", k->becn ? " becn" : "");
	each_field(k, field_text, NULL);
	if (dpa_roce_ext_of(k->opcode) & DPA_ROCE_AETH)
		printf(" (%s)", syndrome_name(k->syndrome));
	printf(" len=%u", k->len);
	mad_text(k);
}

static void entry_text(const struct entry *e)
{
	char when[64], src[64], dst[64];

	time_text(e->rec.ns, when, sizeof(when));
	printf("%u  %s.%09u  %s > %s", e->no, when, (unsigned int)(e->rec.ns % NS_PER_S),
	       gid_text(e->net.src, src, sizeof(src)), gid_text(e->net.dst, dst, sizeof(dst)));
	if (e->decoded) {
		pkt_text(&e->pkt);
		printf("  %s", e->icrc ? "ICRC right" : "ICRC WRONG");
	}
	if (e->bad)
		printf("  MALFORMED: %s", e->bad);
	putchar('\n');
}

/* ---- JSON */

static void field_json(void *arg, const char *name, uint64_t v, bool hex)
{
	json_add_num(arg, name, v);
}

static void cm_field_json(void *arg, const char *name, uint64_t v)
{
	json_add_num(arg, name, v);
}

static void mad_json(struct json_object *o, const struct dpa_roce_pkt *k)
{
	struct json_object *cm;
	struct dpa_cm_ip ip;
	const char *bad;
	struct dpa_mad m;
	uint8_t gid[16];
	char text[64];

	if (!is_qp1_datagram(k, &m, &bad))
		return;
	cm = json_object_new_object();
	json_object_object_add(o, "mad", cm);
	if (bad) {
		json_add(cm, "refused", bad);
		return;
	}
	json_add(cm, "attribute", dpa_mad_attr_name(m.attr));
	json_add_num(cm, "tid", m.tid);
	dpa_mad_each(&m, cm_field_json, cm);
	if (!is_ip(&m, &ip))
		return;
	json_add_num(cm, "ip_sport", ip.sport);
	to_gid(&ip, ip.src, gid);
	json_add(cm, "ip_src", gid_text(gid, text, sizeof(text)));
	to_gid(&ip, ip.dst, gid);
	json_add(cm, "ip_dst", gid_text(gid, text, sizeof(text)));
}

static void pkt_json(struct json_object *o, const struct dpa_roce_pkt *k)
{
	json_add_num(o, "opcode", k->opcode);
	json_add(o, "opcode_name", dpa_roce_opcode_name(k->opcode));
	json_add_num(o, "dqpn", k->dqpn);
	json_add_num(o, "psn", k->psn);
	json_add_num(o, "pkey", k->pkey);
	json_add_bool(o, "ackreq", k->ackreq);
	json_add_bool(o, "solicited", k->se);
	json_add_bool(o, "migreq", k->mig);
	json_add_bool(o, "fecn", k->fecn);
	json_add_bool(o, "becn", k->becn);
	each_field(k, field_json, o);
	if (dpa_roce_ext_of(k->opcode) & DPA_ROCE_AETH)
		json_add(o, "syndrome_name", syndrome_name(k->syndrome));
	json_add_num(o, "payload_len", k->len);
	json_add_num(o, "icrc", k->icrc);
	mad_json(o, k);
}

static struct json_object *entry_json(const struct entry *e)
{
	struct json_object *o = json_object_new_object();
	char text[64];

	json_add_num(o, "number", e->no);
	json_add_num(o, "time_ns", e->rec.ns);
	json_add(o, "src", gid_text(e->net.src, text, sizeof(text)));
	json_add(o, "dst", gid_text(e->net.dst, text, sizeof(text)));
	json_add_num(o, "sport", e->net.sport);
	if (e->decoded) {
		pkt_json(o, &e->pkt);
		json_add_bool(o, "icrc_ok", e->icrc);
	}
	if (e->bad)
		json_add(o, "malformed", e->bad);
	return o;
}

/* ---- Entries of a journal: what dpa0 injected, or what another recorder noted */

/* A field as text for a terminal and for JSON: the file may have any byte in it. */
static const char *journal_text(const struct dpa_pcap_rec *r, const char *field, char *buf,
				size_t room)
{
	size_t n = 0;
	const char *v = dpa_pcap_journal(r, field, &n);

	n = n < room ? n : room - 1;
	for (size_t i = 0; i < n; i++)
		buf[i] = v[i] ? v[i] : '?'; /* a zero would hide the rest */
	printable(buf, n + 1);
	return buf;
}

static void decode_entry(const struct entry *e, struct tally *t)
{
	struct json_object *o;
	char when[64], program[64], pid[16], text[256];

	journal_text(&e->rec, "SYSLOG_IDENTIFIER", program, sizeof(program));
	journal_text(&e->rec, "_PID", pid, sizeof(pid));
	journal_text(&e->rec, "MESSAGE", text, sizeof(text));
	if (!t->packets) {
		time_text(e->rec.ns, when, sizeof(when));
		printf("%u  %s.%09u  %s[%s]  %s\n", e->no, when,
		       (unsigned int)(e->rec.ns % NS_PER_S), program, pid, text);
		return;
	}
	o = json_object_new_object();
	json_add_num(o, "number", e->no);
	json_add_num(o, "time_ns", e->rec.ns);
	json_add(o, "program", program);
	json_add_num(o, "pid", strtoul(pid, NULL, 10));
	json_add(o, "message", text);
	json_object_array_add(t->journal, o);
}

/* ---- All of them */

static void decode_one_packet(struct entry *e, struct tally *t)
{
	enum dpa_pcap_kind kind = dpa_pcap_udp(&e->rec, &e->net, &e->udp, &e->n, &e->bad);
	enum dpa_roce_verdict v;

	if (kind == DPA_PCAP_OTHER) {
		t->other++;
		return;
	}
	if (kind == DPA_PCAP_ROCE) {
		v = dpa_roce_decode(e->udp, e->n, &e->pkt);
		e->bad = v == DPA_ROCE_OK ? NULL : dpa_roce_verdict_name(v);
		e->decoded = e->n >= DPA_ROCE_BTH + DPA_ROCE_ICRC;
		e->icrc = dpa_icrc_ok(&e->net, e->udp, e->n);
	}
	t->roce++;
	t->malformed += e->bad != NULL;
	t->bad_icrc += e->decoded && !e->icrc;
	if (t->packets)
		json_object_array_add(t->packets, entry_json(e));
	else
		entry_text(e);
}

static void print_summary(const struct tally *t, const struct dpa_pcap *f, bool broken)
{
	struct json_object *o;

	if (!t->packets) {
		printf("%u packets, %u malformed, %u with a wrong ICRC; %u other packets skipped\n",
		       t->roce, t->malformed, t->bad_icrc, t->other);
		return;
	}
	o = json_object_new_object();
	json_add_num(o, "count", t->roce);
	json_add_num(o, "malformed", t->malformed);
	json_add_num(o, "icrc_wrong", t->bad_icrc);
	json_add_num(o, "skipped", t->other);
	if (broken) {
		json_add(o, "file_error", f->why);
		json_add_num(o, "file_error_at", f->at);
	}
	json_object_object_add(o, "packets", t->packets);
	json_object_object_add(o, "journal", t->journal);
	print_json(o);
}

void cmd_decode(struct ctl *c)
{
	struct tally t = {.packets = c->json ? json_object_new_array() : NULL,
			  .journal = c->json ? json_object_new_array() : NULL};
	struct file file = {0};
	struct dpa_pcap f;
	uint32_t no = 0;
	int rc = 1;

	load_packet_file(&file, c->file);
	if (!dpa_pcap_open(&f, file.p, file.n))
		die(EXIT_USAGE, "%s: %s", c->file, f.why);
	for (;;) {
		struct entry e = {.no = ++no};

		rc = dpa_pcap_next(&f, &e.rec);
		if (rc <= 0)
			break;
		if (e.rec.journal)
			decode_entry(&e, &t);
		else
			decode_one_packet(&e, &t);
	}
	print_summary(&t, &f, rc < 0);
	if (rc < 0) {
		fflush(stdout);
		die(EXIT_USAGE, "%s: at offset %zu: %s", c->file, f.at, f.why);
	}
	c->status = t.malformed || t.bad_icrc ? EXIT_WRONG : 0;
	free(file.p);
}
