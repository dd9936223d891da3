/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * nl.h - answers RDMA netlink requests: nldev commands for the functions that the preload shows,
 * and the kernel's own answers for the real devices beside them.
 *
 *   socket.c   the program's calls; recognition of our sockets; delivery of answers
 *   serve.c    the messages of a datagram, and the source of each answer
 *   answer.c   answers for our functions
 *   relay.c    answers of the kernel
 *   msg.c      parses and builds messages and attributes
 *   device.c   attributes of our functions
 *
 * Only socket.c and device.c make system calls. The other files use struct nl_env; the tests have
 * their own. A request is served completely within the program's send call.
 */
#ifndef DPA_PRELOAD_NL_H
#define DPA_PRELOAD_NL_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "nldev.h"

#define NL_MAX_REQUEST 65536u /* maximum bytes of one send call; more is EMSGSIZE */
/*
 * Indices of our functions: NL_INDEX is dpa0, NL_INDEX + N is dpa0_sfN. The kernel counts up from 0
 * to 2^31 - 1 and then starts again, so it reaches these last. libibverbs has the index as int.
 */
#define NL_INDEX       0x7fffff00u
#define NL_DEVICES     8u

/* Attributes of a function, in host byte order. */
struct nl_device {
	char name[32];
	char uverbs[32]; /* name of its character device */
	char fw[32];
	uint64_t node_guid, sys_image_guid;
	uint64_t caps; /* device_cap_flags of ibv_query_device() */
	uint8_t node_type;
	bool ib; /* true with the setting link_layer = infiniband */
	uint32_t lid, sm_lid;
};

struct nl_port {
	uint8_t state, phys_state;
	uint64_t caps;
	uint32_t ifindex; /* 0: no interface */
	char ifname[32];
};

/* The number of objects of one kind. */
struct nl_count {
	char name[16];
	uint64_t n;
};
#define NL_COUNTS 8

struct nl_qp {
	uint32_t qpn, dest_qpn; /* dest_qpn 0: not connected, or a datagram QP */
	uint32_t pid;
	uint32_t sq_psn;
	uint8_t type, state; /* enum ib_qp_type and ib_qp_state of the kernel */
};
typedef int nl_qp_fn(void *arg, const struct nl_qp *qp);

struct nl_cm_id {
	uint32_t idn; /* number of the id, not 0 */
	uint32_t pid, ps;
	uint8_t state, type; /* enum rdma_cm_state, ib_qp_type of the kernel; type 255: unknown */
	struct sockaddr_storage src, dst; /* family 0: none */
};
typedef int nl_cm_id_fn(void *arg, const struct nl_cm_id *id);

typedef void nl_counter_fn(void *arg, const char *name, uint64_t value);

/* The functions by which the answerer reaches the program, the kernel and the adapter. */
struct nl_env {
	void *arg;
	/* Sets *d for function number `function`. False: there is no such function. */
	bool (*device)(void *arg, unsigned function, struct nl_device *d);
	bool (*port)(void *arg, unsigned function, struct nl_port *p);
	/* Fills c; returns the number of entries. -EOPNOTSUPP: the counts are unknown. */
	int (*counts)(void *arg, unsigned function, struct nl_count c[NL_COUNTS]);
	/* Calls fn for each QP until fn returns nonzero. Returns that value, 0 or -EOPNOTSUPP. */
	int (*qps)(void *arg, unsigned function, nl_qp_fn *fn, void *fn_arg);
	/* The same for each id of rdma_cm that listens or has a connection. */
	int (*cm_ids)(void *arg, unsigned function, nl_cm_id_fn *fn, void *fn_arg);
	/* Calls fn for each hardware counter of the port: 0 or -EOPNOTSUPP. */
	int (*counters)(void *arg, unsigned function, nl_counter_fn *fn, void *fn_arg);
	/*
	 * Returns a NETLINK_RDMA socket of the kernel, which the caller closes; -errno. load: even
	 * if that loads the kernel's RDMA modules.
	 */
	int (*kernel)(void *arg, bool load);
	/* True if sysfs lists real devices, where libibverbs finds them if netlink shows none. */
	bool (*listed)(void *arg);
	/* Puts a datagram into the program's queue, never blocks: 0, or -errno (-ENOBUFS: full). */
	int (*deliver)(void *arg, const void *data, size_t len);
	uint32_t port_id; /* of the program's socket: the nlmsg_pid of an answer */
	bool cap_ack;	  /* the program's socket has NETLINK_CAP_ACK */
	bool ext_ack;	  /* the program's socket has NETLINK_EXT_ACK */
};

