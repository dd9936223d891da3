/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* doca_pcc_dev_event.h - fields of an event. */
#ifndef DOCA_PCC_DEV_EVENT_H_
#define DOCA_PCC_DEV_EVENT_H_

#include <doca_pcc_dev.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A word of an event as a structure of bit fields. */
#define DOCA_PCC_DEV_EVENT_WORD(type, from)                                                        \
	__extension__({                                                                            \
		union {                                                                            \
			uint32_t word;                                                             \
			type fields;                                                               \
		} u_;                                                                              \
		__builtin_memcpy(&u_.word, (from), sizeof(u_.word));                               \
		u_.word = __builtin_bswap32(u_.word);                                              \
		u_.fields;                                                                         \
	})

FORCE_INLINE doca_pcc_dev_event_general_attr_t doca_pcc_dev_get_ev_attr(doca_pcc_dev_event_t *event)
{
	return DOCA_PCC_DEV_EVENT_WORD(doca_pcc_dev_event_general_attr_t, &event->ev_attr);
}

/* Return the number of the flow, which no other flow has at this moment. */
FORCE_INLINE uint32_t doca_pcc_dev_get_flowtag(doca_pcc_dev_event_t *event)
{
	return __builtin_bswap32(event->flow_tag);
}

FORCE_INLINE uint32_t doca_pcc_dev_get_sn(doca_pcc_dev_event_t *event)
{
	return __builtin_bswap32(event->sn);
}

FORCE_INLINE uint32_t doca_pcc_dev_get_timestamp(doca_pcc_dev_event_t *event)
{
	return __builtin_bswap32(event->timestamp);
}

FORCE_INLINE uint32_t doca_pcc_dev_get_fw_settings(doca_pcc_dev_event_t *event, int n)
{
	return __builtin_bswap32(event->ev_spec_attr.fw_data.data[n]);
}

/* Fields of TX, ACK, NACK and CNP events. */
FORCE_INLINE uint32_t doca_pcc_dev_get_roce_first_timestamp(doca_pcc_dev_event_t *event)
{
	return __builtin_bswap32(event->ev_spec_attr.ack_nack_cnp.first_timestamp);
}

FORCE_INLINE doca_pcc_dev_roce_tx_cntrs_t
doca_pcc_dev_get_roce_tx_cntrs(doca_pcc_dev_event_t *event)
{
	return DOCA_PCC_DEV_EVENT_WORD(doca_pcc_dev_roce_tx_cntrs_t,
				       &event->ev_spec_attr.roce_tx.cntrs);
}

FORCE_INLINE uint32_t doca_pcc_dev_get_roce_ack_first_sn(doca_pcc_dev_event_t *event)
{
	return __builtin_bswap32(event->ev_spec_attr.ack_nack_cnp.first_sn);
}

FORCE_INLINE doca_pcc_dev_ack_nack_cnp_extra_t
doca_pcc_dev_get_ack_nack_cnp_extra(doca_pcc_dev_event_t *event)
{
	return DOCA_PCC_DEV_EVENT_WORD(doca_pcc_dev_ack_nack_cnp_extra_t,
				       &event->ev_spec_attr.ack_nack_cnp.extra);
}

/*
 * Fields of RTT events: the times at which the probe left, reached the other side and was answered
 * there; the latter two by the other side's clock. timestamp: the time at which the answer came.
 */
FORCE_INLINE uint32_t doca_pcc_dev_get_rtt_req_send_timestamp(doca_pcc_dev_event_t *event)
{
	return __builtin_bswap32(event->ev_spec_attr.rtt_tstamp.req_send_timestamp);
}

FORCE_INLINE uint32_t doca_pcc_dev_get_rtt_req_recv_timestamp(doca_pcc_dev_event_t *event)
{
	return __builtin_bswap32(event->ev_spec_attr.rtt_tstamp.req_recv_timestamp);
}

FORCE_INLINE uint32_t doca_pcc_dev_get_rtt_resp_send_timestamp(doca_pcc_dev_event_t *event)
{
	return __builtin_bswap32(event->ev_spec_attr.rtt_tstamp.resp_send_timestamp);
}

/* Return the data of the other side's notification point: its three times. */
FORCE_INLINE unsigned char *doca_pcc_dev_get_rtt_raw_data(doca_pcc_dev_event_t *event)
{
	return event->ev_spec_attr.reserved_at_0;
}

FORCE_INLINE size_t doca_pcc_dev_get_rtt_raw_data_size(doca_pcc_dev_event_t *event)
{
	(void)event;
	return 12;
}

#ifdef __cplusplus
}
#endif

#endif /* DOCA_PCC_DEV_EVENT_H_ */
