/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pcc_priv.h - shared by pcc.c and pcc_image.c. */
#ifndef DPA_TABLES_PCC_PRIV_H
#define DPA_TABLES_PCC_PRIV_H

#include "board/board.h"

/*
 * Change the word to `new`, with the next change number, by CAS. False: *old is the current value.
 */
bool dpa_pcc_word_change(struct dpa_board *b, uint64_t *old, uint64_t new);
/* Return the word with another counting slot; -1: none. */
uint64_t dpa_pcc_word_counting_set(uint64_t w, int slot);
/* Empty the slots of the image of that number. */
void dpa_pcc_word_drop_image(struct dpa_board *b, uint32_t image);
/* Make the owner of the image check for news; wakes it if it sleeps. */
void dpa_pcc_bell_ring(struct dpa_board *b);

#endif
