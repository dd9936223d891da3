/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * capture.c - packets of all processes of the adapter instance into a pcapng file. Processes
 * connect to a socket whose name is in the adapter state, and hand over a ring each:
 * device/inspect/capture.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <inspect/capture.h>
#include <link/fds.h>
#include <wire/pcap.h>
#include "dpactl.h"
#include "tables/tables.h"

#define LOOK_NS	    5000000ull /* between two looks at the rings */
#define FAREWELL_NS 2000000000ull
#define EPB	    6u
#define EPB_MIN	    32u
#define NAME_RANDOM 16

struct source {
	int fd; /* -1: it has hung up, what is in the ring still counts */
	uint32_t pid;
	struct dpa_capture_ring *ring; /* NULL: no hello yet */
};

struct capture {
	struct ctl *c;
	FILE *out;
	int listener;
	struct source src[DPA_BOARD_PROCS];
	int nsrc;
	uint64_t packets, lost;
	uint32_t gen;
	bool told; /* the user sees that all processes are there */
	uint8_t *buf;
};

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static socklen_t socket_address(struct sockaddr_un *sa, const char *name)
{
	size_t n = strlen(name);

	n = n < sizeof(sa->sun_path) ? n : sizeof(sa->sun_path) - 1;
	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	memcpy(sa->sun_path + 1, name, n);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

/* One at a time: the name in the adapter state is that of a process that still listens. */
static void refuse_second(struct ctl *c)
{
	char text[DPA_BOARD_ASK_TEXT];
	struct sockaddr_un sa;
	socklen_t len;
	uint32_t gen;
	int fd;

	if (!dpa_board_ask_get(c->b, DPA_ASK_CAPTURE, text, &gen) || !text[0])
		return;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	len = socket_address(&sa, text);
	if (fd >= 0 && (!connect(fd, (struct sockaddr *)&sa, len) || errno == EAGAIN))
		die(EXIT_NONE, "another dpactl captures from this adapter instance: end it first");
	close(fd);
}

static int make_listener(char *name, size_t n)
{
	uint8_t r[NAME_RANDOM];
	struct sockaddr_un sa;
	socklen_t len;
	size_t at;
	int fd;

	if (getrandom(r, sizeof(r), 0) != (ssize_t)sizeof(r))
		die(EXIT_NONE, "no random numbers: %s", strerror(errno));
	at = (size_t)snprintf(name, n, "dpa/capture/");
	for (size_t i = 0; i < sizeof(r); i++)
		at += (size_t)snprintf(name + at, n - at, "%02x", r[i]);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	len = socket_address(&sa, name);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) || listen(fd, DPA_BOARD_PROCS))
		die(EXIT_NONE, "cannot listen for the processes: %s", strerror(errno));
	return fd;
}

/* ---------------------------------------------------------------- processes */

static void accept_all(struct capture *k)
{
	struct ucred uc;
	socklen_t len;
	int fd;

	while (k->nsrc < DPA_BOARD_PROCS &&
	       (fd = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		len = sizeof(uc);
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &uc, &len) || uc.uid != geteuid()) {
			close(fd);
			continue;
		}
		k->src[k->nsrc++] = (struct source){.fd = fd, .pid = (uint32_t)uc.pid};
	}
}

