/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_devinfo.c - attributes of devices: another adapter, the PF, an SF. */
#include <string.h>
#include "tests/unit/libdpa/host.h"

enum { OTHER, PF, SF, DEVICES };

static struct doca_devinfo **list;

static void open_list(void)
{
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	cr_assert_eq(n, (uint32_t)DEVICES);
}

static void close_list(void)
{
	doca_devinfo_destroy_list(list);
}

TestSuite(devinfo, .init = open_list, .fini = close_list, .timeout = 60);

Test(devinfo, pci_addresses)
{
	char addr[DOCA_DEVINFO_PCI_ADDR_SIZE];
	uint8_t same = 7;

	OK(doca_devinfo_get_pci_addr_str(list[PF], addr));
	cr_expect_str_eq(addr, "d9a0:00:00.0");
	OK(doca_devinfo_get_pci_addr_str(list[SF], addr));
	cr_expect_str_eq(addr, "d9a0:00:00.1");
	IS(doca_devinfo_get_pci_addr_str(list[OTHER], addr), OPERATING_SYSTEM);
	IS(doca_devinfo_get_pci_addr_str(NULL, addr), INVALID_VALUE);
	IS(doca_devinfo_get_pci_addr_str(list[PF], NULL), INVALID_VALUE);

	OK(doca_devinfo_is_equal_pci_addr(list[PF], "D9A0:00:00.0", &same));
	cr_expect_eq(same, 1);
	OK(doca_devinfo_is_equal_pci_addr(list[PF], "d9a0:00:00.1", &same));
	cr_expect_eq(same, 0);
	same = 7;
	OK(doca_devinfo_is_equal_pci_addr(list[PF], "00:00.0", &same));
	cr_expect_eq(same, 0, "domain 0000");
	IS(doca_devinfo_is_equal_pci_addr(list[OTHER], "00:00.0", &same), OPERATING_SYSTEM);
}

Test(devinfo, no_pci_address)
{
	static const char *const bad[] = {"",
					  "d9a0",
					  "00:00",
					  "d9a0:00:00.0x",
					  " 9a0:00:00.0",
					  "d9a0:00:00:0",
					  "xyzt:00:00.0",
					  "0000:d9a0:00:00.0"};
	uint8_t same;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_eq(doca_devinfo_is_equal_pci_addr(list[PF], bad[i], &same),
			     DOCA_ERROR_INVALID_VALUE, "%s", bad[i]);
	IS(doca_devinfo_is_equal_pci_addr(NULL, "00:00.0", &same), INVALID_VALUE);
	IS(doca_devinfo_is_equal_pci_addr(list[PF], NULL, &same), INVALID_VALUE);
	IS(doca_devinfo_is_equal_pci_addr(list[PF], "00:00.0", NULL), INVALID_VALUE);
}

Test(devinfo, addresses)
{
	static const uint8_t v4[] = {10, 1, 2, 3}, v6[16] = {0xfd, [15] = 0xab};
	static const uint8_t sf[] = {0xfe, 0x80, 0,    0,    0,	   0, 0, 0,
				     0,	   0xd9, 0xa0, 0x01, 0x02, 3, 4, 1};
	uint8_t a[16];

	OK(doca_devinfo_get_ipv4_addr(list[PF], a, 4));
	cr_expect_arr_eq(a, v4, 4);
	OK(doca_devinfo_get_ipv6_addr(list[PF], a, 16));
	cr_expect_arr_eq(a, v6, 16);
	IS(doca_devinfo_get_ipv4_addr(list[SF], a, 4), NOT_FOUND);
	OK(doca_devinfo_get_ipv6_addr(list[SF], a, 16));
	cr_expect_arr_eq(a, sf, 16);
	IS(doca_devinfo_get_ipv4_addr(list[OTHER], a, 4), NOT_FOUND);
	IS(doca_devinfo_get_ipv6_addr(list[OTHER], a, 16), OPERATING_SYSTEM);
	IS(doca_devinfo_get_ipv4_addr(list[PF], a, 3), INVALID_VALUE);
	IS(doca_devinfo_get_ipv6_addr(list[PF], a, 15), INVALID_VALUE);
	IS(doca_devinfo_get_ipv4_addr(NULL, a, 4), INVALID_VALUE);
	IS(doca_devinfo_get_ipv6_addr(NULL, a, 16), INVALID_VALUE);
}

