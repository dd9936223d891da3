/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_telemetry_errors.c - doca_telemetry_pcc: the documented errors, on a simulated port. */
#include "../host.h"
#include <doca_telemetry_pcc.h>
#include <dpa_hw_pcc.h>
#include <errno.h>

static struct doca_dev *dev;
static struct doca_telemetry_pcc *pcc;

/* Slot 3 has an algorithm with two counters; `counts`: whether they count. */
static bool counts;
static int busy; /* number of reads of the slot that find it changing */

static void query(void *port, struct dpa_pcc_port *out)
{
	*out = (struct dpa_pcc_port){
		.populated = 1 << 3, .enabled = 1 << 3, .acting = 3, .counting = counts ? 3 : -1};
}

static int read_slot(void *port, uint32_t slot, struct dpa_pcc_slot *out)
{
	if (slot != 3)
		return ENOENT;
	if (busy-- > 0)
		return EAGAIN;
	*out = (struct dpa_pcc_slot){
		.id = 0xbfff, .major = 1, .minor = 2, .ncounters = 2, .text = "three"};
	strcpy(out->counters[1], "of slot 3");
	return 0;
}

static int read_counters(void *port, uint32_t slot, bool clear, uint32_t *num,
			 uint32_t values[DPA_PCC_COUNTERS])
{
	if (slot != 3)
		return ENOENT;
	*num = 2;
	values[0] = 10;
	values[1] = 11;
	return counts ? 0 : ENODATA;
}

static const struct dpa_pcc_ops ops = {
	.query = query, .read_slot = read_slot, .read_counters = read_counters};

static void setup(void)
{
	counts = true;
	busy = 0;
	fake_set_pcc(&ops, &counts);
	dev = open_dpa0();
	OK(doca_telemetry_pcc_create(dev, &pcc));
}

static void teardown(void)
{
	OK(doca_telemetry_pcc_destroy(pcc));
	OK(doca_dev_close(dev));
	cr_assert_eq(fake_opens(), 0);
}

TestSuite(telemetry, .init = setup, .fini = teardown, .timeout = 60);

Test(telemetry, caps)
{
	const struct doca_devinfo *info = doca_dev_as_devinfo(dev);
	uint32_t n;

	OK(doca_telemetry_pcc_cap_is_supported(info));
	IS(doca_telemetry_pcc_cap_is_supported(NULL), INVALID_VALUE);
	OK(doca_telemetry_pcc_cap_get_max_algo_slots(info, &n));
	cr_expect(n > 8 && n <= 32, "a bit of a word for each");
	IS(doca_telemetry_pcc_cap_get_max_algo_slots(NULL, &n), INVALID_VALUE);
	IS(doca_telemetry_pcc_cap_get_max_algo_slots(info, NULL), INVALID_VALUE);
	OK(doca_telemetry_pcc_cap_get_max_algo_info_len(info, &n));
	IS(doca_telemetry_pcc_cap_get_max_algo_info_len(info, NULL), INVALID_VALUE);
	OK(doca_telemetry_pcc_cap_get_max_num_counters(info, &n));
	cr_expect_eq(n, 0x3f);
	IS(doca_telemetry_pcc_cap_get_max_num_counters(info, NULL), INVALID_VALUE);
	OK(doca_telemetry_pcc_cap_get_max_counter_info_len(info, &n));
	IS(doca_telemetry_pcc_cap_get_max_counter_info_len(info, NULL), INVALID_VALUE);
}

Test(telemetry, devices_of_another_make)
{
	struct doca_telemetry_pcc *none;
	struct doca_devinfo **list;
	struct doca_dev *other;
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	IS(doca_telemetry_pcc_cap_is_supported(list[0]), NOT_SUPPORTED);
	IS(doca_telemetry_pcc_cap_get_max_algo_slots(list[0], &n), NOT_SUPPORTED);
	IS(doca_telemetry_pcc_cap_get_max_algo_info_len(list[0], &n), NOT_SUPPORTED);
	IS(doca_telemetry_pcc_cap_get_max_num_counters(list[0], &n), NOT_SUPPORTED);
	IS(doca_telemetry_pcc_cap_get_max_counter_info_len(list[0], &n), NOT_SUPPORTED);
	OK(doca_dev_open(list[0], &other));
	IS(doca_telemetry_pcc_create(other, &none), DRIVER);
	OK(doca_dev_close(other));
	OK(doca_devinfo_destroy_list(list));
}

Test(telemetry, life)
{
	struct doca_telemetry_pcc *more;

	IS(doca_telemetry_pcc_create(NULL, &more), INVALID_VALUE);
	IS(doca_telemetry_pcc_create(dev, NULL), INVALID_VALUE);
	IS(doca_telemetry_pcc_stop(pcc), BAD_STATE);
	OK(doca_telemetry_pcc_start(pcc));
	IS(doca_telemetry_pcc_start(pcc), BAD_STATE);
	IS(doca_telemetry_pcc_destroy(pcc), BAD_STATE);
	OK(doca_telemetry_pcc_stop(pcc));
	IS(doca_telemetry_pcc_start(NULL), INVALID_VALUE);
	IS(doca_telemetry_pcc_stop(NULL), INVALID_VALUE);
	IS(doca_telemetry_pcc_destroy(NULL), INVALID_VALUE);
	OK(doca_telemetry_pcc_create(dev, &more));
	OK(doca_telemetry_pcc_destroy(more));
	IS(doca_telemetry_pcc_start(more), INVALID_VALUE);
	IS(doca_dev_close(dev), IN_USE);
}

