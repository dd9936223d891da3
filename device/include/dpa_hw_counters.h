/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpa_hw_counters.h - the files in a port's counter folders in sysfs: see dpa_hw_counter_file(). */
#ifndef DPA_HW_COUNTERS_H
#define DPA_HW_COUNTERS_H

/* clang-format off */
/* ports/1/counters: names and units of the kernel's files, which follow IBA 16.1.3.5. */
#define DPA_PORT_COUNTERS(X)                                                                       \
	X(port_rcv_data)                                                                           \
	X(port_rcv_errors)                                                                         \
	X(port_rcv_packets)                                                                        \
	X(port_xmit_data)                                                                          \
	X(port_xmit_discards)                                                                      \
	X(port_xmit_packets)

/* ports/1/hw_counters: names as in drivers of RoCE adapters if the meaning is the same. */
#define DPA_HW_COUNTERS(X)                                                                         \
	X(duplicate_request)                                                                       \
	X(implied_nak_seq_err)                                                                     \
	X(local_ack_timeout_err)                                                                   \
	X(np_cnp_sent)                                                                             \
	X(np_ecn_marked_roce_packets)                                                              \
	X(out_of_sequence)                                                                         \
	X(packet_seq_err)                                                                          \
	X(req_cqe_error)                                                                           \
	X(req_cqe_flush_error)                                                                     \
	X(req_remote_access_errors)                                                                \
	X(req_remote_invalid_request)                                                              \
	X(resp_cqe_error)                                                                          \
	X(resp_cqe_flush_error)                                                                    \
	X(resp_local_length_error)                                                                 \
	X(resp_remote_access_errors)                                                               \
	X(rnr_nak_retry_err)                                                                       \
	X(rp_cnp_handled)                                                                          \
	X(rp_cnp_ignored)                                                                          \
	X(rx_atomic_requests)                                                                      \
	X(rx_icrc_encapsulated)                                                                    \
	X(rx_read_requests)                                                                        \
	X(rx_write_requests)
/* clang-format on */

#endif
