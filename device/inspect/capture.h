/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * capture.h - frames as pcapng: to a file that this process appends to, and to a tool that asks for
 * them (dpactl capture). The protocol between a process and the tool is written down here.
 *
 * The tool listens on an abstract socket with a random name and puts the name on the board. Each
 * process connects and sends one message: struct dpa_capture_hello with the memfd of a ring. The
 * ring holds whole Enhanced Packet Blocks and systemd Journal Export Blocks, back to back. The
 * process never waits for room: it drops a block that does not fit and counts it. Either end closes
 * the connection when it is done; the tool still reads the blocks that are in the ring then.
 */
#ifndef DPA_CAPTURE_H
#define DPA_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dpa_hw;
struct dpa_frame;
struct dpa_capture;
enum dpa_inspect_at;

#define DPA_CAPTURE_MAGIC 0x3150414341504444ull
#define DPA_CAPTURE_RING  (16u << 20)
#define DPA_CAPTURE_BLOCK 4608u /* one block at most */

struct dpa_capture_hello {
	uint64_t magic;
	uint32_t ring; /* DPA_CAPTURE_RING */
	uint32_t pid;  /* as the process calls itself */
	char comm[16];
};

/* In a sealed memfd. head and tail run freely; only their last bits are places in data. */
struct dpa_capture_ring {
	_Atomic uint64_t head; /* the process: bytes written (release) */
	_Atomic uint64_t packets, lost;
	uint8_t pad0[40];
	_Atomic uint64_t tail; /* the tool: bytes taken (release) */
	uint8_t pad1[56];
	uint8_t pad2[4096 - 128];
	uint8_t data[DPA_CAPTURE_RING];
};
_Static_assert(offsetof(struct dpa_capture_ring, tail) == 64, "ring");
_Static_assert(offsetof(struct dpa_capture_ring, data) == 4096, "ring");

/* ---- in the process */

int dpa_capture_new(struct dpa_hw *hw, struct dpa_capture **c);
void dpa_capture_free(struct dpa_capture *c); /* NULL is allowed */
void dpa_capture_abandon(struct dpa_capture *c);
/* Appends to a file from now on. 0 or errno with a line in err. */
int dpa_capture_file(struct dpa_capture *c, const char *path, char *err, size_t errlen);
/* Give frames to the listener with this name; "": stop. False: try again later. */
bool dpa_capture_live(struct dpa_capture *c, const char *name);
/* True if there is a receiver of frames. */
bool dpa_capture_on(struct dpa_capture *c);
/* Check whether the tool still runs. */
void dpa_capture_check(struct dpa_capture *c);
/* Context: any thread; locks may be held. */
void dpa_capture_frame(struct dpa_capture *c, enum dpa_inspect_at at, const struct dpa_frame *f);
/* An injected failure, `ago` ns before now. Context: any thread; locks may be held. */
void dpa_capture_failure(struct dpa_capture *c, const char *line, uint64_t ago);

#endif