/* ---- msg.c */

/* A datagram under construction. */
struct nl_out {
	size_t len;
	size_t msg;	/* begin of the message that is being built */
	bool overflown; /* the message did not fit and must not be sent */
	_Alignas(8) uint8_t data[8192 - 32];
};

/*
 * Return a pointer to the header of the next message of [*at, len), which is complete, and set *at
 * behind it. NULL: there is none, or it is cut off. data is aligned to 4 bytes.
 */
const struct nlmsghdr *nl_next(const void *data, size_t len, size_t *at);

/* Attributes of a message by type; the last one of a type counts, as in the kernel. */
struct nl_attrs {
	const struct nlattr *a[NLDEV_A_MAX];
};
/* 0, or -EINVAL: a malformed attribute, or a wrong length for its type. */
int nl_parse(const struct nlmsghdr *h, struct nl_attrs *attrs);
/* Return the value of an attribute that nl_parse() checked; the type must be present. */
uint32_t nl_u32(const struct nl_attrs *attrs, enum nldev_attr type);
bool nl_is_string(const struct nl_attrs *attrs, enum nldev_attr type, const char *text);

void nl_begin(struct nl_out *o, const struct nlmsghdr *request, uint32_t port_id, uint16_t type,
	      uint16_t flags);
void nl_end(struct nl_out *o); /* removes the message if it did not fit */
void nl_put(struct nl_out *o, enum nldev_attr type, const void *value, size_t len);
void nl_put_u8(struct nl_out *o, enum nldev_attr type, uint8_t value);
void nl_put_u32(struct nl_out *o, enum nldev_attr type, uint32_t value);
void nl_put_u64(struct nl_out *o, enum nldev_attr type, uint64_t value);
void nl_put_string(struct nl_out *o, enum nldev_attr type, const char *text);
size_t nl_nest(struct nl_out *o, enum nldev_attr type);
void nl_nest_end(struct nl_out *o, size_t start);
/* Put an NLMSG_ERROR for a request; error 0: an acknowledgement. cap_ack: only its header. */
void nl_put_error(struct nl_out *o, const struct nlmsghdr *request, uint32_t port_id, int error,
		  bool cap_ack);
void nl_put_done(struct nl_out *o, const struct nlmsghdr *request, uint32_t port_id, int error);

/* ---- answer.c: 0: answered; 1: answered, the answer is a dump without its end; or -errno */

bool nl_is_ours(uint32_t index);
/* Answer a request that names one of our functions. */
int nl_answer(const struct nl_env *env, const struct nlmsghdr *h, const struct nl_attrs *attrs,
	      struct nl_out *o);
/* Put our part of a dump of all devices. */
int nl_answer_all(const struct nl_env *env, const struct nlmsghdr *h, struct nl_out *o);
/* NLDEV_SYS_GET, for a kernel without RDMA. */
int nl_answer_system(const struct nl_env *env, const struct nlmsghdr *h, struct nl_out *o);
/* Send the contents of o and empty it. */
int nl_flush(const struct nl_env *env, struct nl_out *o);

/* ---- relay.c */

enum nl_relay {
	NL_RELAY_ALL,	  /* the whole answer */
	NL_RELAY_PART,	  /* all but its end, because our part follows */
	NL_RELAY_NOTHING, /* the request is carried out, the answer dropped */
};
/*
 * Let the kernel answer a request. fd: from nl_env.kernel(). 0: answered, or with NL_RELAY_PART: it
 * ended successfully. -errno: with NL_RELAY_PART the kernel's error; otherwise nothing was
 * answered.
 */
int nl_relay(const struct nl_env *env, int fd, const struct nlmsghdr *h, enum nl_relay how);

/* ---- serve.c */

/* Answer all messages of a datagram: 0, or -errno as from sendmsg(2). */
int nl_serve(const struct nl_env *env, const void *data, size_t len);

/* ---- device.c */

/* Set the members of env for our functions and the kernel. */
void nl_device_env(struct nl_env *env);
/*
 * True if sysfs lists devices of the kernel and its netlink does not work: then there must be no
 * netlink.
 */
bool nl_sysfs_only(void);

/* ---- socket.c */

/* socket(2) of NETLINK_RDMA: a descriptor, or -1 and errno. */
int nl_socket(int type);

#endif
