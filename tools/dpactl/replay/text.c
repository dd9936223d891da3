/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* text.c - the events of a replay as lines: time, packet, direction, what it is, what it changed. */
#include <inttypes.h>
#include <wire/pcap.h>
#include "view.h"

#define NS_PER_S 1000000000u

static const char *transport_name(uint8_t transport)
{
	return transport == 0x20 ? "UC" : transport == 0x60 ? "UD" : "RC";
}

static void flow_text(FILE *to, const struct dpa_replay_event *e)
{
	char local[64], peer[64], qpn[16] = "unknown";

	gid_text(e->flow.local, local, sizeof(local));
	gid_text(e->flow.peer, peer, sizeof(peer));
	fprintf(to, "\n%s QP 0x%06x of %s as %s, peer ", transport_name(e->flow.transport),
		e->flow.qpn, local, replay_role_name(e->flow.role));
	if (e->flow.dest_known)
		snprintf(qpn, sizeof(qpn), "0x%06x", e->flow.dest);
	fprintf(to, "%s of %s, path MTU %u, first PSN %u%s\n", qpn, peer, e->flow.mtu, e->flow.psn,
		e->flow.cm ? ", as in its CM messages" : "");
}

static void packet_text(FILE *to, const struct dpa_roce_pkt *k)
{
	const uint32_t ext = dpa_roce_ext_of(k->opcode);

	fprintf(to, "%s psn=%u", dpa_roce_opcode_name(k->opcode), k->psn);
	if (ext & (DPA_ROCE_RETH | DPA_ROCE_ATOMICETH))
		fprintf(to, " rkey=0x%x va=0x%" PRIx64, k->rkey, k->va);
	if (ext & DPA_ROCE_RETH)
		fprintf(to, " dmalen=%u", k->dmalen);
	if (ext & DPA_ROCE_ATOMICACKETH)
		fprintf(to, " orig=0x%" PRIx64, k->orig);
	if (ext & DPA_ROCE_IMMDT)
		fprintf(to, " imm=0x%x", k->imm);
	if (ext & DPA_ROCE_IETH)
		fprintf(to, " inv_rkey=0x%x", k->inv_rkey);
	if (k->len)
		fprintf(to, " len=%u", k->len);
	if (ext & DPA_ROCE_AETH)
		fprintf(to, " %s msn=%u", replay_answer_name(k->syndrome), k->msn);
	fprintf(to, "%s%s", k->ackreq ? " ackreq" : "", k->se ? " solicited" : "");
}

static void number_change(FILE *to, const char *name, uint32_t was, uint32_t is)
{
	if (was != is)
		fprintf(to, " %s %u>%u", name, was, is);
}

static void flag_change(FILE *to, const char *name, bool was, bool is)
{
	if (was != is)
		fprintf(to, is ? " +%s" : " -%s", name);
}

static void changes_text(FILE *to, const struct dpa_replay_event *e)
{
	const struct dpa_replay_state *a = &e->was, *b = &e->is;

	if (a->state != b->state)
		fprintf(to, " %s>%s", qp_state_name(a->state), qp_state_name(b->state));
	number_change(to, "epsn", a->epsn, b->epsn);
	number_change(to, "msn", a->msn, b->msn);
	number_change(to, "queued", a->queued, b->queued);
	flag_change(to, "nak", a->nak, b->nak);
	number_change(to, "una", a->una, b->una);
	number_change(to, "next", a->next, b->next);
	number_change(to, "max", a->max, b->max);
	number_change(to, "retry", a->retry, b->retry);
	number_change(to, "rnr", a->rnr, b->rnr);
	flag_change(to, "recovery", a->recovery, b->recovery);
	flag_change(to, "probe", a->probing, b->probing);
	flag_change(to, "waits", a->waits, b->waits);
	for (uint32_t i = 0; i < e->ncounts; i++)
		fprintf(to, " %s+%" PRIu64, e->count[i].name, e->count[i].n);
}

static void in_text(FILE *to, const struct dpa_replay_event *e)
{
	fprintf(to, "#%-5u > ", e->no);
	packet_text(to, &e->pkt);
	if (e->cut)
		fprintf(to, " (cut off: zeros)");
	if (e->did)
		fprintf(to, ": %s", e->did);
	if (e->vendor_err)
		fprintf(to, " (%s)", replay_vendor_name(e->vendor_err));
	if (e->text[0])
		fprintf(to, ": %s", e->text);
	changes_text(to, e);
}

