/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * peer.h - failures that are injected into the responder (docs/inject.md): a slow or stopped device,
 * no receive. Call these functions only if slow.inspected. Context: the QP's lock.
 */
#ifndef DPA_RECV_PEER_H
#define DPA_RECV_PEER_H

#include <stdbool.h>

struct dpa_hw_qp;
struct dpa_slot;

/* A new message begins with that packet. True: the device stops, and the packet is lost. */
bool dpa_peer_injected(struct dpa_hw_qp *qp, const struct dpa_slot *s);
/* True: the message shall find no receive. Once for each that needs one. */
bool dpa_peer_has_no_receive(const struct dpa_hw_qp *qp, const struct dpa_slot *s);
/* The message has its receive: wait for slow pages of its memory. */
void dpa_receive_pages(struct dpa_hw_qp *qp);
/* True: pending answers do not leave now. The QP is scheduled, unless the device has stopped. */
bool dpa_answer_waits(struct dpa_hw_qp *qp);

#endif
