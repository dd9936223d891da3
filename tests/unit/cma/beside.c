/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * beside.c - linked to a test of dpa0's rdma_cm: the test runs beside the model of a kernel, with
 * the same results.
 */
#include "model.h"
#include "util.h"

__attribute__((constructor)) static void beside_a_kernel(void)
{
	model_install();
	channel_close(
		channel_open(O_CLOEXEC)); /* creates the descriptors that all channels share */
}
