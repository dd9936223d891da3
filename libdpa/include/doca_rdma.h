/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_rdma.h - RDMA contexts on the DPA data path.
 *
 * Order: doca_rdma_create(), setters, doca_ctx_set_datapath_on_dpa(),
 * doca_rdma_dpa_completion_attach(), doca_ctx_start(); then doca_rdma_export() and
 * doca_rdma_connect() for each connection, doca_rdma_get_dpa_handle() and
 * doca_rdma_connection_get_id() for device code (doca_dpa_dev_rdma.h); doca_ctx_stop(),
 * doca_rdma_destroy(). start, export, connect and stop do all their work before they return: no
 * progress engine is needed.
 *
 * A connection is an RC queue pair of the device with the peer's; the context's receives are one
 * shared receive queue; completions go to the attached completion context. The peer may be any
 * verbs program: dpa/dpa_rdma.h has the format that doca_rdma_export() returns.
 *
 * doca_ctx_start() returns INVALID_VALUE without a completion context, or with one of another DPA
 * context, or when the DPA context is another device's; INITIALIZATION when the completion context
 * is not started, memory or the adapter's queues are used up, or 256 threads and started contexts
 * exist already.
 *
 * Without doca_ctx_set_datapath_on_dpa() the data path is that of the CPU: tasks, run by the
 * progress engine that the context must be connected to (dpa/dpa_rdma_task.h). Nothing here is
 * thread-safe. Setters require a context that is not started; otherwise they return BAD_STATE.
 */
#ifndef DOCA_RDMA_H_
#define DOCA_RDMA_H_

#include <stddef.h>
#include <stdint.h>
/*
 * Programs include the calls of rdma_cm by this header. Without librdmacm-dev only the names of its
 * types are declared.
 */
#if !defined(__has_include) || __has_include(<rdma/rdma_cma.h>)
#include <rdma/rdma_cma.h>
#endif

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_ctx;
struct doca_dev;
struct doca_devinfo;
struct doca_dpa_completion;
struct doca_gpu_dev_rdma;
struct doca_rdma;
struct doca_rdma_addr;
struct doca_rdma_connection;
struct rdma_cm_id;

/* The handle of device code for a started context. */
typedef uint64_t doca_dpa_dev_rdma_t;

enum doca_rdma_transport_type {
	DOCA_RDMA_TRANSPORT_TYPE_RC, /* reliable connections */
	DOCA_RDMA_TRANSPORT_TYPE_DC, /* not supported by this device */
};

enum doca_rdma_addr_type {
	DOCA_RDMA_ADDR_TYPE_IPv4,
	DOCA_RDMA_ADDR_TYPE_IPv6,
	DOCA_RDMA_ADDR_TYPE_GID,
};

enum doca_rdma_opcode {
	DOCA_RDMA_OPCODE_RECV_SEND = 0,
	DOCA_RDMA_OPCODE_RECV_SEND_WITH_IMM,
	DOCA_RDMA_OPCODE_RECV_WRITE_WITH_IMM,
};

struct doca_rdma_gid {
	uint8_t raw[DOCA_GID_BYTE_LENGTH]; /* network order; an IPv4 address is ::ffff:a.b.c.d */
};

/* ----------------------------------------------------------------- context */

/*
 * Create a context on a device, which stays in use until it is destroyed.
 * @rdma: receives it; the caller destroys it
 * INVALID_VALUE: NULL; NO_MEMORY; INITIALIZATION: the device is no DPA.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_create(struct doca_dev *dev, struct doca_rdma **rdma);

/* Destroy a context. INVALID_VALUE: NULL; BAD_STATE: not stopped. */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_destroy(struct doca_rdma *rdma);

/* Return the context for the calls of doca_ctx.h; NULL for NULL. */
DOCA_EXPERIMENTAL struct doca_ctx *doca_rdma_as_ctx(struct doca_rdma *rdma);

/*
 * Set the completion context that reports operations of device code, and receives. It must belong
 * to the DPA context of the data path, be started before this context is, and stay started until
 * this context is stopped. Several contexts may share it.
 * INVALID_VALUE: NULL; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_dpa_completion_attach(struct doca_rdma *rdma, struct doca_dpa_completion *dpa_comp);

/*
 * Get the handle for device code of the DPA context that the data path is set to.
 * INVALID_VALUE: NULL; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_get_dpa_handle(struct doca_rdma *rdma,
							doca_dpa_dev_rdma_t *dpa_rdma);

/*
 * Get the handle for kernels: an address for them only (doca_gpunetio_dev_rdma.cuh).
 * INVALID_VALUE: NULL; BAD_STATE: not started, or the data path is not on a GPU.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_get_gpu_handle(struct doca_rdma *rdma,
							struct doca_gpu_dev_rdma **gpu_rdma);

/* ------------------------------------------------------------- connections */

