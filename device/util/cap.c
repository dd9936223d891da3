/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cap.c - capabilities of the calling thread (man capabilities). */
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "util/cap.h"

bool dpa_has_capability(unsigned int capability)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return !syscall(SYS_capget, &head, data) &&
	       (data[capability / 32].effective >> capability % 32 & 1);
}
