/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * import.c - imports a context, from a duplicate of the descriptor of a context that this process
 * has open. Only the kernel can compare them, because all of them are the null device. Descriptors
 * from another process have no context here: the objects behind them belong to that process.
 */
#include "dpa.h"
#include "redirect/fds.h"

struct verbs_context *dpa_import_context(struct ibv_device *device, int cmd_fd)
{
	struct dpa_context *of = dpa_fd_same_file(cmd_fd);

	if (!of || !dpa_word_alive(of->alive))
		return dpa_null(EOPNOTSUPP);
	/* `device` is the first one with the null device: another one if there are several */
	return dpa_open_context(of->vctx.context.device, cmd_fd, of);
}
