/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpactl.h - what the commands share. */
#ifndef DPACTL_H
#define DPACTL_H

#include <json-c/json.h>
#include <board/board_layout.h>
#include <knobs.h>

/*
 * EXIT_NONE: there is no adapter state, or it is not to be used. EXIT_WRONG: the checked thing is
 * wrong. EXIT_USAGE: wrong use or setting, or a file that cannot be read.
 */
enum { EXIT_NONE = 1, EXIT_WRONG = 1, EXIT_USAGE = 2 };

#define MAX_PIDS 16
#define MAX_ARGS 4

#define SWEEP_SECONDS 86400u /* limit of a run of a sweep, at most */

struct ctl {
	bool json, all, system, follow;
	struct dpa_config cfg;
	char path[256]; /* of the board */
	uint32_t pids[MAX_PIDS];
	int npids;
	const char *file; /* decode, simulate */
	const char *args[MAX_ARGS];
	int nargs;	   /* fault, link, inject, pcc, errors */
	const char *to;	   /* capture, simulate: the file to write */
	const char *image; /* simulate: the program of the DPA */
	/* capture: how many packets; how long (pcc, too); 0: no end */
	uint32_t count, seconds;
	char **program;		  /* trace, sweep: the program to start and its arguments; NULL */
	char *peer;		  /* sweep: the other end, with its arguments; NULL */
	bool batch;		  /* top: text, no screen */
	uint32_t port;		  /* web; 0: any */
	const char *delay, *sort; /* top; NULL: as usual */
	int argc;		  /* replay: its arguments, behind the name of the program */
	char **argv;
	bool past;	     /* trace: also what was recorded before */
	int status;	     /* to exit with */
	struct dpa_board *b; /* NULL: no board (status only) */
};

/* A command fills in the JSON document, or prints text. */
typedef void command_fn(struct ctl *c);
command_fn cmd_status, cmd_ps, cmd_uar, cmd_counters, cmd_config, cmd_decode, cmd_fault,
	cmd_capture, cmd_dpa, cmd_pcc, cmd_doctor, cmd_enable, cmd_disable, cmd_caps, cmd_link,
	cmd_simulate, cmd_trace, cmd_explain, cmd_report, cmd_inject, cmd_top, cmd_web, cmd_port,
	cmd_sweep, cmd_errors, cmd_replay;

/* text.c */
_Noreturn void die(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void print_json(struct json_object *o); /* and frees it */
/* Not NULL: print_json() leaves the object here instead, for report. */
extern struct json_object **json_taken;

void *need_memory(void *p); /* returns p; NULL: ends dpactl, "no memory" */
uint64_t now_ns(void);	    /* CLOCK_MONOTONIC */
/* True if the command line names that process, or none: then it means all. */
bool pid_is_named(const struct ctl *c, uint32_t pid);

/* A QP of the adapter instance, copied once. */
struct qp {
	uint32_t slot, gen; /* of its process */
	struct dpa_board_qpinfo i;
	char gid[64];
};
/*
 * ps.c: the QP of a number, by its low 16 bits. False: there is none, or its record is not filled in
 * yet (or any more).
 */
bool qp_read(struct ctl *c, uint32_t index, struct qp *q);

/* ps_cm.c: services and ids of rdma_cm of a process, of n processes */
struct proc;
void cm_json(struct ctl *c, const struct proc *p, struct json_object *o);
void cm_text(struct ctl *c, const struct proc *p, uint32_t n);
/* "TCP 7174 at 127.0.0.1, ..." of all processes that live; "": nothing listens. Cut off at len. */
void cm_listeners(struct ctl *c, char *text, size_t len);
/* Port space of a service of rdma_cm; NULL: another one (AF_IB). */
const char *cm_space_name(const struct dpa_gsi_service *s);

/* fault.c: processes with QPs that do not follow that generation of the request yet. */
uint32_t ask_waits_for(struct ctl *c, enum dpa_board_ask_what what, uint32_t gen);

/* capture.c: true if the adapter state is no longer the file at that path. */
bool board_gone(struct ctl *c);

/* explain.c: adds an object with the value, the name, the cause and the fix. */
struct dpa_meaning;
void json_add_meaning(struct json_object *o, const char *key, uint32_t value,
		      const struct dpa_meaning *m);

/* A process of the adapter instance, copied once. */
struct proc {
	uint32_t slot, gen, pid, uid;
	bool alive;
	uint64_t start_ns;
	char comm[16];
	char version[24];
	uint32_t placement, nqp, ncq, nmr;
	/* of the QPs of others that are connected with it: some can copy its memory, some cannot */
	bool copied, refused;
};

/* text.c: names and forms for text and JSON */
void printable(char *text, size_t len); /* ends it, and makes what is not printable a '?' */
bool proc_read(struct ctl *c, uint32_t slot, struct proc *p); /* false: the slot is free */
const char *qp_type_name(uint32_t type);
const char *qp_state_name(uint32_t state);
const char *placement_name(uint32_t placement);
const char *link_name(uint32_t link);
/* An IPv4 address where the GID is one. "-" if it is zero. */
const char *gid_text(const uint8_t gid[16], char *buf, size_t len);
const char *time_text(uint64_t ns, char *buf, size_t len);
void json_add(struct json_object *o, const char *key, const char *text);
void json_add_num(struct json_object *o, const char *key, uint64_t n);
void json_add_bool(struct json_object *o, const char *key, bool b);

#endif
