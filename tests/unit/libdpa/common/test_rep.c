/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_rep.c - representors: the PF has one for its SF; an SF and another adapter have none. */
#include <string.h>
#include "tests/unit/libdpa/host.h"
#include <doca_rdma_bridge.h>

enum { OTHER, PF, SF };

static struct doca_devinfo **devs;
static struct doca_devinfo_rep **reps;
static struct doca_dev *pf;
static uint32_t n;

static void setup(void)
{
	OK(doca_devinfo_create_list(&devs, &n));
	OK(doca_dev_open(devs[PF], &pf));
	OK(doca_devinfo_rep_create_list(pf, DOCA_DEVINFO_REP_FILTER_NET, &reps, &n));
	cr_assert_eq(n, 1u);
}

static void teardown(void)
{
	fake_no_sf(false);
	fake_no_devices(false);
	OK(doca_devinfo_rep_destroy_list(reps));
	OK(doca_dev_close(pf));
	OK(doca_devinfo_destroy_list(devs));
	cr_assert_eq(fake_opens(), 0);
}

TestSuite(rep, .init = setup, .fini = teardown, .timeout = 60);

Test(rep, lists)
{
	struct doca_devinfo_rep **list;
	struct doca_dev *other;

	OK(doca_devinfo_rep_create_list(pf, DOCA_DEVINFO_REP_FILTER_ALL, &list, &n));
	cr_expect_eq(n, 1u);
	OK(doca_devinfo_rep_destroy_list(list));
	IS(doca_devinfo_rep_destroy_list(list), INVALID_VALUE);
	IS(doca_devinfo_rep_destroy_list(NULL), INVALID_VALUE);
	IS(doca_devinfo_rep_destroy_list((struct doca_devinfo_rep **)devs), INVALID_VALUE);
	IS(doca_devinfo_rep_create_list(NULL, 0, &list, &n), INVALID_VALUE);
	IS(doca_devinfo_rep_create_list(pf, 0, NULL, &n), INVALID_VALUE);
	IS(doca_devinfo_rep_create_list(pf, 0, &list, NULL), INVALID_VALUE);
	IS(doca_devinfo_rep_create_list(pf, 1, &list, &n), INVALID_VALUE);
	IS(doca_devinfo_rep_create_list(pf, DOCA_DEVINFO_REP_FILTER_EMULATED, &list, &n),
	   NOT_SUPPORTED);
	for (int i = OTHER; i <= SF; i += SF) {
		OK(doca_dev_open(devs[i], &other));
		IS(doca_devinfo_rep_create_list(other, 0, &list, &n), NOT_SUPPORTED);
		OK(doca_dev_close(other));
	}
	fake_no_devices(true);
	IS(doca_devinfo_rep_create_list(pf, 0, &list, &n), DRIVER);
}

/* Without an SF the PF lists none: a program of 3.2 then uses only the PF. */
Test(rep, no_sf)
{
	struct doca_devinfo_rep **list;
	uint8_t is = 7;

	fake_no_sf(true);
	IS(doca_devinfo_rep_create_list(pf, 0, &list, &n), NOT_SUPPORTED);
	OK(doca_devinfo_rep_cap_is_filter_net_supported(devs[PF], &is));
	cr_expect_eq(is, 0);
	is = 7;
	OK(doca_devinfo_rep_cap_is_filter_all_supported(devs[PF], &is));
	cr_expect_eq(is, 0);
}

