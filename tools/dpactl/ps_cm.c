/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ps_cm.c - services (ports that are listened to) and ids of rdma_cm, by process. */
#include <stdio.h>
#include <string.h>
#include "dpactl.h"

/* enum dpav_cm_state of the driver, which is Linux's enum ib_cm_state but for the last. */
static const char *cm_state_name(uint32_t state)
{
	static const char *const names[] = {
		"IDLE",		"REQ_SENT",	 "MRA_REQ_RCVD",  "REP_RCVD",
		"MRA_REP_SENT", "REQ_RCVD",	 "MRA_REQ_SENT",  "REP_SENT",
		"MRA_REP_RCVD", "ESTABLISHED",	 "DREQ_SENT",	  "DREQ_RCVD",
		"TIMEWAIT",	"SIDR_REQ_SENT", "SIDR_REQ_RCVD", "CLOSED",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

/* A service of an rdma_cm port: its port space; NULL: another one (AF_IB). */
const char *cm_space_name(const struct dpa_gsi_service *s)
{
	if (s->mask != UINT64_MAX)
		return NULL;
	switch (s->service_id >> 16) {
	case 0x002:
		return "IPOIB";
	case 0x106:
		return "TCP";
	case 0x111:
		return "UDP";
	case 0x13f:
		return "IB";
	}
	return NULL;
}

static const char *service_place(const struct dpa_gsi_service *s, char *buf, size_t len)
{
	static const uint8_t any[16];

	if (memcmp(s->addr, any, sizeof(any)))
		return gid_text(s->addr, buf, len);
	snprintf(buf, len, "%s", s->v4 && s->v6 ? "*" : s->v4 ? "0.0.0.0" : "::");
	return buf;
}

typedef void service_fn(void *arg, const struct dpa_gsi_service *s);
typedef void id_fn(void *arg, const struct dpa_gsi_id *id);

static void each_service(struct ctl *c, const struct proc *p, service_fn *fn, void *arg)
{
	struct dpa_gsi_service s;
	uint32_t slot, gen;

	for (uint32_t at = 0; dpa_board_service_next(c->b, &at, &s, &slot, &gen); at++)
		if (slot == p->slot && gen == p->gen)
			fn(arg, &s);
}

static void each_id(struct ctl *c, const struct proc *p, id_fn *fn, void *arg)
{
	struct dpa_gsi_id id;
	uint32_t slot, gen;

	for (uint32_t at = 0; dpa_board_cmid_next(c->b, &at, &id, &slot, &gen); at++)
		if (slot == p->slot && gen == p->gen)
			fn(arg, &id);
}

void cm_listeners(struct ctl *c, char *text, size_t len)
{
	struct dpa_gsi_service s;
	uint32_t slot, gen;
	const char *space;
	size_t n = 0;
	char at[64];

	text[0] = '\0';
	for (uint32_t i = 0; dpa_board_service_next(c->b, &i, &s, &slot, &gen); i++) {
		space = cm_space_name(&s);
		if (space && n < len && dpa_board_alive(c->b, slot, gen))
			n += (size_t)snprintf(text + n, len - n, "%s%s %u at %s", n ? ", " : "",
					      space, (unsigned)(s.service_id & 0xffff),
					      service_place(&s, at, sizeof(at)));
	}
}

/* ------------------------------------------------------------- for programs */

static void service_json(void *arg, const struct dpa_gsi_service *s)
{
	struct json_object *o = json_object_new_object();
	const char *space = cm_space_name(s);
	char text[64];

	snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)s->service_id);
	json_add(o, "service_id", text);
	if (space) {
		json_add(o, "space", space);
		json_add_num(o, "port", s->service_id & 0xffff);
	}
	json_add(o, "addr", service_place(s, text, sizeof(text)));
	json_object_array_add(arg, o);
}

static void id_json(void *arg, const struct dpa_gsi_id *id)
{
	struct json_object *o = json_object_new_object();
	char text[64];

	json_add_num(o, "local_id", id->local_id);
	json_add_num(o, "remote_id", id->remote_id);
	json_add(o, "state", cm_state_name(id->state));
	json_add_num(o, "id", id->id);
	json_add_num(o, "remote_qpn", id->remote_qpn);
	json_add(o, "addr", gid_text(id->addr.sgid, text, sizeof(text)));
	json_add(o, "peer", gid_text(id->addr.dgid, text, sizeof(text)));
	json_object_array_add(arg, o);
}

void cm_json(struct ctl *c, const struct proc *p, struct json_object *o)
{
	struct json_object *services = json_object_new_array(), *ids = json_object_new_array();

	each_service(c, p, service_json, services);
	each_id(c, p, id_json, ids);
	json_object_object_add(o, "cm_listeners", services);
	json_object_object_add(o, "cm_ids", ids);
}

/* --------------------------------------------------------------- text output */

struct table {
	const struct proc *p;
	bool head;
};

static void service_text(void *arg, const struct dpa_gsi_service *s)
{
	const char *space = cm_space_name(s);
	struct table *t = arg;
	char text[64];

	if (!t->head)
		printf("\n    PID  LISTENS TO             AT\n");
	t->head = true;
	if (space)
		printf("%7u  %-5s %-15u  %s\n", t->p->pid, space,
		       (unsigned)(s->service_id & 0xffff), service_place(s, text, sizeof(text)));
	else
		printf("%7u  0x%016llx     %s\n", t->p->pid, (unsigned long long)s->service_id,
		       service_place(s, text, sizeof(text)));
}

static void id_text(void *arg, const struct dpa_gsi_id *id)
{
	char from[64], to[64];
	struct table *t = arg;

	if (!t->head)
		printf("\n  LOCAL    REMOTE      PID  STATE          PEER QP  FROM AND TO\n");
	t->head = true;
	printf(" %08x  %08x  %7u  %-13s  %06x   %s, %s\n", id->local_id, id->remote_id, t->p->pid,
	       cm_state_name(id->state), id->remote_qpn,
	       gid_text(id->addr.sgid, from, sizeof(from)),
	       gid_text(id->addr.dgid, to, sizeof(to)));
}

void cm_text(struct ctl *c, const struct proc *p, uint32_t n)
{
	struct table services = {0}, ids = {0};

	for (uint32_t i = 0; i < n; i++) {
		services.p = &p[i];
		each_service(c, &p[i], service_text, &services);
	}
	for (uint32_t i = 0; i < n; i++) {
		ids.p = &p[i];
		each_id(c, &p[i], id_text, &ids);
	}
}
