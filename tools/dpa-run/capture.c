/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* capture.c - the file for the program's packets. The device writes it; see there. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpa-run.h"

#define PCAPNG 0x0a0d0d0au

/*
 * Return whether the file may be overwritten: only captures, so that a mistyped name destroys no
 * data.
 */
static bool may_overwrite(int fd)
{
	uint32_t magic;
	ssize_t n = read(fd, &magic, sizeof(magic));

	return n == 0 || (n == (ssize_t)sizeof(magic) && magic == PCAPNG);
}

void capture_begin(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
	struct stat st;

	if (fd < 0)
		die(EXIT_USAGE, "--capture %s: %s", path, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		die(EXIT_USAGE, "--capture %s: use a regular file", path);
	if (!may_overwrite(fd))
		die(EXIT_USAGE, "--capture %s: it is no capture: remove it first", path);
	/* processes that write it hold a shared lock */
	if (!flock(fd, LOCK_EX | LOCK_NB) && ftruncate(fd, 0))
		die(EXIT_FAILED, "--capture %s: %s", path, strerror(errno));
	close(fd);
}
