/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fuzz_cm.c - the communication manager: MADs through dpav_cm_classify() into dpav_cm_step(), calls
 * of owners, deadlines, deaths. Each effect must be one that the state allows
 * (tests/unit/cm/allowed.c), each connection must be found by its ids, and at the end, when all
 * owners leave, nothing may remain.
 *
 * Input: operations. A byte below 0x80 is a call: its kind, its connection (a byte), a byte that
 * varies it (enum vary). Else a MAD: attribute and enum how, its connection (a byte), then bytes
 * for the body: offset, length, and the bytes to XOR.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <criterion/criterion.h>
#include "tests/unit/cm/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CONNECTIONS = 6, STEPS = 400, DIES = DPA_CM_INPUTS };
enum how { HOW_MAD = 0x80, HOW_LATE = 0x40, HOW_IDS = 0x20, HOW_ATTR = 0x1f };
enum vary { VARY_LEN = 0x0f, VARY_PATH = 0x10, VARY_CONN = 0x20, VARY_STATUS = 0xc0 };

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

struct connection {
	struct dpav_cm cm;
	struct dpav_cm_entry entry;
};

static struct world {
	const uint8_t *p;
	size_t n;
	uint64_t now;
	uint32_t next_id;
	struct dpav_cm_index ix;
	struct connection *c[CONNECTIONS];
} w;

/* The checks of tests/unit/cm are Criterion's. */
void dpa_test_failed(const char *file, int line, const char *expr, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%d: %s", file, line, expr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	abort();
}

void dpa_test_abort(void)
{
	abort();
}

static uint8_t byte(void)
{
	if (!w.n)
		return 0;
	w.n--;
	return *w.p++;
}

static unsigned which(void)
{
	return byte() % CONNECTIONS;
}

static struct dpav_cm_config config(void)
{
	struct dpav_cm_config c = test_config;

	c.local_id = w.next_id++;
	return c;
}

static struct connection *add(unsigned k)
{
	const struct dpav_cm_config c = config();

	w.c[k] = calloc(1, sizeof(*w.c[k]));
	MUST(w.c[k]);
	dpav_cm_init(&w.c[k]->cm, &c);
	return w.c[k];
}

static void check_found(unsigned k)
{
	const struct connection *c = w.c[k];
	struct dpa_mad m = test_mad(DPA_CM_DREP);
	struct dpav_cm_entry *e = NULL;
	enum dpav_cm_verdict v;

	m.drep.remote_id = c->cm.config.local_id;
	m.drep.local_id = c->cm.remote_id;
	v = dpav_cm_classify(&w.ix, &m, test_path.dgid, &e);
	if (c->entry.record.live & DPA_CM_LIVE_ID)
		MUST(v == DPA_CM_FOUND && e == &c->entry);
	else
		MUST(v == DPA_CM_UNKNOWN && !e);
}

static void check_attr(const struct dpav_cm *cm)
{
	for (int s = IBV_QPS_RESET; s <= IBV_QPS_ERR; s++) {
		struct ibv_qp_attr a = {.qp_state = (enum ibv_qp_state)s};
		int mask;

		MUST(dpav_cm_qp_attr(cm, &a, &mask) ? !mask : mask & IBV_QP_STATE);
		MUST(a.rq_psn <= 0xffffff && a.sq_psn <= 0xffffff && a.dest_qp_num <= 0xffffff);
		MUST(a.timeout < 32 && a.retry_cnt < 8 && a.rnr_retry < 8);
	}
}

/* Pointers of the event point into the MAD of the input. */
static void check_event(const struct dpav_cm_event *e, const struct dpa_mad *m)
{
	const uint8_t *from = (const uint8_t *)m, *to = m ? from + sizeof(*m) : NULL;

	if (e->len)
		MUST(m && e->data >= from && e->data + e->len <= to);
	if (e->info_len)
		MUST(m && e->info >= from && e->info + e->info_len <= to);
}

