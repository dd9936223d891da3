/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_dev.c - opening devices, and calls that need an open one. */
#include <string.h>
#include "tests/unit/libdpa/host.h"
#include <doca_ctx.h>
#include <doca_log.h>

static struct doca_devinfo **list;
static struct doca_devinfo *dpa0;

static void setup(void)
{
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	dpa0 = list[1];
}

static void teardown(void)
{
	OK(doca_devinfo_destroy_list(list));
	cr_assert_eq(fake_opens(), 0);
}

TestSuite(dev, .init = setup, .fini = teardown, .timeout = 60);

Test(dev, completion_vectors)
{
	uint32_t n;

	OK(doca_ctx_cap_get_num_completion_vectors(dpa0, &n));
	cr_assert_eq(n, (uint32_t)FAKE_COMP_VECTORS);
	IS(doca_ctx_cap_get_num_completion_vectors(NULL, &n), INVALID_VALUE);
	IS(doca_ctx_cap_get_num_completion_vectors(dpa0, NULL), INVALID_VALUE);
	fake_fail_open();
	IS(doca_ctx_cap_get_num_completion_vectors(dpa0, &n), INVALID_VALUE);
}

/* A device that cannot be opened, or is gone. */
Test(dev, opening)
{
	struct doca_dev *dev;

	fake_fail_open();
	IS(doca_dev_open(dpa0, &dev), INITIALIZATION);
	IS(doca_dev_open(NULL, &dev), INVALID_VALUE);
	IS(doca_dev_open(dpa0, NULL), INVALID_VALUE);
	fake_no_devices(true);
	IS(doca_dev_open(dpa0, &dev), NOT_CONNECTED);
	fake_no_devices(false);
	cr_assert_null(doca_dev_as_devinfo(NULL));
	OK(doca_dev_close(NULL));
	IS(dpa_dev_get_ibv_context(NULL, NULL), INVALID_VALUE);
}

static void on_flush(char *buf)
{
}

/* The log contains a remedy. */
Test(dev, no_list)
{
	struct doca_log_backend *sdk;
	struct doca_devinfo **none;
	static char text[1000];
	uint32_t n;

	OK(doca_log_backend_create_with_buf_sdk(text, sizeof(text), on_flush, &sdk));
	fake_no_devices(true);
	IS(doca_devinfo_create_list(&none, &n), NOT_FOUND);
	fake_no_devices(false);
	cr_assert(strstr(text, "no RDMA device: start it by dpa-run"));
}
