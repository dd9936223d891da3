/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcap.c - reads the records of pcap and pcapng files. Every length is checked against the rest of
 * the file, then of the block, before anything is read.
 */
#include "pcap.h"

#define MAGIC_US   0xa1b2c3d4
#define MAGIC_NS   0xa1b23c4d
#define MAGIC_ORD  0x1a2b3c4d
#define PCAP_HDR   24
#define RECORD_HDR 16
#define MAX_FRAME  (1 << 20) /* no captured frame is larger: a greater length is damage */
#define NS_PER_S   1000000000u

enum { BLOCK_SHB = 0x0a0d0d0a, BLOCK_IDB = 1, BLOCK_SPB = 3, BLOCK_EPB = 6, BLOCK_JOURNAL = 9 };
enum { OPT_END, OPT_TSRESOL = 9, OPT_TSOFFSET = 14 };
enum { SHB_MIN = 28, IDB_MIN = 20, SPB_MIN = 16, EPB_MIN = 32, BLOCK_MIN = 12 };

static uint16_t pcap_get16(const struct dpa_pcap *f, const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, 2);
	return f->swap ? __builtin_bswap16(v) : v;
}

static uint32_t pcap_get32(const struct dpa_pcap *f, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return f->swap ? __builtin_bswap32(v) : v;
}

static uint64_t pcap_get64(const struct dpa_pcap *f, const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return f->swap ? __builtin_bswap64(v) : v;
}

static int bad_pcap(struct dpa_pcap *f, size_t at, const char *why)
{
	f->at = at;
	f->why = why;
	return -1;
}

static bool refuse_pcap(struct dpa_pcap *f, size_t at, const char *why)
{
	bad_pcap(f, at, why);
	return false;
}

static bool open_classic(struct dpa_pcap *f, uint32_t magic)
{
	if (f->n < PCAP_HDR)
		return refuse_pcap(f, 0, "the file header is cut off");
	f->nano = magic == MAGIC_NS;
	if (pcap_get16(f, f->p + 4) != 2)
		return refuse_pcap(f, 4, "unknown version of the pcap format");
	f->nifs = 1;
	f->ifs[0].link = (uint16_t)pcap_get32(f, f->p + 20); /* above: length of the FCS */
	f->at = PCAP_HDR;
	return true;
}

bool dpa_pcap_open(struct dpa_pcap *f, const uint8_t *p, size_t n)
{
	uint32_t magic;

	memset(f, 0, sizeof(*f));
	f->p = p;
	f->n = n;
	if (n < 4)
		return refuse_pcap(f, 0, "too short for a file of packets");
	magic = pcap_get32(f, p);
	if (magic == BLOCK_SHB) { /* reads the same both ways */
		f->ng = true;
		return true;
	}
	f->swap = magic == __builtin_bswap32(MAGIC_US) || magic == __builtin_bswap32(MAGIC_NS);
	magic = pcap_get32(f, p);
	if (magic != MAGIC_US && magic != MAGIC_NS)
		return refuse_pcap(f, 0, "neither pcap nor pcapng");
	return open_classic(f, magic);
}

static int next_classic(struct dpa_pcap *f, struct dpa_pcap_rec *r)
{
	const uint8_t *h = f->p + f->at;
	size_t left = f->n - f->at;

	if (left < RECORD_HDR)
		return bad_pcap(f, f->at, "a record's header is cut off");
	r->at = f->at;
	r->ns = pcap_get32(f, h) * (uint64_t)NS_PER_S +
		pcap_get32(f, h + 4) * (f->nano ? 1ull : 1000ull);
	r->n = pcap_get32(f, h + 8);
	r->len = pcap_get32(f, h + 12);
	r->link = f->ifs[0].link;
	r->p = h + RECORD_HDR;
	if (r->n > MAX_FRAME)
		return bad_pcap(f, f->at + 8, "a record is longer than any packet");
	if (r->n > left - RECORD_HDR)
		return bad_pcap(f, f->at + 8, "a record is cut off");
	f->at += RECORD_HDR + r->n;
	return 1;
}