static void take_effects(unsigned k, const struct dpav_cm_effects *out, const struct dpa_mad *m)
{
	check_event(&out->event, m);
	check_attr(&w.c[k]->cm);
	if (out->record_changed)
		dpav_cm_index_put(&w.ix, &w.c[k]->entry, &out->record);
	MUST(w.c[k]->entry.record.live == out->record.live);
	check_found(k);
	if (!out->done)
		return;
	free(w.c[k]);
	w.c[k] = NULL;
}

static void step(unsigned k, struct dpav_cm_input *in)
{
	struct dpav_cm before = w.c[k]->cm;
	struct dpav_cm_effects out;
	int ret;

	in->now = w.now;
	ret = dpav_cm_step(&w.c[k]->cm, in, &out);
	test_allowed(&before, in, ret, &w.c[k]->cm, &out, 0);
	take_effects(k, &out, in->kind == DPA_CM_MAD ? in->mad : NULL);
}

static unsigned slot_of(const struct dpav_cm_entry *e)
{
	for (unsigned k = 0; k < CONNECTIONS; k++)
		if (w.c[k] && &w.c[k]->entry == e)
			return k;
	abort();
}

static void refuse(const struct dpa_mad *m, uint16_t reason)
{
	uint8_t bytes[DPA_MAD_BYTES];
	struct dpa_mad answer;

	MUST(dpav_cm_refuse(m, reason, &answer) && dpa_mad_encode(&answer, bytes));
}

static void new_connection(struct dpav_cm_input *in)
{
	for (unsigned k = 0; k < CONNECTIONS; k++)
		if (!w.c[k]) {
			add(k);
			step(k, in);
			return;
		}
	refuse(in->mad, DPA_CM_REJ_SERVICE_ID);
}

static void deliver(const struct dpa_mad *m)
{
	struct dpav_cm_input in = test_receive(m), disconnect = test_input(DPA_CM_DISCONNECT);
	struct dpav_cm_entry *e = NULL;

	switch (dpav_cm_classify(&w.ix, m, test_path.dgid, &e)) {
	case DPA_CM_NEW:
		MUST(!e && (m->attr == DPA_CM_REQ || m->attr == DPA_CM_SIDR_REQ));
		new_connection(&in);
		break;
	case DPA_CM_DUPLICATE:
		MUST(m->attr == DPA_CM_REQ || m->attr == DPA_CM_SIDR_REQ);
		step(slot_of(e), &in);
		break;
	case DPA_CM_FOUND:
		step(slot_of(e), &in);
		break;
	case DPA_CM_STALE:
		refuse(m, DPA_CM_REJ_STALE);
		step(slot_of(e), &disconnect);
		break;
	case DPA_CM_UNKNOWN:
		MUST(!e);
		if (m->attr == DPA_CM_DREQ)
			refuse(m, 0);
	}
}

/* As the peer of the connection would write it. */
static void put_ids(struct dpa_mad *m, const struct dpav_cm *cm)
{
	if (m->attr == DPA_CM_SIDR_REP) {
		m->sidr_rep.request_id = cm->config.local_id;
	} else if (m->attr == DPA_CM_SIDR_REQ) {
		m->sidr_req.request_id = cm->remote_id;
	} else if (m->attr == DPA_CM_REQ) {
		m->req.local_id = cm->remote_id;
		m->req.ca_guid = cm->remote_guid;
	} else {
		m->rtu.remote_id = cm->config.local_id;
		m->rtu.local_id = cm->has_peer ? cm->remote_id : cm->config.local_id + 0x10000;
	}
	if (m->attr == DPA_CM_REP)
		m->rep.qpn = cm->has_peer ? cm->remote_qpn : cm->config.local_id;
	if (m->attr == DPA_CM_DREQ)
		m->dreq.remote_qpn = cm->local_qpn & 0xffffff;
}