/*
 * Make one more connection and describe it for the peer.
 * @local_rdma_conn_details:      receives the description, to be given to the peer's
 *                                doca_rdma_connect(). It belongs to the connection: valid until
 *                                stop
 * @local_rdma_conn_details_size: receives its size in bytes
 * @rdma_connection:              receives the connection, valid until stop
 * INVALID_VALUE: NULL; BAD_STATE: not started; FULL: there are max_num_connections;
 * CONNECTION_ABORTED: the device cannot make a queue pair, or has no address.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_export(struct doca_rdma *rdma,
						const void **local_rdma_conn_details,
						size_t *local_rdma_conn_details_size,
						struct doca_rdma_connection **rdma_connection);

/*
 * Connect an exported connection with that of the peer. Device code may post to it when this
 * returns; operations that it posts before the peer has done the same are retried.
 * @remote_rdma_conn_details: the description from the peer's doca_rdma_export(), at any alignment
 * INVALID_VALUE: NULL, no such description, or a connection of another context; BAD_STATE: not
 * started or connected already; CONNECTION_ABORTED: the peer cannot be addressed.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_connect(struct doca_rdma *rdma,
						 const void *remote_rdma_conn_details,
						 size_t remote_rdma_conn_details_size,
						 struct doca_rdma_connection *rdma_connection);

/*
 * Get the id by which device code posts to the connection. Elements of the completion context carry
 * it as user data: from 0 up to max_num_connections - 1, in the order of creation.
 * INVALID_VALUE: NULL.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_connection_get_id(
	const struct doca_rdma_connection *rdma_connection, uint32_t *connection_id);

/* Set or get a word for the caller's use; 0 at first. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_connection_set_user_data(
	struct doca_rdma_connection *rdma_connection, union doca_data connection_user_data);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_connection_get_user_data(
	const struct doca_rdma_connection *rdma_connection, union doca_data *connection_user_data);

/* -------------------------------------------------- connections by address */

/*
 * One side listens to a port, the other one connects to its address; the listener accepts or
 * rejects. Events are reported by callbacks, within doca_pe_progress(): the context must be
 * connected to a progress engine (otherwise NOT_SUPPORTED), on the DPA data path too, and have its
 * callbacks set (otherwise BAD_STATE).
 *
 *   listens   request --accept--> established --> disconnection
 *   connects                      established --> disconnection
 *
 * On a failure the failure callback runs instead of "established". A connection is gone when the
 * callback of its failure or disconnection returns, or doca_rdma_connection_reject(); its id may
 * then be reused. Work requests of device code that were posted to it, or that are posted to its id
 * before the next connection is established, fail and are reported. Elements of messages that have
 * arrived stay.
 *
 * rdma_cm makes the connection (docs/connections.md): the peer may be any program of rdma_cm with
 * an RC queue pair. The port is one of RDMA_PS_TCP, on all addresses of the host.
 */
typedef void (*doca_rdma_connection_request_cb_t)(struct doca_rdma_connection *rdma_connection,
						  union doca_data ctx_user_data);
typedef void (*doca_rdma_connection_established_cb_t)(struct doca_rdma_connection *rdma_connection,
						      union doca_data connection_user_data,
						      union doca_data ctx_user_data);
typedef void (*doca_rdma_connection_failure_cb_t)(struct doca_rdma_connection *rdma_connection,
						  union doca_data connection_user_data,
						  union doca_data ctx_user_data);
typedef void (*doca_rdma_connection_disconnection_cb_t)(
	struct doca_rdma_connection *rdma_connection, union doca_data connection_user_data,
	union doca_data ctx_user_data);

