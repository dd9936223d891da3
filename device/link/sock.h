/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sock.h - how two processes of a board find each other; private to device/link. */
#ifndef DPA_SOCK_H
#define DPA_SOCK_H

#include "ctx/hw.h"
#include "link/peer.h"

/* Kinds of epoll events of the service thread: low bits of data.u64. */
enum dpa_ep_tag {
	DPA_EP_LISTEN,
	DPA_EP_WAKE,
	DPA_EP_PORT,
	DPA_EP_NEW,
	DPA_EP_SOCK,
	DPA_EP_PIDFD,
	DPA_EP_NUM, /* socket of the board's number: another board connects */
	DPA_EP_WAIT, /* a wake-up for a thread in dpa_hw_wait_fd(); watched while the process is quiet */
};

int dpa_sock_init(struct dpa_hw *hw);
void dpa_sock_fini(struct dpa_hw *hw);
/* Begin to connect; does not wait. Any thread. Call it again until the peer is UP or DEAD. */
void dpa_sock_connect(struct dpa_peer *p);
/* Service thread: handle one event. */
void dpa_sock_accept(struct dpa_hw *hw);
void dpa_sock_new(struct dpa_hw *hw, int fd);
void dpa_sock_answer(struct dpa_hw *hw, struct dpa_peer *p);

struct dpa_peer *dpa_peer_get(struct dpa_hw *hw, uint32_t slot, uint32_t gen);
struct dpa_peer *dpa_peer_new(struct dpa_hw *hw, uint32_t slot, uint32_t gen);
void dpa_peer_set_rx(struct dpa_peer *p, void *map);
void dpa_peer_up(struct dpa_peer *p);
#endif
