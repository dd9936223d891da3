/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * list.c - lists the objects of the processes of an adapter instance, as text for netlink answers.
 * Read from the board as tools do (dpa_board_peek()): no process is called or woken.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "board/board.h"
#include "board/cm.h"
#include "tables/tables.h"

#ifndef DPA_LIB_VERSION
#define DPA_LIB_VERSION "0.1.0"
#endif

/* Number of objects of all live processes. */
struct sums {
	uint64_t pd, cq, qp, cm_id, mr, ctx, srq;
};

static void add_sums(struct sums *s, const struct dpa_board_proc *p)
{
	s->pd += p->npd;
	s->cq += p->ncq;
	s->qp += p->nqp;
	s->mr += p->nmr;
	s->ctx += p->nctx;
	s->srq += p->nsrq;
}

static void add_all_processes(struct dpa_board *b, struct sums *s)
{
	for (uint32_t i = dpa_board_proc_next(b, 0); i < DPA_BOARD_PROCS;
	     i = dpa_board_proc_next(b, i + 1)) {
		struct dpa_board_proc *p = dpa_board_proc(b, i);

		if (p && atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PROC_LIVE &&
		    dpa_board_alive(b, i, atomic_load_explicit(&p->gen, memory_order_acquire)))
			add_sums(s, p);
	}
}

/* Listeners and connections. An rdma_cm id that is neither yet is not on the board. */
static uint64_t count_cm_ids(struct dpa_board *b)
{
	struct dpa_gsi_service s;
	struct dpa_gsi_id id;
	uint32_t slot, gen;
	uint64_t n = 0;

	for (uint32_t at = 0; dpa_board_service_next(b, &at, &s, &slot, &gen); at++)
		n += dpa_board_alive(b, slot, gen);
	for (uint32_t at = 0; dpa_board_cmid_next(b, &at, &id, &slot, &gen); at++)
		n += dpa_board_alive(b, slot, gen);
	return n;
}

/*
 * Writes one line "NAME NUMBER" for each kind, with the kernel's names and order. b NULL: no
 * process is attached.
 */
static int counts_text(struct dpa_board *b, char *text, size_t len)
{
	struct sums s = {0};
	int n;

	if (b) {
		add_all_processes(b, &s);
		s.cm_id = count_cm_ids(b);
	}
	n = snprintf(text, len,
		     "pd %llu\ncq %llu\nqp %llu\ncm_id %llu\nmr %llu\nctx %llu\nsrq %llu\n",
		     (unsigned long long)s.pd, (unsigned long long)s.cq, (unsigned long long)s.qp,
		     (unsigned long long)s.cm_id, (unsigned long long)s.mr,
		     (unsigned long long)s.ctx, (unsigned long long)s.srq);
	return (size_t)n < len ? n : -ENOSPC;
}

/* Writes the line of a QP. 0: no QP with that number, or its record is half written. */
static int qp_line(struct dpa_board *b, uint32_t qpn, char *line, size_t len)
{
	struct dpa_board_qpinfo *from, q;
	struct dpa_board_proc *p;
	uint32_t slot, gen;

	if (!dpa_board_qpn_owner(b, qpn, &slot, &gen) || !dpa_board_alive(b, slot, gen))
		return 0;
	from = dpa_board_qpinfo(b, qpn);
	p = dpa_board_proc(b, slot);
	if (!from || !p)
		return 0;
	q = *from;
	if (q.qpn != qpn)
		return 0;
	return snprintf(line, len, "%u %u %u %u %u %u\n", qpn, q.type, q.state & 0xff, q.dest_qpn,
			dpa_proc_pid(p), dpa_board_psn(&q));
}

/* Writes as many QPs as there is room for, from number `from` on. */
static int qps_text(struct dpa_board *b, uint32_t from, char *text, size_t len)
{
	uint32_t first = b ? b->board_num << 16 : 0;
	size_t at = 0;
	char line[80];

	text[0] = '\0';
	for (uint32_t i = from > first ? from - first : 0; b && i < DPA_BOARD_QPNS; i++) {
		int n = qp_line(b, first | i, line, sizeof(line));

		if (!n)
			continue;
		if (at + (size_t)n >= len)
			break;
		memcpy(text + at, line, (size_t)n + 1);
		at += (size_t)n;
	}
	return (int)at;
}

/* ---------------------------------------------------------------- ids of rdma_cm */

/* States of the kernel's enum rdma_cm_state and of the driver's enum dpav_cm_state. */
enum { RDMA_CONNECT = 5, RDMA_DISCONNECT, RDMA_LISTEN = 8 };
enum { CM_DREQ_SENT = 10, CM_TIMEWAIT = 12 };

static void gid_hex(const uint8_t gid[16], char text[33])
{
	for (int i = 0; i < 16; i++)
		sprintf(text + 2 * i, "%02x", gid[i]);
}