/* Set all four callbacks, at any time. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_set_connection_state_callbacks(
	struct doca_rdma *rdma, doca_rdma_connection_request_cb_t doca_rdma_connect_request_cb,
	doca_rdma_connection_established_cb_t doca_rdma_connect_established_cb,
	doca_rdma_connection_failure_cb_t doca_rdma_connect_failure_cb,
	doca_rdma_connection_disconnection_cb_t doca_rdma_disconnect_cb);

/*
 * Create an address to connect to.
 * @address: an IPv4 or IPv6 address, or a GID, as text; no name
 * @port:    of RDMA_PS_TCP, not 0
 * @addr:    receives it; the caller destroys it
 * INVALID_VALUE: NULL, 0, or no such address; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_addr_create(enum doca_rdma_addr_type addr_type,
						     const char *address, uint16_t port,
						     struct doca_rdma_addr **addr);
/*
 * Destroy it. INVALID_VALUE: NULL; BAD_STATE: it is that of a peer, or a connection made by it is
 * not disconnected yet.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_addr_destroy(struct doca_rdma_addr *addr);
/*
 * Get the parameters of an address. @address: receives the text, which belongs to the address.
 * INVALID_VALUE: NULL.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_addr_get_params(struct doca_rdma_addr *addr,
							 enum doca_rdma_addr_type *addr_type,
							 const char **address, uint16_t *port);

/*
 * Listen to a port. A context may listen to several ports.
 * INVALID_VALUE: NULL, 0, or it listens to that port already; BAD_STATE: not started, or no
 * callbacks; NOT_SUPPORTED: no progress engine; CONNECTION_ABORTED: the port is in use.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_start_listen_to_port(struct doca_rdma *rdma,
							      uint16_t port);
/*
 * Stop listening to a port. INVALID_VALUE: NULL, or it does not listen to it; NOT_SUPPORTED: as
 * above.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_stop_listen_to_port(struct doca_rdma *rdma, uint16_t port);

/*
 * Start to connect: the established or the failure callback reports the end, after
 * doca_rdma_set_connection_request_timeout() at the latest.
 * @addr:                 stays in use until the connection is gone
 * @connection_user_data: as by doca_rdma_connection_set_user_data()
 * INVALID_VALUE: NULL; BAD_STATE, NOT_SUPPORTED: as above; CONNECTION_ABORTED: no way to the
 * address, there are max_num_connections already, or no queue pair is available.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_connect_to_addr(struct doca_rdma *rdma,
							 struct doca_rdma_addr *addr,
							 union doca_data connection_user_data);

/*
 * Answer a request, in its callback or later.
 * @private_data: private_data_len bytes, up to 196, which travel to the peer; NULL with 0
 * INVALID_VALUE: NULL, too many bytes, or not a request; CONNECTION_ABORTED: the peer is gone or
 * cannot be addressed, and the connection is gone. If the peer disappears before the answer, only
 * this call reports it.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_connection_accept(
	struct doca_rdma_connection *rdma_connection, void *private_data, uint8_t private_data_len);
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_connection_reject(struct doca_rdma_connection *rdma_connection);

/*
 * End an established connection that was made by address. Operations in flight may still be carried
 * out until both sides get the disconnection callback, this one when the peer has answered or after
 * doca_rdma_set_connection_request_timeout(). In the disconnection callback, and in those of tasks
 * that end before it, the connection is ending already: the call returns SUCCESS and does nothing.
 * INVALID_VALUE: NULL, or no such connection; CONNECTION_ABORTED: rdma_cm refuses, and it ends
 * nevertheless.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_connection_disconnect(struct doca_rdma_connection *rdma_connection);

/*
 * Get the address of the peer: the address given to doca_rdma_connect_to_addr(), or the source of a
 * request. It belongs to the connection. INVALID_VALUE: NULL, or not made by address.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_connection_get_addr(
	const struct doca_rdma_connection *rdma_connection, struct doca_rdma_addr **addr);

/*
 * Accepts a request that came to a listener of the program's own, for a started context; no engine
 * and no callbacks are needed. Device code may post at once.
 * @cm_id:           of RDMA_CM_EVENT_CONNECT_REQUEST. With SUCCESS it belongs to the connection, which
 *                   destroys it: all its events must be acknowledged then, and its channel be
 *                   there. Its events come to the program's channel still. On ESTABLISHED the
 *                   program calls doca_rdma_bridge_established(), on DISCONNECTED
 *                   doca_rdma_connection_disconnect(), in which, or in the next progress of the
 *                   engine, the connection ends.
 * @private_data:    as of doca_rdma_connection_accept()
 * @rdma_connection: receives it
 * INVALID_VALUE: NULL, too many bytes, or an id of another device or of none; BAD_STATE: not
 * started; FULL; CONNECTION_ABORTED: no queue pair or memory, nothing that was requested, or the
 * peer is gone. The id stays the program's.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_bridge_accept(struct doca_rdma *rdma, struct rdma_cm_id *cm_id, void *private_data,
			uint8_t private_data_len, struct doca_rdma_connection **rdma_connection);

/*
 * From 3.0 on the same call in two steps; between them the program may set the connection's user
 * data, read its id, and post receives. This is the first step. The rules for the id are as above.
 * The connection exists until doca_rdma_bridge_accept() fails, doca_rdma_connection_reject() ends
 * it, or the context stops, which notifies the peer.
 * INVALID_VALUE: NULL, an id of another device or of none, one without a peer, or one that a
 * connection has; BAD_STATE: not started; FULL; CONNECTION_ABORTED: no queue pair or memory. The
 * id stays as it was.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_bridge_prepare_connection(struct doca_rdma *rdma, struct rdma_cm_id *cm_id,
				    struct doca_rdma_connection **rdma_connection);
/*
 * The second step: doca_rdma_bridge_accept() of 3.0 and later, which programs call by that name
 * (DPA_DOCA_API 303).
 * INVALID_VALUE: NULL, too many bytes, or nothing that was prepared in this context;
 * CONNECTION_ABORTED: the peer is gone, or nothing was requested; the connection and its id are gone.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_bridge_accept_303(struct doca_rdma *rdma, void *private_data, uint8_t private_data_len,
			    struct doca_rdma_connection *rdma_connection);
#if DPA_DOCA_API >= 303
#define doca_rdma_bridge_accept doca_rdma_bridge_accept_303
#endif

/*
 * Report that the peer has received the answer: call the callback for it, if one is set.
 * INVALID_VALUE: NULL, no such connection of the context, or reported already.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_bridge_established(struct doca_rdma *rdma, struct doca_rdma_connection *rdma_connection);

/* ---------------------------------------------------------------- settings */

