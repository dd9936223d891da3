/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_image.h - formats that dpacc, the device library and libdpa share. Not for programs.
 *
 * A device image is a shared object that needs no symbol of its process and exports one:
 * `__dpa_image`. Its calls go through a table of functions that libdpa puts at *ops before anything
 * runs. dpacc defines the application object in the host program.
 */
#ifndef DPA_IMAGE_H_
#define DPA_IMAGE_H_

#include <stdarg.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DPA_IMAGE_MAGIC	  0x31617064u /* "dpa1" */
#define DPA_IMAGE_VERSION 2u

struct dpa_dev_copy;
struct dpa_dev_rdma_wr;
struct dpa_dev_send_wr;
struct dpa_dev_sge;

/*
 * The calls out of an image. The table only grows at its end: an image built against an older table
 * runs on a newer library. `size` is that of the library's table.
 */
struct dpa_dev_ops {
	uint64_t size;
	uint64_t (*get_local_storage)(void);
	void (*end_activation)(uint32_t finish); /* does not return */
	int (*get_completion)(uint64_t comp, uint64_t *element);
	void (*completion_ack)(uint64_t comp, uint64_t n);
	void (*request_notification)(uint64_t comp);
	void (*log)(uint32_t level, const char *text, uint64_t len);
	int (*qp_post_send)(uint64_t qp, const struct dpa_dev_send_wr *wr);
	int (*qp_post_recv)(uint64_t qp, uint64_t wr_id, const struct dpa_dev_sge *sge, uint32_t n);
	void (*thread_notify)(uint64_t notification);
	/*
	 * sync: doca_dpa_dev_sync_event.h. Waits return 1 when the condition holds; argument:
	 * rounds waited so far
	 */
	uint64_t (*sync_event_get)(uint64_t se);
	void (*sync_event_update)(uint64_t se, uint64_t value, uint32_t add);
	int (*sync_event_wait_gt)(uint64_t se, uint64_t value, uint64_t mask, uint32_t round);
	/* execution: exec/ops_exec.c */
	void (*device_set)(uint64_t context);
	uint32_t (*thread_rank)(void);
	uint32_t (*num_threads)(void);
	void (*yield)(void);
	void (*trace)(const uint64_t words[5]);
	void (*trace_flush)(void);
	/* dpacc: counters of dpaintrin.h */
	uint64_t (*thread_instructions)(void);
	uint64_t (*thread_time)(void);
	/* rdma: doca_dpa_dev_rdma.h. Non-zero: not now, call again (post with `again` set) */
	int (*rdma_post)(uint64_t rdma, uint32_t connection, const struct dpa_dev_rdma_wr *wr);
	int (*rdma_receive)(uint64_t rdma, uint32_t again, uint32_t key, uint64_t addr,
			    uint64_t length);
	/* Returns whether the payload must be copied before it is posted. */
	int (*rdma_snapshot)(uint64_t rdma, uint32_t connection, uint32_t key, uint64_t addr,
			     uint64_t length);
	void (*rdma_receive_ack)(uint64_t rdma, uint32_t n);
	/* sync: async operations of doca_dpa_dev_buf.h and sync events. Non-zero: full, call again
	 */
	int (*async_copy)(uint64_t async_ops, const struct dpa_dev_copy *copy);
	int (*async_wait)(uint64_t async_ops, uint64_t se, uint64_t value, uint32_t not_equal);
	/* Returns whether the payload must be copied before it is posted. */
	int (*async_snapshot)(uint64_t async_ops, uint32_t key, uint64_t addr, uint64_t length);
	/* sync: hash tables of doca_dpa_dev.h; value: on the stack, written when found */
	void (*hash_add)(uint64_t ht, uint32_t key, uint64_t value);
	void (*hash_remove)(uint64_t ht, uint32_t key);
	int (*hash_find)(uint64_t ht, uint32_t key, uint64_t *value);
	/* common: memory of a map, len bytes of it, as device code may dereference it */
	uint64_t (*external_ptr)(uint32_t mmap, uint64_t addr, uint64_t len);
	/* pcc: doca_pcc_dev_services.h. bytes: on the stack; that left the port, that came */
	void (*pcc_print)(const char *text, uint64_t len);
	void (*pcc_trace)(uint32_t format, const uint64_t words[5]);
	void (*pcc_port_bytes)(uint64_t bytes[2]);
	/* Of a flow's probes: doca_pcc_dev.h. words: on the stack. Non-zero: not set */
	int (*pcc_probe_header)(uint32_t flow, const uint32_t *words, uint32_t n);
	int (*pcc_probe_dscp)(uint32_t flow, uint32_t dscp);
};

