/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pcc_priv.h - what pcc.c and pcc_image.c share. */
#ifndef DPA_TABLES_PCC_PRIV_H
#define DPA_TABLES_PCC_PRIV_H

#include "board/board.h"

/* CAS to `new`, with the next number of change. False: *old is what it is now. */
bool dpa_pcc_word_change(struct dpa_board *b, uint64_t *old, uint64_t new);
/* The word with another slot that counts, -1: none. */
uint64_t dpa_pcc_word_counting_set(uint64_t w, int slot);
/* The slots of the image of that number are empty. */
void dpa_pcc_word_drop_image(struct dpa_board *b, uint32_t image);
/* The owner of the image looks, also if it sleeps. */
void dpa_pcc_bell_ring(struct dpa_board *b);

#endif
