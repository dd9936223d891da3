/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * device.c - libdoca_gpunetio_device.a, for build files that link a library of that name. It has no
 * functions: the device functions are in the headers doca_gpunetio_dev_*.cuh.
 */
extern const char dpa_gpunetio_device_is_headers[];
const char dpa_gpunetio_device_is_headers[] = "the device functions are in the headers";
