/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* report.c - events of a flow for congestion control programs: see report.h. */
#include <string.h>
#include "report.h"

#define TX_GAP	  UINT64_C(8000) /* ns between two TX events of a flow at least */
#define TX_BYTES  65536u	 /* but one for so many bytes in any case */
#define LINE_RATE (DPA_PCC_LINE_GBPS * UINT64_C(125000000))

static void put_report(struct dpa_pcc_report *out, uint8_t type, uint32_t sn, uint32_t w0,
		       uint32_t w1, uint32_t w2)
{
	out->type = type;
	out->sn = sn;
	out->word[0] = w0;
	out->word[1] = w1;
	out->word[2] = w2;
}

static bool put_tx(struct dpa_pcc_reporter *r, const struct dpa_pcc_sender *s,
		   const struct dpa_pcc_event *ev, struct dpa_pcc_report *out)
{
	if (!r->bytes)
		r->first_at = ev->now;
	r->bytes += ev->bytes;
	r->packets += (ev->bytes + s->mtu - 1) / s->mtu;
	if (r->begun && ev->now - r->tx_at < TX_GAP && r->bytes < TX_BYTES && r->probe == s->sent)
		return false;
	put_report(out, DPA_PCC_EV_TX, s->psn, (uint32_t)r->first_at,
		   r->bytes / 32 << 16 | (r->packets & 0xffff), s->qpn);
	out->flags = r->probe != s->sent ? DPA_PCC_EV_TX_RTT_SENT : 0;
	r->begun = 1;
	r->tx_at = ev->now;
	r->bytes = r->packets = 0;
	r->probe = s->sent;
	return true;
}

bool dpa_pcc_report_make(struct dpa_pcc_reporter *r, const struct dpa_pcc_sender *s,
			 const struct dpa_pcc_event *ev, struct dpa_pcc_report *out)
{
	uint32_t now = (uint32_t)ev->now;

	*out = (struct dpa_pcc_report){.flow = s->flow, .slot = s->slot, .time = now};
	switch (ev->type) {
	case DPA_PCC_SENT:
		return put_tx(r, s, ev, out);
	case DPA_PCC_ACK:
		put_report(out, DPA_PCC_EV_ACK, ev->psn, now, ev->psn, 1);
		return true;
	case DPA_PCC_RTT:
		put_report(out, DPA_PCC_EV_RTT, ev->psn, ev->req_sent, ev->req_recv, ev->resp_sent);
		if (ev->program) {
			out->subtype = DPA_PCC_EV_RTT_DATA;
			memcpy(out->word, ev->data, sizeof(out->word));
		}
		return true;
	case DPA_PCC_CNP:
		put_report(out, DPA_PCC_EV_CNP, ev->psn, now, ev->psn, 1);
		return true;
	case DPA_PCC_LOSS:
	case DPA_PCC_TIMEOUT:
		put_report(out, DPA_PCC_EV_NACK, ev->psn, now, ev->psn, 1);
		out->subtype = DPA_PCC_EV_NACK_OOS;
		return true;
	default:
		return false;
	}
}

uint64_t dpa_pcc_report_rate(uint32_t rate)
{
	if (rate >= DPA_PCC_RATE_ONE)
		return DPA_PCC_NO_LIMIT;
	return LINE_RATE / DPA_PCC_RATE_ONE * (rate ? rate : 1);
}