Test(rep, capabilities)
{
	static const uint8_t has[] = {[OTHER] = 0, [PF] = 1, [SF] = 0};
	uint8_t is;

	for (int i = OTHER; i <= SF; i++) {
		is = 7;
		OK(doca_devinfo_rep_cap_is_filter_all_supported(devs[i], &is));
		cr_expect_eq(is, has[i]);
		is = 7;
		OK(doca_devinfo_rep_cap_is_filter_net_supported(devs[i], &is));
		cr_expect_eq(is, has[i]);
		is = 7;
		OK(doca_devinfo_rep_cap_is_filter_emulated_supported(devs[i], &is));
		cr_expect_eq(is, 0);
	}
	IS(doca_devinfo_rep_cap_is_filter_all_supported(NULL, &is), INVALID_VALUE);
	IS(doca_devinfo_rep_cap_is_filter_all_supported(devs[PF], NULL), INVALID_VALUE);
	IS(doca_devinfo_rep_cap_is_filter_net_supported(NULL, &is), INVALID_VALUE);
	IS(doca_devinfo_rep_cap_is_filter_net_supported(devs[PF], NULL), INVALID_VALUE);
	IS(doca_devinfo_rep_cap_is_filter_emulated_supported(NULL, &is), INVALID_VALUE);
	IS(doca_devinfo_rep_cap_is_filter_emulated_supported(devs[PF], NULL), INVALID_VALUE);
	fake_no_devices(true);
	IS(doca_devinfo_rep_cap_is_filter_all_supported(devs[PF], &is), DRIVER);
	IS(doca_devinfo_rep_cap_is_filter_net_supported(devs[PF], &is), DRIVER);
}

/* A device that was opened from a PD of the user. */
Test(rep, device_of_a_pd)
{
	struct doca_devinfo_rep **list;
	const struct doca_devinfo *info;
	struct ibv_context *ctx;
	struct doca_dev *dev;
	struct ibv_pd *pd;
	uint8_t is;

	OK(dpa_dev_get_ibv_context(pf, &ctx));
	pd = ibv_alloc_pd(ctx);
	OK(doca_rdma_bridge_open_dev_from_pd(pd, &dev));
	info = doca_dev_as_devinfo(dev);
	IS(doca_devinfo_rep_create_list(dev, 0, &list, &n), NOT_SUPPORTED);
	IS(doca_devinfo_rep_cap_is_filter_all_supported(info, &is), NOT_SUPPORTED);
	IS(doca_devinfo_rep_cap_is_filter_net_supported(info, &is), NOT_SUPPORTED);
	IS(doca_devinfo_rep_cap_is_filter_emulated_supported(info, &is), NOT_SUPPORTED);
	OK(doca_dev_close(dev));
	ibv_dealloc_pd(pd);
	/* the device's own devinfo is not that of one */
	OK(doca_devinfo_rep_cap_is_filter_net_supported(doca_dev_as_devinfo(pf), &is));
	cr_expect_eq(is, 1);
}

Test(rep, addresses)
{
	char vuid[DOCA_DEVINFO_REP_VUID_SIZE], addr[DOCA_DEVINFO_REP_PCI_ADDR_SIZE];
	uint8_t same = 7;

	OK(doca_devinfo_rep_get_vuid(reps[0], vuid, sizeof(vuid)));
	cr_expect_str_eq(vuid, "dpa-02d9a00102030401");
	IS(doca_devinfo_rep_get_vuid(reps[0], vuid, sizeof(vuid) - 1), INVALID_VALUE);
	IS(doca_devinfo_rep_get_vuid(reps[0], NULL, sizeof(vuid)), INVALID_VALUE);
	IS(doca_devinfo_rep_get_vuid(NULL, vuid, sizeof(vuid)), INVALID_VALUE);

	OK(doca_devinfo_rep_get_pci_addr_str(reps[0], addr));
	cr_expect_str_eq(addr, "d9a0:00:00.1");
	IS(doca_devinfo_rep_get_pci_addr_str(NULL, addr), INVALID_VALUE);
	IS(doca_devinfo_rep_get_pci_addr_str(reps[0], NULL), INVALID_VALUE);

	OK(doca_devinfo_rep_is_equal_pci_addr(reps[0], "D9A0:00:00.1", &same));
	cr_expect_eq(same, 1);
	OK(doca_devinfo_rep_is_equal_pci_addr(reps[0], "00:00.1", &same));
	cr_expect_eq(same, 0, "domain 0000");
	IS(doca_devinfo_rep_is_equal_pci_addr(reps[0], "d9a0", &same), INVALID_VALUE);
	IS(doca_devinfo_rep_is_equal_pci_addr(NULL, "00:00.1", &same), INVALID_VALUE);
	IS(doca_devinfo_rep_is_equal_pci_addr(reps[0], NULL, &same), INVALID_VALUE);
	IS(doca_devinfo_rep_is_equal_pci_addr(reps[0], "00:00.1", NULL), INVALID_VALUE);
}

