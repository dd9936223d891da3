/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_telemetry_pcc: a look at the port's slots and counters. The adapter instance is asked at each
 * call, so that a change by another process is seen by the next one; nothing is kept here.
 */
#include <doca_telemetry_pcc.h>
#include <dpa_hw_pcc.h>
#include <errno.h>
#include <string.h>
#include "../host/libdpa.h"

#define TRIES 64 /* of a slot whose image is being replaced */

struct doca_telemetry_pcc {
	struct doca_dev *dev;
	bool started;
};

static doca_error_t give_cap(const struct doca_devinfo *devinfo, uint32_t *out, uint32_t value)
{
	doca_error_t ret = out ? dpa_cap_if_dpa(devinfo) : DOCA_ERROR_INVALID_VALUE;

	if (!ret)
		*out = value;
	return ret;
}

doca_error_t doca_telemetry_pcc_cap_is_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}

doca_error_t doca_telemetry_pcc_cap_get_max_algo_slots(const struct doca_devinfo *devinfo,
						       uint32_t *max_algo_slots)
{
	return give_cap(devinfo, max_algo_slots, DPA_PCC_SLOTS);
}

doca_error_t doca_telemetry_pcc_cap_get_max_algo_info_len(const struct doca_devinfo *devinfo,
							  uint32_t *max_algo_info_len)
{
	return give_cap(devinfo, max_algo_info_len, DPA_PCC_ALGO_TEXT);
}

doca_error_t doca_telemetry_pcc_cap_get_max_num_counters(const struct doca_devinfo *devinfo,
							 uint32_t *max_num_counters)
{
	return give_cap(devinfo, max_num_counters, DPA_PCC_COUNTERS);
}

doca_error_t doca_telemetry_pcc_cap_get_max_counter_info_len(const struct doca_devinfo *devinfo,
							     uint32_t *max_counter_info_len)
{
	return give_cap(devinfo, max_counter_info_len, DPA_PCC_TEXT);
}

/* ------------------------------------------------------------------------ objects */

doca_error_t doca_telemetry_pcc_create(struct doca_dev *doca_dev, struct doca_telemetry_pcc **pcc)
{
	struct doca_telemetry_pcc *t;

	if (!dpa_live(doca_dev) || !pcc)
		return DOCA_ERROR_INVALID_VALUE;
	if (!doca_dev->info.is_dpa)
		return DOCA_ERROR_DRIVER;
	t = dpa_obj_new(DPA_T_TELEMETRY_PCC, sizeof(*t));
	if (!t)
		return DOCA_ERROR_NO_MEMORY;
	t->dev = doca_dev;
	dpa_dev_use(doca_dev, 1);
	*pcc = t;
	return DOCA_SUCCESS;
}

doca_error_t doca_telemetry_pcc_destroy(struct doca_telemetry_pcc *pcc)
{
	if (!dpa_live(pcc))
		return DOCA_ERROR_INVALID_VALUE;
	if (pcc->started)
		return DOCA_ERROR_BAD_STATE;
	dpa_dev_use(pcc->dev, -1);
	dpa_obj_free(pcc);
	return DOCA_SUCCESS;
}

doca_error_t doca_telemetry_pcc_start(struct doca_telemetry_pcc *pcc)
{
	if (!dpa_live(pcc))
		return DOCA_ERROR_INVALID_VALUE;
	if (pcc->started)
		return DOCA_ERROR_BAD_STATE;
	pcc->started = true;
	return DOCA_SUCCESS;
}

doca_error_t doca_telemetry_pcc_stop(struct doca_telemetry_pcc *pcc)
{
	if (!dpa_live(pcc))
		return DOCA_ERROR_INVALID_VALUE;
	if (!pcc->started)
		return DOCA_ERROR_BAD_STATE;
	pcc->started = false;
	return DOCA_SUCCESS;
}

/* ------------------------------------------------------------------ an algorithm */

/* Reads a slot. ENOENT: nothing; EIO: this process has no adapter (it was forked). */
static int read_telemetry_slot(const struct doca_telemetry_pcc *pcc, uint32_t slot,
			       struct dpa_pcc_slot *out)
{
	void *port;
	const struct dpa_pcc_ops *ops = dpa_hwif_pcc(pcc->dev->ctx, &port);
	int ret = ops ? EAGAIN : EIO;

	for (int i = 0; i < TRIES && ret == EAGAIN; i++)
		ret = ops->read_slot(port, slot, out);
	return ret;
}

/* For getters whose documented error for an empty slot is BAD_STATE. */
static doca_error_t read_identity(const struct doca_telemetry_pcc *pcc, uint8_t slot,
				  const uint32_t *out, struct dpa_pcc_slot *s)
{
	if (!dpa_live(pcc) || !out || slot >= DPA_PCC_SLOTS)
		return DOCA_ERROR_INVALID_VALUE;
	return read_telemetry_slot(pcc, slot, s) ? DOCA_ERROR_BAD_STATE : DOCA_SUCCESS;
}

/* For those where it is DRIVER, as for a slot that does not exist. */
static doca_error_t read_populated(const struct doca_telemetry_pcc *pcc, uint8_t slot,
				   const void *out, struct dpa_pcc_slot *s)
{
	if (!dpa_live(pcc) || !out)
		return DOCA_ERROR_INVALID_VALUE;
	return slot >= DPA_PCC_SLOTS || read_telemetry_slot(pcc, slot, s) ? DOCA_ERROR_DRIVER
									  : DOCA_SUCCESS;
}