static struct dpa_capture_ring *map_ring(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *p;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) ||
	    (size_t)st.st_size < sizeof(struct dpa_capture_ring))
		return NULL;
	p = mmap(NULL, sizeof(struct dpa_capture_ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* The hello; or it has hung up. */
static void hear_source(struct source *s)
{
	struct dpa_capture_hello h = {0};
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u;
	struct iovec iov = {.iov_base = &h, .iov_len = sizeof(h)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = u.buf,
			   /* not sizeof(u.buf), in which two have room */
			   .msg_controllen = CMSG_LEN(sizeof(int))};
	ssize_t n = recvmsg(s->fd, &m, MSG_CMSG_CLOEXEC);
	int fd = -1;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n >= 0)
		dpa_take_fds(&m, &fd, 1);
	if (!s->ring && n == (ssize_t)sizeof(h) && h.magic == DPA_CAPTURE_MAGIC &&
	    h.ring == DPA_CAPTURE_RING && fd >= 0)
		s->ring = map_ring(fd);
	else
		n = 0;
	if (fd >= 0)
		close(fd);
	if (n <= 0 || !s->ring) {
		close(s->fd);
		s->fd = -1;
	}
}

/* ------------------------------------------------------------------ packets */

/* Length of the block at p if it is a whole packet block, else 0. */
static uint32_t block_len(const uint8_t *p, uint64_t n)
{
	uint32_t type, len, again;

	if (n < EPB_MIN)
		return 0;
	memcpy(&type, p, 4);
	memcpy(&len, p + 4, 4);
	if (type != EPB || len < EPB_MIN || len % 4 || len > DPA_CAPTURE_BLOCK || len > n)
		return 0;
	memcpy(&again, p + len - 4, 4);
	return again == len ? len : 0;
}

/* Copies the records of a process once, then checks them. False: they are malformed. */
static bool drain_source(struct capture *k, struct source *s)
{
	struct dpa_capture_ring *r = s->ring;
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	uint64_t n = atomic_load_explicit(&r->head, memory_order_acquire) - tail, off = 0;
	uint64_t at = tail % DPA_CAPTURE_RING, part = DPA_CAPTURE_RING - at;

	if (n > DPA_CAPTURE_RING)
		return false;
	part = part < n ? part : n;
	memcpy(k->buf, r->data + at, part);
	memcpy(k->buf + part, r->data, n - part);
	atomic_store_explicit(&r->tail, tail + n, memory_order_release);
	while (off < n) {
		uint32_t len = block_len(k->buf + off, n - off);

		if (!len)
			return false;
		if (k->c->count && k->packets == k->c->count)
			return true;
		if (fwrite(k->buf + off, len, 1, k->out) != 1)
			die(EXIT_NONE, "cannot write %s: %s", k->c->to, strerror(errno));
		off += len;
		k->packets++;
	}
	return true;
}

static void end_source(struct capture *k, int i)
{
	struct source *s = &k->src[i];

	if (s->ring) {
		k->lost += atomic_load_explicit(&s->ring->lost, memory_order_relaxed);
		munmap(s->ring, sizeof(*s->ring));
	}
	if (s->fd >= 0)
		close(s->fd);
	*s = k->src[--k->nsrc];
}

static void look_for_sources(struct capture *k)
{
	accept_all(k);
	for (int i = k->nsrc - 1; i >= 0; i--) {
		struct source *s = &k->src[i];

		if (s->fd >= 0)
			hear_source(s);
		if (s->ring && !drain_source(k, s)) {
			fprintf(stderr, "dpactl: process %u sends nonsense: left out\n", s->pid);
			end_source(k, i);
		} else if (s->fd < 0) { /* it hung up before that last look at its ring */
			end_source(k, i);
		}
	}
	if (fflush(k->out))
		die(EXIT_NONE, "cannot write %s: %s", k->c->to, strerror(errno));
}

static void tell_sources(struct capture *k)
{
	if (k->told || ask_waits_for(k->c, DPA_ASK_CAPTURE, k->gen))
		return;
	k->told = true;
	fprintf(stderr, "dpactl: capturing from %d process%s, Ctrl-C ends it\n", k->nsrc,
		k->nsrc == 1 ? "" : "es");
}

static bool board_gone(struct ctl *c)
{
	struct stat st;

	return stat(c->path, &st) || st.st_ino != c->b->ino || st.st_dev != c->b->dev;
}

static void run_capture(struct capture *k, uint64_t until, bool farewell)
{
	struct timespec nap = {.tv_nsec = LOOK_NS};
	sigset_t open;

	sigemptyset(&open);
	for (;;) {
		struct pollfd p = {.fd = k->listener, .events = POLLIN};
		bool gone = board_gone(k->c); /* first: what comes until then is taken */

		look_for_sources(k);
		if (!farewell)
			tell_sources(k);
		if (farewell ? !k->nsrc : (stopped || gone))
			return;
		if (now_ns() >= until || (k->c->count && k->packets >= k->c->count))
			return;
		ppoll(&p, 1, &nap, &open);
	}
}

static void begin_capture(struct capture *k)
{
	uint8_t head[DPA_PCAPNG_BEGIN_MAX];
	uint32_t n = dpa_pcapng_begin(head, sizeof(head), "dpa0", "dpactl " DPA_VERSION);
	int fd = STDOUT_FILENO;

	if (strcmp(k->c->to, "-") != 0)
		fd = open(k->c->to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
	k->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!k->out || fwrite(head, n, 1, k->out) != 1 || fflush(k->out))
		die(EXIT_USAGE, "cannot write %s: %s", k->c->to, strerror(errno));
}

/* Signals arrive in ppoll() only: none is missed, nothing is cut in the middle. */
static void catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal};
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGHUP);
	sigprocmask(SIG_BLOCK, &block, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL); /* the reader of "-" may leave */
}

/* A descriptor for each process: as many as this one may have. */
static void raise_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

void cmd_capture(struct ctl *c)
{
	static struct capture k;
	uint64_t until = c->seconds ? now_ns() + c->seconds * 1000000000ull : UINT64_MAX;
	char name[64];
	uint32_t gen;
	int rc;

	k.c = c;
	k.buf = malloc(DPA_CAPTURE_RING);
	if (!k.buf)
		die(EXIT_NONE, "out of memory");
	raise_limit();
	refuse_second(c);
	begin_capture(&k);
	k.listener = make_listener(name, sizeof(name));
	catch_signals();
	rc = dpa_board_ask_put(c->b, DPA_ASK_CAPTURE, name, &k.gen);
	if (rc)
		die(EXIT_NONE, "%s: %s", c->path, strerror(rc));
	run_capture(&k, until, false);
	/* an adapter state that is gone has no process to notify */
	if (!dpa_board_ask_put(c->b, DPA_ASK_CAPTURE, "", &gen))
		run_capture(&k, now_ns() + FAREWELL_NS, true);
	while (k.nsrc)
		end_source(&k, k.nsrc - 1);
	free(k.buf);
	fprintf(stderr, "dpactl: %llu packets, %llu lost\n", (unsigned long long)k.packets,
		(unsigned long long)k.lost);
	if (k.out != stdout && fclose(k.out))
		die(EXIT_NONE, "cannot write %s: %s", c->to, strerror(errno));
}