Test(devinfo, mac_and_interface)
{
	static const uint8_t mac[] = {0x02, 0xd9, 0xa0, 3, 4, 0};
	char name[DOCA_DEVINFO_IFACE_NAME_SIZE];
	uint8_t a[6];

	OK(doca_devinfo_get_mac_addr(list[PF], a, 6));
	cr_expect_arr_eq(a, mac, 6);
	OK(doca_devinfo_get_mac_addr(list[SF], a, 6));
	cr_expect_eq(a[5], 1, "its own");
	IS(doca_devinfo_get_mac_addr(list[OTHER], a, 6), NOT_SUPPORTED);
	IS(doca_devinfo_get_mac_addr(list[PF], a, 5), INVALID_VALUE);
	IS(doca_devinfo_get_mac_addr(list[PF], NULL, 6), INVALID_VALUE);

	OK(doca_devinfo_get_iface_name(list[PF], name, sizeof(name)));
	cr_expect_str_eq(name, "eth7");
	IS(doca_devinfo_get_iface_name(list[SF], name, sizeof(name)), OPERATING_SYSTEM);
	IS(doca_devinfo_get_iface_name(list[PF], name, 8), INVALID_VALUE);
	IS(doca_devinfo_get_iface_name(list[PF], NULL, sizeof(name)), INVALID_VALUE);
}

Test(devinfo, kinds_of_functions)
{
	uint16_t vhca = 7;
	enum doca_pci_func_type type = DOCA_PCI_FUNC_TYPE_VF;
	uint32_t index = 7;

	OK(doca_devinfo_get_pci_func_type(list[PF], &type));
	cr_expect_eq(type, DOCA_PCI_FUNC_TYPE_PF);
	OK(doca_devinfo_get_pci_func_type(list[SF], &type));
	cr_expect_eq(type, DOCA_PCI_FUNC_TYPE_SF);
	IS(doca_devinfo_get_pci_func_type(list[OTHER], &type), NOT_SUPPORTED);
	IS(doca_devinfo_get_pci_func_type(NULL, &type), INVALID_VALUE);
	IS(doca_devinfo_get_pci_func_type(list[PF], NULL), INVALID_VALUE);

	OK(doca_devinfo_get_sf_index(list[SF], &index));
	cr_expect_eq(index, 1u);
	IS(doca_devinfo_get_sf_index(list[PF], &index), NOT_SUPPORTED);
	IS(doca_devinfo_get_sf_index(list[OTHER], &index), NOT_SUPPORTED);
	IS(doca_devinfo_get_sf_index(NULL, &index), INVALID_VALUE);
	IS(doca_devinfo_get_sf_index(list[SF], NULL), INVALID_VALUE);

	OK(doca_devinfo_get_vhca_id(list[SF], &vhca));
	cr_expect_eq(vhca, 1);
	OK(doca_devinfo_get_vhca_id(list[PF], &vhca));
	cr_expect_eq(vhca, 0);
	IS(doca_devinfo_get_vhca_id(list[OTHER], &vhca), NOT_SUPPORTED);
	IS(doca_devinfo_get_vhca_id(NULL, &vhca), INVALID_VALUE);
	IS(doca_devinfo_get_vhca_id(list[SF], NULL), INVALID_VALUE);
}

Test(devinfo, capabilities)
{
	struct doca_dev *dev;
	uint64_t rate;
	uint16_t lid;
	uint8_t is;

	IS(doca_devinfo_get_lid(list[PF], &lid), NOT_SUPPORTED);
	OK(doca_devinfo_get_lid(list[SF], &lid));
	cr_expect_eq(lid, 2);
	IS(doca_devinfo_get_lid(NULL, &lid), INVALID_VALUE);
	OK(doca_devinfo_get_active_rate(list[PF], &rate));
	cr_expect_eq(rate, UINT64_C(25000000000));
	IS(doca_devinfo_get_active_rate(list[OTHER], &rate), DRIVER);
	IS(doca_devinfo_get_active_rate(list[PF], NULL), INVALID_VALUE);
	is = 1;
	OK(doca_devinfo_cap_is_hotplug_manager_supported(list[PF], &is));
	cr_expect_eq(is, 0);
	IS(doca_devinfo_cap_is_hotplug_manager_supported(list[PF], NULL), INVALID_VALUE);
	is = 1;
	OK(doca_devinfo_cap_is_notification_moderation_supported(list[PF], &is));
	cr_expect_eq(is, 0);
	IS(doca_devinfo_cap_is_notification_moderation_supported(NULL, &is), INVALID_VALUE);
	is = 1;
	OK(doca_devinfo_cap_is_accelerate_resource_reclaim_supported(list[PF], &is));
	cr_expect_eq(is, 0);
	IS(doca_devinfo_cap_is_accelerate_resource_reclaim_supported(NULL, &is), INVALID_VALUE);
	IS(doca_dev_accelerate_resource_reclaim(NULL), INVALID_VALUE);
	OK(doca_dev_open(list[PF], &dev));
	IS(doca_dev_accelerate_resource_reclaim(dev), NOT_SUPPORTED);
	OK(doca_dev_close(dev));
}
