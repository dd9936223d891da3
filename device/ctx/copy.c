/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * copy.c - copies to and from memory that a packet names. Such memory is never touched by plain
 * loads and stores, because the application may have unmapped it. The kernel copies, and its EFAULT
 * becomes a NAK: process_vm_readv/writev if allowed (also for this process), else a pipe, whose
 * read(2) and write(2) report EFAULT as well. A short payload goes by the bounce buffer (stage.h),
 * whose call is cheaper.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "ctx/hw.h"
#include "ctx/copy.h"
#include "ctx/thread.h"

#define SHORT 4096u

/*
 * The system calls without the library. The effect of a peer's one-sided operation on this
 * process's memory is outside of the C memory model, like DMA of any adapter. A sanitizer's wrapper
 * of the library call would report it.
 */
static ssize_t vm_read(pid_t pid, const struct iovec *l, int nl, const struct iovec *r, int nr)
{
	return syscall(SYS_process_vm_readv, pid, l, (unsigned long)nl, r, (unsigned long)nr, 0ul);
}

static ssize_t vm_write(pid_t pid, const struct iovec *l, int nl, const struct iovec *r, int nr)
{
	return syscall(SYS_process_vm_writev, pid, l, (unsigned long)nl, r, (unsigned long)nr, 0ul);
}

int dpa_last_apart(const struct iovec *v, int cnt, uint64_t end, struct iovec *out)
{
	const struct iovec *tail = &v[cnt - 1];
	uint32_t last;

	memcpy(out, v, (size_t)cnt * sizeof(*v));
	last = dpa_last_bytes(end, tail->iov_len);
	if (tail->iov_len <= last)
		return cnt;
	out[cnt - 1].iov_len -= last;
	out[cnt].iov_base = (uint8_t *)tail->iov_base + (tail->iov_len - last);
	out[cnt].iov_len = last;
	return cnt + 1;
}

/*
 * As above, no libc function: TSan takes it for a plain store, while the program may legally read
 * the arriving bytes.
 */
static ssize_t pipe_read(int fd, void *dst, size_t n)
{
	return syscall(SYS_read, fd, dst, n);
}

/* Reads the whole content of the pipe; the last number is stored on its own. */
static bool drain_pipe(int fd, void *dst, size_t n)
{
	size_t last = dpa_last_bytes((uintptr_t)dst + n, n), k = n - last;

	return (!k || pipe_read(fd, dst, k) == (ssize_t)k) &&
	       pipe_read(fd, (uint8_t *)dst + k, last) == (ssize_t)last;
}

/* A pipe for each thread would leak; a new one costs two microseconds on a rare path. */
static int pipe_copy(void *dst, const void *src, size_t n)
{
	int fd[2], ret = 0, cancel;

	if (pipe2(fd, O_CLOEXEC))
		return errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	while (n && !ret) {
		size_t k = n < PIPE_BUF ? n : PIPE_BUF;
		ssize_t w = write(fd[1], src, k);

		if (w <= 0 || !drain_pipe(fd[0], dst, (size_t)w)) {
			ret = EFAULT;
			break;
		}
		dst = (char *)dst + w;
		src = (const char *)src + w;
		n -= (size_t)w;
	}
	close(fd[0]);
	close(fd[1]);
	pthread_setcancelstate(cancel, NULL);
	return ret;
}

/* False: it failed; the slower ways return the reason. */
static bool put_short(struct dpa_hw *hw, uint64_t dst, const void *src, size_t n)
{
	struct dpa_puts p;

	if (n > SHORT || !dpa_puts_begin(&hw->stage, &p))
		return false;
	dpa_puts_add(&p, dst, src, (uint32_t)n);
	return dpa_puts_end(&p) == 1;
}

int dpa_copy_out(struct dpa_hw *hw, uint64_t dst, const void *src, size_t n)
{
	const struct iovec l = {.iov_base = (void *)src, .iov_len = n};
	const struct iovec r = {.iov_base = (void *)(uintptr_t)dst, .iov_len = n};
	struct iovec apart[2];

	if (!n || put_short(hw, dst, src, n))
		return 0;
	if (dpa_unlikely(!hw->pvm_self))
		return pipe_copy((void *)(uintptr_t)dst, src, n);
	return vm_write(hw->pid, apart, dpa_last_apart(&l, 1, dst + n, apart), &r, 1) == (ssize_t)n
		       ? 0
		       : EFAULT;
}

/* At most DPA_COPY_PIECES segments. */
int dpa_copy_out_v(struct dpa_hw *hw, uint64_t dst, const struct iovec *src, uint32_t cnt, size_t n)
{
	const struct iovec r = {.iov_base = (void *)(uintptr_t)dst, .iov_len = n};
	struct iovec apart[DPA_COPY_PIECES + 1];
	int ret = 0, k;

	if (dpa_likely(hw->pvm_self)) {
		k = dpa_last_apart(src, (int)cnt, dst + n, apart);
		return vm_write(hw->pid, apart, k, &r, 1) == (ssize_t)n ? 0 : EFAULT;
	}
	for (uint32_t i = 0; i < cnt && !ret; dst += src[i++].iov_len)
		ret = pipe_copy((void *)(uintptr_t)dst, src[i].iov_base, src[i].iov_len);
	return ret;
}

int dpa_copy_in(struct dpa_hw *hw, void *dst, uint64_t src, size_t n)
{
	struct iovec l = {.iov_base = dst, .iov_len = n};
	struct iovec r = {.iov_base = (void *)(uintptr_t)src, .iov_len = n};

	if (!n)
		return 0;
	if (dpa_unlikely(!hw->pvm_self))
		return pipe_copy(dst, (const void *)(uintptr_t)src, n);
	return vm_read(hw->pid, &l, 1, &r, 1) == (ssize_t)n ? 0 : EFAULT;
}

/* True if the kernel lets us read that process's memory: addr must hold `expect` there. */
bool dpa_copy_probe(pid_t pid, uint64_t addr, uint64_t expect)
{
	uint64_t v = ~expect;
	struct iovec l = {.iov_base = &v, .iov_len = sizeof(v)};
	struct iovec r = {.iov_base = (void *)(uintptr_t)addr, .iov_len = sizeof(v)};

	return vm_read(pid, &l, 1, &r, 1) == (ssize_t)sizeof(v) && v == expect;
}

int dpa_copy_pull(pid_t pid, const struct iovec *dst, int ndst, const struct iovec *src, int nsrc,
		  size_t n)
{
	ssize_t r;

	if (!n)
		return 0;
	r = vm_read(pid, dst, ndst, src, nsrc);
	if (r == (ssize_t)n)
		return 0;
	return r < 0 && (errno == EPERM || errno == ESRCH) ? errno : EFAULT;
}

/*
 * With Yama a process can be traced, and its memory copied, by its ancestors only, unless it allows
 * more: prctl(2), PR_SET_PTRACER. A forked child must allow it again. EINVAL: no Yama, no
 * restriction.
 */
void dpa_copy_offer(const struct dpa_hw *hw)
{
	if (hw->cfg.ptracer == DPA_CFG_PTRACER_ANY)
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}
