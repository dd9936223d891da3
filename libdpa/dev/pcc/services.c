/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* services.c - messages, traces and the port, for both kinds of congestion control programs. */
#include <stdarg.h>
#include <doca_pcc_dev_common.h>
#include <doca_pcc_dev_services.h>
#include "../format.h"
#include "pcc_dev.h"

#define MESSAGE	     1000
#define MAX_COUNTERS 32

static uint32_t counter_ids[MAX_COUNTERS], counters_num;
static uint32_t *counters_to;

void doca_pcc_dev_printf(const char *format, ...)
{
	char text[MESSAGE];
	va_list ap;
	size_t n;

	va_start(ap, format);
	n = dpa_dev_format(text, sizeof(text), format, ap);
	va_end(ap);
	__dpa_ops->pcc_print(text, n);
}

void doca_pcc_dev_trace_5(int format_id, uint64_t arg1, uint64_t arg2, uint64_t arg3, uint64_t arg4,
			  uint64_t arg5)
{
	uint64_t words[5] = {arg1, arg2, arg3, arg4, arg5};

	__dpa_ops->pcc_trace((uint32_t)format_id, words);
}

void doca_pcc_dev_trace_flush(void)
{
	__dpa_ops->trace_flush();
}

unsigned int doca_pcc_dev_thread_rank(void)
{
	return __dpa_ops->thread_rank();
}

void doca_pcc_dev_nic_counters_config(uint32_t *ids, uint32_t num_counters, uint32_t *values)
{
	counters_num = num_counters < MAX_COUNTERS ? num_counters : MAX_COUNTERS;
	for (uint32_t i = 0; i < counters_num; i++)
		counter_ids[i] = ids[i];
	counters_to = values;
}

void doca_pcc_dev_nic_counters_sample(void)
{
	uint64_t bytes[2]; /* tx, rx */

	__dpa_ops->pcc_port_bytes(bytes);
	for (uint32_t i = 0; i < counters_num; i++) {
		uint32_t type = counter_ids[i] >> 4 & 0xf, port = counter_ids[i] & 0xf;
		uint64_t v = type == DOCA_PCC_DEV_NIC_COUNTER_TYPE_TX_BYTES   ? bytes[0]
			     : type == DOCA_PCC_DEV_NIC_COUNTER_TYPE_RX_BYTES ? bytes[1]
									      : 0;

		counters_to[i] = port ? 0 : (uint32_t)v;
	}
}

uint32_t doca_pcc_dev_get_logical_ports(void)
{
	return 1;
}

uint32_t doca_pcc_dev_get_port_planes(uint32_t portid)
{
	return portid ? 0 : 1;
}

uint32_t doca_pcc_dev_get_port_speed(uint32_t portid)
{
	return portid ? 0 : DPA_PCC_LINE_GBPS;
}
