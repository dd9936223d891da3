/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_pcc.h - load a congestion control program (doca_pcc_dev.h) into the port.
 *
 * The program controls the flows of all processes of the adapter instance that go to other hosts.
 * One process is ACTIVE; others are STANDBY, and one of them takes over when it stops, dies or
 * fails. Without an active program the built-in algorithm of the port acts (docs/congestion.md). No
 * flow ever waits for a program.
 *
 *   created --start--> ACTIVE or STANDBY --stop--> created --destroy-->
 *                         |  fault: ERROR; doca_pcc_wait() ran out: DEACTIVATED
 *
 * One thread at a time may use an object; doca_pcc_get_process_state() and doca_pcc_wait() may run
 * in any thread. The interface is that of DOCA 2.10.
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
/* An application: dpacc defines it under the name of --app-name. */
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

/*
 * Report whether the device has it. INVALID_VALUE: NULL; NOT_SUPPORTED: not the PF of this adapter.
 */
DOCA_STABLE doca_error_t doca_devinfo_get_is_pcc_supported(const struct doca_devinfo *devinfo);
/*
 * Report whether the device has it. INVALID_VALUE: NULL; NOT_SUPPORTED: not the PF of this adapter.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_np_cap_is_supported(const struct doca_devinfo *devinfo);

/*
 * Create a reaction point on a device, which cannot be closed before doca_pcc_destroy().
 * INVALID_VALUE: NULL or no device; NOT_SUPPORTED: not the PF of this adapter; NO_MEMORY.
 */
DOCA_STABLE doca_error_t doca_pcc_create(struct doca_dev *doca_dev, struct doca_pcc **pcc);
/*
 * Create a notification point: its program (doca_pcc_np_dev.h) answers probes that come to the
 * port. One process is ACTIVE beside that of the reaction point. All else, and the errors, are as
 * for doca_pcc_create().
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_np_create(struct doca_dev *doca_dev, struct doca_pcc **pcc);
/* Destroy an object, stopping it first. INVALID_VALUE: NULL or no object. */
DOCA_STABLE doca_error_t doca_pcc_destroy(struct doca_pcc *pcc);

/*
 * Load the program: its image and threads, and put it into the port if the port has none. Returns
 * when it is ACTIVE or STANDBY. INVALID_VALUE: NULL, no object, or no app; NO_MEMORY;
 * NOT_SUPPORTED: the app is no congestion control program; DRIVER: started already, this process
 * has loaded another one of the same role, or the program's init failed.
 */
DOCA_STABLE doca_error_t doca_pcc_start(struct doca_pcc *pcc);
/*
 * End the program; flows go on with the built-in algorithm. INVALID_VALUE: NULL or no object;
 * DRIVER: not started.
 */
DOCA_STABLE doca_error_t doca_pcc_stop(struct doca_pcc *pcc);

/*
 * Get the bounds of num_threads for doca_pcc_set_thread_affinity(). INVALID_VALUE: NULL or no
 * object.
 */
DOCA_STABLE doca_error_t doca_pcc_get_min_num_threads(struct doca_pcc *pcc,
						      uint32_t *min_num_threads);
DOCA_STABLE doca_error_t doca_pcc_get_max_num_threads(struct doca_pcc *pcc,
						      uint32_t *max_num_threads);

/* Setters. Call them before the start. BAD_STATE: it is started. */

/* Set the application. INVALID_VALUE: NULL, no object, or not made by dpacc. */
DOCA_STABLE doca_error_t doca_pcc_set_app(struct doca_pcc *pcc, struct doca_pcc_app *app);
/*
 * Set the EUs that handle events, one EU for each thread. As many threads run at once as the host
 * has processors: the first ones of the list. Without this call one thread runs on any EU.
 * INVALID_VALUE: NULL, no object, a number of threads out of bounds, or no such EU.
 */
DOCA_STABLE doca_error_t doca_pcc_set_thread_affinity(struct doca_pcc *pcc, uint32_t num_threads,
						      uint32_t *affinity_configs);
/*
 * Set the formats for doca_pcc_dev_trace_5(). They are copied; the list ends with NULL.
 * INVALID_VALUE: NULL, no object, or a format that is not for up to five numbers; NO_MEMORY.
 */