static void mark_text(FILE *to, const struct dpa_replay_event *e)
{
	const bool here = e->what == DPA_REPLAY_OUT;

	switch (e->mark) {
	case DPA_REPLAY_UNMARKED:
		return;
	case DPA_REPLAY_SAME:
		if (here)
			fprintf(to, "  = #%u", e->other);
		return;
	case DPA_REPLAY_COVERED:
		fprintf(to, "  ~ in one with others %s", here ? "in the capture" : "here");
		return;
	case DPA_REPLAY_ADDITION:
		fprintf(to, "  DIFFERENCE: %s", here ? "not in the capture" : "not sent here");
		return;
	case DPA_REPLAY_DIFFERS:
		if (here)
			fprintf(to, "  DIFFERENCE to #%u: %s", e->other, e->text);
		return;
	}
}

static void sent_text(FILE *to, const struct dpa_replay_event *e)
{
	if (e->what == DPA_REPLAY_BESIDE)
		fprintf(to, "#%-5u |      ", e->no);
	else
		fprintf(to, "       < ");
	packet_text(to, &e->pkt);
	if (e->again)
		fprintf(to, " again");
	mark_text(to, e);
}

static void wc_text(FILE *to, const struct dpa_replay_event *e)
{
	fprintf(to, "         %s wr %" PRIu64 " %s len=%u",
		e->what == DPA_REPLAY_POST ? "post"
		: e->wc.send		   ? "sent"
					   : "received",
		e->wc.wr_id, replay_op_name(e), e->wc.len);
	if (e->what == DPA_REPLAY_COMPLETED)
		fprintf(to, ": %s", replay_wc_name(e->wc.status));
	if (e->vendor_err)
		fprintf(to, " (%s)", replay_vendor_name(e->vendor_err));
	if (e->what == DPA_REPLAY_POST)
		changes_text(to, e);
}

static bool is_difference(const struct dpa_replay_event *e)
{
	return e->mark == DPA_REPLAY_ADDITION ||
	       (e->mark == DPA_REPLAY_DIFFERS && e->what == DPA_REPLAY_OUT);
}

static bool is_shown_event(const struct replay_text *t, const struct dpa_replay_event *e)
{
	return !t->differences || e->what == DPA_REPLAY_FLOW || e->what == DPA_REPLAY_NOTE ||
	       is_difference(e);
}

void replay_event_text(void *arg, const struct dpa_replay_event *e)
{
	const struct replay_text *t = arg;
	char access[8];

	if (!is_shown_event(t, e))
		return;
	if (e->what == DPA_REPLAY_FLOW) {
		flow_text(t->to, e);
		return;
	}
	if (e->what == DPA_REPLAY_REGION) {
		fprintf(t->to, "  region rkey=0x%x va=0x%" PRIx64 " len=%" PRIu64 " %s\n",
			e->region.rkey, e->region.addr, e->region.len,
			replay_access_text(e->region.access, access, sizeof(access)));
		return;
	}
	if (e->what == DPA_REPLAY_NOTE) {
		fprintf(t->to, "  %s\n", e->text);
		return;
	}
	fprintf(t->to, "%3" PRIu64 ".%09" PRIu64 " ", e->ns / NS_PER_S, e->ns % NS_PER_S);
	switch (e->what) {
	case DPA_REPLAY_IN:
		in_text(t->to, e);
		break;
	case DPA_REPLAY_OUT:
	case DPA_REPLAY_BESIDE:
		sent_text(t->to, e);
		break;
	case DPA_REPLAY_TIMER:
		fprintf(t->to, "         timer");
		changes_text(t->to, e);
		break;
	default:
		wc_text(t->to, e);
	}
	fputc('\n', t->to);
}

void replay_sum_text(const struct replay_text *t, const struct dpa_replay_sum *s)
{
	fprintf(t->to,
		"\n%u packets (%u cut off, %u malformed, %u with a wrong ICRC), %u others skipped; "
		"%u flows: %u packets in, %u out; %u as captured, %u ACKs in one with others, %u "
		"differences\n",
		s->packets, s->cut, s->malformed, s->icrc, s->other, s->flows, s->in, s->out,
		s->same, s->covered, s->differences);
}
