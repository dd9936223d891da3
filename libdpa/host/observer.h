/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* observer.h - a kernel that sees the completions of a verbs program: for the provider. */
#ifndef DPA_HOST_OBSERVER_H
#define DPA_HOST_OBSERVER_H

#include <stddef.h>

struct ibv_cq;

/*
 * Load a device image from a file and make its kernel, a __dpa_global__ void f(uint64_t), a DPA
 * thread whose argument is the handle of the completion context that activates it. *cq: that
 * context's CQ, for copies of entries; it overruns without notice. When the process exits the
 * kernel still gets unread entries, for one second at most. Call it once in a process. 0 or errno
 * with a line in err.
 */
__attribute__((visibility("default"))) int dpa_observer_start(const char *device, const char *image,
							      const char *kernel,
							      struct ibv_cq **cq, char *err,
							      size_t errlen);

#endif