DOCA_STABLE doca_error_t doca_pcc_set_trace_message(struct doca_pcc *pcc, char **trace_message);
/* Set the bytes of the buffer; it has at least 64 KiB. INVALID_VALUE: NULL, no object, or 0. */
DOCA_STABLE doca_error_t doca_pcc_set_print_buffer_size(struct doca_pcc *pcc, size_t buffer_size);
/*
 * Set the names of the files that a fault writes: file_name.PID.crash, .core and .so
 * (docs/dpa-crashes.md).
 * INVALID_VALUE: NULL, no object, or ""; NO_MEMORY.
 */
DOCA_STABLE doca_error_t doca_pcc_set_dev_coredump_file(struct doca_pcc *pcc,
							const char *file_name);

/*
 * Create a mailbox for messages to the program, with the largest sizes of a request and a response.
 * INVALID_VALUE: NULL, no object, or both are 0.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_set_mailbox(struct doca_pcc *pcc, uint32_t max_request_size,
						    uint32_t max_response_size);
/*
 * Get the memory of the mailbox, valid until the stop. INVALID_VALUE: NULL or no object; BAD_STATE:
 * not started; INITIALIZATION: no mailbox was set.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_mailbox_get_request_buffer(struct doca_pcc *pcc,
								   void **request_buffer);
DOCA_EXPERIMENTAL doca_error_t doca_pcc_mailbox_get_response_buffer(struct doca_pcc *pcc,
								    void **response_buffer);
/*
 * Pass the first request_size bytes of the request buffer to doca_pcc_dev_user_mailbox_handle() and
 * wait for its answer: response_size bytes in the response buffer, and its return value.
 * INVALID_VALUE: NULL, no object, or too long a request; BAD_STATE: not ACTIVE; INITIALIZATION: no
 * mailbox was set; DRIVER: the program has no handler, or failed in it.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_mailbox_send(struct doca_pcc *pcc, uint32_t request_size,
						     uint32_t *response_size, uint32_t *cb_ret_val);

/*
 * Block until the state changes, a signal was handled by the calling thread, or wait_time seconds
 * are over; negative: no limit. After that time the program is DEACTIVATED. Returns at once when it
 * is DEACTIVATED or in ERROR. INVALID_VALUE: NULL or no object; BAD_STATE: not started.
 */
DOCA_STABLE doca_error_t doca_pcc_wait(struct doca_pcc *pcc, int wait_time);
/* Get the state. INVALID_VALUE: NULL or no object; BAD_STATE: not started. */
DOCA_STABLE doca_error_t doca_pcc_get_process_state(const struct doca_pcc *pcc,
						    doca_pcc_process_state_t *process_state);
