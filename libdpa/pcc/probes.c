/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Probes of congestion control programs: their format, and the responder that answers them. */
#include "pcc.h"

#define SLOTS	 1u
#define GNS_MASK 0xfu

doca_error_t doca_pcc_cap_get_num_probe_format_slots(struct doca_pcc *pcc,
						     uint32_t *num_probe_format_slots)
{
	DPA_RETURN_VALUE(pcc, num_probe_format_slots, SLOTS);
}

static doca_error_t check_slot(const struct doca_pcc *pcc, uint32_t slot, bool good)
{
	if (!dpa_live(pcc) || slot >= SLOTS || !good)
		return DOCA_ERROR_INVALID_VALUE;
	return pcc->started ? DOCA_ERROR_BAD_STATE : DOCA_SUCCESS;
}

/* Of one role alone. */
static doca_error_t check_role(const struct doca_pcc *pcc, const struct pcc_role *role,
			       uint32_t slot, bool good)
{
	doca_error_t ret = check_slot(pcc, slot, good);

	if (!ret && pcc->role != role)
		ret = DOCA_ERROR_NOT_SUPPORTED;
	return ret;
}

static doca_error_t set_format(struct doca_pcc *pcc, uint32_t slot, enum dpa_pcc_format format)
{
	doca_error_t ret = check_slot(pcc, slot, true);

	if (!ret)
		pcc->probes.format = (uint8_t)format;
	return ret;
}

doca_error_t doca_pcc_set_ccmad_probe_packet_format(struct doca_pcc *pcc,
						    uint32_t probe_format_slot)
{
	return set_format(pcc, probe_format_slot, DPA_PCC_CCMAD);
}

doca_error_t doca_pcc_set_ifa1_probe_packet_format(struct doca_pcc *pcc, uint32_t probe_format_slot)
{
	return set_format(pcc, probe_format_slot, DPA_PCC_IFA1);
}

doca_error_t doca_pcc_set_ifa2_probe_packet_format(struct doca_pcc *pcc, uint32_t probe_format_slot)
{
	return set_format(pcc, probe_format_slot, DPA_PCC_IFA2);
}

/* No documented error is for the other role. */
doca_error_t doca_pcc_rp_set_ccmad_remote_sw_handler(struct doca_pcc *pcc,
						     uint32_t probe_format_slot, bool sw_handler)
{
	doca_error_t ret = check_slot(pcc, probe_format_slot, true);

	if (!ret && pcc->role != &pcc_rp)
		ret = DOCA_ERROR_INVALID_VALUE;
	if (!ret)
		pcc->probes.program = sw_handler;
	return ret;
}

doca_error_t doca_pcc_set_ifa1_probe_marker(struct doca_pcc *pcc, uint32_t probe_format_slot,
					    uint64_t probe_marker)
{
	doca_error_t ret = check_slot(pcc, probe_format_slot, probe_marker >> 63);

	if (!ret)
		pcc->probes.marker = probe_marker;
	return ret;
}

doca_error_t doca_pcc_rp_set_ifa2_gns(struct doca_pcc *pcc, uint32_t probe_format_slot, uint8_t gns)
{
	doca_error_t ret = check_role(pcc, &pcc_rp, probe_format_slot, gns <= GNS_MASK);

	if (!ret)
		pcc->probes.gns = gns;
	return ret;
}

doca_error_t doca_pcc_np_set_ifa2_gns_ignore(struct doca_pcc *pcc, uint32_t probe_format_slot,
					     uint8_t ignore_mask, uint8_t ignore_value)
{
	doca_error_t ret = check_role(pcc, &pcc_np, probe_format_slot,
				      ignore_mask <= GNS_MASK && ignore_value <= GNS_MASK);

	if (ret)
		return ret;
	pcc->probes.ignore_mask = ignore_mask;
	pcc->probes.ignore_value = ignore_value;
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_rp_set_ifa2_hop_limit(struct doca_pcc *pcc, uint32_t probe_format_slot,
					    uint8_t hop_limit)
{
	doca_error_t ret = check_role(pcc, &pcc_rp, probe_format_slot, true);

	if (!ret)
		pcc->probes.hops = hop_limit;
	return ret;
}

/* ------------------------------------------------ custom headers and priorities of CCMAD */

doca_error_t doca_pcc_cap_is_ccmad_custom_header_supported(const struct doca_devinfo *devinfo)
{
	return doca_devinfo_get_is_pcc_supported(devinfo);
}

doca_error_t doca_pcc_cap_is_probe_priority_change_supported(const struct doca_devinfo *devinfo)
{
	return doca_devinfo_get_is_pcc_supported(devinfo);
}

/* No documented error is for the other role. */
doca_error_t doca_pcc_rp_set_ccmad_custom_header_size(struct doca_pcc *pcc,
						      uint32_t probe_format_slot,
						      uint8_t header_size)
{
	doca_error_t ret = check_slot(pcc, probe_format_slot, header_size <= DPA_PCC_HEADER);

	if (!ret && pcc->role != &pcc_rp)
		ret = DOCA_ERROR_INVALID_VALUE;
	if (!ret)
		pcc->probes.header = header_size;
	return ret;
}

/* There is one place. */
doca_error_t
doca_pcc_rp_set_ccmad_custom_header_location(struct doca_pcc *pcc, uint32_t probe_format_slot,
					     doca_pcc_ccmad_custom_header_loc_t header_loc)
{
	doca_error_t ret =
		check_slot(pcc, probe_format_slot,
			   header_loc == DOCA_PCC_CCMAD_CUSTOM_HEADER_LOCATION_MAD_PAYLOAD);

	return !ret && pcc->role != &pcc_rp ? DOCA_ERROR_INVALID_VALUE : ret;
}

doca_error_t doca_pcc_rp_set_ccmad_probe_priority_change_en(struct doca_pcc *pcc,
							    uint32_t probe_format_slot, bool enable)
{
	doca_error_t ret = check_role(pcc, &pcc_rp, probe_format_slot, true);

	if (!ret)
		pcc->custom_dscp = enable;
	return ret;
}
