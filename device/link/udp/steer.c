/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * steer.c - steers packets to the process that owns their QP.
 *
 * A classic BPF program on the sockets that share port 4791, which any user may attach, maps the
 * block of the destination QPN to the index of a socket. The kernel does not report a socket's
 * index, so the process finds it by a probe. The program sends the payload "probe N" to socket N;
 * the process that receives it has index N. A packet without a map entry goes to the process that
 * made the program. All of this may be out of date for a while: forward.c passes packets on.
 *
 * A process that joins makes the program and probes. A process that ends (or the one that finds it
 * dead) begins a new round. The process that moves the first QP of a QPN block to RTR makes the
 * program, too. Progress threads rebuild it within a tick after other changes.
 */
#include <linux/filter.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include "ctx/schedule.h"
#include "util/sys.h"
#include "ctx/hw.h"
#include "link/frame.h"
#include "link/udp/steer.h"
#include "link/udp/udp.h"

#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif

/* All 64 KiB / 64 blocks would need 2,048 instructions; old kernels have memory for some 2,500. */
#define MAX_INSNS 2300

#define RETRY_MIN_MS 2000u
#define RETRY_MAX_MS 3600000u

/* 6 * 4 = 24 bytes, big-endian. The first byte is 0xff: the opcode of no packet. */
struct probe {
	uint32_t nonce[2]; /* compared by the program */
	uint32_t index;
	uint32_t round;
	uint32_t secret[2];
};
_Static_assert(sizeof(struct probe) == 24, "probe");

struct prog {
	struct sock_filter f[MAX_INSNS];
	uint32_t n;
	uint16_t block[DPA_BOARD_QPN_BLOCKS]; /* QPN blocks with a known owner, ascending */
	const uint16_t *map;
	uint32_t other; /* socket index for other packets */
};

static void put_insn(struct prog *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (p->n < MAX_INSNS)
		p->f[p->n] = (struct sock_filter){.code = code, .jt = jt, .jf = jf, .k = k};
	p->n++;
}

/*
 * Binary search of the blocks [from, to); returns on all paths. A conditional jump reaches 255
 * instructions, so an unconditional jump leads to the far half.
 */
static void put_search(struct prog *p, uint32_t from, uint32_t to)
{
	uint32_t mid = from + (to - from) / 2, at;

	if (to - from == 0) {
		put_insn(p, BPF_RET | BPF_K, p->other, 0, 0);
		return;
	}
	if (to - from == 1) {
		put_insn(p, BPF_JMP | BPF_JEQ | BPF_K, p->block[from], 0, 1);
		put_insn(p, BPF_RET | BPF_K, p->map[p->block[from]] - 1u, 0, 0);
		put_insn(p, BPF_RET | BPF_K, p->other, 0, 0);
		return;
	}
	put_insn(p, BPF_JMP | BPF_JGE | BPF_K, p->block[mid], 0, 1);
	at = p->n;
	put_insn(p, BPF_JMP | BPF_JA, 0, 0, 0);
	put_search(p, from, mid);
	if (at < MAX_INSNS)
		p->f[at].k = p->n - at - 1;
	put_search(p, mid, to);
}

int dpa_steer_program(const struct dpa_steer_in *in, struct sock_filter *f, uint32_t room)
{
	static struct prog p; /* under the steering lock, or in a test */
	uint32_t n = 0;

	p.n = 0;
	p.map = in->map;
	p.other = in->other;
	put_insn(&p, BPF_LD | BPF_W | BPF_ABS, 0, 0, 0);
	put_insn(&p, BPF_JMP | BPF_JEQ | BPF_K, in->nonce[0], 0, 4);
	put_insn(&p, BPF_LD | BPF_W | BPF_ABS, 4, 0, 0);
	put_insn(&p, BPF_JMP | BPF_JEQ | BPF_K, in->nonce[1], 0, 2);
	put_insn(&p, BPF_LD | BPF_W | BPF_ABS, 8, 0, 0);
	put_insn(&p, BPF_RET | BPF_A, 0, 0, 0);
	/* bytes 5 to 7 of the BTH: board number, block and QP */
	put_insn(&p, BPF_LD | BPF_B | BPF_ABS, 5, 0, 0);
	put_insn(&p, BPF_JMP | BPF_JEQ | BPF_K, in->num, 1, 0);
	put_insn(&p, BPF_RET | BPF_K, in->other, 0, 0);
	put_insn(&p, BPF_LD | BPF_H | BPF_ABS, 6, 0, 0);
	put_insn(&p, BPF_ALU | BPF_RSH | BPF_K, 6, 0, 0);
	/* 5 instructions for each block; packets of blocks without room are passed on */
	for (uint32_t k = 0; k < DPA_BOARD_QPN_BLOCKS && 5 * (n + 1) + p.n < MAX_INSNS; k++)
		if (in->map[k])
			p.block[n++] = (uint16_t)k;
	put_search(&p, 0, n);
	if (p.n > room || p.n > MAX_INSNS)
		return -1;
	memcpy(f, p.f, p.n * sizeof(*f));
	return (int)p.n;
}

_Static_assert(DPA_BOARD_QPN_BLOCK == 64, "the shift above");

/* Its own index, if known: packets of unknown blocks come here. */
static uint32_t own_place(struct dpa_hw *hw)
{
	uint32_t i = (uint32_t)atomic_load_explicit(&hw->board->self->udp, memory_order_acquire);

	return i ? i - 1 : 0;
}

static bool has_joined(struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->board->self->udp, memory_order_acquire) != 0;
}

