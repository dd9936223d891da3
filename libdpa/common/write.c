/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* write.c - write a whole buffer to a file. */
#include <errno.h>
#include <unistd.h>
#include "../host/libdpa.h"

int dpa_write_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t k = write(fd, at, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k ? errno : EIO;
		at += k;
		n -= (size_t)k;
	}
	return 0;
}
