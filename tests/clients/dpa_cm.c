/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_cm - connects two processes by rdma_cm and ends one of them at a step, repeatedly: the other
 * one must learn of it and end, and the port must be free at once.
 *
 *   dpa_cm ADDRESS ROUNDS SEED [kill|int|exit|_exit|exec|any]
 *
 * It ends by SIGKILL (the default), SIGINT, exit(), _exit(), or execve() of a program that
 * continues. Exit status 0: each round ended as it must; 1: one did not, and standard error says
 * which. It starts itself again for each side, so that no process has resources of an earlier
 * round.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#define LIMIT_MS  60000 /* no side may wait longer: it would wait without end */
#define RESOLVING 2000

/* Steps at which a side ends itself. A side that does not reach the step continues to its end. */
static const char *const server_steps[] = {"listen", "request", "accepted", "established",
					   "disconnected"};
static const char *const client_steps[] = {"address", "route", "connect", "response",
					   "disconnecting"};
#define NUM_STEPS 5

static const char *const ways[] = {"kill", "int", "exit", "_exit", "exec"};
#define NUM_WAYS 5

static const char *die_at = "", *die_by = "";
static volatile sig_atomic_t stopped;

/* A client that ends there may take its request along: then its server has nothing to wait for. */
static bool is_early(const char *name)
{
	return !strcmp(name, "address") || !strcmp(name, "route") || !strcmp(name, "connect");
}

static void step(const char *name)
{
	if (strcmp(name, die_at) != 0)
		return;
	if (!strcmp(die_by, "exec")) /* the peer ends first if it waits for an event */
		execlp("sleep", "sleep", is_early(name) ? "0.1" : "1000", (char *)NULL);
	if (!strcmp(die_by, "exit"))
		exit(0);
	if (!strcmp(die_by, "_exit"))
		_exit(0);
	if (!strcmp(die_by, "int")) {
		signal(SIGINT, SIG_DFL); /* ignored in a shell's background */
		kill(getpid(), SIGINT);
	}
	kill(getpid(), SIGKILL);
}

static int fail(const char *what)
{
	fprintf(stderr, "dpa_cm: %s: %s\n", what, strerror(errno));
	return 1;
}

static int make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	return rdma_create_qp(id, NULL, &attr);
}

static void end_id(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

/* ------------------------------------------------------------------- server */

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

/* Return the type of the next event, acknowledged. -1: a signal, or an error. */
static int next_event(struct rdma_event_channel *ch, struct rdma_cm_id **id)
{
	struct rdma_cm_event *ev;
	int type;

	if (rdma_get_cm_event(ch, &ev))
		return -1;
	type = (int)ev->event;
	*id = ev->id;
	rdma_ack_cm_event(ev);
	return type;
}

/* False: the client had left before, which also is an end. */
static bool take(struct rdma_cm_id *id)
{
	step("request");
	if (make_qp(id) || rdma_accept(id, NULL)) {
		end_id(id);
		return false;
	}
	step("accepted");
	return true;
}

/* Wait for a signal or an event; signals are unblocked only there, so none is missed. */
static bool wait_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	sigset_t none;

	sigemptyset(&none);
	return ppoll(&p, 1, NULL, &none) == 1;
}

/* Run until the only connection has ended, or SIGTERM arrives before one was made. */
static int serve(struct rdma_event_channel *ch, bool polls)
{
	struct rdma_cm_id *id;
	bool connected = false;

	while (!stopped || connected) {
		int type;

		if (polls && !connected && !wait_readable(ch->fd))
			continue;
		type = next_event(ch, &id);
		if (type < 0)
			return fail("waiting for an event");
		switch (type) {
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			connected = true;
			if (!take(id))
				return 0;
			break;
		case RDMA_CM_EVENT_ESTABLISHED:
			step("established");
			break;
		case RDMA_CM_EVENT_DISCONNECTED:
			step("disconnected");
			rdma_disconnect(id);
			end_id(id);
			return 0;
		default: /* refused, or the client did not answer any more */
			end_id(id);
			return 0;
		}
	}
	return 0;
}

static int server(struct sockaddr *addr, bool polls)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct sigaction sa = {.sa_handler = stop};
	struct rdma_cm_id *id;
	sigset_t term;
	int ret;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (!ch)
		return fail("event channel");
	if (rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) || rdma_bind_addr(id, addr))
		return fail("the port of the round before");
	if (rdma_listen(id, 1))
		return fail("listening");
	if (write(STDOUT_FILENO, "l", 1) != 1)
		return fail("saying so");
	step("listen");
	ret = serve(ch, polls);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(ch);
	return ret;
}

/* ------------------------------------------------------------------- client */

static int want(struct rdma_event_channel *ch, int type)
{
	struct rdma_cm_id *id;

	return next_event(ch, &id) == type ? 0 : fail("another event than expected");
}

/* Stay connected until the server ends, or end the connection. */
static int stay(struct rdma_event_channel *ch, struct rdma_cm_id *id, bool leave)
{
	struct rdma_cm_id *of;
	int type = next_event(ch, &of);

	/*
	 * CONNECT_ERROR: the server ended between its answer and librdmacm's INIT_QP_ATTR, which is
	 * EINVAL for an id without a connection, as with a kernel.
	 */
	if (type == RDMA_CM_EVENT_REJECTED || type == RDMA_CM_EVENT_UNREACHABLE ||
	    type == RDMA_CM_EVENT_CONNECT_ERROR)
		return 0;
	if (type != RDMA_CM_EVENT_ESTABLISHED)
		return fail("neither connected nor refused");
	step("response");
	if (leave && rdma_disconnect(id))
		return fail("disconnecting");
	step("disconnecting");
	type = next_event(ch, &of);
	return type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_REJECTED
		       ? 0
		       : fail("not disconnected");
}