static void mad(uint8_t how)
{
	uint8_t bytes[DPA_MAD_BYTES];
	struct dpa_mad *m = malloc(sizeof(*m)); /* the sanitizer sees a use after the step */
	unsigned k = which(), at, n;

	MUST(m);
	*m = test_mad(DPA_CM_REQ + (how & HOW_ATTR) % 9);
	w.now += how & HOW_LATE ? 5000 : 1;
	MUST(dpa_mad_encode(m, bytes));
	at = byte();
	n = byte();
	for (; n && w.n; n--, at++)
		bytes[DPA_MAD_HDR + at % (DPA_MAD_BYTES - DPA_MAD_HDR)] ^= byte();
	if (dpa_mad_decode(bytes, sizeof(bytes), m) == DPA_MAD_OK) {
		if (how & HOW_IDS && w.c[k])
			put_ids(m, &w.c[k]->cm);
		deliver(m);
	}
	free(m);
}

/* The process of connection k dies; another takes it over. */
static void die(unsigned k)
{
	const struct dpav_cm_record none = {0};
	struct connection *c = w.c[k];
	struct dpav_cm_config config = c->cm.config;
	const struct dpav_cm_past past = {.state = c->cm.state,
					  .qp = c->cm.qp,
					  .remote_id = c->cm.remote_id,
					  .remote_qpn = c->cm.remote_qpn,
					  .remote_guid = c->cm.remote_guid,
					  .tid = c->cm.tid,
					  .service_id = c->cm.service_id,
					  .path = &test_path};
	uint8_t bytes[DPA_MAD_BYTES];
	struct dpav_cm_effects out;

	dpav_cm_index_put(&w.ix, &c->entry, &none);
	MUST(!dpav_cm_adopt(&c->cm, &config, &past, w.now, &out));
	MUST(!out.event.type && (!out.send || dpa_mad_encode(&out.mad, bytes)));
	take_effects(k, &out, NULL);
}

static void call(uint8_t kind)
{
	static const uint8_t bytes[256];
	unsigned k = which();
	uint8_t vary = byte();
	struct dpav_cm_path path = test_path;
	struct dpav_cm_conn conn = test_conn;
	struct dpav_cm_input in = test_input((enum dpav_cm_input_kind)(kind % (DPA_CM_INPUTS + 1)));

	if (!w.c[k])
		add(k);
	if ((int)in.kind == DIES)
		die(k);
	if ((int)in.kind == DIES || in.kind == DPA_CM_MAD)
		return;
	if (in.kind == DPA_CM_TIMER && w.c[k]->cm.deadline != DPA_CM_NEVER)
		w.now = w.c[k]->cm.deadline > w.now ? w.c[k]->cm.deadline : w.now;
	conn.qpn = w.c[k]->cm.config.local_id;
	if (vary & VARY_CONN)
		conn.qp = (enum dpav_cm_qp)(vary % 6);
	if (vary & VARY_PATH)
		path.life_time = vary;
	in.path = &path;
	in.conn = &conn;
	in.data = in.info = bytes;
	in.len = (vary & VARY_LEN) * 17u;
	in.info_len = vary & 7 ? 0 : 73;
	in.status = (vary & VARY_STATUS) >> 6;
	step(k, &in);
}

/* All owners leave; the timers alone end every connection. */
static void end(void)
{
	struct dpav_cm_input destroy = test_input(DPA_CM_DESTROY), timer = test_input(DPA_CM_TIMER);

	for (unsigned k = 0; k < CONNECTIONS; k++) {
		if (w.c[k])
			step(k, &destroy);
		for (int i = 0; w.c[k]; i++) {
			MUST(i < 20 && w.c[k]->cm.deadline != DPA_CM_NEVER);
			if (w.c[k]->cm.deadline > w.now)
				w.now = w.c[k]->cm.deadline;
			step(k, &timer);
		}
	}
	for (int k = 0; k < DPA_CM_KEYS; k++)
		MUST(!w.ix.by[k].entries);
	dpav_cm_index_fini(&w.ix);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	w = (struct world){.p = data, .n = size, .now = NOW, .next_id = ID};
	MUST(!dpav_cm_index_init(&w.ix));
	for (int i = 0; i < STEPS && w.n; i++) {
		uint8_t op = byte();

		if (op & HOW_MAD)
			mad(op);
		else
			call(op);
	}
	end();
	return 0;
}