Test(rep, properties)
{
	uint16_t vhca = 7;
	enum doca_pci_func_type type = DOCA_PCI_FUNC_TYPE_VF;
	char name[DOCA_DEVINFO_IFACE_NAME_SIZE];
	uint8_t is = 7;

	OK(doca_devinfo_rep_get_pci_func_type(reps[0], &type));
	cr_expect_eq(type, DOCA_PCI_FUNC_TYPE_SF);
	IS(doca_devinfo_rep_get_pci_func_type(NULL, &type), INVALID_VALUE);
	IS(doca_devinfo_rep_get_pci_func_type(reps[0], NULL), INVALID_VALUE);
	OK(doca_devinfo_rep_get_vhca_id(reps[0], &vhca));
	cr_expect_eq(vhca, 1);
	IS(doca_devinfo_rep_get_vhca_id(NULL, &vhca), INVALID_VALUE);
	IS(doca_devinfo_rep_get_vhca_id(reps[0], NULL), INVALID_VALUE);
	OK(doca_devinfo_rep_get_is_hotplug(reps[0], &is));
	cr_expect_eq(is, 0);
	IS(doca_devinfo_rep_get_is_hotplug(NULL, &is), INVALID_VALUE);
	IS(doca_devinfo_rep_get_is_hotplug(reps[0], NULL), INVALID_VALUE);
	IS(doca_devinfo_rep_get_iface_name(reps[0], name, sizeof(name)), OPERATING_SYSTEM);
	IS(doca_devinfo_rep_get_iface_name(reps[0], name, sizeof(name) - 1), INVALID_VALUE);
	IS(doca_devinfo_rep_get_iface_name(reps[0], NULL, sizeof(name)), INVALID_VALUE);
	IS(doca_devinfo_rep_get_iface_name(NULL, name, sizeof(name)), INVALID_VALUE);
}

/* A representor outlives its list, and so do its attributes. */
Test(rep, opening)
{
	char vuid[DOCA_DEVINFO_REP_VUID_SIZE];
	struct doca_devinfo_rep **list, *info;
	struct doca_dev_rep *rep, *again;

	OK(doca_devinfo_rep_create_list(pf, 0, &list, &n));
	IS(doca_dev_rep_open(NULL, &rep), INVALID_VALUE);
	IS(doca_dev_rep_open(list[0], NULL), INVALID_VALUE);
	OK(doca_dev_rep_open(list[0], &rep));
	info = list[0];
	OK(doca_devinfo_rep_destroy_list(list));
	IS(doca_dev_rep_open(info, &again), INVALID_VALUE);
	IS(doca_devinfo_rep_get_vuid(info, vuid, sizeof(vuid)), INVALID_VALUE);

	info = doca_dev_rep_as_devinfo(rep);
	OK(doca_devinfo_rep_get_vuid(info, vuid, sizeof(vuid)));
	cr_expect_str_eq(vuid, "dpa-02d9a00102030401");
	OK(doca_dev_rep_open(info, &again));
	cr_expect_neq(again, rep);
	OK(doca_dev_rep_close(rep));
	IS(doca_dev_rep_close(rep), INVALID_VALUE);
	IS(doca_dev_rep_close(NULL), INVALID_VALUE);
	cr_expect_null(doca_dev_rep_as_devinfo(rep));
	IS(doca_devinfo_rep_get_vuid(info, vuid, sizeof(vuid)), INVALID_VALUE);
	OK(doca_dev_rep_close(again));
}
