/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * image.h - entries that the device library of congestion control and libdpa share. Not for
 * programs. Each entry of the image takes the address of a structure of the host, which exists
 * until the entry returns.
 */
#ifndef DPA_PCC_DEV_IMAGE_H
#define DPA_PCC_DEV_IMAGE_H

#include <stdint.h>
#include <dpa_hw_pcc.h>

#define DPA_PCC_ENTRY_INIT	"__dpa_pcc_init"    /* struct dpa_pcc_init */
#define DPA_PCC_ENTRY_BIND	"__dpa_pcc_bind"    /* struct dpa_pcc_words */
#define DPA_PCC_ENTRY_EVENTS	"__dpa_pcc_events"  /* struct dpa_pcc_batch */
#define DPA_PCC_ENTRY_PARAM	"__dpa_pcc_param"   /* struct dpa_pcc_set */
#define DPA_PCC_ENTRY_MAILBOX	"__dpa_pcc_mailbox" /* struct dpa_pcc_mail */
/* Of the notification point: */
#define DPA_PCC_ENTRY_NP_BEGIN	"__dpa_pcc_np_begin"  /* 0 */
#define DPA_PCC_ENTRY_NP_PACKET "__dpa_pcc_np_packet" /* struct dpa_pcc_np_call */

/* The description of port 0 that the program sets in doca_pcc_dev_user_init(). */
struct dpa_pcc_init {
	struct dpa_pcc_slot slots[DPA_PCC_USER_SLOTS];
	uint32_t populated, enabled, disabled_events;
};

#define DPA_PCC_BATCH 16u

/* Events of flows, in order, and the answers. */
struct dpa_pcc_batch {
	uint32_t n;
	struct dpa_pcc_item {
		struct dpa_pcc_report report;
		uint32_t *ctxt; /* the flow's 12 words */
		uint32_t rate;	/* in: of the last answer */
		uint32_t probe;
	} item[DPA_PCC_BATCH];
};

struct dpa_pcc_set {
	uint32_t slot, id, value;
	uint32_t ok;
};

/* A probe and the answer to it. */
struct dpa_pcc_np_call {
	struct dpa_pcc_probe probe;
	struct dpa_pcc_reply reply; /* 0 and the DSCP of the path at first */
	uint32_t good;		    /* an answer is sent */
};

struct dpa_pcc_mail {
	void *request, *response;
	uint32_t request_size, max_response, response_size;
	uint32_t result;  /* doca_pcc_dev_error_t */
	uint32_t handled; /* the program has a handler */
};

#endif /* DPA_PCC_DEV_IMAGE_H */
