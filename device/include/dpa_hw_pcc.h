/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw_pcc.h - programmable congestion control of the port: slots with algorithms, and the image
 * that has the algorithms of the user slots. dpa_hw.h does not include it: few drivers need it.
 *
 *               start                        its process stops, dies or faults
 *   no image ----------> image ACTIVE ------------------------------------------> no image
 *                           ^    |  a second process starts: STANDBY
 *                           |    v
 *                        the first standby process that checks takes over
 *
 * Slots 0 to 7 belong to the image, 14 and 15 are built in. The lowest slot that is enabled and has
 * an algorithm controls the flows of all processes of the adapter instance. Without an image this
 * is a built-in one; without any the flows are not controlled.
 *
 * A flow of any process reports events into the ring of its own process. The process with the image
 * takes them out, runs the algorithm on an EU and writes one word for the flow. Each word has one
 * writer; no side ever waits for the other. A flow whose image's process died continues with the
 * built-in algorithm.
 *
 * An image has one of two roles, each with a process of its own: the reaction point (RP) has
 * algorithms, the notification point (NP) answers probes that come to QPs of any process. A probe
 * waits in the adapter state while the program works; without a program, and after its end, none is
 * answered that asks for one.
 */
#ifndef DPA_HW_PCC_H
#define DPA_HW_PCC_H

#include <stdbool.h>
#include <stdint.h>

#define DPA_PCC_SLOTS	   16u
#define DPA_PCC_USER_SLOTS 8u
#define DPA_PCC_SLOT_RTT   14u
#define DPA_PCC_SLOT_DCQCN 15u
#define DPA_PCC_PARAMS	   0x26u /* parameters of a slot at most */
#define DPA_PCC_COUNTERS   0x3fu
/* bytes of a description of a parameter or counter, including the 0 */
#define DPA_PCC_TEXT	   64u
#define DPA_PCC_ALGO_TEXT  128u
#define DPA_PCC_RATE_ONE   (1u << 20) /* rate of a result: the line rate */
#define DPA_PCC_LINE_GBPS  100u	      /* the line rate to which rates of an image refer */
#define DPA_PCC_ID_DCQCN   0x0001u
#define DPA_PCC_ID_RTT	   0x0002u

struct dpa_pcc_param_desc {
	uint32_t value, def, min, max;
	uint32_t may_set;
	char text[DPA_PCC_TEXT];
};

/* A slot and its algorithm. */
struct dpa_pcc_slot {
	uint32_t id, major, minor;
	uint32_t nparams, ncounters;
	char text[DPA_PCC_ALGO_TEXT];
	struct dpa_pcc_param_desc params[DPA_PCC_PARAMS];
	char counters[DPA_PCC_COUNTERS][DPA_PCC_TEXT];
};

/* The current state of the port. */
struct dpa_pcc_port {
	uint32_t populated; /* bits: slots with an algorithm */
	uint32_t enabled;   /* bits */
	int acting;	    /* slot; -1: none */
	int counting;	    /* slot whose counters are enabled; -1: none */
	uint32_t image;	    /* number of the image; changes with each load */
	bool loaded;	    /* a process has an image on the port */
	uint32_t pid;	    /* pid of that process, for display */
};

/* Types of events, as in the public device header. */
enum dpa_pcc_ev {
	DPA_PCC_EV_CNP = 2,
	DPA_PCC_EV_TX = 3,
	DPA_PCC_EV_ACK = 4,
	DPA_PCC_EV_NACK = 5,
	DPA_PCC_EV_RTT = 6,
};

#define DPA_PCC_EV_RTT_DATA	   1u /* subtype: the words are the data of the other side's program */
#define DPA_PCC_EV_NACK_OOS	   2u /* subtype: out of sequence */
#define DPA_PCC_EV_TX_ACK_EXPECTED (1u << 0)
#define DPA_PCC_EV_TX_RTT_SENT	   (1u << 2)

/* An event of a flow, as read by the algorithm's process: 32 bytes. Times: ns, low 32 bits. */
struct dpa_pcc_report {
	uint32_t flow; /* epoch << 24 | QPN; another epoch means another flow */
	uint8_t type, subtype, flags, slot;
	uint32_t sn;   /* PSN */
	uint32_t time; /* of the event */
	/*
	 * TX: first time, bytes / 32 << 16 | packets. RTT: request sent, received, response sent,
	 * with RTT_DATA the 12 bytes of a program instead.
	 * ACK, NACK, CNP: first time, first PSN, coalesced.
	 */
	uint32_t word[3];
	uint32_t rsvd;
};

