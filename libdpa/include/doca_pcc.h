/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_pcc.h - loads a congestion control program (doca_pcc_dev.h) into the port.
 *
 * The program controls the flows of all processes of the adapter instance that go to other hosts.
 * One process is ACTIVE; others are STANDBY, and one of them takes over when it stops, dies or
 * fails. Without any the built-in algorithm of the port acts (docs/congestion.md); no flow waits
 * for a program, ever.
 *
 *   created --start--> ACTIVE or STANDBY --stop--> created --destroy-->
 *                         |  fault: ERROR; doca_pcc_wait() ran out: DEACTIVATED
 *
 * An object may be used by one thread at a time, but doca_pcc_get_process_state() and
 * doca_pcc_wait() by any. The interface is that of DOCA 2.10.
 */
#ifndef DOCA_PCC_H_
#define DOCA_PCC_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_dev;
struct doca_devinfo;
struct doca_pcc;
/* An application: dpacc leaves it under the name of --app-name. */
struct doca_pcc_app;

typedef enum {
	DOCA_PCC_PS_ACTIVE = 0,
	DOCA_PCC_PS_STANDBY = 1,
	DOCA_PCC_PS_DEACTIVATED = 2,
	DOCA_PCC_PS_ERROR = 3,
} doca_pcc_process_state_t;

typedef enum {
	DOCA_PCC_CCMAD_CUSTOM_HEADER_LOCATION_MAD_PAYLOAD = 1,
} doca_pcc_ccmad_custom_header_loc_t;

/* INVALID_VALUE: NULL; NOT_SUPPORTED: not the PF of this adapter. */
DOCA_STABLE doca_error_t doca_devinfo_get_is_pcc_supported(const struct doca_devinfo *devinfo);
/* INVALID_VALUE: NULL; NOT_SUPPORTED: not the PF of this adapter. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_np_cap_is_supported(const struct doca_devinfo *devinfo);

/*
 * Makes a reaction point on a device, which cannot be closed before doca_pcc_destroy().
 * INVALID_VALUE: NULL or no device; NOT_SUPPORTED: not the PF of this adapter; NO_MEMORY.
 */
DOCA_STABLE doca_error_t doca_pcc_create(struct doca_dev *doca_dev, struct doca_pcc **pcc);
/*
 * Makes a notification point: its program (doca_pcc_np_dev.h) answers probes that come to the port.
 * One process is ACTIVE beside that of the reaction point. The rest, and the errors, are those of
 * doca_pcc_create().
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_np_create(struct doca_dev *doca_dev, struct doca_pcc **pcc);
/* Stops it first if it is started. INVALID_VALUE: NULL or no object. */
DOCA_STABLE doca_error_t doca_pcc_destroy(struct doca_pcc *pcc);

/*
 * Loads the program: its image, threads, and the port if that has none. Returns when it is ACTIVE or
 * STANDBY. INVALID_VALUE: NULL, no object, or no app; NO_MEMORY; NOT_SUPPORTED: the app is no
 * congestion control program; DRIVER: started already, this process has loaded another one of the same role, or the
 * program's init failed.
 */
DOCA_STABLE doca_error_t doca_pcc_start(struct doca_pcc *pcc);
/* Ends the program; flows go on with the built-in algorithm. INVALID_VALUE: NULL or no object;
 * DRIVER: not started. */
DOCA_STABLE doca_error_t doca_pcc_stop(struct doca_pcc *pcc);

/* Lengths that doca_pcc_set_thread_affinity() takes. INVALID_VALUE: NULL or no object. */
DOCA_STABLE doca_error_t doca_pcc_get_min_num_threads(struct doca_pcc *pcc,
						      uint32_t *min_num_threads);
DOCA_STABLE doca_error_t doca_pcc_get_max_num_threads(struct doca_pcc *pcc,
						      uint32_t *max_num_threads);

/* Setters: before the start. BAD_STATE: it is started. */

/* INVALID_VALUE: NULL, no object, or not made by dpacc. */
DOCA_STABLE doca_error_t doca_pcc_set_app(struct doca_pcc *pcc, struct doca_pcc_app *app);
/*
 * The EUs that handle events, an EU a thread; as many work at once as the host has processors, the
 * first ones of the list. Without: one thread on any EU. INVALID_VALUE: NULL, no object, a number
 * of threads out of bounds, or no such EU.
 */
DOCA_STABLE doca_error_t doca_pcc_set_thread_affinity(struct doca_pcc *pcc, uint32_t num_threads,
						      uint32_t *affinity_configs);
/*
 * Formats for doca_pcc_dev_trace_5(), copied; the list ends with NULL. INVALID_VALUE: NULL, no
 * object, or a format that is not for up to five numbers; NO_MEMORY.
 */
DOCA_STABLE doca_error_t doca_pcc_set_trace_message(struct doca_pcc *pcc, char **trace_message);
/* Bytes; 64 KiB are there in any case. INVALID_VALUE: NULL, no object, or 0. */
DOCA_STABLE doca_error_t doca_pcc_set_print_buffer_size(struct doca_pcc *pcc, size_t buffer_size);
/*
 * Where a fault leaves its files: file_name.PID.crash, .core and .so (docs/dpa-crashes.md).
 * INVALID_VALUE: NULL, no object, or ""; NO_MEMORY.
 */
DOCA_STABLE doca_error_t doca_pcc_set_dev_coredump_file(struct doca_pcc *pcc,
							const char *file_name);

