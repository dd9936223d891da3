/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * capture.c - writes frames to a file and to a tool. See capture.h.
 * Several processes append to one file, one block for each write(2). Each process begins with a
 * section header of its own, and all sections are alike, so that a block may follow the block of
 * any process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "ctx/hw.h"
#include "util/clock.h"
#include "util/sys.h"
#include "inspect/capture.h"
#include "inspect/feed.h"
#include "inspect/fault.h"
#include "wire/pcap.h"

#ifndef DPA_LIB_VERSION
#define DPA_LIB_VERSION "0.1.0"
#endif

struct dpa_capture {
	struct dpa_hw *hw;
	dpa_spin_t lock; /* protects the following */
	struct dpa_kept_fd file, sock;
	struct dpa_capture_ring *ring;
	uint64_t lost; /* blocks lost since the last packet was written */
	char comm[16];
	char who[40];
	uint8_t block[DPA_CAPTURE_BLOCK];
};

int dpa_capture_new(struct dpa_hw *hw, struct dpa_capture **out)
{
	struct dpa_capture *c = calloc(1, sizeof(*c));

	if (!c)
		return ENOMEM;
	prctl(PR_GET_NAME, c->comm);
	snprintf(c->who, sizeof(c->who), "%.15s[%d]", c->comm, (int)hw->pid);
	c->hw = hw;
	c->file.fd = c->sock.fd = -1;
	*out = c;
	return 0;
}

/* Context: c->lock, or no other thread uses it. */
static void hang_up(struct dpa_capture *c)
{
	dpa_close_kept_fd(&c->sock);
	if (c->ring)
		munmap(c->ring, sizeof(*c->ring));
	c->ring = NULL;
}

void dpa_capture_free(struct dpa_capture *c)
{
	if (!c)
		return;
	hang_up(c);
	dpa_close_kept_fd(&c->file);
	free(c);
}

void dpa_capture_abandon(struct dpa_capture *c)
{
	dpa_close_kept_fd(&c->file);
	dpa_close_kept_fd(&c->sock); /* the ring was not inherited */
}

bool dpa_capture_on(struct dpa_capture *c)
{
	bool on;

	dpa_spin_lock(&c->lock);
	on = c->file.fd >= 0 || c->ring;
	dpa_spin_unlock(&c->lock);
	return on;
}

/* -------------------------------------------------------------------- file */

/* True if it is empty or was begun by this program. */
static bool is_capture(int fd)
{
	uint32_t magic;
	ssize_t n = pread(fd, &magic, sizeof(magic), 0);

	return n == 0 || (n == (ssize_t)sizeof(magic) && magic == 0x0a0d0d0a);
}

int dpa_capture_file(struct dpa_capture *c, const char *path, char *err, size_t errlen)
{
	uint8_t head[DPA_PCAPNG_BEGIN_MAX];
	uint32_t n = dpa_pcapng_begin(head, sizeof(head), "dpa0", "dpa " DPA_LIB_VERSION);
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600), ret = 0;

	if (fd < 0) {
		ret = errno;
		snprintf(err, errlen, "capture: %s: %s", path, strerror(ret));
		return ret;
	}
	(void)flock(fd, LOCK_SH | LOCK_NB); /* shows dpa-run that the file is in use */
	if (!is_capture(fd)) {
		snprintf(err, errlen, "capture: %s is no pcapng file: remove it", path);
		ret = EEXIST;
	} else if (write(fd, head, n) != (ssize_t)n) {
		ret = errno ? errno : ENOSPC;
		snprintf(err, errlen, "capture: cannot write %s: %s", path, strerror(ret));
	}
	if (ret)
		close(fd);
	else if (!dpa_keep_fd(&c->file, fd))
		ret = EBADF;
	return ret;
}

/* Context: c->lock. A block that was written partly is the last one in the file. */
static void write_block_to_file(struct dpa_capture *c, uint32_t n)
{
	ssize_t k = dpa_still_ours(&c->file) ? write(c->file.fd, c->block, n) : -1;

	if (k == (ssize_t)n)
		return;
	c->lost++;
	dpa_close_kept_fd(&c->file);
	dpa_log(c->hw, DPA_LOG_ERR, "capture ends: %s",
		k < 0 ? strerror(errno) : "the file system is full");
}

/* -------------------------------------------------------------------- tool */