enum dpa_pcc_role { DPA_PCC_RP, DPA_PCC_NP };
#define DPA_PCC_ROLES 2u

/* Formats of probes; the numbers are those of the wire. */
enum dpa_pcc_format { DPA_PCC_CCMAD, DPA_PCC_IFA1, DPA_PCC_IFA2 };
#define DPA_PCC_FORMATS	    3u
#define DPA_PCC_IFA2_GNS    0xfu /* at first, as the next two */
#define DPA_PCC_IFA2_HOPS   0xfeu
#define DPA_PCC_IFA1_MARKER UINT64_C(0xaaaaaaaabbbbbbbb)

/* Words of a custom header of CCMAD probes at most; flows of an image that have one at a time. */
#define DPA_PCC_HEADER	     15u
#define DPA_PCC_HEADER_FLOWS 512u
#define DPA_PCC_DSCP_MAX     63u
#define DPA_PCC_DSCP_NONE    UINT8_MAX /* that of the QP's path */

/* RP: the probes of its flows. NP: the probes that its program takes. */
struct dpa_pcc_probes {
	uint8_t format; /* enum dpa_pcc_format */
	uint8_t header; /* RP, CCMAD: words of the custom header */
	bool program;	/* RP, CCMAD: a program of the other side answers; IFA: always */
	uint8_t gns;	/* RP, IFA2: global name space, 4 bits */
	uint8_t hops;	/* RP, IFA2: so many switches add their data */
	uint8_t ignore_mask,
		ignore_value; /* NP, IFA2: not those with (GNS & mask) == value & mask */
	uint64_t marker;      /* IFA1 */
};

#define DPA_PCC_PROBE_BYTES 448u
#define DPA_PCC_ANSWER	    12u /* bytes of an answer */

/* A probe that came, for the program of the notification point. */
struct dpa_pcc_probe {
	uint32_t ring; /* where it was taken from, and its number there */
	uint64_t serial;
	uint32_t came;	      /* ns, low 32 bits of this adapter's clock */
	uint32_t size;	      /* bytes of the packet, */
	uint32_t l4, payload; /* where its UDP header begins, and what is behind all headers */
	uint8_t packet[DPA_PCC_PROBE_BYTES]; /* from the Ethernet header on */
};

/* The answer of a program. */
struct dpa_pcc_reply {
	uint8_t data[DPA_PCC_ANSWER];
	uint8_t dscp; /* DSCP of its packet, or DPA_PCC_DSCP_NONE */
};

/* The connection of a process with an image to the port. */
struct dpa_pcc_image;

enum dpa_pcc_state { DPA_PCC_ACTIVE, DPA_PCC_STANDBY };

/* Memory for device code of the image: words in the adapter state that only the image writes. */
struct dpa_pcc_words {
	uint32_t *counters[DPA_PCC_USER_SLOTS];
	uint32_t *params[DPA_PCC_USER_SLOTS];
};

/* Rings from which a process's events are read. */
#define DPA_PCC_RINGS 4096u

/*
 * The calls. Context: any thread, unless noted otherwise. port: from dpa_hw_query_pcc(), valid
 * while the device is open. Errors of all: EPROTO (the adapter state is damaged), ENOMEM (it cannot
 * grow).
 */
struct dpa_pcc_ops {
	/* Read the state of the port. First detects that the process of the image has died. */
	void (*query)(void *port, struct dpa_pcc_port *out);
	/* ENOENT: the slot is empty. EAGAIN: it is being changed. */
	int (*read_slot)(void *port, uint32_t slot, struct dpa_pcc_slot *out);
	/* Bytes sent and received by all processes since the adapter state was created. */
	void (*port_bytes)(void *port, uint64_t *tx, uint64_t *rx);
	/* ENOENT: the slot is empty. */
	int (*enable)(void *port, uint32_t slot, bool on);
	/*
	 * Counters count in one slot at a time: enabling one stops the others. ENOENT: the slot is
	 * empty.
	 */
	int (*count)(void *port, uint32_t slot, bool on);
	/*
	 * Read the values of the slot's counters. clear: later reads count from here. ENOENT: the
	 * slot is empty. ENODATA: its counters are not enabled.
	 */
	int (*read_counters)(void *port, uint32_t slot, bool clear, uint32_t *num,
			     uint32_t values[DPA_PCC_COUNTERS]);
	/*
	 * ENOENT: the slot is empty. ERANGE: no such parameter, not settable, or out of bounds.
	 * EBUSY: the image's process did not answer in time. EINVAL: its algorithm refused.
	 */
	int (*set_param)(void *port, uint32_t slot, uint32_t id, uint32_t value);

