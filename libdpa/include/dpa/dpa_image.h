/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_image.h - what dpacc, the device library and libdpa agree on. Not for programs.
 *
 * A device image is a shared object that needs no symbol of its process and exports one:
 * `__dpa_image`. Its calls go through a table of functions that libdpa puts at *ops before anything
 * runs. The application object is what dpacc leaves in the host program.
 */
#ifndef DPA_IMAGE_H_
#define DPA_IMAGE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DPA_IMAGE_MAGIC	  0x31617064u /* "dpa1" */
#define DPA_IMAGE_VERSION 1u

struct dpa_dev_send_wr;
struct dpa_dev_sge;

/*
 * The calls out of an image. Only grows at its end: an image built against an older table runs on a
 * newer library. `size` is that of the library's table.
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
};

struct dpa_image_entry {
	const char *name;
	void (*fn)(void);
};

/* Written by dpacc in assembly: keep every field 8 bytes. */
struct dpa_image {
	uint64_t magic;
	uint64_t version;
	uint64_t num_entries;
	const struct dpa_image_entry *entries;
	const struct dpa_dev_ops **ops;
};

enum dpa_entry_kind {
	DPA_ENTRY_GLOBAL = 1, /* __dpa_global__ that takes something else than one uint64_t */
	DPA_ENTRY_THREAD = 2, /* __dpa_global__ void f(uint64_t) */
	DPA_ENTRY_RPC = 3,    /* __dpa_rpc__ */
};

/* A host stub and the entry that it stands for. */
struct dpa_app_entry {
	void (*stub)(void);
	const char *name;
	uint64_t kind; /* enum dpa_entry_kind */
};

/* What `struct doca_dpa_app *<app-name>` points to. */
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