/* Reads a block's options, from off to len - 4, as far as times need them. */
static int read_options(struct dpa_pcap *f, const uint8_t *b, uint32_t len, uint32_t off,
			struct dpa_pcap_if *i)
{
	while (len - 4 - off >= 4) {
		uint16_t code = pcap_get16(f, b + off), n = pcap_get16(f, b + off + 2);
		const uint8_t *v = b + off + 4;

		if (code == OPT_END)
			return 0;
		if (((n + 3u) & ~3u) > len - 4 - off - 4)
			return bad_pcap(f, f->at + off, "an option is longer than its block");
		if (code == OPT_TSRESOL && n == 1)
			i->res = v[0];
		if (code == OPT_TSOFFSET && n == 8)
			i->offset = (int64_t)pcap_get64(f, v);
		off += 4 + ((n + 3u) & ~3u);
	}
	return 0;
}

static int read_idb(struct dpa_pcap *f, const uint8_t *b, uint32_t len)
{
	struct dpa_pcap_if *i = &f->ifs[f->nifs];

	if (len < IDB_MIN)
		return bad_pcap(f, f->at + 4, "an interface block is too short");
	if (f->nifs == DPA_PCAP_IFS)
		return bad_pcap(f, f->at, "more interfaces than this program takes");
	*i = (struct dpa_pcap_if){
		.link = pcap_get16(f, b + 8), .snap = pcap_get32(f, b + 12), .res = 6};
	if (read_options(f, b, len, 16, i))
		return -1;
	if ((i->res & 0x7f) > ((i->res & 0x80) ? 63 : 19))
		return bad_pcap(f, f->at, "a time resolution that does not fit 64 bits");
	f->nifs++;
	return 0;
}

static uint64_t to_ns(const struct dpa_pcap_if *i, uint64_t t)
{
	uint64_t unit = 1, s; /* units of a second */

	if (i->res & 0x80)
		unit <<= i->res & 0x7f;
	else
		for (int k = 0; k < i->res; k++)
			unit *= 10;
	s = t / unit + (uint64_t)i->offset;
	return s * NS_PER_S + (uint64_t)((unsigned __int128)(t % unit) * NS_PER_S / unit);
}

static int read_epb(struct dpa_pcap *f, const uint8_t *b, uint32_t len, struct dpa_pcap_rec *r)
{
	uint32_t id;

	if (len < EPB_MIN)
		return bad_pcap(f, f->at + 4, "a packet block is too short");
	id = pcap_get32(f, b + 8);
	if (id >= f->nifs)
		return bad_pcap(f, f->at + 8, "a packet of an interface that is not described");
	r->n = pcap_get32(f, b + 20);
	r->len = pcap_get32(f, b + 24);
	if (r->n > len - EPB_MIN)
		return bad_pcap(f, f->at + 20, "a packet is longer than its block");
	r->ns = to_ns(&f->ifs[id], (uint64_t)pcap_get32(f, b + 12) << 32 | pcap_get32(f, b + 16));
	r->link = f->ifs[id].link;
	r->p = b + 28;
	return 1;
}

/*
 * Its captured length is not stored: it is the least of three values (pcapng, "Simple Packet
 * Block").
 */
static int read_spb(struct dpa_pcap *f, const uint8_t *b, uint32_t len, struct dpa_pcap_rec *r)
{
	if (len < SPB_MIN)
		return bad_pcap(f, f->at + 4, "a packet block is too short");
	if (!f->nifs)
		return bad_pcap(f, f->at, "a packet of an interface that is not described");
	r->len = r->n = pcap_get32(f, b + 8);
	if (f->ifs[0].snap && r->n > f->ifs[0].snap)
		r->n = f->ifs[0].snap;
	if (r->n > len - SPB_MIN)
		return bad_pcap(f, f->at + 8, "a packet is longer than its block");
	r->ns = 0;
	r->link = f->ifs[0].link;
	r->p = b + 12;
	return 1;
}