	/*
	 * Announce that the process has an image. state: ACTIVE or STANDBY. EALREADY: this process
	 * has one of this role.
	 */
	int (*load)(void *port, enum dpa_pcc_role role, struct dpa_pcc_image **image,
		    enum dpa_pcc_state *state);
	/* Withdraw the image. Flows continue with the built-in algorithm. */
	void (*unload)(struct dpa_pcc_image *image);
	/* Take over if the port has no image. Returns the state. */
	enum dpa_pcc_state (*take_over)(struct dpa_pcc_image *image);
	/*
	 * RP, ACTIVE: make the algorithms of the user slots available. slots: 8; enabled: bits;
	 * populated: bits; disabled_events: bits of event types that the algorithms do not want;
	 * probes: those of its flows. words: one for each slot; valid until unload().
	 */
	int (*publish)(struct dpa_pcc_image *image, const struct dpa_pcc_slot *slots,
		       uint32_t populated, uint32_t enabled, uint32_t disabled_events,
		       const struct dpa_pcc_probes *probes, struct dpa_pcc_words *words);
	/* Return the rings (bits, 64 a word) that have events, and clear the bits. False: none. */
	bool (*pending)(struct dpa_pcc_image *image, uint64_t rings[DPA_PCC_RINGS / 64]);
	/*
	 * Take up to n events of a ring. Returns their number. One thread for each ring at a time.
	 */
	uint32_t (*take)(struct dpa_pcc_image *image, uint32_t ring, struct dpa_pcc_report *out,
			 uint32_t n);
	/* Write the answer for a flow. probe: requests a round trip measurement now. */
	void (*answer)(struct dpa_pcc_image *image, uint32_t flow, uint32_t rate, bool probe);
	/*
	 * The flow's later probes have this custom header (its other words become 0), or leave with
	 * this DSCP. For the thread that handles an event of the flow. ENOSPC: too many flows have a
	 * header. ENOENT: the flow has no algorithm of this image any more.
	 */
	int (*set_header)(struct dpa_pcc_image *image, uint32_t flow, const uint32_t *words,
			  uint32_t n);
	int (*set_dscp)(struct dpa_pcc_image *image, uint32_t flow, uint8_t dscp);
	/* NP, ACTIVE: such probes come from here on. */
	int (*publish_np)(struct dpa_pcc_image *image, const struct dpa_pcc_probes *probes);
	/* NP: takes the probe of a ring; false: there is none. One thread for each ring at a time. */
	bool (*take_probe)(struct dpa_pcc_image *image, uint32_t ring, struct dpa_pcc_probe *out);
	/* NP: the answer to it; NULL: none is sent. */
	void (*answer_probe)(struct dpa_pcc_image *image, const struct dpa_pcc_probe *probe,
			     const struct dpa_pcc_reply *reply);
	/*
	 * Sleep until a ring has events or a probe, a parameter must be set, or wake() was called; ms
	 * milliseconds at most. One thread.
	 */
	void (*wait)(struct dpa_pcc_image *image, uint32_t ms);
	void (*wake)(struct dpa_pcc_image *image);
	/*
	 * Return a parameter that must be set; then call answer_param(0 or errno). False: there is
	 * none.
	 */
	bool (*next_param)(struct dpa_pcc_image *image, uint32_t *slot, uint32_t *id,
			   uint32_t *value);
	void (*answer_param)(struct dpa_pcc_image *image, int err);
};

struct dpa_hw_ctx;

/* Return the calls, and the port of an open device. Any thread. */
const struct dpa_pcc_ops *dpa_hw_query_pcc(struct dpa_hw_ctx *ctx, void **port);

#endif