Test(telemetry, identity)
{
	uint32_t v;

	OK(doca_telemetry_pcc_get_algo_id(pcc, 3, &v));
	cr_expect_eq(v, 0xbfff);
	OK(doca_telemetry_pcc_get_algo_major_version(pcc, 3, &v));
	cr_expect_eq(v, 1);
	OK(doca_telemetry_pcc_get_algo_minor_version(pcc, 3, &v));
	cr_expect_eq(v, 2);
	IS(doca_telemetry_pcc_get_algo_id(pcc, 2, &v), BAD_STATE);
	IS(doca_telemetry_pcc_get_algo_major_version(pcc, 2, &v), BAD_STATE);
	IS(doca_telemetry_pcc_get_algo_minor_version(pcc, 2, &v), BAD_STATE);
	IS(doca_telemetry_pcc_get_algo_id(pcc, 16, &v), INVALID_VALUE);
	IS(doca_telemetry_pcc_get_algo_major_version(pcc, 16, &v), INVALID_VALUE);
	IS(doca_telemetry_pcc_get_algo_minor_version(pcc, 16, &v), INVALID_VALUE);
	IS(doca_telemetry_pcc_get_algo_id(pcc, 3, NULL), INVALID_VALUE);
	IS(doca_telemetry_pcc_get_algo_id(NULL, 3, &v), INVALID_VALUE);
	busy = 3;
	OK(doca_telemetry_pcc_get_algo_id(pcc, 3, &v));
}

Test(telemetry, descriptions)
{
	char text[DPA_PCC_ALGO_TEXT];
	uint8_t algo, counters;
	uint32_t n;

	OK(doca_telemetry_pcc_get_algo_info(pcc, 3, text));
	cr_expect_str_eq(text, "three");
	IS(doca_telemetry_pcc_get_algo_info(pcc, 2, text), DRIVER);
	IS(doca_telemetry_pcc_get_algo_info(pcc, 200, text), DRIVER);
	IS(doca_telemetry_pcc_get_algo_info(pcc, 3, NULL), INVALID_VALUE);
	OK(doca_telemetry_pcc_get_algo_enable_status(pcc, 3, &algo, &counters));
	cr_expect(algo == 1 && counters == 1);
	IS(doca_telemetry_pcc_get_algo_enable_status(pcc, 2, &algo, &counters), DRIVER);
	IS(doca_telemetry_pcc_get_algo_enable_status(pcc, 200, &algo, &counters), DRIVER);
	IS(doca_telemetry_pcc_get_algo_enable_status(pcc, 3, NULL, &counters), INVALID_VALUE);
	IS(doca_telemetry_pcc_get_algo_enable_status(pcc, 3, &algo, NULL), INVALID_VALUE);
	OK(doca_telemetry_pcc_get_num_counters(pcc, 3, &n));
	cr_expect_eq(n, 2);
	IS(doca_telemetry_pcc_get_num_counters(pcc, 2, &n), DRIVER);
	IS(doca_telemetry_pcc_get_num_counters(pcc, 3, NULL), INVALID_VALUE);
	OK(doca_telemetry_pcc_get_counter_info(pcc, 3, 1, text));
	cr_expect_str_eq(text, "of slot 3");
	IS(doca_telemetry_pcc_get_counter_info(pcc, 3, 2, text), DRIVER);
	IS(doca_telemetry_pcc_get_counter_info(pcc, 2, 0, text), DRIVER);
	IS(doca_telemetry_pcc_get_counter_info(pcc, 3, 1, NULL), INVALID_VALUE);
}

Test(telemetry, counters)
{
	uint32_t v[DPA_PCC_COUNTERS], n;

	OK(doca_telemetry_pcc_get_counters(pcc, 3, &n, v));
	cr_expect(n == 2 && v[0] == 10 && v[1] == 11);
	IS(doca_telemetry_pcc_get_counters(pcc, 2, &n, v), DRIVER);
	IS(doca_telemetry_pcc_get_counters(pcc, 3, NULL, v), INVALID_VALUE);
	IS(doca_telemetry_pcc_get_counters(pcc, 3, &n, NULL), INVALID_VALUE);
	OK(doca_telemetry_pcc_get_and_clear_counters(pcc, 3, &n, v));
	cr_expect_eq(n, 2);
	OK(doca_telemetry_pcc_get_and_clear_counters(pcc, 3, &n, NULL));
	cr_expect_eq(n, 0);
	IS(doca_telemetry_pcc_get_and_clear_counters(pcc, 2, &n, v), DRIVER);
	IS(doca_telemetry_pcc_get_and_clear_counters(pcc, 3, NULL, v), INVALID_VALUE);
	counts = false;
	IS(doca_telemetry_pcc_get_counters(pcc, 3, &n, v), BAD_STATE);
	IS(doca_telemetry_pcc_get_and_clear_counters(pcc, 3, &n, v), BAD_STATE);
}

Test(telemetry, a_forked_child_has_no_port)
{
	uint32_t v[DPA_PCC_COUNTERS], n;
	uint8_t on;

	fake_set_pcc(NULL, NULL);
	IS(doca_telemetry_pcc_get_algo_id(pcc, 3, &n), BAD_STATE);
	IS(doca_telemetry_pcc_get_num_counters(pcc, 3, &n), DRIVER);
	IS(doca_telemetry_pcc_get_counters(pcc, 3, &n, v), DRIVER);
	IS(doca_telemetry_pcc_get_algo_enable_status(pcc, 3, &on, &on), DRIVER);
}
