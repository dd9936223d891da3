/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_pcc_dev.h - congestion control programs for the DPA: the reaction point.
 *
 * A program implements doca_pcc_dev_user_init(), doca_pcc_dev_user_algo() and
 * doca_pcc_dev_user_set_algo_params(); dpacc links it with -device-libs="-ldoca_pcc_dev", and
 * doca_pcc_start() (doca_pcc.h) loads it into the port. The program then controls the flows of all
 * processes of the adapter instance that go to other hosts.
 *
 * Events of one flow come in order and one at a time; those of different flows run on different EUs
 * at once. A fault ends the program, and the port goes on with its built-in algorithm. The
 * interface is that of DOCA 2.10 for the BlueField-3.
 */
#ifndef DOCA_PCC_DEV_H_
#define DOCA_PCC_DEV_H_

#include <doca_pcc_dev_common.h>
#include <doca_pcc_dev_utils.h>
#include <doca_pcc_dev_services.h>
#include <doca_pcc_dev_data_structures.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
	DOCA_PCC_DEV_EVNT_NULL = 0,
	DOCA_PCC_DEV_EVNT_FW = 1,	/* does not come */
	DOCA_PCC_DEV_EVNT_ROCE_CNP = 2, /* the peer received a packet that was marked */
	DOCA_PCC_DEV_EVNT_ROCE_TX = 3,	/* a burst has left */
	DOCA_PCC_DEV_EVNT_ROCE_ACK = 4,
	DOCA_PCC_DEV_EVNT_ROCE_NACK = 5, /* something was lost, or an ACK timer expired */
	DOCA_PCC_DEV_EVNT_RTT = 6,	 /* the round trip that was requested is measured */
	DOCA_PCC_DEV_EVNT_ROCE_TX_FOR_ACK_NACK = 7, /* of 3.0; does not come */
} doca_pcc_dev_event_type_enum;

/* Of 3.0: whether that event can be switched off. This adapter never sends it. */
#define DOCA_PCC_DEV_ACK_NACK_TX_EVENT_DISABLED_SUPPORTED 0

typedef enum {
	DOCA_PCC_DEV_NACK_EVNT_NULL = 0,
	DOCA_PCC_DEV_NACK_EVNT_RNR = 1, /* does not come */
	DOCA_PCC_DEV_NACK_EVNT_OOS = 2,
	DOCA_PCC_DEV_NACK_EVNT_DUP_READ = 3, /* does not come */
} doca_pcc_dev_nack_event_sub_type_enum;

/*
 * The answer of an algorithm. rate: of the line rate, DOCA_PCC_DEV_MAX_RATE is all of it; it holds
 * the flow's last answer at the call. probe_req: 1 measures a round trip now. The other fields are
 * not read.
 */
typedef struct doca_pcc_dev_results {
	uint32_t rate;
	union {
		uint32_t rtt_req;
		uint32_t probe_req;
	};
	uint32_t probe_type_slot;
	uint32_t credits;
	uint32_t reload_credits;
} doca_pcc_dev_results_t;

#define DOCA_PCC_DEV_TX_FLAG_ACK_EXPECTED (1 << 0)
#define DOCA_PCC_DEV_TX_FLAG_OVERLOADED	  (1 << 1)
#define DOCA_PCC_DEV_TX_FLAG_RTT_REQ_SENT (1 << 2) /* the probe left with this burst */

#define DOCA_PCC_DEV_LOG_MAX_RATE (20)
#define DOCA_PCC_DEV_MAX_RATE	  (1U << DOCA_PCC_DEV_LOG_MAX_RATE)
#define DOCA_PCC_DEV_DEFAULT_RATE                                                                  \
	((DOCA_PCC_DEV_MAX_RATE >> 8) > (1) ? (DOCA_PCC_DEV_MAX_RATE >> 8) : (1))

#define DOCA_PCC_DEV_MAX_NUM_USER_SLOTS	       (8)
#define DOCA_PCC_DEV_MAX_NUM_ALGOS	       (8)
#define DOCA_PCC_DEV_MAX_NUM_PARAMS_PER_ALGO   (0x26)
#define DOCA_PCC_DEV_MAX_NUM_COUNTERS_PER_ALGO (0x3F)
#define DOCA_PCC_DEV_ALGO_SLOT_INTERNAL	       (0xF)
#define DOCA_PCC_DEV_ALGO_INDEX_INTERNAL       (0xF)

/*
 * The library's own algorithm, in the flow's memory: a rate that follows CNPs as in DCQCN. For
 * slots without an algorithm of the program.
 */
DOCA_STABLE
void doca_pcc_dev_default_internal_algo(doca_pcc_dev_algo_ctxt_t *algo_ctxt,
					doca_pcc_dev_event_t *event,
					const doca_pcc_dev_attr_t *attr,
					doca_pcc_dev_results_t *results);

/* The program implements it: handle an event of a flow whose slot is attr->algo_slot. */
DOCA_STABLE
void doca_pcc_dev_user_algo(doca_pcc_dev_algo_ctxt_t *algo_ctxt, doca_pcc_dev_event_t *event,
			    const doca_pcc_dev_attr_t *attr, doca_pcc_dev_results_t *results);

/*
 * The program implements it. Called once, when the program becomes active. It describes its
 * algorithms and slots (doca_pcc_dev_algo_access.h). *disable_event_bitmask: 1 << type for each
 * type of event that it does not want.
 */
DOCA_STABLE
void doca_pcc_dev_user_init(uint32_t *disable_event_bitmask);

/*
 * The program implements it: set param_num parameters from param_id_base on to new_param_values.
 * `params` are all parameters of the slot. OK: it has set them; the library sets those that it has
 * not changed. FAIL: nothing has changed. They are within the bounds of
 * doca_pcc_dev_algo_init_param().
 */
DOCA_STABLE
doca_pcc_dev_error_t doca_pcc_dev_user_set_algo_params(uint32_t port_num, uint32_t algo_slot,
						       uint32_t param_id_base, uint32_t param_num,
						       const uint32_t *new_param_values,
						       uint32_t *params);

/*
 * The flow's later CCMAD probes have this custom header, header_size words of 4 bytes; the rest of
 * its words are 0. The bytes leave as they lie. Within doca_pcc_dev_user_algo(), for the flow of its
 * event; wait_completed makes no difference, it is set at the return. 512 flows have a header at a
 * time. FAIL, and nothing changes: NULL, more words than doca_pcc_rp_set_ccmad_custom_header_size()
 * says, probes of another format, or too many flows.
 */
DOCA_EXPERIMENTAL
doca_pcc_dev_error_t doca_pcc_dev_custom_header_set(doca_pcc_dev_algo_ctxt_t *algo_ctxt,
						    doca_pcc_dev_event_t *event, uint32_t *header,
						    uint32_t header_size, uint32_t wait_completed);

/*
 * The flow's later CCMAD probes leave with DSCP `prio`, or, use_custom_prio 0, with that of its other
 * packets. Context and wait_completed as above. FAIL, and nothing changes: prio over 63, probes of
 * another format, or not enabled by doca_pcc_rp_set_ccmad_probe_priority_change_en().
 */
DOCA_EXPERIMENTAL
doca_pcc_dev_error_t doca_pcc_dev_probe_prio_set(doca_pcc_dev_algo_ctxt_t *algo_ctxt,
						 doca_pcc_dev_event_t *event,
						 uint32_t use_custom_prio, uint32_t prio,
						 uint32_t wait_completed);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_PCC_DEV_H_ */
