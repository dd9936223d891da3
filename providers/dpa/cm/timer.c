/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* timer.c - times and deadlines of the communication manager. */
#include "cm_priv.h"

uint32_t dpav_cm_ms(uint8_t t)
{
	t &= 31; /* a field of 5 bits */
	return t > 8 ? UINT32_C(1) << (t - 8) : 1;
}

uint32_t dpav_cm_req_wait(uint8_t life_time, uint8_t cm_timeout)
{
	return 2 * dpav_cm_ms(life_time) + dpav_cm_ms(cm_timeout);
}

/*
 * 2^timeout = 2^ack_delay + 2 * 2^life_time, in powers of two: the larger of the two, and one more
 * only if the other is at least half of it.
 */
uint8_t dpav_cm_ack_timeout(uint8_t ack_delay, uint8_t life_time)
{
	int trip = life_time + 1, delay = ack_delay;
	int large = trip > delay ? trip : delay, small = trip > delay ? delay : trip;
	int timeout = large + (small >= large - 1);

	return timeout < 31 ? (uint8_t)timeout : 31;
}

/* The message was sent 1 + max_retries times (REQ: "Max CM Retries"). */
static void give_up_message(struct dpav_cm *cm, uint64_t now, struct dpav_cm_effects *out)
{
	out->event.status = -ETIMEDOUT;
	if (cm_in(cm, IN(DREQ_SENT))) {
		out->event.type = DPA_CM_EV_DREQ_TIMEOUT;
		cm_enter_timewait(cm, now);
	} else {
		out->event.type = DPA_CM_EV_UNREACHABLE;
		cm_close(cm);
	}
}

void cm_timer(struct dpav_cm *cm, uint64_t now, struct dpav_cm_effects *out)
{
	if (now < cm->deadline || cm->deadline == DPA_CM_NEVER)
		return;
	if (cm_in(cm, IN(TIMEWAIT))) {
		out->event.type = DPA_CM_EV_TIMEWAIT_EXIT;
		cm_close(cm);
	} else if (!cm->retries_left) {
		give_up_message(cm, now, out);
	} else {
		cm->retries_left--;
		cm->deadline = now + cm->wait;
		cm_send(out, &cm->msg);
	}
}

const struct dpa_mad *dpav_cm_unanswered(const struct dpav_cm *cm)
{
	return cm_in(cm, IN(REQ_SENT) | IN(SIDR_REQ_SENT)) ? &cm->msg : NULL;
}

bool dpav_cm_waits(const struct dpav_cm *cm)
{
	return cm_in(cm, CM_WAITS_REP | CM_WAITS_RTU | IN(ESTABLISHED) | IN(DREQ_SENT) |
				 IN(SIDR_REQ_SENT));
}

/* The DREQ is sent in case the peer still runs. */
void cm_gone(struct dpav_cm *cm, uint64_t now, struct dpav_cm_effects *out)
{
	const struct dpav_cm_input bare = {.kind = DPA_CM_GONE, .now = now};

	if (!dpav_cm_waits(cm))
		return;
	if (cm_in(cm, IN(ESTABLISHED))) {
		cm_make_dreq(cm, &bare, &cm->msg);
		cm->state = DPA_CM_ST_DREQ_SENT;
		cm_send(out, &cm->msg);
	}
	give_up_message(cm, now, out);
}
