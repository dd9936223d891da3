/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The EUs that a file gives to an application (DOCA 3.3): FlexIO's reader under other names. */
#include <libflexio/flexio.h>
#include <string.h>
#include "../common/object/object.h"
#include "pcc.h"

/* An object of this type is one of FlexIO's. */
static struct flexio_resource *resource_of(const struct doca_pcc_resources *resources)
{
	struct flexio_resource *res = (struct flexio_resource *)(uintptr_t)resources;

	return dpa_obj_is(res, DPA_T_FLEXIO_RESOURCE) ? res : NULL;
}

doca_error_t doca_pcc_resources_create(const char *app_key, const char *file_buffer,
				       size_t file_size, struct doca_pcc_resources **resources)
{
	struct flexio_resource *res;

	if (!resources)
		return DOCA_ERROR_INVALID_VALUE;
	if (flexio_resources_create(app_key, file_buffer, file_size, &res) != FLEXIO_STATUS_SUCCESS)
		return DOCA_ERROR_INVALID_VALUE;
	*resources = (struct doca_pcc_resources *)res;
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_resources_destroy(struct doca_pcc_resources *resources)
{
	struct flexio_resource *res = resource_of(resources);

	if (!res)
		return DOCA_ERROR_INVALID_VALUE;
	flexio_resources_destroy(res);
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_resources_get_num_eus(const struct doca_pcc_resources *resources,
					    uint32_t *num_eus)
{
	struct flexio_resource *res = resource_of(resources);

	if (!res || !num_eus)
		return DOCA_ERROR_INVALID_VALUE;
	*num_eus = flexio_resources_get_eus_num(res);
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_resources_get_eus(const struct doca_pcc_resources *resources,
					uint32_t num_eus, uint32_t *eus)
{
	struct flexio_resource *res = resource_of(resources);

	if (!res || (num_eus && !eus) || num_eus > flexio_resources_get_eus_num(res))
		return DOCA_ERROR_INVALID_VALUE;
	if (num_eus)
		memcpy(eus, flexio_resources_get_eus(res), num_eus * sizeof(*eus));
	return DOCA_SUCCESS;
}