/* False: another process has the steering lock. */
static bool rebuild_filter(struct dpa_hw *hw)
{
	static struct sock_filter f[MAX_INSNS]; /* under the steering lock */
	uint16_t map[DPA_BOARD_QPN_BLOCKS];
	struct dpa_board_steer *s = dpa_board_steer(hw->board);
	struct dpa_steer_in in = {.map = map, .num = hw->board->board_num, .other = own_place(hw)};
	struct sock_fprog prog = {.filter = f};
	uint32_t want;
	int n;

	if (!has_joined(hw))
		return true; /* the owner of the socket that shares the port does it */
	if (dpa_board_steer_begin(hw->board, map, &want))
		return false;
	in.nonce[0] = s->nonce[0];
	in.nonce[1] = s->nonce[1];
	n = dpa_steer_program(&in, f, MAX_INSNS);
	prog.len = (unsigned short)n;
	/* If a filter forbids it the kernel spreads packets by hash: correct, with more detours. */
	if (n > 0)
		dpa_sys_setsockopt(dpa_udp_fd(hw->udp), SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog,
				   sizeof(prog));
	/* A process that left meanwhile has made none. */
	dpa_board_steer_end(hw->board, has_joined(hw), want);
	return true;
}

/* Probes all socket indices. Lost probes are repeated at the next tick. */
static void ask_rebuild(struct dpa_hw *hw)
{
	struct dpa_board_steer *s = dpa_board_steer(hw->board);
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(DPA_UDP_PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	uint32_t n = dpa_board_steer_sockets(hw->board);
	int fd = dpa_sys_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct probe m = {
		.nonce = {htonl(s->nonce[0]), htonl(s->nonce[1])},
		.round = htonl(atomic_load_explicit(&s->round, memory_order_acquire)),
		.secret = {htonl(s->nonce[2]), htonl(s->nonce[3])},
	};

	for (uint32_t i = 0; fd >= 0 && i < n; i++) {
		m.index = htonl(i);
		dpa_sys_sendto(fd, &m, sizeof(m), MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to));
	}
	if (fd >= 0)
		dpa_sys_close(fd);
}

/* Makes the progress thread rebuild the program at once. */
static void rebuild_soon(struct dpa_hw *hw)
{
	atomic_store_explicit(&hw->udp->soon, 1, memory_order_release);
	dpa_wake_self(hw);
}

bool dpa_udp_probe(struct dpa_hw *hw, const uint8_t *p, uint32_t n)
{
	struct dpa_board_steer *s = dpa_board_steer(hw->board);
	struct probe m;

	if (n != sizeof(m) || p[0] != 0xff)
		return false;
	memcpy(&m, p, sizeof(m));
	if (ntohl(m.nonce[0]) != s->nonce[0] || ntohl(m.nonce[1]) != s->nonce[1] ||
	    ntohl(m.secret[0]) != s->nonce[2] || ntohl(m.secret[1]) != s->nonce[3])
		return false;
	if (dpa_board_steer_found(hw->board, ntohl(m.round), ntohl(m.index)))
		rebuild_soon(hw);
	return true;
}

void dpa_steer_join(struct dpa_hw *hw)
{
	dpa_board_steer_join(hw->board);
	rebuild_filter(hw);
	ask_rebuild(hw);
}

void dpa_steer_qp(struct dpa_hw *hw, uint32_t qpn)
{
	uint32_t block = (qpn & DPA_QPN_INDEX) / DPA_BOARD_QPN_BLOCK;
	_Atomic uint64_t *word = &hw->udp->steered[block / 64];
	uint64_t bit = 1ull << (block % 64);

	if (dpa_udp_fd(hw->udp) < 0 ||
	    (atomic_fetch_or_explicit(word, bit, memory_order_relaxed) & bit))
		return;
	atomic_fetch_add_explicit(&dpa_board_steer(hw->board)->want, 1, memory_order_release);
	if (!rebuild_filter(hw))
		rebuild_soon(hw);
}

void dpa_steer_leave(struct dpa_hw *hw)
{
	if (!has_joined(hw))
		return;
	dpa_board_steer_leave(hw->board);
	ask_rebuild(hw);
}

/*
 * Packets still take a detour although no change was reported: rebuild the program, at growing
 * intervals.
 */
static void steer_retry(struct dpa_hw *hw)
{
	struct dpa_udp *u = hw->udp;
	uint64_t n = atomic_load_explicit(&u->detours, memory_order_relaxed);
	uint64_t now = dpa_now_ns();

	if (n == u->detours_seen) {
		u->detour_ticks = 0;
		return;
	}
	u->detours_seen = n;
	if (++u->detour_ticks < 4 || now < u->retry_at)
		return;
	u->retry_at = now + dpa_backoff_step(&u->retry, RETRY_MIN_MS, RETRY_MAX_MS) * 1000000ull;
	u->detour_ticks = 0;
	dpa_board_steer_again(hw->board);
	ask_rebuild(hw);
}

void dpa_steer_tick(struct dpa_hw *hw)
{
	struct dpa_board_steer *s = dpa_board_steer(hw->board);
	struct dpa_udp *u = hw->udp;
	uint32_t block = atomic_load_explicit(&hw->board->qpn_block, memory_order_relaxed);

	if (dpa_udp_fd(u) < 0)
		return;
	atomic_store_explicit(&u->soon, 0, memory_order_relaxed);
	if (block != u->block_seen) {
		u->block_seen = block;
		atomic_fetch_add_explicit(&s->want, 1, memory_order_release);
	}
	if (dpa_board_steer_watch(hw->board) || dpa_board_steer_lost(hw->board))
		ask_rebuild(hw);
	steer_retry(hw);
	if (atomic_load_explicit(&s->want, memory_order_acquire) !=
	    atomic_load_explicit(&s->built, memory_order_acquire))
		rebuild_filter(hw);
}
