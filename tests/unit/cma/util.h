/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * util.h - commands of rdma_cm as librdmacm writes them: bytes at the offsets of
 * <rdma/rdma_user_cm.h>, without its structures. Every call returns 0 or the errno of the write.
 */
#ifndef CMA_TEST_UTIL_H
#define CMA_TEST_UTIL_H

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../provider/fake_gsi.h"

/* Numbers of the ABI. */
enum {
	CREATE_ID,
	DESTROY_ID,
	BIND_IP,
	RESOLVE_IP,
	RESOLVE_ROUTE,
	QUERY_ROUTE,
	CONNECT,
	LISTEN,
	ACCEPT,
	REJECT,
	DISCONNECT,
	INIT_QP_ATTR,
	GET_EVENT,
	GET_OPTION,
	SET_OPTION,
	NOTIFY,
	JOIN_IP_MCAST,
	LEAVE_MCAST,
	MIGRATE_ID,
	QUERY,
	BIND,
	RESOLVE_ADDR,
	JOIN_MCAST,
	RESOLVE_IB_SERVICE,
	WRITE_CM_EVENT,
	COMMANDS
};
enum { /* events */
       EV_ADDR_RESOLVED,
       EV_ADDR_ERROR,
       EV_ROUTE_RESOLVED,
       EV_ROUTE_ERROR,
       EV_CONNECT_REQUEST,
       EV_CONNECT_RESPONSE,
       EV_CONNECT_ERROR,
       EV_UNREACHABLE,
       EV_REJECTED,
       EV_ESTABLISHED,
       EV_DISCONNECTED,
       EV_DEVICE_REMOVAL,
       EV_MULTICAST_JOIN,
       EV_MULTICAST_ERROR,
       EV_ADDR_CHANGE,
       EV_TIMEWAIT_EXIT,
       EV_USER = 18,
       EV_INTERNAL
};
enum { PS_IPOIB = 0x2, PS_TCP = 0x106, PS_UDP = 0x111, PS_IB = 0x13f };
enum { QP_RC = 2, QP_UC, QP_UD, QP_XRC_SEND = 9, QP_XRC_RECV };
#define NOBODY 60000u /* no id has this number */

/* Store and load numbers at an offset, host order. */
void put16(void *b, size_t at, uint16_t v);
void put32(void *b, size_t at, uint32_t v);
void put64(void *b, size_t at, uint64_t v);
uint16_t get16(const void *b, size_t at);
uint32_t get32(const void *b, size_t at);
uint64_t get64(const void *b, size_t at);

/* Do the same as open() and close() of librdmacm. A failed open ends the test. */
int channel_open(int flags);
void channel_close(int fd);
/* Write header and body in one write. */
int command(int fd, uint32_t cmd, const void *body, uint16_t in, uint16_t out);
/* Do the same for a body with a pointer to its answer at 0. */
int command_answer(int fd, uint32_t cmd, void *body, uint16_t in, void *answer, uint16_t out);

/* Make an address: "127.0.0.1", "::1"; NULL: none. Returns its size. */
size_t make_addr(void *to, const char *ip, uint16_t port);

int try_create(int fd, uint64_t uid, uint16_t ps, uint8_t type, uint32_t *id);
uint32_t create(int fd, uint64_t uid, uint16_t ps, uint8_t type); /* must succeed */
int destroy(int fd, uint32_t id, uint32_t *reported);
int bind_id(int fd, uint32_t id, const char *ip, uint16_t port);
int bind_ip(int fd, uint32_t id, const char *ip, uint16_t port);
int bind_raw(int fd, uint32_t id, const void *addr, size_t len);
int resolve(int fd, uint32_t id, const char *src, const char *dst, uint16_t port);
int route(int fd, uint32_t id);
int listen_id(int fd, uint32_t id, uint32_t backlog);
int disconnect(int fd, uint32_t id);
int reject(int fd, uint32_t id, const void *data, uint8_t len, uint8_t reason);
int notify(int fd, uint32_t id, uint32_t event);
int set_option(int fd, uint32_t id, uint32_t level, uint32_t name, const void *val, uint32_t len);
int join(int fd, uint32_t id, uint64_t uid, const char *group, uint16_t flags, uint32_t *mc);
int leave(int fd, uint32_t mc, uint32_t *reported);
int migrate(int to, int from, uint32_t id, uint32_t *reported);
int qp_attr(int fd, uint32_t id, uint32_t state, uint8_t answer[144]);
int query(int fd, uint32_t id, uint32_t option, void *answer, uint16_t room);
int query_route(int fd, uint32_t id, uint8_t answer[208]);
/* Return the port of the source in QUERY_ROUTE, host order. */
uint16_t port_of(int fd, uint32_t id);

struct conn {
	uint32_t qpn, qkey;
	const void *data;
	uint8_t len, srq, responder, depth, flow, retry, rnr;
	uint32_t vendor, attr_mod;
};
int connect_id(int fd, uint32_t id, const struct conn *c);
int accept_id(int fd, uint32_t id, uint64_t uid, const struct conn *c);
int establish(int fd, uint32_t id); /* ACCEPT with valid 0 */

struct event {
	uint8_t raw[336];
	uint64_t uid;
	uint32_t id, type;
	int32_t status;
};
int try_event(int fd, struct event *ev);
/* Wait for the next event, which must be of that type. */
void expect(int fd, struct event *ev, uint32_t type);
/* Do the same, and check the id's uid and number. */
void expect_of(int fd, struct event *ev, uint32_t type, uint64_t uid, uint32_t id);
bool has_event(int fd);
/* Check that nothing is in flight any more, and that the channel has no event. */
void expect_none(int fd);
/* Wait until all MADs that were sent are handled. */
void settle(void);

/* Both ends of a connection, on separate channels. */
struct pair {
	int s, c;			    /* channels */
	uint32_t listener, passive, active; /* ids */
	uint16_t port;
	uint64_t uid; /* of the listener; uid + 1 passive, uid + 2 active */
};
enum { UID = 1000 };
/* Connect: until both sides have ESTABLISHED. */
void pair_listen(struct pair *p, uint16_t ps, uint8_t type);
/* Make an id at ROUTE_RESOLVED for the listener; its events are taken. */
uint32_t pair_route(struct pair *p, uint16_t ps, uint8_t type, uint64_t uid);
void pair_request(struct pair *p); /* the request is delivered */
void pair_connect(struct pair *p);
void pair_close(struct pair *p);
uint32_t new_qpn(void);

/* Resources in use: descriptors, ids and services of QP1. */
struct held {
	int fds, ids, services;
};
struct held held_now(void);
/* Return whether the thread of this process waits. */
bool sleeps(int tid);
/* Wait for connections that end on their own. */
void expect_held(const struct held *h);

/* Seed of random tests: 1, or DPA_TEST_SEED; logged. */
unsigned int test_seed(void);

#endif
