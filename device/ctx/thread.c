/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* thread.c - the state of the calling thread. */
#include "ctx/thread.h"

_Thread_local __attribute__((tls_model("initial-exec"))) struct dpa_thread dpa_me;