/*
 * Set or get the number of operations that a connection's send queue, or the context's receive
 * queue, holds: rounded up to a power of two. 64 at first. The receive queue is that of contexts on
 * the DPA data path.
 * INVALID_VALUE: NULL or 0; NOT_SUPPORTED: more than the device supports, or the receive queue
 * without doca_ctx_set_datapath_on_dpa(); BAD_STATE.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_set_send_queue_size(struct doca_rdma *rdma,
							     uint32_t send_queue_size);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_set_recv_queue_size(struct doca_rdma *rdma,
							     uint32_t recv_queue_size);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_get_send_queue_size(const struct doca_rdma *rdma,
							     uint32_t *send_queue_size);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_get_recv_queue_size(const struct doca_rdma *rdma,
							     uint32_t *recv_queue_size);

/*
 * Set or get the number of memory segments of a send (a receive); 1 at first. Device code posts one
 * segment each. INVALID_VALUE: NULL, 0 or more than the device supports; BAD_STATE.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_set_max_send_buf_list_len(struct doca_rdma *rdma,
								   uint32_t max_send_buf_list_len);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_get_max_send_buf_list_len(const struct doca_rdma *rdma,
								   uint32_t *max_send_buf_list_len);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_task_receive_set_dst_buf_list_len(struct doca_rdma *rdma,
									   uint32_t buf_list_len);
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_task_receive_get_dst_buf_list_len(const struct doca_rdma *rdma, uint32_t *buf_list_len);

/*
 * Set or get the transport type; RC at first. INVALID_VALUE: NULL or unknown; NOT_SUPPORTED: DC;
 * BAD_STATE.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_set_transport_type(struct doca_rdma *rdma, enum doca_rdma_transport_type transport_type);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_get_transport_type(
	const struct doca_rdma *rdma, enum doca_rdma_transport_type *transport_type);

/*
 * Set or get the largest packet payload of connections by export and connect, which use the smaller
 * one of their two sides. 1 KiB at first. By address it is that of the path.
 * INVALID_VALUE: NULL or unknown; NOT_SUPPORTED: DOCA_MTU_SIZE_RAW_ETHERNET; BAD_STATE.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_set_mtu(struct doca_rdma *rdma, enum doca_mtu_size mtu);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_get_mtu(const struct doca_rdma *rdma,
						 enum doca_mtu_size *mtu);

/*
 * Set the access of peers to this side's memory by the connections, where the memory map allows it
 * too: RDMA flags of enum doca_access_flag; DOCA_ACCESS_FLAG_LOCAL_READ_WRITE is accepted and has
 * no effect. 0 at first.
 * INVALID_VALUE: NULL or other flags; BAD_STATE.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_set_permissions(struct doca_rdma *rdma,
							 uint32_t permissions);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_get_permissions(struct doca_rdma *rdma,
							 uint32_t *permissions);

/*
 * Set or get whether packets have a GRH; always 1. INVALID_VALUE: NULL or above 1; NOT_SUPPORTED:
 * 0, as on any Ethernet; BAD_STATE.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_set_grh_enabled(struct doca_rdma *rdma,
							 uint8_t grh_enabled);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_get_grh_enabled(const struct doca_rdma *rdma,
							 uint8_t *grh_enabled);

/*
 * Set or get the index of the address that connections by export and connect use; 0 at first. It is
 * a preference: if there is no address at this index, the first one of the device is used. Between
 * two contexts of this library, the connection uses another one if the two preferred addresses
 * cannot reach each other (IPv4 here and IPv6 there, or the loopback address of another host).
 * INVALID_VALUE: NULL, or past the table (doca_rdma_cap_get_gid_table_size()); BAD_STATE.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_set_gid_index(struct doca_rdma *rdma, uint32_t gid_index);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_get_gid_index(const struct doca_rdma *rdma,
						       uint32_t *gid_index);

/* Set or get the service level, 0 to 15; 0 at first. INVALID_VALUE: NULL or above; BAD_STATE. */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_set_sl(struct doca_rdma *rdma, uint32_t sl);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_get_sl(const struct doca_rdma *rdma, uint32_t *sl);

