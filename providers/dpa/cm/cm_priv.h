/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cm_priv.h - private to the communication manager. The contracts of cm.h hold. */
#ifndef DPA_CM_PRIV_H
#define DPA_CM_PRIV_H

#include <errno.h>
#include <string.h>
#include "cm.h"

/* Sets of states. */
#define IN(s)	       (1u << DPA_CM_ST_##s)
#define CM_WAITS_REP   (IN(REQ_SENT) | IN(MRA_REQ_RCVD))
#define CM_HAS_REP     (IN(REP_RCVD) | IN(MRA_REP_SENT))
#define CM_HAS_REQ     (IN(REQ_RCVD) | IN(MRA_REQ_SENT))
#define CM_WAITS_RTU   (IN(REP_SENT) | IN(MRA_REP_RCVD))
#define CM_PEER_KNOWN  (CM_HAS_REP | CM_HAS_REQ | CM_WAITS_RTU | IN(ESTABLISHED))
#define CM_DISCONNECTS (IN(DREQ_SENT) | IN(DREQ_RCVD))
#define CM_NOT_ON_WIRE (IN(IDLE) | IN(CLOSED) | IN(SIDR_REQ_RCVD))

static inline bool cm_in(const struct dpav_cm *cm, unsigned set)
{
	return (1u << cm->state) & set;
}

/* REJ.message and MRA.message */
enum { CM_MSG_REQ, CM_MSG_REP, CM_MSG_OTHER };

/*
 * ACK timeout of the path alone, 4.096 us * 2^n: after this time an answer of the peer's QP is
 * late.
 */
static inline uint8_t cm_path_timeout(uint8_t life_time)
{
	return life_time < 31 ? (uint8_t)(life_time + 1) : 31;
}

/* local_qpn of an adopted connection: a DREQ for any QP is accepted. */
#define CM_QPN_ANY UINT32_MAX
#define CM_QPN_MAX 0xffffffu /* of a vendor id, too */

/* Bytes of information in a REJ or SIDR_REP, limited to the size of the field. */
static inline size_t cm_info_len(size_t len)
{
	const size_t most = sizeof(((struct dpa_mad *)0)->rej.info);

	return len < most ? len : most;
}

/* messages.c: each writes the whole of *m. Lengths have been checked. */
void cm_make_req(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m);
void cm_make_rep(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m);
void cm_make_rtu(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m);
void cm_make_mra(const struct dpav_cm *cm, uint8_t message, struct dpa_mad *m);
void cm_make_rej(const struct dpav_cm *cm, uint16_t reason, struct dpa_mad *m);
void cm_make_dreq(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m);
void cm_make_drep(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m);
void cm_make_sidr_req(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m);
void cm_make_sidr_rep(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m);
void cm_mad_start(struct dpa_mad *m, uint16_t attr, uint64_t tid);
uint64_t cm_own_tid(const struct dpav_cm *cm);
uint32_t cm_rep_qpn(const struct dpa_mad *m, bool xrc);

/* step.c: what the parts of a step have in common */
void cm_send(struct dpav_cm_effects *out, const struct dpa_mad *m);
/* Sends cm->msg and repeats it every `wait` ms. */
void cm_send_repeated(struct dpav_cm *cm, uint64_t now, uint32_t wait, struct dpav_cm_effects *out);
void cm_enter_timewait(struct dpav_cm *cm, uint64_t now);
void cm_close(struct dpav_cm *cm);
/*
 * The owner has handled a DREQ. Its answer was sent already, unless it carries data or was adopted.
 */
void cm_answer_dreq(struct dpav_cm *cm, const struct dpav_cm_input *in,
		    struct dpav_cm_effects *out);

/* calls.c, destroy.c, receive.c, timer.c: one kind of input each */
int cm_call(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out);
void cm_destroy(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out);
void cm_receive(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out);
/* sidr.c */
void cm_on_sidr_req(struct dpav_cm *cm, const struct dpav_cm_input *in,
		    struct dpav_cm_effects *out);
void cm_on_sidr_rep(struct dpav_cm *cm, const struct dpa_mad *m, struct dpav_cm_effects *out);
void cm_timer(struct dpav_cm *cm, uint64_t now, struct dpav_cm_effects *out);
void cm_gone(struct dpav_cm *cm, uint64_t now, struct dpav_cm_effects *out);

/* index.c: returns the entry that equals `key` in the fields of the bit `live`; NULL: none. */
struct dpav_cm_entry *cm_index_find(const struct dpav_cm_index *ix, uint32_t live,
				    const struct dpav_cm_record *key);

#endif
