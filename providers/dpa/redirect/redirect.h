/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef DPA_REDIRECT_H
#define DPA_REDIRECT_H

/*
 * Points the imported write, read, ioctl and close of every loaded libibverbs.so and librdmacm.so
 * at functions that ask the hooks of hooks.h first; open and fstat of librdmacm.so, too, and all
 * other names of these calls. Idempotent and thread-safe. It is called when libibverbs asks about
 * a device, when a device is opened, and when libibverbs calls stat(), as it does in each listing
 * of devices: so it finds libraries that came later. Returns the number of slots that point here
 * (0: nothing was found, or the pages could not be written).
 */
int dpa_redirect_install(void);

#endif
