/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Queue memory: pages of sealed memfds, so that another process of the board or a GPU can map them
 * and so that the kernel never takes them away under the device. Not inherited by fork.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "dev.h"

/* A piece of queue memory; the memfd stays open so that it can be handed out. */
struct dpa_qmem {
	void *mem;
	size_t bytes;
	int fd;
	struct dpa_qmem *next;
};

static size_t round_page(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (n + page - 1) & ~(page - 1);
}

int dpa_hw_alloc_queue(struct dpa_hw_ctx *ctx, size_t bytes, void **mem)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_qmem *q = calloc(1, sizeof(*q));
	int err = ENOMEM;

	if (!q)
		return ENOMEM;
	q->bytes = round_page(bytes);
	pthread_mutex_lock(&hw->qmem_lock); /* what is not in the list a forked child would keep */
	q->fd = memfd_create("dpa-queue", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (q->fd < 0) {
		err = errno;
		goto err_fd;
	}
	if (ftruncate(q->fd, (off_t)q->bytes) ||
	    fcntl(q->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		goto err_map;
	q->mem = mmap(NULL, q->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, q->fd, 0);
	if (q->mem == MAP_FAILED)
		goto err_map;
	madvise(q->mem, q->bytes, MADV_DONTFORK);
	q->next = hw->qmem;
	hw->qmem = q;
	pthread_mutex_unlock(&hw->qmem_lock);
	*mem = q->mem;
	return 0;

err_map:
	err = errno;
	close(q->fd);
err_fd:
	pthread_mutex_unlock(&hw->qmem_lock);
	free(q);
	return err;
}

/* In a forked child, which was made with the list as it should be. */
void dpa_qmem_abandon(struct dpa_hw *hw)
{
	for (struct dpa_qmem *q = hw->qmem; q; q = q->next)
		close(q->fd);
	hw->qmem = NULL;
}

void dpa_hw_free_queue(struct dpa_hw_ctx *ctx, void *mem, size_t bytes)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_qmem **p, *q = NULL;

	(void)bytes;
	pthread_mutex_lock(&hw->qmem_lock);
	for (p = &hw->qmem; *p; p = &(*p)->next) {
		if ((*p)->mem == mem) {
			q = *p;
			*p = q->next;
			break;
		}
	}
	if (q) {
		munmap(q->mem, q->bytes);
		close(q->fd);
	}
	pthread_mutex_unlock(&hw->qmem_lock);
	free(q);
}
