/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_redirect.c - redirection of libibverbs' calls: calls on our descriptors arrive here, all
 * others go to their normal functions.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "caller.h"
#include "redirect/hooks.h"
#include "redirect/redirect.h"

#define OURS 4242 /* a descriptor that no process has */

static _Atomic int asked, answered;

static bool answer(int fd)
{
	asked++;
	if (fd != OURS)
		return false;
	answered++;
	return true;
}

bool dpa_hook_write(int fd, const void *buf, size_t n, ssize_t *ret)
{
	*ret = 100 + (ssize_t)n;
	return answer(fd);
}

bool dpa_hook_read(int fd, void *buf, size_t n, ssize_t *ret)
{
	*ret = 200 + (ssize_t)n;
	return answer(fd);
}

bool dpa_hook_ioctl(int fd, unsigned long request, void *arg, int *ret)
{
	*ret = 300 + (int)request;
	return answer(fd);
}

bool dpa_hook_open(const char *path, int flags, int *fd)
{
	return false;
}

void dpa_hook_fstat(int fd, struct stat *st)
{
}

bool dpa_hook_close(int fd)
{
	return answer(fd);
}

static const struct caller *const redirected[] = {&caller_now, &caller_lazy, &caller_noplt};

static const struct caller *later(void)
{
	void *lib = dlopen(LATER, RTLD_NOW | RTLD_LOCAL);

	cr_assert_not_null(lib, "%s", dlerror());
	return dlsym(lib, "caller_later");
}

static void expect_hooked(const struct caller *c)
{
	char buf[8] = "";

	cr_expect_eq(c->write(OURS, buf, 1), 101);
	cr_expect_eq(c->read(OURS, buf, 2), 202);
	cr_expect_eq(c->ioctl(OURS, 3, buf), 303);
	errno = 0;
	cr_expect_eq(c->close(OURS), -1, "the real close follows");
	cr_expect_eq(errno, EBADF);
}

/* Check for the same results, data and errno as without the redirection. */
static void expect_real(const struct caller *c)
{
	char buf[8] = "";
	int p[2], avail = 0;

	cr_assert_eq(pipe(p), 0);
	cr_expect_eq(c->write(p[1], "hello", 5), 5);
	cr_expect_eq(c->ioctl(p[0], FIONREAD, &avail), 0);
	cr_expect_eq(avail, 5);
	cr_expect_eq(c->read(p[0], buf, sizeof(buf)), 5);
	cr_expect_str_eq(buf, "hello");
	cr_expect_eq(c->close(p[0]), 0);
	cr_expect_eq(c->close(p[1]), 0);
	cr_expect_eq(fcntl(p[1], F_GETFD), -1);
	errno = 0;
	cr_expect_eq(c->write(-1, buf, 1), -1);
	cr_expect_eq(errno, EBADF);
	cr_expect_eq(c->ioctl(-1, FIONREAD, &avail), -1);
	cr_expect_eq(errno, EBADF);
}

Test(redirect, ours_and_not_ours)
{
	for (size_t i = 0; i < 3; i++)
		expect_real(redirected[i]);
	cr_expect_eq(asked, 0, "nothing is redirected before it is asked for");
	cr_expect_geq(dpa_redirect_install(), 12);
	for (size_t i = 0; i < 3; i++) {
		expect_hooked(redirected[i]);
		expect_real(redirected[i]);
	}
	cr_expect_eq(answered, 12);
}

Test(redirect, other_libraries_see_no_change)
{
	cr_assert_gt(dpa_redirect_install(), 0);
	expect_real(&caller_other);
	cr_expect_eq(caller_other.write(OURS, "", 1), -1);
	cr_expect_eq(caller_other.read(OURS, (char[1]){0}, 1), -1);
	cr_expect_eq(caller_other.ioctl(OURS, 0, NULL), -1);
	cr_expect_eq(caller_other.close(OURS), -1);
	cr_expect_eq(write(OURS, "", 1), -1);
	cr_expect_eq(close(OURS), -1);
	cr_expect_eq(asked, 0);
}

Test(redirect, twice_is_once)
{
	int slots = dpa_redirect_install();

	cr_expect_eq(dpa_redirect_install(), slots);
	expect_hooked(&caller_now);
	cr_expect_eq(answered, 4);
	expect_real(&caller_now);
}

Test(redirect, library_that_comes_later)
{
	const struct caller *c;
	int slots = dpa_redirect_install();

	c = later();
	expect_real(c);
	cr_expect_eq(asked, 0);
	cr_expect_gt(dpa_redirect_install(), slots);
	expect_hooked(c);
	expect_real(c);
}

/* Get the protections of every mapping of a library, in order. */
static void protections(const char *lib, char *out, size_t len)
{
	char line[512], perms[8];
	FILE *f = fopen("/proc/self/maps", "r");

	out[0] = '\0';
	while (fgets(line, sizeof(line), f))
		if (strstr(line, lib) && sscanf(line, "%*s %7s", perms) == 1 &&
		    strlen(out) + sizeof(perms) < len)
			strcat(strcat(out, perms), " ");
	fclose(f);
}

Test(redirect, read_only_pages_stay_read_only)
{
	static const char *const libs[] = {"libibverbs-test-now.so", "libibverbs-test-noplt.so"};
	char before[2][256], after[256];

	for (int i = 0; i < 2; i++)
		protections(libs[i], before[i], sizeof(before[i]));
	cr_assert_gt(dpa_redirect_install(), 0);
	for (int i = 0; i < 2; i++) {
		protections(libs[i], after, sizeof(after));
		cr_expect_str_eq(after, before[i], "%s", libs[i]);
	}
}

static void *keep_calling(void *stop)
{
	int p[2];
	char c;

	cr_assert_eq(pipe(p), 0);
	while (!atomic_load((_Atomic bool *)stop)) {
		cr_assert_eq(caller_now.write(p[1], "x", 1), 1);
		cr_assert_eq(caller_lazy.read(p[0], &c, 1), 1);
	}
	close(p[0]);
	close(p[1]);
	return NULL;
}

/* Threads in the middle of the calls, and two that install at once. */
static void *install(void *arg)
{
	*(int *)arg = dpa_redirect_install();
	return NULL;
}

Test(redirect, under_way)
{
	_Atomic bool stop = false;
	pthread_t caller, a, b;
	int na, nb;

	cr_assert_eq(pthread_create(&caller, NULL, keep_calling, &stop), 0);
	cr_assert_eq(pthread_create(&a, NULL, install, &na), 0);
	cr_assert_eq(pthread_create(&b, NULL, install, &nb), 0);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	cr_expect_eq(na, nb);
	stop = true;
	pthread_join(caller, NULL);
}

/* Slots and libibverbs's list of drivers point into the provider: it must never be unmapped. */
Test(redirect, the_provider_stays)
{
	void *lib = dlopen(PROVIDER, RTLD_NOW | RTLD_LOCAL), *again;

	cr_assert_not_null(lib, "%s", dlerror());
	cr_expect_eq(dlclose(lib), 0);
	again = dlopen(PROVIDER, RTLD_NOW | RTLD_NOLOAD);
	cr_expect_not_null(again);
	cr_expect_not_null(dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD));
}
