/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pcc_priv.h - shared by pcc.c, pcc_image.c and np.c. */
#ifndef DPA_TABLES_PCC_PRIV_H
#define DPA_TABLES_PCC_PRIV_H

#include "board/board.h"
#include "board/board_layout.h"

/*
 * Change the word to `new`, with the next change number, by CAS. False: *old is the current value.
 */
bool dpa_pcc_word_change(struct dpa_board *b, uint64_t *old, uint64_t new);
/* Return the word with another counting slot; -1: none. */
uint64_t dpa_pcc_word_counting_set(uint64_t w, int slot);
/* Empty the slots of the image of that number. */
void dpa_pcc_word_drop_image(struct dpa_board *b, uint32_t image);
/* Make the owner of the image check for news; wakes it if it sleeps. */
void dpa_pcc_bell_ring(struct dpa_board_pcc_side *side);
/* A ring of it has something that was published before (any order). Wakes the owner. */
void dpa_pcc_announce(struct dpa_board_pcc_side *side, uint32_t ring);
/* Rings with something that a former owner had taken note of. */
void dpa_pcc_look_everywhere(struct dpa_board_pcc_side *side);
struct dpa_board *dpa_pcc_image_board(const struct dpa_pcc_image *img);
/* np.c: the calls of struct dpa_pcc_ops. */
int dpa_pcc_np_publish(struct dpa_pcc_image *img, const struct dpa_pcc_probes *probes);
bool dpa_pcc_np_take(struct dpa_pcc_image *img, uint32_t ring, struct dpa_pcc_probe *out);
void dpa_pcc_np_answer(struct dpa_pcc_image *img, const struct dpa_pcc_probe *probe,
		       const struct dpa_pcc_reply *reply);
/* pcc_head.c: the same. number: of the image */
int dpa_pcc_header_set(struct dpa_board *b, uint32_t number, uint32_t flow, const uint32_t *words,
		       uint32_t n);

#endif
