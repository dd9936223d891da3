/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * flexio.h - the part of FlexIO for EUs that an administrator assigns to an application. No other
 * part of FlexIO exists here: programs use the DPA by doca_dpa.h.
 *
 * The administrator writes a YAML file, the program reads it into memory and passes the text with
 * the key of its application. The key may be at any depth, once in the file. Its value is a
 * mapping:
 *
 * 	my_app:
 * 	  EUs: [0-7, 16]
 * 	  EUGs: [bulk]
 *
 * EUs are numbers and ranges, one or a list; EUGs are names or ids of EU groups of dpaeumgmt(1),
 * one or a list. The case of these two words does not matter. One of them may be missing. Other
 * keys of the mapping are ignored, unless they begin with "eu": such a key would be an unknown list
 * and is an error.
 *
 * NVIDIA's page "Single Point of Resource Distribution" (3.0) names such files; the functions are
 * those that the public samples of 3.0 to 3.3 call. All calls are thread-safe, except the use of a
 * resource while another thread destroys it.
 */
#ifndef LIBFLEXIO_FLEXIO_H_
#define LIBFLEXIO_FLEXIO_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>

#include "flexio_ver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum flexio_status {
	FLEXIO_STATUS_SUCCESS = 0,
	FLEXIO_STATUS_FAILED = 1,
	FLEXIO_STATUS_TIMEOUT = 2,   /* not returned here */
	FLEXIO_STATUS_FATAL_ERR = 3, /* not returned here */
} flexio_status;

/* An application: the variable of --app-name, by its type in FlexIO. */
struct flexio_app;

/* Return the name of an application; NULL: not made by dpacc. */
DOCA_STABLE const char *flexio_app_get_name(struct flexio_app *app);

/* The EUs and EU groups of an application. */
struct flexio_resource;

/*
 * Read the resources of an application.
 * @app_key: its key in the file
 * @file_buffer, @file_size: the text of the file, without a NUL; in bytes, at most 64 KiB. It is not
 * used after the call.
 * @res: receives the resources, for flexio_resources_destroy(); NULL if the call fails
 *
 * FAILED, with the reason in a line of the SDK log: an argument is NULL or the key empty; the text
 * is empty, too long or no YAML; the key is not there, or there twice; its value is no mapping or
 * has neither EUs nor EUGs; an EU is no number from 0 to 255, or a range that runs backwards; a
 * group has no name of 1 to 15 characters, is there twice, or is one of more than 15; no memory.
 */
DOCA_STABLE flexio_status flexio_resources_create(const char *app_key, const char *file_buffer,
						  size_t file_size, struct flexio_resource **res);

/* Free the resources, and the array of flexio_resources_get_eus(). FAILED: not resources. */
DOCA_STABLE flexio_status flexio_resources_destroy(struct flexio_resource *res);

/* Return the number of EU groups; 0 also if `res` is not resources. */
DOCA_STABLE uint32_t flexio_resources_get_eugs_num(struct flexio_resource *res);

/* Return the number of EUs; 0 also if `res` is not resources. */
DOCA_STABLE uint32_t flexio_resources_get_eus_num(struct flexio_resource *res);

/*
 * Return the EUs, each once, in ascending order: ids for doca_dpa_eu_affinity_set(), which refuses
 * EUs outside the function's partition. Valid until flexio_resources_destroy(). NULL: there are
 * none, or `res` is not resources.
 */
DOCA_STABLE uint32_t *flexio_resources_get_eus(struct flexio_resource *res);

#ifdef __cplusplus
}
#endif

#endif
