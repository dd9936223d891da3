/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sanitize.h - the sanitizer of this build: clang defines gcc's names for it in another way. */
#ifndef DPA_CUDA_RUN_SANITIZE_H
#define DPA_CUDA_RUN_SANITIZE_H

#ifdef __has_feature
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#endif
