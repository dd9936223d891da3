/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fake_cuda.h - a CUDA driver with one GPU, at 17:00.0, for libdpa to find in the process. Its memory
 * is memory of the process; registrations are kept as CUDA keeps them: no page twice.
 */
#ifndef TEST_FAKE_CUDA_H
#define TEST_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

int fake_cuda_allocs(void);	   /* of GPU memory that are left */
int fake_cuda_registrations(void); /* that are left */
int fake_cuda_contexts(void);	   /* that are held */
int fake_cuda_pushed(void);	   /* contexts that are current, below each other */
/* The nth call from now on that can fail does: allocation, registration, copy. -1: none. */
void fake_cuda_fail_after(int n);
/* Copies fail from now on, or no more. */
void fake_cuda_fail_copies(bool fail);
/* Copies that failed behind others of their stream; those whose stream was waited for afterwards. */
int fake_cuda_failed_behind(void);
int fake_cuda_waited_for(void);
/* Whether all that is registered stays in this process when it forks: shared mappings. */
bool fake_cuda_stays(void);
/* Whether each byte of the range is registered. */
bool fake_cuda_knows(const void *addr, size_t length);

#endif
