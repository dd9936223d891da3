/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* device.h - answers about the device that both APIs share. */
#ifndef DPA_CUDA_API_DEVICE_H
#define DPA_CUDA_API_DEVICE_H

const char *device_name(void);
void device_uuid(char bytes[16]);

#endif
