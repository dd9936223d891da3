/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * injects.h - failures that are injected into a process at the verbs line, in the user's form and in
 * the program's. docs/inject.md has the grammar.
 *
 *   reg_mr=ENOMEM,n=3,above=1M+wc=RETRY_EXC_ERR,n=100,op=SEND+seed=7
 */
#ifndef DPA_INJECTS_H
#define DPA_INJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPA_INJECT_RULES     16
#define DPA_INJECT_TEXT	     1024 /* room for a specification and for any text of dpa_inject_text() */
#define DPA_INJECT_MILLION   1000000u
#define DPA_INJECT_FOREVER   UINT64_MAX
#define DPA_INJECT_TIME_MAX  UINT64_C(3600000000000) /* ns */
#define DPA_INJECT_ANY	     (-1)
#define DPA_INJECT_PROG	     16
#define DPA_INJECT_CALLS_MAX 96

#define DPA_INJECT_USE                                                                             \
	"off, @FILE, or rules with + between: POINT=EFFECT[,n=N][,times=N][,p=RATE][,after=TIME]"  \
	"[,prog=NAME] and, where they apply, above=BYTES, to=STATE, qpn=N, op=OPCODE; seed=N "     \
	"(see "                                                                                    \
	"docs/inject.md)"

/* The points that a rule can apply to. */
enum dpa_inject_line {
	DPA_INJECT_CALL,     /* a verb or a call of rdma_cm; `call` names it */
	DPA_INJECT_WC,	     /* a completion */
	DPA_INJECT_CQ,	     /* a CQ, at a completion: overrun */
	DPA_INJECT_COMP,     /* a completion event */
	DPA_INJECT_EVENT,    /* an asynchronous event, at a completion or a time */
	DPA_INJECT_CM,	     /* an event of rdma_cm */
	DPA_INJECT_PEER,     /* a request that a peer sent: this process as others see it */
	DPA_INJECT_MR,	     /* a memory region */
	DPA_INJECT_PROGRESS, /* a thread of the device begins to work */
	DPA_INJECT_EU,	     /* device code of the DPA begins to run on an EU */
	DPA_INJECT_DPA,	     /* the same: what happens to the code */
	DPA_INJECT_SYNC,     /* a sync event is updated */
	DPA_INJECT_DMA,	     /* a DMA task, or a copy of device code */
	DPA_INJECT_LINES
};

enum dpa_inject_comp { DPA_INJECT_LOST = 1, DPA_INJECT_LATE };

/*
 * Of a peer. Its device stops at a request or a time: a type of its own among the events, which have
 * values of enum ibv_event_type.
 */
enum dpa_inject_peer { DPA_INJECT_SLOW = 1, DPA_INJECT_RNR, DPA_INJECT_STOPPED = 100 };

/* Pages that fault late: the device cannot access them, or it takes a time. */
enum dpa_inject_mr { DPA_INJECT_FAULTS = 1, DPA_INJECT_SLOW_PAGES };

/* The only effects of their lines. */
enum {
	DPA_INJECT_STOLEN = 1, /* PROGRESS, EU: it does not run for a time */
	DPA_INJECT_CRASH = 1,
	DPA_INJECT_UPDATE_LOST = 1,
	DPA_INJECT_IO_FAILED = 1,
};

/* Values of enum ibv_wc_opcode. */
enum { DPA_INJECT_BIND_MW = 5, DPA_INJECT_LOCAL_INV = 6 };

/* Events that come also without a completion; values of enum ibv_event_type. */
enum { DPA_INJECT_DEVICE_FATAL = 8, DPA_INJECT_PORT_ERR = 10, DPA_INJECT_GID_CHANGE = 18 };

struct dpa_inject_rule {
	enum dpa_inject_line line;
	int call;      /* line CALL: index in the list of calls; else 0 */
	int effect;    /* errno; wc status; enum dpa_inject_comp; type of the event */
	uint64_t time; /* ns: how late, how long; 0: it does not end by itself */
	/* when: */
	uint64_t n, times; /* from the n-th on, so many; times of p: at most so many */
	uint32_t ppm;	   /* 0: n counts; n 0, too: at the time `after` */
	uint64_t after;	   /* ns since the rule was set */
	/* where: */
	uint64_t above;		    /* bytes; 0: any */
	int to;			    /* enum ibv_qp_state; DPA_INJECT_ANY */
	int op;			    /* enum ibv_wc_opcode; DPA_INJECT_ANY */
	uint32_t qpn;		    /* 0: any */
	char prog[DPA_INJECT_PROG]; /* "": any program */
};

struct dpa_inject_spec {
	bool set; /* the setting was given, also as "off" */
	uint32_t num;
	uint64_t seed;
	struct dpa_inject_rule rule[DPA_INJECT_RULES];
};

/*
 * Convert text. "@FILE" reads a scenario: a rule a line, # begins a comment. False, and *s unchanged:
 * unknown or repeated words, a bad value, more than DPA_INJECT_RULES rules, or a file that cannot be
 * read. Reentrant.
 */
bool dpa_inject_parse(const char *text, struct dpa_inject_spec *s);
/* Write the text that dpa_inject_parse() accepts; "off" without rules, "" if it is not set. */
void dpa_inject_text(const struct dpa_inject_spec *s, char *buf, size_t len);
/* Write one rule. */
void dpa_inject_rule_text(const struct dpa_inject_rule *r, char *buf, size_t len);
/* True if a completion of this kind can have that status: enum ibv_wc_status. */
bool dpa_inject_status_fits(int status, bool receive);
/* Drop the rules that name another program. */
void dpa_inject_keep(struct dpa_inject_spec *s, const char *prog);

/* The calls that can fail, in the order of struct dpa_inject_rule.call; NULL ends them. */
extern const char *const dpa_inject_calls[];
/* Index of a call; -1: there is none of that name. */
int dpa_inject_call_index(const char *name);

#endif