const char *dpa_pcap_journal(const struct dpa_pcap_rec *r, const char *field, size_t *n)
{
	const size_t len = strlen(field);
	const char *p = (const char *)r->p, *end = p + r->n, *line;

	while (p < end) {
		line = memchr(p, '\n', (size_t)(end - p));
		if (!line)
			line = end;
		if ((size_t)(line - p) > len && !memcmp(p, field, len) && p[len] == '=') {
			*n = (size_t)(line - p) - len - 1;
			return p + len + 1;
		}
		p = line < end ? line + 1 : end;
	}
	return NULL;
}

/* Its time has 1 us. */
static int read_journal(const uint8_t *b, uint32_t len, struct dpa_pcap_rec *r)
{
	const char *us;
	size_t n;

	r->p = b + 8;
	r->n = r->len = len - BLOCK_MIN;
	while (r->n && !r->p[r->n - 1]) /* the padding */
		r->len = --r->n;
	r->journal = true;
	r->link = 0;
	r->ns = 0;
	us = dpa_pcap_journal(r, "__REALTIME_TIMESTAMP", &n);
	for (size_t i = 0; us && i < n && i < 16 && us[i] >= '0' && us[i] <= '9'; i++)
		r->ns = r->ns * 10 + (uint64_t)(us[i] - '0');
	r->ns *= 1000;
	return 1;
}

/* A section begins: its byte order applies to the block's own length, too. */
static int read_shb(struct dpa_pcap *f, const uint8_t *b, size_t left)
{
	uint32_t magic;

	if (left < SHB_MIN)
		return bad_pcap(f, f->at, "a section header is cut off");
	memcpy(&magic, b + 8, 4);
	if (magic != MAGIC_ORD && magic != __builtin_bswap32(MAGIC_ORD))
		return bad_pcap(f, f->at + 8, "a section header without its byte order");
	f->swap = magic != MAGIC_ORD;
	if (pcap_get16(f, b + 12) != 1)
		return bad_pcap(f, f->at + 12, "unknown version of the pcapng format");
	if (pcap_get32(f, b + 4) < SHB_MIN)
		return bad_pcap(f, f->at + 4, "a section header is too short");
	f->nifs = 0;
	return 0;
}

/* Reads one block. 1: a packet or an entry is in *r; 0: it has none; -1: damaged. */
static int next_block(struct dpa_pcap *f, struct dpa_pcap_rec *r)
{
	const uint8_t *b = f->p + f->at;
	size_t left = f->n - f->at;
	uint32_t type, len;
	int rc = 0;

	if (left < BLOCK_MIN)
		return bad_pcap(f, f->at, "a block is cut off");
	type = pcap_get32(f, b);
	if (type == BLOCK_SHB && read_shb(f, b, left))
		return -1;
	len = pcap_get32(f, b + 4);
	if (len < BLOCK_MIN || len % 4)
		return bad_pcap(f, f->at + 4, "a block with an impossible length");
	if (len > left)
		return bad_pcap(f, f->at + 4, "a block is cut off");
	if (pcap_get32(f, b + len - 4) != len)
		return bad_pcap(f, f->at + len - 4, "a block's two lengths differ");
	if (type == BLOCK_IDB)
		rc = read_idb(f, b, len);
	else if (type == BLOCK_EPB)
		rc = read_epb(f, b, len, r);
	else if (type == BLOCK_SPB)
		rc = read_spb(f, b, len, r);
	else if (type == BLOCK_JOURNAL)
		rc = read_journal(b, len, r);
	if (rc < 0)
		return rc;
	r->at = f->at;
	f->at += len;
	return rc;
}

int dpa_pcap_next(struct dpa_pcap *f, struct dpa_pcap_rec *r)
{
	int rc = 0;

	if (f->why)
		return -1;
	r->journal = false;
	while (rc == 0 && f->at < f->n)
		rc = f->ng ? next_block(f, r) : next_classic(f, r);
	return rc;
}
