/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Importing a context: from a duplicate of the descriptor of one that this process has open. Only
 * the kernel can find out which one that is, for all of them are the null device. Descriptors that
 * came from another process have no context here: the objects behind them are that process's own.
 */
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "dpa.h"

/*
 * Where kcmp() is not to be had: what one open file has, its duplicates have, too. O_APPEND means
 * nothing to the null device.
 */
static bool same_by_flags(int a, int b)
{
	int was = fcntl(a, F_GETFL), other = fcntl(b, F_GETFL);
	bool same = false;

	if (was < 0 || other < 0 || was != other || fcntl(a, F_SETFL, was ^ O_APPEND))
		return false;
	same = fcntl(b, F_GETFL) != other;
	(void)fcntl(a, F_SETFL, was);
	return same;
}

bool dpa_same_file(int a, int b)
{
	long ret = syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, a, b);

	return ret < 0 ? same_by_flags(a, b) : ret == 0;
}

struct verbs_context *dpa_import_context(struct ibv_device *device, int cmd_fd)
{
	struct dpa_context *of = dpa_fd_same_file(cmd_fd);

	if (!of || !dpa_word_alive(of->alive))
		return dpa_null(EOPNOTSUPP);
	/* `device` is the first that is the null device: another one where there are several */
	(void)device;
	return dpa_open_context(of->vctx.context.device, cmd_fd, of);
}
