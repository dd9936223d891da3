/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * devinfo.c - the attributes of a device that is not open. The provider returns them for adapters
 * of this project; for other devices only sysfs is read.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../host/libdpa.h"

static bool is_pci(const char *s)
{
	unsigned int d, b, v, f;
	int at = 0;

	/* sscanf() alone would also accept blanks, signs and 0x */
	return strspn(s, "0123456789abcdefABCDEF:.") == strlen(s) &&
	       sscanf(s, "%4x:%2x:%2x.%1x%n", &d, &b, &v, &f, &at) == 4 && at == 12 && !s[at];
}

/* Get the PCI address of a kernel device, which is a link into the folder of its PCI device. */
static bool pci_of_kernel(const char *name, char pci[DOCA_DEVINFO_PCI_ADDR_SIZE])
{
	char path[128], real[PATH_MAX];
	const char *base;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", name);
	if (!realpath(path, real))
		return false;
	base = strrchr(real, '/') + 1;
	if (!is_pci(base))
		return false;
	memcpy(pci, base, DOCA_DEVINFO_PCI_ADDR_SIZE);
	return true;
}

static doca_error_t pci_addr(const struct doca_devinfo *info, char out[DOCA_DEVINFO_PCI_ADDR_SIZE])
{
	if (info->is_dpa)
		memcpy(out, info->pci_addr, DOCA_DEVINFO_PCI_ADDR_SIZE);
	else if (!pci_of_kernel(info->name, out))
		return DOCA_ERROR_OPERATING_SYSTEM;
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_get_pci_addr_str(const struct doca_devinfo *devinfo, char *pci_addr_str)
{
	if (!dpa_live(devinfo) || !pci_addr_str)
		return DOCA_ERROR_INVALID_VALUE;
	return pci_addr(devinfo, pci_addr_str);
}

doca_error_t dpa_devinfo_is_equal_pci_addr(const struct doca_devinfo *info,
					   const char *pci_addr_str, uint8_t *is_equal)
{
	char own[DOCA_DEVINFO_PCI_ADDR_SIZE], whole[32];
	doca_error_t ret;

	/* "03:00.0" has domain 0 */
	snprintf(whole, sizeof(whole), "%s%s",
		 strlen(pci_addr_str) == DOCA_DEVINFO_PCI_BDF_SIZE - 1 ? "0000:" : "",
		 pci_addr_str);
	if (!is_pci(whole))
		return DOCA_ERROR_INVALID_VALUE;
	ret = pci_addr(info, own);
	if (!ret)
		*is_equal = strcasecmp(own, whole) == 0;
	return ret;
}

doca_error_t doca_devinfo_is_equal_pci_addr(const struct doca_devinfo *devinfo,
					    const char *pci_addr_str, uint8_t *is_equal)
{
	if (!dpa_live(devinfo) || !pci_addr_str || !is_equal)
		return DOCA_ERROR_INVALID_VALUE;
	return dpa_devinfo_is_equal_pci_addr(devinfo, pci_addr_str, is_equal);
}

doca_error_t doca_devinfo_get_pci_func_type(const struct doca_devinfo *devinfo,
					    enum doca_pci_func_type *pci_func_type)
{
	if (!dpa_live(devinfo) || !pci_func_type)
		return DOCA_ERROR_INVALID_VALUE;
	if (!devinfo->is_dpa)
		return DOCA_ERROR_NOT_SUPPORTED;
	*pci_func_type = devinfo->function ? DOCA_PCI_FUNC_TYPE_SF : DOCA_PCI_FUNC_TYPE_PF;
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_get_sf_index(const struct doca_devinfo *devinfo, uint32_t *sf_index)
{
	if (!dpa_live(devinfo) || !sf_index)
		return DOCA_ERROR_INVALID_VALUE;
	if (!devinfo->is_dpa || !devinfo->function)
		return DOCA_ERROR_NOT_SUPPORTED;
	*sf_index = devinfo->function;
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_get_vhca_id(const struct doca_devinfo *devinfo, uint16_t *vhca_id)
{
	if (!dpa_live(devinfo) || !vhca_id)
		return DOCA_ERROR_INVALID_VALUE;
	if (!devinfo->is_dpa)
		return DOCA_ERROR_NOT_SUPPORTED;
	*vhca_id = (uint16_t)devinfo->function;
	return DOCA_SUCCESS;
}

/* Read GID `index` of the port; false: there is none, or the device is of another make. */
static bool read_gid(const struct doca_devinfo *info, int index, uint8_t gid[16])
{
	unsigned int w[8];
	char name[32], text[128];

	snprintf(name, sizeof(name), "gids/%d", index);
	if (!info->is_dpa || dpa_hwif_port_file(info->function, name, text, sizeof(text)) < 0 ||
	    sscanf(text, "%4x:%4x:%4x:%4x:%4x:%4x:%4x:%4x", &w[0], &w[1], &w[2], &w[3], &w[4],
		   &w[5], &w[6], &w[7]) != 8)
		return false;
	for (int i = 0; i < 8; i++) {
		gid[2 * i] = (uint8_t)(w[i] >> 8);
		gid[2 * i + 1] = (uint8_t)w[i];
	}
	return true;
}

static bool is_v4_gid(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid, mapped, sizeof(mapped)) == 0;
}

/* Find the first address of a family, which is the one of the widest scope. */
static bool find_addr(const struct doca_devinfo *info, bool v4, uint8_t gid[16])
{
	static const uint8_t none[16];

	for (int i = 0; i < DPA_MAX_GIDS && read_gid(info, i, gid); i++) {
		if (memcmp(gid, none, sizeof(none)) == 0)
			return false; /* past the last one */
		if (is_v4_gid(gid) == v4)
			return true;
	}
	return false;
}

doca_error_t doca_devinfo_get_ipv4_addr(const struct doca_devinfo *devinfo, uint8_t *ipv4_addr,
					uint32_t size)
{
	uint8_t gid[16];

	if (!dpa_live(devinfo) || !ipv4_addr || size < DOCA_DEVINFO_IPV4_ADDR_SIZE)
		return DOCA_ERROR_INVALID_VALUE;
	if (!find_addr(devinfo, true, gid))
		return DOCA_ERROR_NOT_FOUND;
	memcpy(ipv4_addr, gid + 12, DOCA_DEVINFO_IPV4_ADDR_SIZE);
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_get_ipv6_addr(const struct doca_devinfo *devinfo, uint8_t *ipv6_addr,
					uint32_t size)
{
	uint8_t gid[16];

	if (!dpa_live(devinfo) || !ipv6_addr || size < DOCA_DEVINFO_IPV6_ADDR_SIZE)
		return DOCA_ERROR_INVALID_VALUE;
	if (!find_addr(devinfo, false, gid))
		return DOCA_ERROR_OPERATING_SYSTEM;
	memcpy(ipv6_addr, gid, DOCA_DEVINFO_IPV6_ADDR_SIZE);
	return DOCA_SUCCESS;
}

/* Make the address from the node GUID: 02:d9:a0, which is locally administered, and 24 bits. */
doca_error_t doca_devinfo_get_mac_addr(const struct doca_devinfo *devinfo, uint8_t *mac_addr,
				       uint32_t size)
{
	if (!dpa_live(devinfo) || !mac_addr || size < DOCA_DEVINFO_MAC_ADDR_SIZE)
		return DOCA_ERROR_INVALID_VALUE;
	if (!devinfo->is_dpa)
		return DOCA_ERROR_NOT_SUPPORTED;
	memcpy(mac_addr, devinfo->guid, 3);
	memcpy(mac_addr + 3, devinfo->guid + 5, 3);
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_get_iface_name(const struct doca_devinfo *devinfo, char *iface_name,
					 uint32_t size)
{
	char text[128], file[32];
	int len = -1;

	if (!dpa_live(devinfo) || !iface_name || size < DOCA_DEVINFO_IFACE_NAME_SIZE)
		return DOCA_ERROR_INVALID_VALUE;
	/*
	 * of the first GID that has an interface: indices may be empty, and the derived GID has
	 * none
	 */
	for (int i = 0; devinfo->is_dpa && len < 2 && i < DPA_MAX_GIDS; i++) {
		snprintf(file, sizeof(file), "gid_attrs/ndevs/%d", i);
		len = dpa_hwif_port_file(devinfo->function, file, text, sizeof(text));
	}
	if (len < 2)
		return DOCA_ERROR_OPERATING_SYSTEM;
	snprintf(iface_name, size, "%.*s", (int)strcspn(text, "\n"), text);
	return DOCA_SUCCESS;
}

/* Return the number at the start of a file of the port; 0 if there is none. */
static unsigned long port_number(const struct doca_devinfo *devinfo, const char *file)
{
	char text[128];

	if (!devinfo->is_dpa || dpa_hwif_port_file(devinfo->function, file, text, sizeof(text)) < 0)
		return 0;
	return strtoul(text, NULL, 0);
}

doca_error_t doca_devinfo_get_lid(const struct doca_devinfo *devinfo, uint16_t *lid)
{
	if (!dpa_live(devinfo) || !lid)
		return DOCA_ERROR_INVALID_VALUE;
	*lid = (uint16_t)port_number(devinfo, "lid");
	return *lid ? DOCA_SUCCESS : DOCA_ERROR_NOT_SUPPORTED; /* no LID: Ethernet */
}

doca_error_t doca_devinfo_get_active_rate(const struct doca_devinfo *devinfo, uint64_t *active_rate)
{
	if (!dpa_live(devinfo) || !active_rate)
		return DOCA_ERROR_INVALID_VALUE;
	if (!devinfo->is_dpa)
		return DOCA_ERROR_DRIVER;
	*active_rate = port_number(devinfo, "rate") * UINT64_C(1000000000);
	return *active_rate ? DOCA_SUCCESS : DOCA_ERROR_DRIVER;
}

static doca_error_t answer_no(const struct doca_devinfo *devinfo, uint8_t *answer)
{
	DPA_RETURN_VALUE(devinfo, answer, 0);
}

doca_error_t doca_devinfo_cap_is_hotplug_manager_supported(const struct doca_devinfo *devinfo,
							   uint8_t *is_hotplug_manager)
{
	return answer_no(devinfo, is_hotplug_manager);
}

doca_error_t
doca_devinfo_cap_is_notification_moderation_supported(const struct doca_devinfo *devinfo,
						      uint8_t *is_notification_moderation_supported)
{
	return answer_no(devinfo, is_notification_moderation_supported);
}

doca_error_t
doca_devinfo_cap_is_accelerate_resource_reclaim_supported(const struct doca_devinfo *devinfo,
							  uint8_t *is_accelerate_resource_reclaim)
{
	return answer_no(devinfo, is_accelerate_resource_reclaim);
}

doca_error_t doca_dev_accelerate_resource_reclaim(struct doca_dev *dev)
{
	return dpa_live(dev) ? DOCA_ERROR_NOT_SUPPORTED : DOCA_ERROR_INVALID_VALUE;
}