enum dpa_dev_rdma_op { /* values of enum ibv_wr_opcode */
		       DPA_DEV_RDMA_OP_WRITE = 0,
		       DPA_DEV_RDMA_OP_WRITE_IMM = 1,
		       DPA_DEV_RDMA_OP_SEND = 2,
		       DPA_DEV_RDMA_OP_SEND_IMM = 3,
		       DPA_DEV_RDMA_OP_READ = 4,
		       DPA_DEV_RDMA_OP_FETCH_ADD = 6,
};

#define DPA_DEV_RDMA_INLINE 208 /* largest payload that is copied, bytes */

struct dpa_dev_rdma_wr {
	uint32_t op;
	uint32_t flags; /* enum doca_dpa_dev_submit_flag */
	uint32_t again; /* the queue was full, and the handle good */
	uint32_t imm;
	uint32_t local_key, remote_key;
	uint64_t local, remote;
	uint64_t length; /* bytes */
	uint64_t value;	 /* FETCH_ADD */
	uint64_t event; /* 0, or the handle of a peer's sync event, which is then the destination */
	const void *data; /* a copy of the payload on the stack; NULL: by local_key and local */
};

#define DPA_DEV_ASYNC_INLINE 64		/* largest payload that is copied at post time, bytes */
#define DPA_DEV_ASYNC_MAX    (1u << 30) /* longest copy, bytes: longer ones are several */

struct dpa_dev_copy {
	uint32_t flags; /* enum doca_dpa_dev_submit_flag */
	uint32_t length;
	uint32_t dst_key, src_key;
	uint64_t dst, src;
	const void *data; /* a copy of the payload on the stack; NULL: by src_key and src */
};

/*
 * Arguments of a launch or an RPC travel as the bytes of a structure with one member for each
 * parameter of the entry, in order and with the C types' own alignment. dpacc makes both sides from
 * the entry's parameter types: `pack` of the host fills it, `call` of the image takes it apart.
 */
struct dpa_image_entry {
	const char *name;
	void (*fn)(void);
	/*
	 * Calls the entry with the arguments at args (aligned to 64 bytes, constant, the entry's
	 * args_size long; not read when that is 0). Returns what an RPC returns, 0 for void.
	 * NULL: made by a dpacc without this; the entry is then for threads only.
	 */
	uint64_t (*call)(const void *args);
};

/* Written by dpacc. */
struct dpa_image {
	uint64_t magic;
	uint64_t version;
	uint64_t num_entries;
	const struct dpa_image_entry *entries;
	const struct dpa_dev_ops **ops;
};

enum dpa_entry_kind {
	DPA_ENTRY_GLOBAL = 1, /* __dpa_global__, for launches only */
	DPA_ENTRY_THREAD = 2, /* __dpa_global__ of nothing, or of one integer or pointer */
	DPA_ENTRY_RPC = 3,    /* __dpa_rpc__ */
};

/* A host stub and its entry. */
struct dpa_app_entry {
	void (*stub)(void);
	const char *name;
	uint64_t kind;	    /* enum dpa_entry_kind */
	uint64_t args_size; /* bytes */
	/*
	 * Takes the variable arguments of a launch or an RPC from *ap, as the caller passed them
	 * for the entry's parameters, and writes args_size bytes (padding zeroed) at buf, which is
	 * aligned to 64 bytes. Returns args_size. NULL: as dpa_image_entry.call.
	 */
	uint64_t (*pack)(void *buf, va_list *ap);
};

/* The structure that `struct doca_dpa_app *<app-name>` points to. */
struct doca_dpa_app {
	uint64_t magic;
	uint64_t version;
	const char *name;
	const void *image;
	uint64_t image_size; /* bytes */
	uint64_t num_entries;
	const struct dpa_app_entry *entries;
};

#ifdef __cplusplus
}
#endif

#endif /* DPA_IMAGE_H_ */
