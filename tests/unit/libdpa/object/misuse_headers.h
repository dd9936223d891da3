/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* misuse_headers.h - all headers of host programs. */
#ifndef TEST_LIBDPA_MISUSE_HEADERS_H
#define TEST_LIBDPA_MISUSE_HEADERS_H

#ifndef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_ALLOW_EXPERIMENTAL_API
#endif
#include <doca_argp.h>
#include <doca_buf.h>
#include <doca_buf_array.h>
#include <doca_buf_inventory.h>
#include <doca_clock.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_dma.h>
#include <doca_dpa.h>
#include <doca_error.h>
#include <doca_gpunetio.h>
#include <doca_graph.h>
#include <doca_log.h>
#include <doca_mmap.h>
#include <doca_mmap_advise.h>
#include <doca_pcc.h>
#include <doca_pe.h>
#include <doca_rdma.h>
#include <doca_rdma_bridge.h>
#include <doca_sync_event.h>
#include <doca_telemetry_pcc.h>

#endif
