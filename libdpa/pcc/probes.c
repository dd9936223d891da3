/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Probes of congestion control programs, and the notification point. The device measures round
 * trips by packets of its own, so that there is nothing to set; what asks for another packet on the
 * wire is not supported, and says so.
 */
#include "pcc.h"

#define SLOTS 1u

doca_error_t doca_pcc_np_cap_is_supported(const struct doca_devinfo *devinfo)
{
	return dpa_live(devinfo) ? DOCA_ERROR_NOT_SUPPORTED : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_pcc_np_create(struct doca_dev *doca_dev, struct doca_pcc **pcc)
{
	if (!dpa_live(doca_dev) || !pcc)
		return DOCA_ERROR_INVALID_VALUE;
	return DOCA_ERROR_NOT_SUPPORTED;
}

doca_error_t doca_pcc_cap_get_num_probe_format_slots(struct doca_pcc *pcc,
						     uint32_t *num_probe_format_slots)
{
	if (!dpa_live(pcc) || !num_probe_format_slots)
		return DOCA_ERROR_INVALID_VALUE;
	*num_probe_format_slots = SLOTS;
	return DOCA_SUCCESS;
}

static doca_error_t check_slot(const struct doca_pcc *pcc, uint32_t slot)
{
	if (!dpa_live(pcc) || slot >= SLOTS)
		return DOCA_ERROR_INVALID_VALUE;
	return pcc->started ? DOCA_ERROR_BAD_STATE : DOCA_SUCCESS;
}

static doca_error_t refuse(const struct doca_pcc *pcc, uint32_t slot)
{
	doca_error_t ret = check_slot(pcc, slot);

	return ret ? ret : DOCA_ERROR_NOT_SUPPORTED;
}

doca_error_t doca_pcc_set_ccmad_probe_packet_format(struct doca_pcc *pcc,
						    uint32_t probe_format_slot)
{
	return check_slot(pcc, probe_format_slot);
}

doca_error_t doca_pcc_rp_set_ccmad_remote_sw_handler(struct doca_pcc *pcc,
						     uint32_t probe_format_slot, bool sw_handler)
{
	doca_error_t ret = check_slot(pcc, probe_format_slot);

	if (!ret && sw_handler)
		ret = DOCA_ERROR_INVALID_VALUE;
	return ret;
}

doca_error_t doca_pcc_set_ifa1_probe_packet_format(struct doca_pcc *pcc, uint32_t probe_format_slot)
{
	return refuse(pcc, probe_format_slot);
}

doca_error_t doca_pcc_set_ifa2_probe_packet_format(struct doca_pcc *pcc, uint32_t probe_format_slot)
{
	return refuse(pcc, probe_format_slot);
}

doca_error_t doca_pcc_set_ifa1_probe_marker(struct doca_pcc *pcc, uint32_t probe_format_slot,
					    uint64_t probe_marker)
{
	(void)probe_marker;
	return refuse(pcc, probe_format_slot);
}

doca_error_t doca_pcc_rp_set_ifa2_gns(struct doca_pcc *pcc, uint32_t probe_format_slot, uint8_t gns)
{
	(void)gns;
	return refuse(pcc, probe_format_slot);
}

doca_error_t doca_pcc_np_set_ifa2_gns_ignore(struct doca_pcc *pcc, uint32_t probe_format_slot,
					     uint8_t ignore_mask, uint8_t ignore_value)
{
	(void)ignore_mask;
	(void)ignore_value;
	return refuse(pcc, probe_format_slot);
}

doca_error_t doca_pcc_rp_set_ifa2_hop_limit(struct doca_pcc *pcc, uint32_t probe_format_slot,
					    uint8_t hop_limit)
{
	(void)hop_limit;
	return refuse(pcc, probe_format_slot);
}
