/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* step.c - one step of the communication manager, and helpers of its parts. */
#include "cm_priv.h"

static void limit_field(uint8_t *field, uint8_t max)
{
	if (*field > max)
		*field = max;
}

void dpav_cm_init(struct dpav_cm *cm, const struct dpav_cm_config *config)
{
	memset(cm, 0, sizeof(*cm));
	cm->config = *config;
	cm->config.psn &= 0xffffff;
	limit_field(&cm->config.ack_delay, 31);
	limit_field(&cm->config.cm_timeout, 31);
	limit_field(&cm->config.mra_timeout, 31);
	limit_field(&cm->config.max_retries, 15);
	cm->deadline = DPA_CM_NEVER;
}

void cm_send(struct dpav_cm_effects *out, const struct dpa_mad *m)
{
	out->send = true;
	out->mad = *m;
}

void cm_send_repeated(struct dpav_cm *cm, uint64_t now, uint32_t wait, struct dpav_cm_effects *out)
{
	cm->wait = wait;
	cm->retries_left = cm->max_retries;
	cm->deadline = now + wait;
	cm_send(out, &cm->msg);
}

/*
 * Packets of the connection may still be on their way: the QP must not be used again until they are
 * gone. The time is that of Linux: one ACK timeout.
 */
void cm_enter_timewait(struct dpav_cm *cm, uint64_t now)
{
	cm->state = DPA_CM_ST_TIMEWAIT;
	cm->deadline = now + dpav_cm_ms(cm->ack_timeout);
}

void cm_close(struct dpav_cm *cm)
{
	cm->state = DPA_CM_ST_CLOSED;
	cm->deadline = DPA_CM_NEVER;
}

void cm_answer_dreq(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out)
{
	if (cm->answer.attr != DPA_CM_DREP || in->len) {
		cm_make_drep(cm, in, &cm->answer);
		cm_send(out, &cm->answer);
	}
	cm_enter_timewait(cm, in->now);
}

/*
 * In timewait the id stays, so that a late REQ differs from a new one. The QP does not stay: the
 * peer may have connected it again (Linux: cm_enter_timewait()). A peer whose DREQ was answered
 * enters timewait before this side, and so does a peer that was rejected.
 */
static uint32_t live_messages(const struct dpav_cm *cm)
{
	uint32_t bits = 0;

	if (cm_in(cm, IN(SIDR_REQ_RCVD)))
		return DPA_CM_LIVE_SIDR;
	if (!cm_in(cm, CM_NOT_ON_WIRE))
		bits |= DPA_CM_LIVE_LOCAL;
	if (cm->has_peer && !cm_in(cm, CM_NOT_ON_WIRE)) {
		bits |= DPA_CM_LIVE_ID;
		if (!cm_in(cm, IN(TIMEWAIT) | IN(DREQ_RCVD)) && !cm->rejected)
			bits |= DPA_CM_LIVE_QP;
	}
	return bits;
}

struct dpav_cm_record dpav_cm_record(const struct dpav_cm *cm)
{
	struct dpav_cm_record r = {.live = live_messages(cm),
				   .local_id = cm->config.local_id,
				   .remote_id = cm->remote_id,
				   .qpn = cm->remote_qpn,
				   .ca_guid = cm->remote_guid,
				   .xrc = cm->qp == DPA_CM_QP_XRC_INI};

	if (r.live & DPA_CM_LIVE_SIDR)
		memcpy(r.gid, cm->path.dgid, sizeof(r.gid));
	return r;
}

static bool records_differ(const struct dpav_cm_record *a, const struct dpav_cm_record *b)
{
	return a->live != b->live || a->remote_id != b->remote_id || a->qpn != b->qpn ||
	       a->ca_guid != b->ca_guid || memcmp(a->gid, b->gid, sizeof(a->gid)) != 0;
}

static int dispatch_input(struct dpav_cm *cm, const struct dpav_cm_input *in,
			  struct dpav_cm_effects *out)
{
	switch (in->kind) {
	case DPA_CM_MAD:
		cm_receive(cm, in, out);
		return 0;
	case DPA_CM_TIMER:
		cm_timer(cm, in->now, out);
		return 0;
	case DPA_CM_GONE:
		cm_gone(cm, in->now, out);
		return 0;
	case DPA_CM_DESTROY:
		cm_destroy(cm, in, out);
		return 0;
	default:
		return cm->orphan ? EINVAL : cm_call(cm, in, out);
	}
}

static void finish_step(const struct dpav_cm *cm, const struct dpav_cm_record *before,
			struct dpav_cm_effects *out)
{
	if (cm->orphan)
		memset(&out->event, 0, sizeof(out->event));
	out->record = dpav_cm_record(cm);
	out->record_changed = records_differ(before, &out->record);
	out->deadline = cm->deadline;
	out->done = cm->orphan && cm->state == DPA_CM_ST_CLOSED;
}

int dpav_cm_step(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out)
{
	struct dpav_cm_record before = dpav_cm_record(cm);
	int ret;

	memset(out, 0, sizeof(*out));
	ret = dispatch_input(cm, in, out);
	finish_step(cm, &before, out);
	return ret;
}

/* Restore the fields that cm_destroy() and the states after it use. */
static void restore_past(struct dpav_cm *cm, const struct dpav_cm_past *past)
{
	cm->state = past->state == DPA_CM_ST_DREQ_SENT ? DPA_CM_ST_ESTABLISHED : past->state;
	cm->qp = past->qp;
	cm->remote_id = past->remote_id;
	cm->remote_qpn = past->remote_qpn;
	cm->remote_guid = past->remote_guid;
	cm->has_peer = cm_in(cm, CM_PEER_KNOWN | CM_DISCONNECTS | IN(TIMEWAIT));
	cm->local_qpn = CM_QPN_ANY;
	cm->tid = past->tid;
	cm->service_id = past->service_id;
	cm->path = *past->path;
	cm->ack_timeout = cm_path_timeout(cm->path.life_time);
	cm->max_retries = cm->config.max_retries;
	cm->answer_wait = dpav_cm_ms(cm->config.cm_timeout);
}

int dpav_cm_adopt(struct dpav_cm *cm, const struct dpav_cm_config *config,
		  const struct dpav_cm_past *past, uint64_t now, struct dpav_cm_effects *out)
{
	const struct dpav_cm_input destroy = {.kind = DPA_CM_DESTROY, .now = now};
	const struct dpav_cm_record before = {0};

	if ((unsigned)past->state >= DPA_CM_STATES || past->remote_qpn > CM_QPN_MAX ||
	    past->path->life_time > 31)
		return EINVAL;
	dpav_cm_init(cm, config);
	restore_past(cm, past);
	memset(out, 0, sizeof(*out));
	if (cm_in(cm, IN(TIMEWAIT)))
		cm_enter_timewait(cm, now);
	cm_destroy(cm, &destroy, out);
	finish_step(cm, &before, out);
	return 0;
}