static uint32_t pid_of(struct dpa_board *b, uint32_t slot, uint32_t gen)
{
	struct dpa_board_proc *p = dpa_board_proc(b, slot);

	return p && dpa_board_alive(b, slot, gen) ? dpa_proc_pid(p) : 0;
}

/* A wildcard is ::; for IPv4 only ::ffff:0.0.0.0. */
static int listener_line(struct dpa_board *b, uint32_t *at, char *line, size_t len)
{
	struct dpa_gsi_service s;
	uint32_t slot, gen, pid;
	char gid[33];

	if (!dpa_board_service_next(b, at, &s, &slot, &gen))
		return -1;
	pid = pid_of(b, slot, gen);
	if (!pid || s.mask != UINT64_MAX)
		return 0;
	if (s.v4 && !s.v6)
		s.addr[10] = s.addr[11] = 0xff;
	gid_hex(s.addr, gid);
	return snprintf(line, len, "%u %u %u %u 255 %s %u - 0\n", *at, pid, RDMA_LISTEN,
			(uint32_t)(s.service_id >> 16) & 0xffff, gid,
			(uint32_t)s.service_id & 0xffff);
}

static int id_line(struct dpa_board *b, uint32_t *at, char *line, size_t len)
{
	uint32_t slot, gen, pid;
	struct dpa_gsi_id id;
	char from[33], to[33];
	bool ends;

	if (!dpa_board_cmid_next(b, at, &id, &slot, &gen))
		return -1;
	pid = pid_of(b, slot, gen);
	if (!pid || !id.id) /* of a dead process, or it continues without the program */
		return 0;
	ends = id.state >= CM_DREQ_SENT && id.state <= CM_TIMEWAIT;
	gid_hex(id.addr.sgid, from);
	gid_hex(id.addr.dgid, to);
	return snprintf(line, len, "%u %u %u %u %u %s %u %s %u\n", DPA_BOARD_SERVICES + *at, pid,
			ends ? RDMA_DISCONNECT : RDMA_CONNECT,
			(uint32_t)(id.service_id >> 16) & 0xffff, id.qp_type, from, id.sport, to,
			id.dport);
}

/*
 * Writes as many ids as there is room for, from number `from` on: listeners first, then
 * connections.
 */
static int cm_ids_text(struct dpa_board *b, uint32_t from, char *text, size_t len)
{
	size_t used = 0;
	char line[160];

	text[0] = '\0';
	for (uint32_t i = from; b;) {
		bool listener = i < DPA_BOARD_SERVICES;
		uint32_t at = listener ? i : i - DPA_BOARD_SERVICES;
		int n = listener ? listener_line(b, &at, line, sizeof(line))
				 : id_line(b, &at, line, sizeof(line));

		if (n < 0 && !listener)
			break;
		if (n > 0 && used + (size_t)n >= len)
			break;
		if (n > 0)
			memcpy(text + used, line, (size_t)n + 1);
		used += n > 0 ? (size_t)n : 0;
		i = n < 0 ? DPA_BOARD_SERVICES : at + 1 + (listener ? 0 : DPA_BOARD_SERVICES);
	}
	return (int)used;
}

/* A request that is being written counts as the state before it: up. */
static int port_request_text(struct dpa_board *b, char *text, size_t len)
{
	char asked[DPA_BOARD_ASK_TEXT] = "";
	uint32_t gen;

	if (b && !dpa_board_ask_get(b, DPA_ASK_PORT, asked, &gen))
		asked[0] = '\0';
	return snprintf(text, len, "%s",
			strcmp(asked, DPA_BOARD_PORT_DOWN) == 0 ? DPA_BOARD_PORT_DOWN : "up");
}

int dpa_hw_board_file(const char *board, const char *name, char *text, size_t len)
{
	struct dpa_board_cfg cfg = {.path = board, .lib_version = DPA_LIB_VERSION};
	struct dpa_board *b = NULL;
	char err[256];
	int ret = len ? dpa_board_peek(&cfg, &b, err, sizeof(err)) : EINVAL;

	if (ret == ENOENT)
		b = NULL; /* no process has the device open */
	else if (ret)
		goto out;
	if (strcmp(name, "counts") == 0)
		ret = counts_text(b, text, len);
	else if (strncmp(name, "qps/", 4) == 0)
		ret = qps_text(b, (uint32_t)strtoul(name + 4, NULL, 10), text, len);
	else if (strncmp(name, "cm_ids/", 7) == 0)
		ret = cm_ids_text(b, (uint32_t)strtoul(name + 7, NULL, 10), text, len);
	else if (strcmp(name, "port") == 0)
		ret = port_request_text(b, text, len);
	else
		ret = -ENOENT;
	if (b)
		dpa_board_unpeek(b);
	if (ret >= 0)
		return ret;
	ret = -ret;
out:
	errno = ret;
	return -1;
}