doca_error_t doca_telemetry_pcc_get_algo_id(struct doca_telemetry_pcc *pcc, uint8_t algo_slot,
					    uint32_t *algo_id)
{
	struct dpa_pcc_slot s;
	doca_error_t ret = read_identity(pcc, algo_slot, algo_id, &s);

	if (!ret)
		*algo_id = s.id;
	return ret;
}

doca_error_t doca_telemetry_pcc_get_algo_major_version(struct doca_telemetry_pcc *pcc,
						       uint8_t algo_slot,
						       uint32_t *algo_major_version)
{
	struct dpa_pcc_slot s;
	doca_error_t ret = read_identity(pcc, algo_slot, algo_major_version, &s);

	if (!ret)
		*algo_major_version = s.major;
	return ret;
}

doca_error_t doca_telemetry_pcc_get_algo_minor_version(struct doca_telemetry_pcc *pcc,
						       uint8_t algo_slot,
						       uint32_t *algo_minor_version)
{
	struct dpa_pcc_slot s;
	doca_error_t ret = read_identity(pcc, algo_slot, algo_minor_version, &s);

	if (!ret)
		*algo_minor_version = s.minor;
	return ret;
}

doca_error_t doca_telemetry_pcc_get_algo_info(struct doca_telemetry_pcc *pcc, uint8_t algo_slot,
					      char *algo_info)
{
	struct dpa_pcc_slot s;
	doca_error_t ret = read_populated(pcc, algo_slot, algo_info, &s);

	if (!ret)
		memcpy(algo_info, s.text, sizeof(s.text));
	return ret;
}

doca_error_t doca_telemetry_pcc_get_algo_enable_status(struct doca_telemetry_pcc *pcc,
						       uint8_t algo_slot, uint8_t *algo_status,
						       uint8_t *counters_status)
{
	const struct dpa_pcc_ops *ops;
	struct dpa_pcc_port p;
	void *port;

	if (!dpa_live(pcc) || !algo_status || !counters_status)
		return DOCA_ERROR_INVALID_VALUE;
	ops = dpa_hwif_pcc(pcc->dev->ctx, &port);
	if (!ops || algo_slot >= DPA_PCC_SLOTS)
		return DOCA_ERROR_DRIVER;
	ops->query(port, &p);
	if (!(p.populated >> algo_slot & 1))
		return DOCA_ERROR_DRIVER;
	*algo_status = p.enabled >> algo_slot & 1;
	*counters_status = p.counting == algo_slot;
	return DOCA_SUCCESS;
}

/* ---------------------------------------------------------------------- counters */

doca_error_t doca_telemetry_pcc_get_num_counters(struct doca_telemetry_pcc *pcc, uint8_t algo_slot,
						 uint32_t *num_counters)
{
	struct dpa_pcc_slot s;
	doca_error_t ret = read_populated(pcc, algo_slot, num_counters, &s);

	if (!ret)
		*num_counters = s.ncounters;
	return ret;
}

doca_error_t doca_telemetry_pcc_get_counter_info(struct doca_telemetry_pcc *pcc, uint8_t algo_slot,
						 uint8_t counter_id, char *counter_info)
{
	struct dpa_pcc_slot s;
	doca_error_t ret = read_populated(pcc, algo_slot, counter_info, &s);

	if (ret)
		return ret;
	if (counter_id >= s.ncounters)
		return DOCA_ERROR_DRIVER;
	memcpy(counter_info, s.counters[counter_id], DPA_PCC_TEXT);
	return DOCA_SUCCESS;
}

static doca_error_t read_counters(const struct doca_telemetry_pcc *pcc, uint32_t slot, bool clear,
				  uint32_t *num, uint32_t values[DPA_PCC_COUNTERS])
{
	void *port;
	const struct dpa_pcc_ops *ops = dpa_hwif_pcc(pcc->dev->ctx, &port);
	int ret = ops ? ops->read_counters(port, slot, clear, num, values) : EIO;

	if (ret == ENODATA)
		return DOCA_ERROR_BAD_STATE;
	return ret ? DOCA_ERROR_DRIVER : DOCA_SUCCESS;
}

doca_error_t doca_telemetry_pcc_get_counters(struct doca_telemetry_pcc *pcc, uint8_t algo_slot,
					     uint32_t *counters_populated, uint32_t *counter_values)
{
	uint32_t values[DPA_PCC_COUNTERS], n;
	doca_error_t ret;

	if (!dpa_live(pcc) || !counters_populated || !counter_values)
		return DOCA_ERROR_INVALID_VALUE;
	ret = read_counters(pcc, algo_slot, false, &n, values);
	if (ret)
		return ret;
	memcpy(counter_values, values, n * sizeof(*values));
	*counters_populated = n;
	return DOCA_SUCCESS;
}

doca_error_t doca_telemetry_pcc_get_and_clear_counters(struct doca_telemetry_pcc *pcc,
						       uint8_t algo_slot,
						       uint32_t *counters_populated,
						       uint32_t *counter_values)
{
	uint32_t values[DPA_PCC_COUNTERS], n;
	doca_error_t ret;

	if (!dpa_live(pcc) || !counters_populated)
		return DOCA_ERROR_INVALID_VALUE;
	ret = read_counters(pcc, algo_slot, true, &n, values);
	if (ret)
		return ret;
	if (counter_values)
		memcpy(counter_values, values, n * sizeof(*values));
	*counters_populated = counter_values ? n : 0;
	return DOCA_SUCCESS;
}
