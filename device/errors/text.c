/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* text.c - an error record in words. The record may be of any process: names are made printable. */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "errors/errors.h"
#include "tables/meaning.h"

/* Text of limited length. */
struct text {
	char *to;
	size_t len, at;
};

static __attribute__((format(printf, 2, 3))) void add_text(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->to + t->at, t->len - t->at, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->at = t->at + (size_t)n < t->len ? t->at + (size_t)n : t->len - 1;
}

static struct text begin_text(char *to, size_t len)
{
	to[0] = '\0';
	return (struct text){.to = to, .len = len};
}

static void add_program_name(struct text *t, const char comm[16])
{
	for (int i = 0; i < 15 && comm[i]; i++)
		add_text(t, "%c", comm[i] >= ' ' && comm[i] <= '~' ? comm[i] : '?');
}

const char *dpa_error_op(const struct dpa_error *e)
{
	return e->kind == DPA_ERROR_RECEIVED ? dpa_cqe_opcode_name(e->opcode)
					     : dpa_op_name(e->opcode);
}

static void add_access(struct text *t, uint32_t access)
{
	static const char *const names[] = {
		"LOCAL_WRITE", "REMOTE_WRITE", "REMOTE_READ", "REMOTE_ATOMIC", "MW_BIND",
		"ZERO_BASED",  "ON_DEMAND",    "HUGETLB",     "FLUSH_GLOBAL",  "FLUSH_PERSISTENT"};
	const char *before = "";

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (access >> i & 1) {
			add_text(t, "%s%s", before, names[i]);
			before = "|";
		}
	if (!before[0])
		add_text(t, "no access");
}

static void add_region_range(struct text *t, const char *what, const struct dpa_error_check *c)
{
	add_text(t, "; %s is 0x%llx, %llu bytes", what, (unsigned long long)c->region_addr,
		 (unsigned long long)c->region_len);
}

static void add_why(struct text *t, const struct dpa_error_check *c)
{
	switch ((enum dpa_error_why)c->why) {
	case DPA_WHY_NONE:
		break;
	case DPA_WHY_NO_KEY:
		add_text(t, "; no region has this key");
		break;
	case DPA_WHY_OTHER_PD:
		if (c->region_addr || c->region_len)
			add_region_range(t, "its region, of another PD,", c);
		else
			add_text(t, "; its window is of another PD");
		break;
	case DPA_WHY_OTHER_QP:
		add_text(t, "; another QP has bound its window");
		break;
	case DPA_WHY_NOT_LOCAL:
		add_text(t, "; the key is of a window or of a null region");
		break;
	case DPA_WHY_RANGE:
		add_region_range(t, "its region", c);
		break;
	case DPA_WHY_ACCESS:
		add_region_range(t, "its region", c);
		add_text(t, ", and allows ");
		add_access(t, c->has);
		add_text(t, ", not ");
		add_access(t, c->need & ~c->has);
		break;
	}
}

static void add_range(struct text *t, const struct dpa_error_check *c, const char *key)
{
	add_text(t, "address 0x%llx, %llu bytes, %s 0x%08x", (unsigned long long)c->addr,
		 (unsigned long long)c->len, key, c->key);
	add_why(t, c);
}

static void add_retries(struct text *t, const struct dpa_error_check *c)
{
	add_text(t, "%llu retries", (unsigned long long)c->limit);
	if (c->len)
		add_text(t, ", timeout %llu us", (unsigned long long)c->len / 1000);
}

void dpa_error_check_text(const struct dpa_error_check *c, char *to, size_t len)
{
	struct text t = begin_text(to, len);

	switch ((enum dpa_error_check_kind)c->kind) {
	case DPA_CHECK_NONE:
		break;
	case DPA_CHECK_SGE:
		add_text(&t, "SGE %u of %u: ", c->sge + 1u, c->nsge);
		add_range(&t, c, "lkey");
		break;
	case DPA_CHECK_REQUEST:
		add_range(&t, c, "rkey");
		break;
	case DPA_CHECK_LENGTH:
		add_text(&t, "%llu bytes, the limit is %llu", (unsigned long long)c->len,
			 (unsigned long long)c->limit);
		break;
	case DPA_CHECK_RETRIES:
		add_retries(&t, c);
		break;
	case DPA_CHECK_BIND:
		add_text(&t, "bind ");
		add_range(&t, c, "lkey");
		break;
	case DPA_CHECK_KEY:
		add_text(&t, "rkey 0x%08x", c->key);
		add_why(&t, c);
		break;
	case DPA_CHECK_PACKET:
		add_text(&t, "a packet of %llu bytes that may not follow the one before",
			 (unsigned long long)c->len);
		break;
	case DPA_CHECK_DEPTH:
		add_text(&t, "more READs and atomics at a time than max_dest_rd_atomic, %llu",
			 (unsigned long long)c->limit);
		break;
	case DPA_CHECK_SRQ:
		add_text(&t, "the domain has no SRQ of the number that the request names");
		break;
	case DPA_CHECK_WQE:
		add_text(&t, "%llu bytes, %u SGEs, %llu blocks", (unsigned long long)c->len,
			 c->nsge, (unsigned long long)c->limit);
		break;
	}
}

