/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rep.c - representors: the PF has one for each SF that libibverbs lists. They hold the identity of
 * the SF and no reference to a device, so lists, devices and representors may be freed in any
 * order.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "../host/libdpa.h"

struct doca_devinfo_rep {
	struct doca_devinfo function; /* that of the SF; ibdev is NULL */
};

struct doca_dev_rep {
	struct doca_devinfo_rep info;
};

#define KNOWN_FILTERS (DOCA_DEVINFO_REP_FILTER_NET | DOCA_DEVINFO_REP_FILTER_EMULATED)

static bool devinfo_is_sf(const struct doca_devinfo *info)
{
	return info->is_dpa && info->function;
}

/* Return whether the devinfo belongs to a device that was opened from a PD of the user. */
static bool devinfo_is_borrowed(const struct doca_devinfo *info)
{
	return info->ibdev && container_of(info, struct doca_dev, info)->borrowed;
}

/*
 * List the devices and count the SFs among them.
 * @devs: receives the list, which the caller destroys
 * SUCCESS; NO_MEMORY; DRIVER: there is no list.
 */
static doca_error_t rep_list_functions(struct doca_devinfo ***devs, uint32_t *num, uint32_t *sfs)
{
	doca_error_t ret = doca_devinfo_create_list(devs, num);

	if (ret)
		return ret == DOCA_ERROR_NO_MEMORY ? ret : DOCA_ERROR_DRIVER;
	*sfs = 0;
	for (uint32_t i = 0; i < *num; i++)
		*sfs += devinfo_is_sf((*devs)[i]);
	return DOCA_SUCCESS;
}