/*
 * Write a line for each thread of the program to the device log. INVALID_VALUE: NULL or no object; BAD_STATE: not started, or
 * debugging is not enabled.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_dump_debug(const struct doca_pcc *pcc);
/* Switch debugging on or off. INVALID_VALUE: NULL or no object; BAD_STATE: not started. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_enable_debug(const struct doca_pcc *pcc, bool enable);

/*
 * Probes (docs/congestion.md). A reaction point sends them for its flows when the algorithm
 * requests one; the program of a notification point receives them. There is one slot for a format;
 * it has CCMAD at first. All formats travel in packets of this project (docs/rocev2.md), and the
 * program sees the packet of the format. Errors of all setters: INVALID_VALUE: NULL, no object, no
 * such slot, or a value out of bounds; BAD_STATE: it is started; NOT_SUPPORTED: a setter of the
 * other role.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_pcc_cap_get_num_probe_format_slots(struct doca_pcc *pcc, uint32_t *num_probe_format_slots);
/*
 * CCMAD: answered by the other side's adapter, or by its program:
 * doca_pcc_rp_set_ccmad_remote_sw_handler().
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_set_ccmad_probe_packet_format(struct doca_pcc *pcc,
								      uint32_t probe_format_slot);
/* IFA: answered only by the other side's program, with the data of switches on the way. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_set_ifa1_probe_packet_format(struct doca_pcc *pcc,
								     uint32_t probe_format_slot);
DOCA_EXPERIMENTAL doca_error_t doca_pcc_set_ifa2_probe_packet_format(struct doca_pcc *pcc,
								     uint32_t probe_format_slot);
/*
 * Set the marker: of the probes that an RP sends, or of those that an NP receives. Its highest bit
 * is set. At first 0xAAAAAAAABBBBBBBB.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_set_ifa1_probe_marker(struct doca_pcc *pcc,
							      uint32_t probe_format_slot,
							      uint64_t probe_marker);
/* Set the global name space of its probes, 4 bits; 0xF at first. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_rp_set_ifa2_gns(struct doca_pcc *pcc,
							uint32_t probe_format_slot, uint8_t gns);
/*
 * Ignore probes with (GNS & ignore_mask) == (ignore_value & ignore_mask); a mask of 0, as at first,
 * accepts all. 4 bits each.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_np_set_ifa2_gns_ignore(struct doca_pcc *pcc,
							       uint32_t probe_format_slot,
							       uint8_t ignore_mask,
							       uint8_t ignore_value);
/* Set the number of switches that add their data, 8 at most; 0xFE at first. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_rp_set_ifa2_hop_limit(struct doca_pcc *pcc,
							      uint32_t probe_format_slot,
							      uint8_t hop_limit);
/*
 * Set whether the program of the other side answers CCMAD probes. INVALID_VALUE also: not of an RP.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_rp_set_ccmad_remote_sw_handler(struct doca_pcc *pcc,
								       uint32_t probe_format_slot,
								       bool sw_handler);

/*
 * Custom header of CCMAD probes: up to 15 words behind the MAD's data, 0 where the algorithm has set
 * none (doca_pcc_dev_custom_header_set()). INVALID_VALUE: NULL; NOT_SUPPORTED: not the PF of this adapter.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_pcc_cap_is_ccmad_custom_header_supported(const struct doca_devinfo *devinfo);
/* In words of 4 bytes; 0, at first: none. INVALID_VALUE also: not of an RP, or more than 15. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_rp_set_ccmad_custom_header_size(struct doca_pcc *pcc,
									uint32_t probe_format_slot,
									uint8_t header_size);
/* There is one location, which need not be set. INVALID_VALUE also: not of an RP, or another one. */
DOCA_EXPERIMENTAL doca_error_t
doca_pcc_rp_set_ccmad_custom_header_location(struct doca_pcc *pcc, uint32_t probe_format_slot,
					     doca_pcc_ccmad_custom_header_loc_t header_loc);
/* As doca_pcc_cap_is_ccmad_custom_header_supported(), for doca_pcc_dev_probe_prio_set(). */
DOCA_EXPERIMENTAL doca_error_t
doca_pcc_cap_is_probe_priority_change_supported(const struct doca_devinfo *devinfo);
/* Whether the algorithm may set the priority of its CCMAD probes; not at first. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_rp_set_ccmad_probe_priority_change_en(
	struct doca_pcc *pcc, uint32_t probe_format_slot, bool enable);

/*
 * The EUs that a file assigns to an application (DOCA 3.3), for doca_pcc_set_thread_affinity(). The
 * format is that of libflexio/flexio.h. An object may be used by one thread at a time.
 */
struct doca_pcc_resources;

/*
 * Read file_size bytes of text; they are not needed afterwards. INVALID_VALUE: NULL, no such
 * application, or not the format: the SDK log has the line and the reason.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_resources_create(const char *app_key,
							 const char *file_buffer, size_t file_size,
							 struct doca_pcc_resources **resources);
/* Destroy it. INVALID_VALUE: NULL or no object. */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_resources_destroy(struct doca_pcc_resources *resources);
/* Get the number of EUs. INVALID_VALUE: NULL or no object. */
DOCA_EXPERIMENTAL doca_error_t
doca_pcc_resources_get_num_eus(const struct doca_pcc_resources *resources, uint32_t *num_eus);
/*
 * Get the first num_eus of the EUs, ascending. INVALID_VALUE: NULL, no object, or more than there
 * are.
 */
DOCA_EXPERIMENTAL doca_error_t doca_pcc_resources_get_eus(
	const struct doca_pcc_resources *resources, uint32_t num_eus, uint32_t *eus);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_PCC_H_ */
