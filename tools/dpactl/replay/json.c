/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* json.c - the events of a replay for programs: one object each. */
#include <wire/roce.h>
#include "view.h"

#define HOW (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE)

static const char *const kinds[] = {"flow", "region", "in",	   "out", "captured",
				    "post", "timer",  "completed", "note"};

static void add_bool_if_true(struct json_object *o, const char *name, bool v)
{
	if (v)
		json_add_bool(o, name, true);
}

static void flow_json(struct json_object *o, const struct dpa_replay_event *e)
{
	char text[64];

	json_add(o, "role", replay_role_name(e->flow.role));
	json_add_num(o, "transport", e->flow.transport);
	json_add_num(o, "qpn", e->flow.qpn);
	json_add(o, "address", gid_text(e->flow.local, text, sizeof(text)));
	if (e->flow.dest_known)
		json_add_num(o, "peer_qpn", e->flow.dest);
	json_add(o, "peer_address", gid_text(e->flow.peer, text, sizeof(text)));
	json_add_num(o, "path_mtu", e->flow.mtu);
	json_add_num(o, "first_psn", e->flow.psn);
	add_bool_if_true(o, "cm", e->flow.cm);
}

static void region_json(struct json_object *o, const struct dpa_replay_event *e)
{
	char access[8];

	json_add_num(o, "rkey", e->region.rkey);
	json_add_num(o, "va", e->region.addr);
	json_add_num(o, "length", e->region.len);
	json_add(o, "access", replay_access_text(e->region.access, access, sizeof(access)));
}

static void packet_json(struct json_object *o, const struct dpa_roce_pkt *k)
{
	const uint32_t ext = dpa_roce_ext_of(k->opcode);

	json_add(o, "opcode", dpa_roce_opcode_name(k->opcode));
	json_add_num(o, "psn", k->psn);
	json_add_num(o, "dqpn", k->dqpn);
	json_add_num(o, "payload_len", k->len);
	add_bool_if_true(o, "ackreq", k->ackreq);
	if (ext & (DPA_ROCE_RETH | DPA_ROCE_ATOMICETH)) {
		json_add_num(o, "rkey", k->rkey);
		json_add_num(o, "va", k->va);
	}
	if (ext & DPA_ROCE_RETH)
		json_add_num(o, "dmalen", k->dmalen);
	if (ext & DPA_ROCE_AETH) {
		json_add(o, "answer", replay_answer_name(k->syndrome));
		json_add_num(o, "msn", k->msn);
	}
	if (ext & DPA_ROCE_ATOMICACKETH)
		json_add_num(o, "orig", k->orig);
	if (ext & DPA_ROCE_IMMDT)
		json_add_num(o, "imm", k->imm);
}

static struct json_object *state_json(const struct dpa_replay_state *s)
{
	struct json_object *o = json_object_new_object();

	json_add(o, "state", qp_state_name(s->state));
	json_add_num(o, "epsn", s->epsn);
	json_add_num(o, "msn", s->msn);
	json_add_num(o, "queued", s->queued);
	add_bool_if_true(o, "nak", s->nak);
	json_add_num(o, "una", s->una);
	json_add_num(o, "next", s->next);
	json_add_num(o, "max", s->max);
	json_add_num(o, "retry", s->retry);
	json_add_num(o, "rnr", s->rnr);
	add_bool_if_true(o, "recovery", s->recovery);
	add_bool_if_true(o, "probing", s->probing);
	add_bool_if_true(o, "waits", s->waits);
	return o;
}

static void changes_json(struct json_object *o, const struct dpa_replay_event *e)
{
	struct json_object *c;

	json_object_object_add(o, "before", state_json(&e->was));
	json_object_object_add(o, "after", state_json(&e->is));
	if (!e->ncounts)
		return;
	c = json_object_new_object();
	for (uint32_t i = 0; i < e->ncounts; i++)
		json_add_num(c, e->count[i].name, e->count[i].n);
	json_object_object_add(o, "counters", c);
}

static void wc_json(struct json_object *o, const struct dpa_replay_event *e)
{
	json_add_num(o, "wr_id", e->wc.wr_id);
	json_add(o, "operation", replay_op_name(e));
	json_add_num(o, "length", e->wc.len);
	if (e->what == DPA_REPLAY_COMPLETED) {
		json_add(o, "status", replay_wc_name(e->wc.status));
		add_bool_if_true(o, "send", e->wc.send);
	}
}

static void is_packet(struct json_object *o, const struct dpa_replay_event *e)
{
	packet_json(o, &e->pkt);
	add_bool_if_true(o, "cut", e->cut);
	add_bool_if_true(o, "retransmission", e->again);
	if (e->did)
		json_add(o, "did", e->did);
	if (e->mark != DPA_REPLAY_UNMARKED)
		json_add(o, "compared", replay_mark_name(e->mark));
	if (e->other)
		json_add_num(o, "as_packet", e->other);
	if (e->what == DPA_REPLAY_IN)
		changes_json(o, e);
}

/* One element of the array, which the first one begins. */
static void put_event(bool *some, struct json_object *o)
{
	printf("%s\n%s", *some ? "," : "{\"events\": [", json_object_to_json_string_ext(o, HOW));
	*some = true;
	json_object_put(o);
}

void replay_event_json(void *arg, const struct dpa_replay_event *e)
{
	struct json_object *o = json_object_new_object();

	json_add(o, "event", kinds[e->what]);
	json_add_num(o, "time_ns", e->ns);
	if (e->no)
		json_add_num(o, "packet", e->no);
	if (e->what == DPA_REPLAY_FLOW)
		flow_json(o, e);
	else if (e->what == DPA_REPLAY_REGION)
		region_json(o, e);
	else if (e->what == DPA_REPLAY_IN || e->what == DPA_REPLAY_OUT ||
		 e->what == DPA_REPLAY_BESIDE)
		is_packet(o, e);
	else if (e->what == DPA_REPLAY_TIMER)
		changes_json(o, e);
	else if (e->what != DPA_REPLAY_NOTE)
		wc_json(o, e);
	if (e->vendor_err) {
		json_add_num(o, "vendor_err", e->vendor_err);
		json_add(o, "vendor_err_name", replay_vendor_name(e->vendor_err));
	}
	if (e->text[0])
		json_add(o, "text", e->text);
	put_event(arg, o);
}

void replay_end_json(const bool *some, const struct dpa_replay_sum *s)
{
	struct json_object *o = json_object_new_object();
	const char *text;

	json_add_num(o, "packets", s->packets);
	json_add_num(o, "cut", s->cut);
	json_add_num(o, "malformed", s->malformed);
	json_add_num(o, "icrc_wrong", s->icrc);
	json_add_num(o, "skipped", s->other);
	json_add_num(o, "flows", s->flows);
	json_add_num(o, "in", s->in);
	json_add_num(o, "out", s->out);
	json_add_num(o, "same", s->same);
	json_add_num(o, "covered", s->covered);
	json_add_num(o, "differences", s->differences);
	add_bool_if_true(o, "stopped", s->stopped);
	json_add_num(o, "early", s->early);
	text = json_object_to_json_string_ext(o, HOW);
	printf("%s],\n%s\n", *some ? "" : "{\"events\": [", text + 1); /* without its { */
	json_object_put(o);
}
