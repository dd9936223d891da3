/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw_pcc.h - programmable congestion control of the port: slots with algorithms, and the image
 * that has the algorithms of the user slots. dpa_hw.h does not include it: few drivers need it.
 *
 *               start                        its process stops, dies or faults
 *   no image ----------> image ACTIVE ------------------------------------------> no image
 *                           ^    |  a second process starts: STANDBY
 *                           |    v
 *                        the first standby process that looks takes over
 *
 * Slots 0 to 7 are those of the image, 14 and 15 are built in. The lowest slot that is enabled and
 * has an algorithm acts on the flows of all processes of the adapter instance. Without an image
 * that is a built-in one; without any the flows are not controlled.
 *
 * A flow of any process reports events into the ring of its own process. The process with the image
 * takes them out, runs the algorithm on an EU and writes one word for the flow. Each word has one
 * writer; no side ever waits for the other. A flow whose image's process died goes on with the
 * built-in algorithm.
 */
#ifndef DPA_HW_PCC_H
#define DPA_HW_PCC_H

#include <stdbool.h>
#include <stdint.h>

#define DPA_PCC_SLOTS	   16u
#define DPA_PCC_USER_SLOTS 8u
#define DPA_PCC_SLOT_RTT   14u
#define DPA_PCC_SLOT_DCQCN 15u
#define DPA_PCC_PARAMS	   0x26u /* of a slot at most */
#define DPA_PCC_COUNTERS   0x3fu
#define DPA_PCC_TEXT	   64u /* bytes of a description of a parameter or counter, with the 0 */
#define DPA_PCC_ALGO_TEXT  128u
#define DPA_PCC_RATE_ONE   (1u << 20) /* of a result: the line rate */
#define DPA_PCC_LINE_GBPS  100u	      /* the line rate that rates of an image are shares of */
#define DPA_PCC_ID_DCQCN   0x0001u
#define DPA_PCC_ID_RTT	   0x0002u

struct dpa_pcc_param_desc {
	uint32_t value, def, min, max;
	uint32_t may_set;
	char text[DPA_PCC_TEXT];
};

/* A slot: its algorithm. */
struct dpa_pcc_slot {
	uint32_t id, major, minor;
	uint32_t nparams, ncounters;
	char text[DPA_PCC_ALGO_TEXT];
	struct dpa_pcc_param_desc params[DPA_PCC_PARAMS];
	char counters[DPA_PCC_COUNTERS][DPA_PCC_TEXT];
};

/* The state of the port at the moment. */
struct dpa_pcc_port {
	uint32_t populated; /* bits: slots with an algorithm */
	uint32_t enabled;   /* bits */
	int acting;	    /* slot; -1: none */
	int counting;	    /* slot whose counters are enabled; -1: none */
	uint32_t image;	    /* number of the image; another one after each load */
	bool loaded;	    /* a process has an image on the port */
	uint32_t pid;	    /* of that process, for people */
};

/* Types of events: those of the public device header. */
enum dpa_pcc_ev {
	DPA_PCC_EV_CNP = 2,
	DPA_PCC_EV_TX = 3,
	DPA_PCC_EV_ACK = 4,
	DPA_PCC_EV_NACK = 5,
	DPA_PCC_EV_RTT = 6,
};

#define DPA_PCC_EV_NACK_OOS	   2u /* subtype: out of sequence */
#define DPA_PCC_EV_TX_ACK_EXPECTED (1u << 0)
#define DPA_PCC_EV_TX_RTT_SENT	   (1u << 2)

/* An event of a flow, as the algorithm's process takes it out: 32 bytes. Times: ns, low 32 bits. */
struct dpa_pcc_report {
	uint32_t flow; /* epoch << 24 | QPN: another epoch is another flow */
	uint8_t type, subtype, flags, slot;
	uint32_t sn;   /* PSN */
	uint32_t time; /* of the event */
	/* TX: first time, bytes / 32 << 16 | packets; RTT: request sent, received, response sent;
	 * ACK, NACK, CNP: first time, first PSN, coalesced */
	uint32_t word[3];
	uint32_t rsvd;
};

/* Of a process that has an image: its connection to the port. */
struct dpa_pcc_image;

enum dpa_pcc_state { DPA_PCC_ACTIVE, DPA_PCC_STANDBY };

