/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <dpa_hw.h>

#include "discovery.h"

__attribute__((visibility("default"))) int dpadv_port_file(const char *name, char *text, size_t len)
{
	return dpa_hw_port_file(name, text, len);
}
