/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * write.c - the files of a crash: each is written under another name first, and belongs to this
 * user only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "../host/libdpa.h"
#include "crash.h"

typedef int write_fn(const struct dpa_crash *c, const struct dpa_crash_story *s, int fd);

static int write_code_image(const struct dpa_crash *c, const struct dpa_crash_story *s, int fd)
{
	return dpa_write_all(fd, s->code, s->code_size);
}

/* Rename does not follow a link that another user has placed there. */
static int write_crash_file(const char *path, write_fn *fn, const struct dpa_crash *c,
			    const struct dpa_crash_story *s)
{
	char tmp[PATH_MAX + 8];
	int fd, ret;

	snprintf(tmp, sizeof(tmp), "%s.XXXXXX", path);
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return errno;
	ret = fn(c, s, fd);
	if (close(fd) && !ret)
		ret = errno;
	if (!ret && rename(tmp, path))
		ret = errno;
	if (ret)
		unlink(tmp);
	return ret;
}

static int make_name(char *path, const char *prefix, const char *suffix)
{
	int n = snprintf(path, PATH_MAX, "%s.%d.%s", prefix, (int)getpid(), suffix);

	return n < 0 || n >= PATH_MAX - 8 ? ENAMETOOLONG : 0;
}

int dpa_crash_write(const struct dpa_crash *c, struct dpa_crash_story *s)
{
	int ret;

	if (getauxval(AT_SECURE)) /* its memory may hold secrets from this user */
		return EPERM;
	if (make_name(s->core_path, s->prefix, "core") ||
	    make_name(s->text_path, s->prefix, "crash") ||
	    make_name(s->image_path, s->prefix, "so"))
		return ENAMETOOLONG;
	ret = write_crash_file(s->image_path, write_code_image, c, s);
	if (ret)
		return ret;
	s->core_error = write_crash_file(s->core_path, dpa_crash_write_core, c, s);
	return write_crash_file(s->text_path, dpa_crash_write_text, c, s);
}