/* Memory that device code of the image works on: words in the adapter state, written by it alone. */
struct dpa_pcc_words {
	uint32_t *counters[DPA_PCC_USER_SLOTS];
	uint32_t *params[DPA_PCC_USER_SLOTS];
};

/* Where the events of a process are taken out; a place for the caller's own state. */
#define DPA_PCC_RINGS 4096u

/*
 * The calls. Any thread, unless something else is said. `port` is what dpa_hw_query_pcc() gives; it
 * is valid while the device is open. errno of all: EPROTO (the adapter state is not what it should
 * be), ENOMEM (it cannot grow).
 */
struct dpa_pcc_ops {
	/* Reads the state of the port. Notices first that the process of the image has died. */
	void (*query)(void *port, struct dpa_pcc_port *out);
	/* ENOENT: the slot is empty. EAGAIN: it changes at the moment. */
	int (*read_slot)(void *port, uint32_t slot, struct dpa_pcc_slot *out);
	/* Bytes that left and that came, of all processes since the adapter state was made. */
	void (*port_bytes)(void *port, uint64_t *tx, uint64_t *rx);
	/* ENOENT: the slot is empty. */
	int (*enable)(void *port, uint32_t slot, bool on);
	/* Counters count in one slot at a time: the others stop. ENOENT: the slot is empty. */
	int (*count)(void *port, uint32_t slot, bool on);
	/*
	 * Values of the slot's counters; clear: what is read afterwards counts from here. ENOENT:
	 * the slot is empty. ENODATA: its counters are not enabled.
	 */
	int (*read_counters)(void *port, uint32_t slot, bool clear, uint32_t *num,
			     uint32_t values[DPA_PCC_COUNTERS]);
	/*
	 * ENOENT: the slot is empty. ERANGE: no such parameter, may not be set, or out of bounds.
	 * EBUSY: the image's process did not answer in time. EINVAL: its algorithm refused.
	 */
	int (*set_param)(void *port, uint32_t slot, uint32_t id, uint32_t value);

	/*
	 * The process has an image. state: ACTIVE or STANDBY. EALREADY: this process has one.
	 * disabled: bits of types of events that the algorithms do not want.
	 */
	int (*load)(void *port, struct dpa_pcc_image **image, enum dpa_pcc_state *state);
	/* Not any more. Flows go on with the built-in algorithm. */
	void (*unload)(struct dpa_pcc_image *image);
	/* Takes over if the port has no image. */
	enum dpa_pcc_state (*take_over)(struct dpa_pcc_image *image);
	/*
	 * ACTIVE: the algorithms of the user slots are there from here on. slots: 8; enabled: bits;
	 * populated: bits. words: of each slot; valid until unload().
	 */
	int (*publish)(struct dpa_pcc_image *image, const struct dpa_pcc_slot *slots,
		       uint32_t populated, uint32_t enabled, uint32_t disabled_events,
		       struct dpa_pcc_words *words);
	/* Rings (bits, 64 a word) that have events; clears the bits. False: none has. */
	bool (*pending)(struct dpa_pcc_image *image, uint64_t rings[DPA_PCC_RINGS / 64]);
	/* Takes up to n events of a ring. One thread for each ring at a time. */
	uint32_t (*take)(struct dpa_pcc_image *image, uint32_t ring, struct dpa_pcc_report *out,
			 uint32_t n);
	/* The answer for a flow. probe: wants a round trip time measured now. */
	void (*answer)(struct dpa_pcc_image *image, uint32_t flow, uint32_t rate, bool probe);
	/*
	 * Sleeps until a ring has events, a parameter is to be set, or wake() was called: at most so
	 * long. One thread.
	 */
	void (*wait)(struct dpa_pcc_image *image, uint32_t ms);
	void (*wake)(struct dpa_pcc_image *image);
	/* A parameter that is to be set; then answer_param(0 or errno). False: there is none. */
	bool (*next_param)(struct dpa_pcc_image *image, uint32_t *slot, uint32_t *id,
			   uint32_t *value);
	void (*answer_param)(struct dpa_pcc_image *image, int err);
};

struct dpa_hw_ctx;

/* The calls, and the port of an open device. Any thread. */
const struct dpa_pcc_ops *dpa_hw_query_pcc(struct dpa_hw_ctx *ctx, void **port);

#endif