static int client(struct sockaddr *addr, bool leave)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_conn_param param = {.retry_count = 7, .rnr_retry_count = 7};
	struct rdma_cm_id *id;
	int ret;

	if (!ch || rdma_create_id(ch, &id, NULL, RDMA_PS_TCP))
		return fail("event channel");
	if (rdma_resolve_addr(id, NULL, addr, RESOLVING) || want(ch, RDMA_CM_EVENT_ADDR_RESOLVED))
		return fail("address");
	step("address");
	if (rdma_resolve_route(id, RESOLVING) || want(ch, RDMA_CM_EVENT_ROUTE_RESOLVED))
		return fail("route");
	step("route");
	if (make_qp(id) || rdma_connect(id, &param))
		return fail("connecting");
	step("connect");
	ret = stay(ch, id, leave);
	end_id(id);
	rdma_destroy_event_channel(ch);
	return ret;
}

/* ------------------------------------------------------------------- rounds */

struct round {
	const char *address, *port, *server_dies, *client_dies, *by;
	bool leave; /* the client disconnects */
};

static pid_t start(const struct round *r, const char *role, const char *dies, int out)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (out >= 0)
		dup2(out, STDOUT_FILENO);
	execl("/proc/self/exe", "dpa_cm", role, r->address, r->port, dies,
	      r->leave ? "leave" : "stay", r->by, (char *)NULL);
	_exit(127);
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Return the exit status; -1: it did not end in time, and was killed. */
static int end_of(pid_t pid)
{
	long until = now_ms() + LIMIT_MS;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (now_ms() > until) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		poll(NULL, 0, 1);
	}
	return status;
}

static bool ended_well(int status, const char *dies, const char *by)
{
	if (status >= 0 && WIFSIGNALED(status))
		return *dies && WTERMSIG(status) == (strcmp(by, "int") ? SIGKILL : SIGINT);
	return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A process after execve() continues: it is ended once its peer has ended. */
static void end_both(const struct round *r, pid_t s, pid_t c, int *server, int *client)
{
	const bool exec = !strcmp(r->by, "exec"), early = is_early(r->client_dies);

	if (exec && *r->client_dies && !early) {
		*server = end_of(s);
		kill(c, SIGKILL);
		*client = end_of(c);
		return;
	}
	*client = end_of(c);
	if (early)
		kill(s, SIGTERM);
	else if (exec && *r->server_dies)
		kill(s, SIGKILL);
	*server = end_of(s);
}

static int run_round(const struct round *r)
{
	int out[2], server_status, client_status;
	pid_t s, c;
	char ready;

	if (pipe(out))
		return fail("pipe");
	s = start(r, is_early(r->client_dies) ? "poller" : "server", r->server_dies, out[1]);
	close(out[1]);
	if (read(out[0], &ready, 1) != 1) {
		close(out[0]);
		end_of(s);
		return fail("the server did not come up");
	}
	close(out[0]);
	c = start(r, "client", r->client_dies, -1);
	end_both(r, s, c, &server_status, &client_status);
	if (ended_well(server_status, r->server_dies, r->by) &&
	    ended_well(client_status, r->client_dies, r->by))
		return 0;
	fprintf(stderr,
		"dpa_cm: by %s: server dies at '%s': status %x; client at '%s'%s: status %x\n",
		r->by, r->server_dies, (unsigned)server_status, r->client_dies,
		r->leave ? " (it disconnects)" : "", (unsigned)client_status);
	return 1;
}

static int run_rounds(const char *address, int rounds, unsigned seed, const char *by)
{
	char port[8]; /* several can run at once */
	int bad = 0;

	snprintf(port, sizeof(port), "%d", 20000 + getpid() % 10000);
	for (int i = 0; i < rounds; i++) {
		struct round r = {
			.address = address, .port = port, .server_dies = "", .client_dies = ""};
		unsigned which = (unsigned)rand_r(&seed) % (2 * NUM_STEPS + 1);

		if (which < NUM_STEPS)
			r.server_dies = server_steps[which];
		else if (which < 2 * NUM_STEPS)
			r.client_dies = client_steps[which - NUM_STEPS];
		r.leave = !strcmp(r.server_dies, "disconnected") ||
			  !strcmp(r.client_dies, "disconnecting") ||
			  (!*r.server_dies && !*r.client_dies);
		r.by = strcmp(by, "any") ? by : ways[(unsigned)rand_r(&seed) % NUM_WAYS];
		bad += run_round(&r);
	}
	printf("%d rounds, %d bad\n", rounds, bad);
	return bad != 0;
}

int main(int argc, char **argv)
{
	struct addrinfo *ai;

	if (argc == 7 && !getaddrinfo(argv[2], argv[3], NULL, &ai)) {
		die_at = argv[4];
		die_by = argv[6];
		return !strcmp(argv[1], "client") ? client(ai->ai_addr, !strcmp(argv[5], "leave"))
						  : server(ai->ai_addr, !strcmp(argv[1], "poller"));
	}
	if (argc != 4 && argc != 5) {
		fprintf(stderr,
			"usage: dpa_cm ADDRESS ROUNDS SEED [kill|int|exit|_exit|exec|any]\n");
		return 2;
	}
	return run_rounds(argv[1], atoi(argv[2]), (unsigned)strtoul(argv[3], NULL, 0),
			  argc == 5 ? argv[4] : "kill");
}
