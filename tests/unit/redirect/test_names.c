/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_names.c - the names of libc's calls in builds of librdmacm and libibverbs: plain, with
 * _FILE_OFFSET_BITS=64, with _FORTIFY_SOURCE; and a library that is loaded after the first listing
 * of devices.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "caller.h"
#include "names.h"
#include "redirect/hooks.h"
#include "redirect/redirect.h"

#define OURS 4242 /* a descriptor that no process has */
#define NODE "/no/such/node"

static int marked = -1; /* the descriptor that fstat() shows as a character device */

bool dpa_hook_write(int fd, const void *buf, size_t n, ssize_t *ret)
{
	*ret = 100 + (ssize_t)n;
	return fd == OURS;
}

bool dpa_hook_read(int fd, void *buf, size_t n, ssize_t *ret)
{
	*ret = 200 + (ssize_t)n;
	return fd == OURS;
}

bool dpa_hook_ioctl(int fd, unsigned long request, void *arg, int *ret)
{
	return false;
}

bool dpa_hook_open(const char *path, int flags, int *fd)
{
	*fd = OURS;
	return strcmp(path, NODE) == 0;
}

void dpa_hook_fstat(int fd, struct stat *st)
{
	if (fd == marked)
		st->st_rdev = makedev(7, 8);
}

bool dpa_hook_close(int fd)
{
	return false;
}

static void *sym(const char *lib, const char *name)
{
	void *h = dlopen(lib, RTLD_NOW | RTLD_LOCAL), *p;

	cr_assert_not_null(h, "%s", dlerror());
	p = dlsym(h, name);
	cr_assert_not_null(p, "%s", dlerror());
	return p;
}

static const struct names *names_of(const char *lib, const char *kind)
{
	char file[256], symbol[32];

	snprintf(file, sizeof(file), LIB_DIR "/lib%s-test-%s.so", lib, kind);
	snprintf(symbol, sizeof(symbol), "names_%s", kind);
	return sym(file, symbol);
}

static void expect_open(const struct names *c, const char *kind)
{
	char path[] = "/tmp/dpa-names-XXXXXX", buf[4] = "";
	int fd;

	cr_expect_eq(c->open(NODE, O_RDWR), OURS, "%s", kind);
	errno = 0;
	cr_expect_eq(c->open("/no/such/file", O_RDONLY), -1, "%s", kind);
	cr_expect_eq(errno, ENOENT, "%s", kind);
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, "abc", 3), 3);
	close(fd);
	fd = c->open(path, O_RDONLY);
	cr_expect_geq(fd, 0, "%s", kind);
	cr_expect_eq(read(fd, buf, 3), 3, "%s", kind);
	cr_expect_str_eq(buf, "abc");
	close(fd);
	unlink(path);
}

static void expect_fstat(const struct names *c, const char *kind)
{
	struct stat st, real;
	int fd = open("/dev/null", O_RDONLY);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &real), 0);
	memset(&st, 0, sizeof(st));
	cr_expect_eq(c->fstat(fd, &st), 0, "%s", kind);
	cr_expect_eq(st.st_ino, real.st_ino, "%s", kind);
	cr_expect_eq(st.st_rdev, real.st_rdev, "%s: not ours, no change", kind);
	marked = fd;
	cr_expect_eq(c->fstat(fd, &st), 0, "%s", kind);
	cr_expect_eq(st.st_rdev, makedev(7, 8), "%s", kind);
	close(fd);
	errno = 0;
	cr_expect_eq(c->fstat(-1, &st), -1, "%s", kind);
	cr_expect_eq(errno, EBADF, "%s", kind);
}

static void expect_read(const struct names *c, const char *kind)
{
	char buf[8] = "";
	int p[2];

	cr_expect_eq(c->read(OURS, buf, 2), 202, "%s", kind);
	cr_assert_eq(pipe(p), 0);
	cr_assert_eq(write(p[1], "hello", 5), 5);
	cr_expect_eq(c->read(p[0], buf, sizeof(buf)), 5, "%s", kind);
	cr_expect_str_eq(buf, "hello");
	close(p[0]);
	close(p[1]);
}

static void expect_redirected(const char *kind)
{
	const struct names *c = names_of("rdmacm", kind);

	cr_assert_gt(dpa_redirect_install(), 0);
	if (c->open)
		expect_open(c, kind);
	if (c->fstat)
		expect_fstat(c, kind);
	if (c->read)
		expect_read(c, kind);
}

Test(names, plain)
{
	expect_redirected("plain");
}

#ifdef __GLIBC__
Test(names, large_files)
{
	expect_redirected("large");
}

Test(names, fortified)
{
	expect_redirected("fortified");
}

Test(names, large_files_and_fortified)
{
	expect_redirected("both");
}
#endif

/*
 * A program lists devices, loads librdmacm later, and librdmacm lists them again: libibverbs calls
 * stat(), and finds no new device for the provider.
 */
static void expect_found(const char *kind)
{
	const struct names *verbs = names_of("ibverbs", kind);
	const struct caller *later;
	struct stat st;

	cr_assert_gt(dpa_redirect_install(), 0);
	later = sym(LATER, "caller_later");
	cr_expect_eq(later->write(OURS, "", 1), -1);
	cr_expect_eq(verbs->stat("/", &st), 0);
	cr_expect(S_ISDIR(st.st_mode));
	cr_expect_eq(later->write(OURS, "", 1), 101, "%s", kind);
	errno = 0;
	cr_expect_eq(verbs->stat("/no/such/file", &st), -1);
	cr_expect_eq(errno, ENOENT);
}

Test(names, librdmacm_loaded_after_a_listing)
{
	expect_found("stat");
}

#ifdef __GLIBC__
Test(names, librdmacm_loaded_after_a_listing_large)
{
	expect_found("stat64");
}
#endif
