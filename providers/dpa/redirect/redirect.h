/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef DPA_REDIRECT_H
#define DPA_REDIRECT_H

/*
 * Point the imported write, read, ioctl and close of every loaded libibverbs.so and librdmacm.so at
 * functions that call the hooks of hooks.h first; also open and fstat of librdmacm.so, and all
 * other names of these calls. Idempotent and thread-safe. Called when libibverbs matches a device,
 * when a device is opened, and when libibverbs calls stat(), which it does in each listing of
 * devices: so it finds libraries that are loaded later. Returns the number of slots that point here
 * (0: none was found, or the pages could not be written).
 */
int dpa_redirect_install(void);

#endif
