/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fake_cuda.h - a CUDA driver with one GPU, at 17:00.0, which libdpa finds in the process. Its
 * memory is memory of the process; it keeps registrations like CUDA: no page twice.
 */
#ifndef TEST_FAKE_CUDA_H
#define TEST_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

int fake_cuda_allocs(void);	   /* allocations of GPU memory that exist */
int fake_cuda_registrations(void); /* registrations that exist */
int fake_cuda_contexts(void);	   /* contexts that are referenced */
int fake_cuda_pushed(void);	   /* contexts that are current, below each other */
/*
 * Make the nth call from now on fail, of those that can: allocation, registration, copy. -1: none.
 */
void fake_cuda_fail_after(int n);
/* Make copies fail from now on, or no more. */
void fake_cuda_fail_copies(bool fail);
/* Copy that failed after others of their stream; those whose stream was waited for afterwards. */
int fake_cuda_failed_behind(void);
int fake_cuda_waited_for(void);
/* Return whether all registered memory stays in this process when it forks: shared mappings. */
bool fake_cuda_stays(void);
/* Return whether each byte of the range is registered. */
bool fake_cuda_knows(const void *addr, size_t length);

#endif