static doca_error_t devinfo_has_sfs(const struct doca_devinfo *devinfo, uint8_t *answer)
{
	struct doca_devinfo **devs;
	uint32_t num, sfs;

	if (!dpa_live(devinfo) || !answer)
		return DOCA_ERROR_INVALID_VALUE;
	if (devinfo_is_borrowed(devinfo))
		return DOCA_ERROR_NOT_SUPPORTED;
	*answer = 0;
	if (!devinfo->is_dpa || devinfo->function)
		return DOCA_SUCCESS;
	if (rep_list_functions(&devs, &num, &sfs))
		return DOCA_ERROR_DRIVER;
	doca_devinfo_destroy_list(devs);
	*answer = sfs > 0;
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_rep_cap_is_filter_all_supported(const struct doca_devinfo *devinfo,
							  uint8_t *filter_all_supported)
{
	return devinfo_has_sfs(devinfo, filter_all_supported);
}

doca_error_t doca_devinfo_rep_cap_is_filter_net_supported(const struct doca_devinfo *devinfo,
							  uint8_t *filter_net_supported)
{
	return devinfo_has_sfs(devinfo, filter_net_supported);
}

doca_error_t doca_devinfo_rep_cap_is_filter_emulated_supported(const struct doca_devinfo *devinfo,
							       uint8_t *filter_emulated_supported)
{
	if (!dpa_live(devinfo) || !filter_emulated_supported)
		return DOCA_ERROR_INVALID_VALUE;
	if (devinfo_is_borrowed(devinfo))
		return DOCA_ERROR_NOT_SUPPORTED;
	*filter_emulated_supported = 0;
	return DOCA_SUCCESS;
}

static void rep_list_free(struct doca_devinfo_rep **list)
{
	for (struct doca_devinfo_rep **p = list; *p; p++)
		dpa_obj_free(*p);
	dpa_obj_free(list);
}

/* Make the list of representors. NULL: no memory. */
static struct doca_devinfo_rep **rep_list_make(struct doca_devinfo **devs, uint32_t num,
					       uint32_t sfs)
{
	struct doca_devinfo_rep **list =
		dpa_obj_new(DPA_T_DEVINFO_REP_LIST, (sfs + 1) * sizeof(*list));
	uint32_t n = 0;

	for (uint32_t i = 0; list && i < num; i++) {
		if (!devinfo_is_sf(devs[i]))
			continue;
		list[n] = dpa_obj_new(DPA_T_DEVINFO_REP, sizeof(*list[n]));
		if (!list[n]) {
			rep_list_free(list);
			return NULL;
		}
		list[n++]->function = *devs[i];
	}
	return list;
}

doca_error_t doca_devinfo_rep_create_list(struct doca_dev *dev, int filter,
					  struct doca_devinfo_rep ***dev_list_rep,
					  uint32_t *nb_devs_rep)
{
	struct doca_devinfo_rep **list;
	struct doca_devinfo **devs;
	uint32_t num, sfs;
	doca_error_t ret;

	if (!dpa_live(dev) || (filter & ~KNOWN_FILTERS) || !dev_list_rep || !nb_devs_rep)
		return DOCA_ERROR_INVALID_VALUE;
	if (dev->borrowed || !dev->info.is_dpa || dev->info.function ||
	    (filter & DOCA_DEVINFO_REP_FILTER_EMULATED))
		return DOCA_ERROR_NOT_SUPPORTED;
	ret = rep_list_functions(&devs, &num, &sfs);
	if (ret)
		return ret;
	list = sfs ? rep_list_make(devs, num, sfs) : NULL;
	doca_devinfo_destroy_list(devs);
	if (!sfs)
		return DOCA_ERROR_NOT_SUPPORTED;
	if (!list)
		return DOCA_ERROR_NO_MEMORY;
	*dev_list_rep = list;
	*nb_devs_rep = sfs;
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_rep_destroy_list(struct doca_devinfo_rep **dev_list_rep)
{
	if (!dpa_obj_is(dev_list_rep, DPA_T_DEVINFO_REP_LIST))
		return DOCA_ERROR_INVALID_VALUE;
	rep_list_free(dev_list_rep);
	return DOCA_SUCCESS;
}

doca_error_t doca_dev_rep_open(struct doca_devinfo_rep *devinfo, struct doca_dev_rep **dev_rep)
{
	struct doca_dev_rep *rep;

	if (!dpa_live(devinfo) || !dev_rep)
		return DOCA_ERROR_INVALID_VALUE;
	rep = dpa_obj_new(DPA_T_DEV_REP, sizeof(*rep));
	if (!rep)
		return DOCA_ERROR_NO_MEMORY;
	rep->info = *devinfo;
	dpa_obj_add(&rep->info, DPA_T_DEVINFO_REP);
	*dev_rep = rep;
	return DOCA_SUCCESS;
}

doca_error_t doca_dev_rep_close(struct doca_dev_rep *dev)
{
	if (!dpa_live(dev))
		return DOCA_ERROR_INVALID_VALUE;
	dpa_obj_free(dev);
	return DOCA_SUCCESS;
}

struct doca_devinfo_rep *doca_dev_rep_as_devinfo(struct doca_dev_rep *dev_rep)
{
	return dpa_live(dev_rep) ? &dev_rep->info : NULL;
}

doca_error_t doca_devinfo_rep_get_vuid(const struct doca_devinfo_rep *devinfo_rep, char *rep_vuid,
				       uint32_t size)
{
	uint64_t guid;

	if (!dpa_live(devinfo_rep) || !rep_vuid || size < DOCA_DEVINFO_REP_VUID_SIZE)
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(&guid, devinfo_rep->function.guid, sizeof(guid));
	snprintf(rep_vuid, size, "dpa-%016" PRIx64, be64toh(guid));
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_rep_get_pci_addr_str(const struct doca_devinfo_rep *devinfo_rep,
					       char *pci_addr_str)
{
	if (!dpa_live(devinfo_rep) || !pci_addr_str)
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(pci_addr_str, devinfo_rep->function.pci_addr, DOCA_DEVINFO_REP_PCI_ADDR_SIZE);
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_rep_is_equal_pci_addr(const struct doca_devinfo_rep *devinfo_rep,
						const char *pci_addr_str, uint8_t *is_equal)
{
	if (!dpa_live(devinfo_rep) || !pci_addr_str || !is_equal)
		return DOCA_ERROR_INVALID_VALUE;
	return dpa_devinfo_is_equal_pci_addr(&devinfo_rep->function, pci_addr_str, is_equal);
}

uint32_t dpa_rep_function(const struct doca_devinfo_rep *devinfo_rep)
{
	return devinfo_rep->function.function;
}

doca_error_t doca_devinfo_rep_get_pci_func_type(const struct doca_devinfo_rep *devinfo_rep,
						enum doca_pci_func_type *pci_func_type)
{
	DPA_RETURN_VALUE(devinfo_rep, pci_func_type, DOCA_PCI_FUNC_TYPE_SF);
}

doca_error_t doca_devinfo_rep_get_vhca_id(const struct doca_devinfo_rep *devinfo_rep,
					  uint16_t *vhca_id)
{
	DPA_RETURN_VALUE(devinfo_rep, vhca_id, (uint16_t)dpa_rep_function(devinfo_rep));
}

doca_error_t doca_devinfo_rep_get_is_hotplug(const struct doca_devinfo_rep *devinfo_rep,
					     uint8_t *is_hotplug)
{
	DPA_RETURN_VALUE(devinfo_rep, is_hotplug, 0);
}

doca_error_t doca_devinfo_rep_get_iface_name(const struct doca_devinfo_rep *devinfo_rep,
					     char *iface_name, uint32_t size)
{
	if (!dpa_live(devinfo_rep) || !iface_name || size < DOCA_DEVINFO_IFACE_NAME_SIZE)
		return DOCA_ERROR_INVALID_VALUE;
	return DOCA_ERROR_OPERATING_SYSTEM;
}
