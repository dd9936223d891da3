/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * place.c - finds this library, its tree, the two roots of sysfs, and the functions that are shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "knobs.h"
#include "place.h"
#include "preload.h"

_Atomic bool pl_seen;

static struct pl_place self;
static _Atomic int state;	   /* 0: not checked yet */
static _Atomic unsigned functions; /* 0: not checked yet */

bool pl_exists(const char *path)
{
	return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

/* Kernels before 3.17 and some sandboxes have no thread-self. */
void pl_fd_link(int fd, char link[PL_FD_LINK])
{
	static _Atomic signed char thread_self; /* -1: there is none; 0: not yet looked */
	signed char have = atomic_load_explicit(&thread_self, memory_order_relaxed);
	int err = errno;

	if (!have) {
		have = pl_exists("/proc/thread-self/fd") ? 1 : -1;
		atomic_store_explicit(&thread_self, have, memory_order_relaxed);
		errno = err;
	}
	snprintf(link, PL_FD_LINK, "/proc/%s/fd/%d", have > 0 ? "thread-self" : "self", fd);
}

bool pl_fd_path(int fd, char *buf, size_t len)
{
	char link[PL_FD_LINK];
	long n;

	if (fd == AT_FDCWD) /* /proc/self has that of the first thread */
		return syscall(SYS_getcwd, buf, len) > 0 && buf[0] == '/';
	pl_fd_link(fd, link);
	n = syscall(SYS_readlinkat, AT_FDCWD, link, buf, len);
	if (n <= 0 || (size_t)n == len || buf[0] != '/')
		return false;
	buf[n] = '\0';
	return true;
}

const char *pl_below(const char *path, const char *root)
{
	size_t len = strlen(root);

	if (!len || strncmp(path, root, len) != 0)
		return NULL;
	return path[len] == '/' || path[len] == '\0' ? path + len : NULL;
}

const char *pl_shown(const char *path, const char **root)
{
	const char *rest = pl_below(path, self.tree_real), *in;

	if (!rest)
		return NULL;
	in = pl_below(rest, "/dev");
	*root = in ? "/dev" : "/sys";
	if (in)
		return in;
	in = pl_below(rest, "/sysctl");
	if (in) {
		*root = "/proc/sys/net";
		return in;
	}
	in = pl_below(rest, "/sysfs");
	if (!in && strncmp(rest, "/sf/", 4) == 0 && rest[4])
		in = rest + 5;
	return in && (*in == '/' || *in == '\0') ? in : NULL;
}

/* The tree is at lib/../share in a build, at lib/<machine>/../../share after an installation. */
static bool find_own_tree(void)
{
	static const char *const up[] = {"/../share/dpa", "/../../share/dpa"};
	char probe[PATH_MAX + 80];

	for (size_t i = 0; i < sizeof(up) / sizeof(up[0]); i++) {
		if ((size_t)snprintf(self.tree, sizeof(self.tree), "%s%s", self.lib, up[i]) >=
		    sizeof(self.tree))
			return false;
		snprintf(probe, sizeof(probe), "%s/sysfs/class/infiniband_verbs/" PL_UVERBS,
			 self.tree);
		if (pl_exists(probe))
			return true;
	}
	return false;
}

/* Sets real to the path of a folder without symlinks; unchanged if there is no such folder. */
static void without_links(const char *path, char real[PATH_MAX])
{
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return;
	if (!pl_fd_path((int)fd, real, PATH_MAX))
		real[0] = '\0';
	syscall(SYS_close, (int)fd);
}

static void read_sysfs_path(void)
{
	const char *env = getenv("SYSFS_PATH");

	if (!env || env[0] != '/' || strlen(env) >= sizeof(self.sysfs))
		return;
	strcpy(self.sysfs, env);
	for (size_t n = strlen(self.sysfs); n > 0 && self.sysfs[n - 1] == '/'; n--)
		self.sysfs[n - 1] = '\0';
	without_links(self.sysfs, self.sysfs_real);
}

/* A program may be started in a folder of ours, by a shell that changed to it. */
static void look_at_cwd(void)
{
	char cwd[PATH_MAX];
	const char *root;

	if (pl_fd_path(AT_FDCWD, cwd, sizeof(cwd)) &&
	    (pl_below(cwd, "/sys") || pl_shown(cwd, &root)))
		atomic_store_explicit(&pl_seen, true, memory_order_relaxed);
}

/*
 * Runs as a constructor, or earlier if the constructor of another library opens a file. The process
 * has one thread then; two threads would write the same values.
 */
__attribute__((constructor)) static void look_around(void)
{
	const char *off = getenv("DPA_DISABLE");
	int err = errno;
	Dl_info info;
	char *slash;

	if (atomic_load_explicit(&state, memory_order_acquire))
		return;
	if (dladdr((void *)look_around, &info) && info.dli_fname &&
	    strlen(info.dli_fname) < sizeof(self.lib)) {
		strcpy(self.lib, info.dli_fname);
		slash = strrchr(self.lib, '/');
		if (slash)
			*slash = '\0';
		self.enabled = !(off && strcmp(off, "1") == 0) && find_own_tree();
	}
	read_sysfs_path();
	if (self.enabled) {
		without_links(self.tree, self.tree_real);
		look_at_cwd();
	}
	atomic_store_explicit(&state, 1, memory_order_release);
	errno = err;
}

const struct pl_place *pl_place(void)
{
	if (!atomic_load_explicit(&state, memory_order_acquire))
		look_around();
	return &self;
}

bool pl_enabled(void)
{
	return pl_place()->enabled;
}

const char *pl_libdir(void)
{
	return self.lib;
}

/*
 * Read when a path is found to be ours, not at the start of each program. If the settings are wrong
 * only dpa0 is shown, and opening it fails with the reason in the log.
 */
unsigned pl_functions(void)
{
	unsigned n = atomic_load_explicit(&functions, memory_order_relaxed);
	struct dpa_config cfg;
	char text[512];
	static __thread bool loading __attribute__((tls_model("initial-exec")));
	int err = errno;

	if (n || loading) /* the file is opened by functions that call this one */
		return n ? n : 1;
	loading = true;
	n = dpa_config_load(&cfg, text, sizeof(text)) ? 1 : 1 + cfg.functions.num_sfs;
	loading = false;
	atomic_store_explicit(&functions, n, memory_order_relaxed);
	errno = err;
	return n;
}

void pl_entry_name(const char *stem, unsigned function, char *buf, size_t len)
{
	if (function)
		snprintf(buf, len, "%s_sf%u", stem, function);
	else
		snprintf(buf, len, "%s", stem);
}
