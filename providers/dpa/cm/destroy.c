/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * destroy.c - the owner leaves. The message that fits the state notifies the peer. Retransmissions
 * and waits continue without an owner, until the step that returns `done`.
 * Linux sends the DREQ of such a connection once. Here it is sent again: a peer that missed it
 * would stay connected to a QP that is gone. The same holds for a peer that sent its RTU and missed
 * the REJ: a DREQ follows the REJ.
 */
#include "cm_priv.h"

/* The peer may not have received the id of this side: it finds the connection by the node GUID. */
static void reject_timeout(const struct dpav_cm *cm, struct dpav_cm_effects *out)
{
	struct dpa_mad m;

	cm_make_rej(cm, DPA_CM_REJ_TIMEOUT, &m);
	m.rej.info_length = 8;
	for (int i = 0; i < 8; i++)
		m.rej.info[i] = (uint8_t)(cm->config.ca_guid >> (56 - 8 * i));
	cm_send(out, &m);
}

static void reject_consumer(const struct dpav_cm *cm, struct dpav_cm_effects *out)
{
	struct dpa_mad m;

	cm_make_rej(cm, DPA_CM_REJ_CONSUMER, &m);
	cm_send(out, &m);
}

static void refuse_sidr(const struct dpav_cm *cm, struct dpav_cm_effects *out)
{
	const struct dpav_cm_input refusal = {.status = DPA_CM_SIDR_REJECTED};
	struct dpa_mad m;

	cm_make_sidr_rep(cm, &refusal, &m);
	cm_send(out, &m);
}

/*
 * The longest wait of a DREQ without an owner. The sender of a REQ may ask for 2.3 hours; without
 * an owner nothing depends on a slow answer.
 */
static uint32_t longest_wait(const struct dpav_cm *cm)
{
	return 2 * dpav_cm_ms(cm->config.cm_timeout);
}

/*
 * The REP was sent: the peer may be waiting for it, have it, or be connected. A peer that is not
 * connected needs the REJ. Each of them answers the DREQ, while a REJ has no answer.
 */
static void leave_rep_sent(struct dpav_cm *cm, const struct dpav_cm_input *in,
			   struct dpav_cm_effects *out)
{
	uint32_t most = longest_wait(cm);

	if (cm->qp == DPA_CM_QP_XRC_TGT) {
		reject_consumer(cm, out);
		cm_enter_timewait(cm, in->now);
		return;
	}
	cm_make_dreq(cm, in, &cm->msg);
	cm_send_repeated(cm, in->now, cm->answer_wait < most ? cm->answer_wait : most, out);
	reject_consumer(cm, out); /* the DREQ is sent at the deadline */
	cm->state = DPA_CM_ST_DREQ_SENT;
	cm->rejected = true;
}

static void shorten_dreq(struct dpav_cm *cm, uint64_t now)
{
	uint32_t most = longest_wait(cm);

	if (cm->wait <= most)
		return;
	cm->wait = most;
	if (cm->deadline > now + most)
		cm->deadline = now + most;
}

/* An XRC target continues without the process that created it (Linux: cm_destroy_id()). */
static void leave_established(struct dpav_cm *cm, const struct dpav_cm_input *in,
			      struct dpav_cm_effects *out)
{
	uint32_t most = longest_wait(cm);

	if (cm->qp == DPA_CM_QP_XRC_TGT) {
		cm_close(cm);
		return;
	}
	cm_make_dreq(cm, in, &cm->msg);
	cm->state = DPA_CM_ST_DREQ_SENT;
	cm_send_repeated(cm, in->now, cm->answer_wait < most ? cm->answer_wait : most, out);
}

void cm_destroy(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out)
{
	/* the messages carry no private data */
	const struct dpav_cm_input bare = {.kind = DPA_CM_DESTROY, .now = in->now};

	cm->orphan = true;
	switch (cm->state) {
	case DPA_CM_ST_REQ_SENT:
	case DPA_CM_ST_MRA_REQ_RCVD:
		reject_timeout(cm, out);
		cm_close(cm);
		break;
	case DPA_CM_ST_REQ_RCVD:
	case DPA_CM_ST_MRA_REQ_SENT:
	case DPA_CM_ST_REP_RCVD:
	case DPA_CM_ST_MRA_REP_SENT:
		reject_consumer(cm, out);
		cm_close(cm);
		break;
	case DPA_CM_ST_REP_SENT:
	case DPA_CM_ST_MRA_REP_RCVD:
		leave_rep_sent(cm, &bare, out);
		break;
	case DPA_CM_ST_ESTABLISHED:
		leave_established(cm, &bare, out);
		break;
	case DPA_CM_ST_DREQ_RCVD:
		cm_answer_dreq(cm, &bare, out);
		break;
	case DPA_CM_ST_DREQ_SENT:
		shorten_dreq(cm, in->now);
		break;
	case DPA_CM_ST_TIMEWAIT:
		break;
	case DPA_CM_ST_SIDR_REQ_RCVD:
		refuse_sidr(cm, out);
		cm_close(cm);
		break;
	default:
		cm_close(cm);
	}
}
