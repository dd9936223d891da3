/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * capture.c - packets of all processes of the adapter instance into a pcapng file. Processes
 * connect to a socket whose name is in the adapter state, and hand over a ring each:
 * device/inspect/capture.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <inspect/capture.h>
#include <view.h>
#include <wire/pcap.h>
#include "dpactl.h"
#include "feed.h"
#include "progress.h"
#include "tables/tables.h"

#define LOOK_NS	    5000000ull /* between two looks at the rings */
#define FAREWELL_NS 2000000000ull
#define EPB	    6u
#define EPB_MIN	    32u /* no entry is shorter, either */
#define JOURNAL	    9u	/* an injected failure */

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
	uint64_t packets, bytes, lost;
	uint32_t gen;
	bool told; /* the user sees that all processes are there */
	uint8_t *buf;
	struct progress progress;
};

/* One at a time: the name in the adapter state is that of a process that still listens. */
static void refuse_second(struct ctl *c)
{
	char text[DPA_BOARD_ASK_TEXT];
	uint32_t gen;

	if (dpa_board_ask_get(c->b, DPA_ASK_CAPTURE, text, &gen) && text[0] && feed_is_heard(text))
		die(EXIT_NONE, "another dpactl captures from this adapter instance: end it first");
}

/* ---------------------------------------------------------------- processes */

static void accept_sources(struct capture *k)
{
	uint32_t pid;
	int fd;

	while (k->nsrc < DPA_BOARD_PROCS && (fd = feed_accept(k->listener, &pid)) >= 0)
		k->src[k->nsrc++] = (struct source){.fd = fd, .pid = pid};
}

/* The hello; or it has hung up. */
static void hear_source(struct source *s)
{
	struct dpa_capture_hello h = {0};
	int memfd, n = feed_hello(s->fd, &h, sizeof(h), &memfd);

	if (!n)
		return;
	if (n > 0 && !s->ring && h.magic == DPA_CAPTURE_MAGIC && h.ring == DPA_CAPTURE_RING &&
	    memfd >= 0)
		s->ring = feed_map(memfd, sizeof(*s->ring));
	else
		n = -1;
	if (memfd >= 0)
		close(memfd);
	if (n < 0 || !s->ring) {
		close(s->fd);
		s->fd = -1;
	}
}

/* ------------------------------------------------------------------ packets */

/* Length of the block at p if it is a whole one of a known type, else 0. */
static uint32_t block_len(const uint8_t *p, uint64_t n, bool *packet)
{
	uint32_t type, len, again;

	if (n < EPB_MIN)
		return 0;
	memcpy(&type, p, 4);
	memcpy(&len, p + 4, 4);
	*packet = type == EPB;
	if ((type != EPB && type != JOURNAL) || len < EPB_MIN || len % 4 ||
	    len > DPA_CAPTURE_BLOCK || len > n)
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
		bool packet;
		uint32_t len = block_len(k->buf + off, n - off, &packet);

		if (!len)
			return false;
		if (k->c->count && k->packets == k->c->count)
			return true;
		if (fwrite(k->buf + off, len, 1, k->out) != 1)
			die(EXIT_NONE, "cannot write %s: %s", k->c->to, strerror(errno));
		off += len;
		k->packets += packet;
		k->bytes += len;
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
	accept_sources(k);
	for (int i = k->nsrc - 1; i >= 0; i--) {
		struct source *s = &k->src[i];

		if (s->fd >= 0)
			hear_source(s);
		if (s->ring && !drain_source(k, s)) {
			progress_clear(&k->progress);
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
	progress_clear(&k->progress);
	fprintf(stderr, "dpactl: capturing from %d process%s, Ctrl-C ends it\n", k->nsrc,
		k->nsrc == 1 ? "" : "es");
}

/* Of processes that ended, and of those that are connected. */
static uint64_t lost_so_far(const struct capture *k)
{
	uint64_t lost = k->lost;

	for (int i = 0; i < k->nsrc; i++)
		if (k->src[i].ring)
			lost += atomic_load_explicit(&k->src[i].ring->lost, memory_order_relaxed);
	return lost;
}

static void show_capture_progress(struct capture *k)
{
	if (progress_due(&k->progress))
		progress_show(&k->progress, "%llu packets, %llu KiB, %llu lost; Ctrl-C ends it",
			      (unsigned long long)k->packets, (unsigned long long)k->bytes / 1024,
			      (unsigned long long)lost_so_far(k));
}

bool board_gone(struct ctl *c)
{
	struct stat st;

	return stat(c->path, &st) || st.st_ino != c->b->ino || st.st_dev != c->b->dev;
}

static void run_capture(struct capture *k, uint64_t until, bool farewell)
{
	for (;;) {
		bool gone = board_gone(k->c); /* first: what comes until then is taken */

		look_for_sources(k);
		if (!farewell)
			tell_sources(k);
		show_capture_progress(k);
		if (farewell ? !k->nsrc : (feed_stopped() || gone))
			return;
		if (now_ns() >= until || (k->c->count && k->packets >= k->c->count))
			return;
		feed_wait(k->listener, LOOK_NS);
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

void cmd_capture(struct ctl *c)
{
	static struct capture k;
	uint64_t until = c->seconds ? now_ns() + c->seconds * 1000000000ull : UINT64_MAX;
	char name[FEED_NAME];
	uint32_t gen;
	int rc;

	k.c = c;
	k.buf = malloc(DPA_CAPTURE_RING);
	if (!k.buf)
		die(EXIT_NONE, "out of memory");
	view_raise_limit();
	refuse_second(c);
	begin_capture(&k);
	k.listener = feed_listen("capture", name);
	feed_catch_signals();
	rc = dpa_board_ask_put(c->b, DPA_ASK_CAPTURE, name, &k.gen);
	if (rc)
		die(EXIT_NONE, "%s: %s", c->path, strerror(rc));
	progress_begin(&k.progress);
	run_capture(&k, until, false);
	/* an adapter state that is gone has no process to notify */
	if (!dpa_board_ask_put(c->b, DPA_ASK_CAPTURE, "", &gen))
		run_capture(&k, now_ns() + FAREWELL_NS, true);
	while (k.nsrc)
		end_source(&k, k.nsrc - 1);
	free(k.buf);
	progress_clear(&k.progress);
	fprintf(stderr, "dpactl: %llu packets, %llu lost\n", (unsigned long long)k.packets,
		(unsigned long long)k.lost);
	if (k.out != stdout && fclose(k.out))
		die(EXIT_NONE, "cannot write %s: %s", c->to, strerror(errno));
}