/*
 * A mailbox for messages to the program, of up to so many bytes each way. INVALID_VALUE: NULL, no
 * object, or both are 0.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_set_mailbox(struct doca_pcc *pcc, uint32_t max_request_size,
						    uint32_t max_response_size);
/*
 * Memory of the mailbox, until the stop. INVALID_VALUE: NULL or no object; BAD_STATE: not started;
 * INITIALIZATION: no mailbox was set.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_mailbox_get_request_buffer(struct doca_pcc *pcc,
								   void **request_buffer);
DOCA_EXPERIMENTAL doca_error_t doca_pcc_mailbox_get_response_buffer(struct doca_pcc *pcc,
								    void **response_buffer);
/*
 * Gives the request buffer's first request_size bytes to doca_pcc_dev_user_mailbox_handle() and
 * waits for its answer: response_size bytes in the response buffer, and what it returned.
 * INVALID_VALUE: NULL, no object, or too long a request; BAD_STATE: not ACTIVE; INITIALIZATION: no
 * mailbox was set; DRIVER: the program has no handler, or failed in it.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_mailbox_send(struct doca_pcc *pcc, uint32_t request_size,
						     uint32_t *response_size, uint32_t *cb_ret_val);

/*
 * Blocks until the state changes, a signal was handled by the calling thread, or so many seconds
 * are over; negative: without end. After the seconds the program is DEACTIVATED. Returns at once
 * when it is DEACTIVATED or in ERROR. INVALID_VALUE: NULL or no object; BAD_STATE: not started.
 */
DOCA_STABLE doca_error_t doca_pcc_wait(struct doca_pcc *pcc, int wait_time);
/* INVALID_VALUE: NULL or no object; BAD_STATE: not started. */
DOCA_STABLE doca_error_t doca_pcc_get_process_state(const struct doca_pcc *pcc,
						    doca_pcc_process_state_t *process_state);
/* INVALID_VALUE: NULL or no object; BAD_STATE: not started, or debugging is not enabled. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_dump_debug(const struct doca_pcc *pcc);
/* INVALID_VALUE: NULL or no object; BAD_STATE: not started. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_enable_debug(const struct doca_pcc *pcc, bool enable);

/*
 * Probes (docs/congestion.md). Of a reaction point: those that its flows send when the algorithm asks
 * for one. Of a notification point: those that its program takes. There is one slot for a format,
 * which has CCMAD at first. All formats travel in packets of this project (docs/rocev2.md), and the
 * program is shown the packet of the format. Errors of all setters: INVALID_VALUE: NULL, no object, no
 * such slot, or a value out of bounds; BAD_STATE: it is started; NOT_SUPPORTED: of the other role.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_pcc_cap_get_num_probe_format_slots(struct doca_pcc *pcc, uint32_t *num_probe_format_slots);
/* Answered by the other side's adapter, or by its program: doca_pcc_rp_set_ccmad_remote_sw_handler(). */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_set_ccmad_probe_packet_format(struct doca_pcc *pcc,
								      uint32_t probe_format_slot);
/* Answered by the other side's program alone, with the data of switches on the way. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_set_ifa1_probe_packet_format(struct doca_pcc *pcc,
								     uint32_t probe_format_slot);
DOCA_EXPERIMENTAL doca_error_t doca_pcc_set_ifa2_probe_packet_format(struct doca_pcc *pcc,
								     uint32_t probe_format_slot);
/*
 * RP: the marker of its probes; NP: of those that it takes. Its highest bit is set. At first
 * 0xAAAAAAAABBBBBBBB.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_set_ifa1_probe_marker(struct doca_pcc *pcc,
							      uint32_t probe_format_slot,
							      uint64_t probe_marker);
/* The global name space of its probes, 4 bits; 0xF at first. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_rp_set_ifa2_gns(struct doca_pcc *pcc,
							uint32_t probe_format_slot, uint8_t gns);
/*
 * Does not take probes with (GNS & ignore_mask) == (ignore_value & ignore_mask); a mask of 0, at
 * first, takes all. 4 bits each.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_np_set_ifa2_gns_ignore(struct doca_pcc *pcc,
							       uint32_t probe_format_slot,
							       uint8_t ignore_mask,
							       uint8_t ignore_value);
/* So many switches add their data, and 8 at most; 0xFE at first. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_rp_set_ifa2_hop_limit(struct doca_pcc *pcc,
							      uint32_t probe_format_slot,
							      uint8_t hop_limit);
/* Whether the program of the other side answers CCMAD probes. INVALID_VALUE also: not of an RP. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_rp_set_ccmad_remote_sw_handler(struct doca_pcc *pcc,
								       uint32_t probe_format_slot,
								       bool sw_handler);

/*
 * The EUs that a file gives to an application (DOCA 3.3), for doca_pcc_set_thread_affinity(). The
 * format is that of libflexio/flexio.h. An object may be used by one thread at a time.
 */
struct doca_pcc_resources;

/*
 * Reads file_size bytes of text; they are not needed afterwards. INVALID_VALUE: NULL, no such
 * application, or not the format: the SDK log has the line and the reason.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_resources_create(const char *app_key,
							 const char *file_buffer, size_t file_size,
							 struct doca_pcc_resources **resources);
/* INVALID_VALUE: NULL or no object. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_resources_destroy(struct doca_pcc_resources *resources);
/* INVALID_VALUE: NULL or no object. */
DOCA_EXPERIMENTAL doca_error_t
doca_pcc_resources_get_num_eus(const struct doca_pcc_resources *resources, uint32_t *num_eus);
/* The first num_eus of them, ascending. INVALID_VALUE: NULL, no object, or more than there are. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_resources_get_eus(
	const struct doca_pcc_resources *resources, uint32_t num_eus, uint32_t *eus);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_PCC_H_ */