/*
 * Set or get the number of connections that may be exported between start and stop; 1 at first.
 * INVALID_VALUE: NULL or 0; BAD_STATE.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_set_max_num_connections(struct doca_rdma *rdma,
								 uint16_t max_num_connections);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_get_max_num_connections(struct doca_rdma *rdma,
								 uint16_t *max_num_connections);

/*
 * Set or get how often a message is retried if its receiver has no receive posted; 7, as at first,
 * means without limit. INVALID_VALUE: NULL or above 7; BAD_STATE.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_set_rnr_retry_count(struct doca_rdma *rdma,
							     uint8_t rnr_retry_count);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_get_rnr_retry_count(const struct doca_rdma *rdma,
							     uint8_t *rnr_retry_count);

/*
 * Set or get the milliseconds that connecting by address may take; 2000 at first. INVALID_VALUE:
 * NULL or 0; BAD_STATE.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_set_connection_request_timeout(struct doca_rdma *rdma,
									uint16_t timeout);
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_get_connection_request_timeout(const struct doca_rdma *rdma, uint16_t *timeout);

/* ------------------------------------------------------------ capabilities */

/*
 * Get limits of a device that is a DPA. All calls are thread-safe.
 * INVALID_VALUE: NULL; DRIVER: the device is no DPA, or cannot be queried.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_cap_get_max_recv_queue_size(
	const struct doca_devinfo *devinfo, uint32_t *max_recv_queue_size);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_cap_get_max_send_queue_size(
	const struct doca_devinfo *devinfo, uint32_t *max_send_queue_size);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_cap_get_max_send_buf_list_len(
	const struct doca_devinfo *devinfo, uint32_t *max_send_buf_list_len);
/* In bytes. */
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_cap_get_max_message_size(const struct doca_devinfo *devinfo, uint32_t *max_message_size);
DOCA_EXPERIMENTAL doca_error_t doca_rdma_cap_get_gid_table_size(const struct doca_devinfo *devinfo,
								uint32_t *gid_table_size);
/*
 * Get num_entries entries of the table from start_index on; those without an address are zero.
 * INVALID_VALUE also: past the table.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_cap_get_gid(const struct doca_devinfo *devinfo,
						     uint32_t start_index, uint32_t num_entries,
						     struct doca_rdma_gid *gid_array);
/* NOT_SUPPORTED: DC. */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_cap_transport_type_is_supported(
	const struct doca_devinfo *devinfo, enum doca_rdma_transport_type transport_type);

/*
 * Report whether the device can do these operations, on either data path.
 * INVALID_VALUE: NULL; NOT_SUPPORTED: it is no DPA.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_cap_task_receive_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_cap_task_send_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t
doca_rdma_cap_task_write_is_supported(const struct doca_devinfo *devinfo);

#ifdef __cplusplus
}
#endif

#include <dpa/dpa_rdma_task.h>

#endif /* DOCA_RDMA_H_ */
