/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Linked to a test of dpa0's rdma_cm: it runs beside a kernel's, and must not see that. */
#include "model.h"
#include "util.h"

__attribute__((constructor)) static void beside_a_kernel(void)
{
	model_install();
	channel_close(channel_open(O_CLOEXEC)); /* what all channels share is there */
}