static int make_ring(struct dpa_capture_ring **ring)
{
	int fd = memfd_create("dpa-capture", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *p = MAP_FAILED;

	if (fd < 0)
		return -1;
	if (!ftruncate(fd, sizeof(**ring)) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		p = mmap(NULL, sizeof(**ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		close(fd);
		return -1;
	}
	dpa_sys_madvise(p, sizeof(**ring), MADV_DONTFORK);
	*ring = p;
	return fd;
}

static int send_capture_hello(int sock, int ring_fd, const struct dpa_hw *hw)
{
	struct dpa_capture_hello h = {
		.magic = DPA_CAPTURE_MAGIC, .ring = DPA_CAPTURE_RING, .pid = (uint32_t)hw->pid};

	memcpy(h.comm, hw->board->self->comm, sizeof(h.comm));
	return dpa_feed_send(sock, &h, sizeof(h), ring_fd);
}

bool dpa_capture_live(struct dpa_capture *c, const char *name)
{
	struct dpa_capture_ring *ring = NULL;
	struct dpa_kept_fd sock = {.fd = -1};
	int fd = -1, ring_fd;

	if (name[0]) {
		fd = dpa_feed_connect(name);
		if (fd < 0 && errno == EAGAIN)
			return false; /* its backlog is full */
	}
	if (fd >= 0) {
		ring_fd = make_ring(&ring);
		if (ring_fd < 0 || send_capture_hello(fd, ring_fd, c->hw) ||
		    !dpa_keep_fd(&sock, fd)) {
			if (ring)
				munmap(ring, sizeof(*ring));
			ring = NULL;
			if (sock.fd < 0)
				close(fd);
		}
		if (ring_fd >= 0)
			close(ring_fd);
	}
	dpa_spin_lock(&c->lock);
	hang_up(c);
	c->sock = sock;
	c->ring = ring;
	dpa_spin_unlock(&c->lock);
	return true;
}

void dpa_capture_check(struct dpa_capture *c)
{
	dpa_spin_lock(&c->lock);
	if (c->ring && dpa_feed_hung_up(&c->sock))
		hang_up(c);
	dpa_spin_unlock(&c->lock);
}

/* Context: c->lock. The tool's words are checked before they are used. False: no room. */
static bool to_tool(struct dpa_capture *c, uint32_t n)
{
	struct dpa_capture_ring *r = c->ring;
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t used = head - atomic_load_explicit(&r->tail, memory_order_acquire);
	uint32_t at = (uint32_t)(head % DPA_CAPTURE_RING), part = DPA_CAPTURE_RING - at;

	if (used > DPA_CAPTURE_RING || DPA_CAPTURE_RING - used < n) {
		c->lost++;
		dpa_count_add(&r->lost, 1);
		dpa_count(c->hw, DPA_CNT_capture_lost, 1);
		return false;
	}
	part = part < n ? part : n;
	memcpy(r->data + at, c->block, part);
	memcpy(r->data, c->block + part, n - part);
	atomic_store_explicit(&r->head, head + n, memory_order_release);
	return true;
}

/* ------------------------------------------------------------------- frames */

/*
 * A socket does not show the IP identification, which the ICRC covers: computes the one that makes
 * it right.
 */
static void solve_id(const struct dpa_frame *f, struct dpa_roce_net *net)
{
	uint16_t id;
	bool df;

	if (!f->ip_known && dpa_icrc_solve(net, f->p, f->n, &id, &df)) {
		net->ip_id = id;
		net->df = df;
	}
}

void dpa_capture_frame(struct dpa_capture *c, enum dpa_inspect_at at, const struct dpa_frame *f)
{
	struct dpa_roce_net net = f->net;
	char text[192], lost[40] = "";
	uint32_t n;

	solve_id(f, &net);
	dpa_spin_lock(&c->lock);
	if (c->lost)
		snprintf(lost, sizeof(lost), ", %llu lost before", (unsigned long long)c->lost);
	snprintf(text, sizeof(text), "%s %s%s", c->who, at == DPA_AT_SHM ? "shm" : "udp", lost);
	n = dpa_pcapng_packet(c->block, sizeof(c->block), dpa_wall_ns(),
			      at == DPA_AT_TX ? DPA_PCAPNG_OUT : DPA_PCAPNG_IN, text, &net, f->p,
			      f->n);
	if (n) {
		dpa_count(c->hw, DPA_CNT_capture_packets, 1);
		if (c->file.fd >= 0)
			write_block_to_file(c, n);
		if (c->ring && to_tool(c, n)) {
			dpa_count_add(&c->ring->packets, 1);
			c->lost = 0;
		}
	} else { /* exceeds every packet */
		c->lost++;
		dpa_count(c->hw, DPA_CNT_capture_lost, 1);
	}
	dpa_spin_unlock(&c->lock);
}

void dpa_capture_failure(struct dpa_capture *c, const char *line, uint64_t ago)
{
	uint32_t n;

	dpa_spin_lock(&c->lock);
	n = dpa_pcapng_entry(c->block, sizeof(c->block), dpa_wall_ns() - ago, c->comm,
			     (uint32_t)c->hw->pid, line);
	if (c->file.fd >= 0)
		write_block_to_file(c, n);
	if (c->ring)
		to_tool(c, n);
	dpa_spin_unlock(&c->lock);
}