static void add_gid(struct text *t, const uint8_t gid[16])
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff}, none[16];
	char name[INET6_ADDRSTRLEN];

	if (memcmp(gid, none, sizeof(none)) == 0)
		return;
	if (memcmp(gid, v4, sizeof(v4)) == 0)
		inet_ntop(AF_INET, gid + 12, name, sizeof(name));
	else
		inet_ntop(AF_INET6, gid, name, sizeof(name));
	add_text(t, " at %s", name);
}

static void add_peer_process(struct text *t, const struct dpa_error_peer *p)
{
	if (p->pid)
		add_text(t, " of process %u", p->pid);
	if (p->comm[0]) {
		add_text(t, " (");
		add_program_name(t, p->comm);
		add_text(t, ")");
	}
	if (p->comm[0])
		add_text(t, ", user %u", p->uid);
}

void dpa_error_peer_text(const struct dpa_error_peer *p, char *to, size_t len)
{
	struct text t = begin_text(to, len);

	if (!p->qpn && p->state == DPA_ERROR_PEER_NONE)
		return;
	add_text(&t, "QP 0x%06x", p->qpn);
	add_gid(&t, p->gid);
	switch ((enum dpa_error_peer_state)p->state) {
	case DPA_ERROR_PEER_NONE:
		break;
	case DPA_ERROR_PEER_LIVES:
		add_peer_process(&t, p);
		break;
	case DPA_ERROR_PEER_NO_QP:
		add_peer_process(&t, p);
		add_text(&t, p->pid ? ", which had no such QP" : ", which no process had");
		break;
	case DPA_ERROR_PEER_ENDED:
		add_peer_process(&t, p);
		add_text(&t, ", which had ended");
		break;
	case DPA_ERROR_PEER_ELSEWHERE:
		add_text(&t, ", not of this adapter instance");
		break;
	}
}

/* "IBV_WC_REM_ACCESS_ERR (10), vendor_err 0x32 NAK_ACCESS: the peer answered: access error" */
static void add_meaning(struct text *t, const struct dpa_error *e)
{
	const uint32_t status = dpa_cqe_wc_status(e->status);
	struct dpa_meaning m;

	if (e->kind == DPA_ERROR_REFUSED)
		add_text(t, e->nak ? "a request of the peer is refused"
				   : "a request of the peer is dropped");
	else if (dpa_status_meaning(status, &m))
		add_text(t, "%s (%u)", m.name, status);
	if (dpa_vendor_meaning(e->vendor_err, &m) && e->vendor_err)
		add_text(t, ", vendor_err 0x%02x %s: %s", e->vendor_err, m.name, m.cause);
}

void dpa_error_line(const struct dpa_error *e, char to[DPA_ERROR_LINE])
{
	struct text t = begin_text(to, DPA_ERROR_LINE);
	char part[256];

	add_text(&t, "QP 0x%06x: ", e->qpn);
	add_meaning(&t, e);
	add_text(&t, "; %s", dpa_error_op(e));
	if (e->kind == DPA_ERROR_SENT)
		add_text(&t, ", WQE %u", e->wqe_index);
	if (e->kind != DPA_ERROR_REFUSED)
		add_text(&t, ", wr_id 0x%llx", (unsigned long long)e->wr_id);
	dpa_error_check_text(&e->check, part, sizeof(part));
	if (part[0])
		add_text(&t, "; %s", part);
	dpa_error_peer_text(&e->peer, part, sizeof(part));
	if (part[0])
		add_text(&t, "; the peer is %s", part);
	if (e->flags & DPA_ERROR_INJECTED)
		add_text(&t, "; injected");
	else if (e->flags & DPA_ERROR_FAULTS)
		add_text(&t, "; faults are injected into the links");
}
