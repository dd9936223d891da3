/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_preload.c - files: every way to open and query one, for ours and for others. */
#include "preloaded.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

TestSuite(preload, .init = need_preload);

/* Names of the C library that headers do not declare without certain options. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __xstat(int ver, const char *path, struct stat *st);
int __lxstat(int ver, const char *path, struct stat *st);
int __fxstat(int ver, int fd, struct stat *st);
int __fxstatat(int ver, int fd, const char *path, struct stat *st, int flags);
ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t room);
char *__realpath_chk(const char *path, char *resolved, size_t room);

static void expect_text(int fd, const char *text)
{
	char buf[64] = "";

	cr_assert_geq(fd, 0, "%s", strerror(errno));
	cr_expect_gt(read(fd, buf, sizeof(buf) - 1), 0);
	cr_expect_str_eq(buf, text);
	close(fd);
}

Test(preload, open_spellings)
{
	static const char file[] = VERBS "/uverbs_dpa0/ibdev";
	int dir;

	expect_text(open(file, O_RDONLY), "dpa0\n");
	expect_text(open64(file, O_RDONLY | O_CLOEXEC), "dpa0\n");
	expect_text(openat(AT_FDCWD, file, O_RDONLY), "dpa0\n");
	expect_text(openat64(AT_FDCWD, file, O_RDONLY), "dpa0\n");
	expect_text(__open_2(file, O_RDONLY), "dpa0\n");
	expect_text(__open64_2(file, O_RDONLY), "dpa0\n");
	expect_text(__openat_2(AT_FDCWD, file, O_RDONLY), "dpa0\n");
	dir = open(VERBS, O_RDONLY | O_DIRECTORY);
	expect_text(openat(dir, "uverbs_dpa0/ibdev", O_RDONLY), "dpa0\n");
	expect_text(openat(dir, "./uverbs_dpa0/ibdev", O_RDONLY), "dpa0\n");
	close(dir);
	dir = open(VERBS "/uverbs_dpa0", O_RDONLY | O_DIRECTORY);
	expect_text(openat(dir, "ibdev", O_RDONLY), "dpa0\n");
	close(dir);
}

Test(preload, streams)
{
	char text[64] = "";
	FILE *f = fopen(IBDEV "/node_type", "re");

	cr_assert_not_null(f);
	cr_expect_not_null(fgets(text, sizeof(text), f));
	cr_expect_str_eq(text, "1: CA\n");
	fclose(f);
	f = fopen64(IBDEV "/ports/1/gids/0", "r");
	cr_assert_not_null(f);
	cr_expect_not_null(fgets(text, sizeof(text), f));
	cr_expect_eq(strlen(text), 40u, "%s", text);
	fclose(f);
	f = fopen("/proc/self/stat", "r");
	cr_assert_not_null(f);
	fclose(f);
}

Test(preload, odd_spellings_of_paths)
{
	static char path[2 * PATH_MAX];
	/* Through pointers: the headers declare that paths are not NULL. */
	int (*volatile any_open)(const char *, int, ...) = open;
	int (*volatile any_access)(const char *, int) = access;

	expect_text(open("//sys///class/./infiniband//dpa0/node_type", O_RDONLY), "1: CA\n");
	cr_expect_eq(open("/sys/class/infiniband/dpa00/node_type", O_RDONLY), -1);
	cr_expect_eq(open("/sys/class/infinibandx/dpa0/node_type", O_RDONLY), -1);
	cr_expect_eq(open("/sys/class/infiniband/dpa0/nothing", O_RDONLY), -1);
	cr_expect_eq(errno, ENOENT);
	cr_expect_eq(open("/dev/infiniband/uverbs_dpa1", O_RDONLY), -1);
	cr_expect_eq(open(IBDEV "/ports/1/gids/999", O_RDONLY), -1);
	cr_expect_eq(errno, ENOENT);
	cr_expect_eq(open(IBDEV "/ports/1/gid_attrs/types/255", O_RDONLY), -1);
	cr_expect_eq(errno, EINVAL, "an empty index");
	strcpy(path, "/sys/class/infiniband/dpa0");
	memset(path + strlen(path), '/', PATH_MAX);
	cr_expect_eq(open(path, O_RDONLY), -1);
	cr_expect_eq(open("", O_RDONLY), -1);
	cr_expect_eq(errno, ENOENT);
	cr_expect_eq(any_open(NULL, O_RDONLY), -1);
	cr_expect_eq(errno, EFAULT);
	cr_expect_eq(any_access(NULL, F_OK), -1);
	cr_expect_eq(errno, EFAULT);
}

/* Regression: if the preload is in every process, a package manager could not upgrade us. */
Test(preload, packages_can_be_upgraded)
{
	static const char *const folders[] = {
		"sysfs/class/infiniband/dpa0",
		"sysfs/class/infiniband/dpa0/ports/1",
		"sysfs/class/infiniband_verbs/uverbs_dpa0",
		"sysfs/class/infiniband",
		"sf/1/class/infiniband/dpa0_sf1",
	};
	char lib[PATH_MAX], tree[PATH_MAX], path[2 * PATH_MAX], to[3 * PATH_MAX];
	const char *list = strstr(getenv("LD_PRELOAD"), "/");
	struct stat st;

	snprintf(lib, sizeof(lib), "%.*s", (int)strcspn(list, ": "), list);
	*strrchr(lib, '/') = '\0';
	snprintf(path, sizeof(path), "%s/../share/dpa", lib);
	cr_assert_not_null(realpath(path, tree));
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s/new-%d", tree, folders[i], (int)getpid());
		snprintf(to, sizeof(to), "%s-moved", path);
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
		cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
		cr_expect_eq(write(fd, "x\n", 2), 2);
		close(fd);
		cr_expect_eq(lstat(path, &st), 0);
		cr_expect_eq(chmod(path, 0644), 0);
		cr_expect_eq(access(path, W_OK), 0);
		cr_expect_eq(rename(path, to), 0);
		expect_text(open(to, O_RDONLY), "x\n");
		cr_expect_eq(unlink(to), 0);
		cr_expect_eq(lstat(to, &st), -1);
	}
}

Test(preload, nothing_can_be_written)
{
	static const int flags[] = {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_WRONLY | O_CREAT};
	static const struct {
		const char *path;
		int err, creating;
	} files[] = {
		{IBDEV "/node_desc", EACCES, EACCES},	{IBDEV "/node_guid", EACCES, EACCES},
		{IBDEV "/ports/1/new", ENOENT, EACCES}, {IBDEV "/node_desc/new", ENOTDIR, ENOTDIR},
		{IBDEV "/ports/1", EISDIR, EISDIR},
	};

	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < sizeof(files) / sizeof(*files); k++) {
			int err = flags[i] & O_CREAT ? files[k].creating : files[k].err;

			errno = 0;
			cr_expect_eq(open(files[k].path, flags[i], 0600), -1);
			cr_expect_eq(errno, err, "%s %#x: %d", files[k].path, flags[i], errno);
		}
	cr_expect_eq(open("/dev/infiniband/dpa_new", O_RDWR),
		     -1); /* a host's folder has none, too */
	cr_expect_eq(errno, ENOENT);
	cr_expect_null(fopen(IBDEV "/ports/1/new", "r+"));
	cr_expect_eq(errno, ENOENT);
	cr_expect_null(fopen(IBDEV "/ports/1/new", "w"));
	cr_expect_eq(errno, EACCES);
	cr_expect_null(fopen(IBDEV "/node_desc", "w"));
	cr_expect_null(fopen(IBDEV "/node_desc", "r+"));
	cr_expect_eq(access(IBDEV "/node_desc", W_OK), -1);
	cr_expect_eq(errno, EACCES);
	cr_expect_eq(access(IBDEV "/node_guid", R_OK | W_OK), -1);
}

/* Query path in all ways; st of each is passed to check. */
static void each_stat(const char *path, int fd, void (*check)(const struct stat *st))
{
	struct statx stx;
	struct stat st;

#define CHECK(call)                                                                                \
	do {                                                                                       \
		memset(&st, 0, sizeof(st));                                                        \
		cr_expect_eq((call), 0, #call ": %s", strerror(errno));                            \
		check(&st);                                                                        \
	} while (0)
	CHECK(stat(path, &st));
	CHECK(lstat(path, &st));
	CHECK(fstat(fd, &st));
	CHECK(fstatat(AT_FDCWD, path, &st, 0));
	CHECK(fstatat(fd, "", &st, AT_EMPTY_PATH));
	CHECK(stat64(path, (struct stat64 *)&st));
	CHECK(lstat64(path, (struct stat64 *)&st));
	CHECK(fstat64(fd, (struct stat64 *)&st));
	CHECK(fstatat64(AT_FDCWD, path, (struct stat64 *)&st, 0));
	CHECK(__xstat(1, path, &st));
	CHECK(__lxstat(1, path, &st));
	CHECK(__fxstat(1, fd, &st));
	CHECK(__fxstatat(1, AT_FDCWD, path, &st, 0));
	cr_expect_eq(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &stx), 0);
	st = (struct stat){.st_mode = stx.stx_mode,
			   .st_rdev = makedev(stx.stx_rdev_major, stx.stx_rdev_minor)};
	check(&st);
}

static void is_file(const struct stat *st)
{
	cr_expect(S_ISREG(st->st_mode));
}

static void is_node(const struct stat *st)
{
	cr_expect(S_ISCHR(st->st_mode));
	cr_expect_eq(st->st_rdev, makedev(1, 3));
}

Test(preload, stat_spellings)
{
	int fd = open(IBDEV "/node_type", O_RDONLY);

	each_stat(IBDEV "/node_type", fd, is_file);
	close(fd);
	fd = open(IBDEV "/node_guid", O_RDONLY);
	each_stat(IBDEV "/node_guid", fd, is_file);
	close(fd);
	fd = open(NODE, O_RDWR | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	each_stat(NODE, fd, is_node);
	cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	fd = open("/etc/passwd", O_RDONLY);
	each_stat("/etc/passwd", fd, is_file);
	close(fd);
}

Test(preload, access_spellings)
{
	static const char *const paths[] = {IBDEV, IBDEV "/node_type", IBDEV "/node_guid", NODE,
					    "/etc/passwd"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		cr_expect_eq(access(paths[i], F_OK), 0, "%s", paths[i]);
		cr_expect_eq(access(paths[i], R_OK), 0, "%s", paths[i]);
		cr_expect_eq(faccessat(AT_FDCWD, paths[i], R_OK, 0), 0, "%s", paths[i]);
		cr_expect_eq(eaccess(paths[i], R_OK), 0, "%s", paths[i]);
		cr_expect_eq(euidaccess(paths[i], R_OK), 0, "%s", paths[i]);
	}
	cr_expect_eq(access(NODE, R_OK | W_OK), 0);
	cr_expect_eq(access(NODE, X_OK), -1);
	cr_expect_eq(access(IBDEV "/nothing", F_OK), -1);
	cr_expect_eq(errno, ENOENT);
}

#ifdef SYS_faccessat2
/* Older container runtimes answer EPERM, not ENOSYS, to system calls that they do not list. */
Test(preload, faccessat2_is_refused)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_faccessat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof(f) / sizeof(f[0]), .filter = f};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		cr_skip_test("no seccomp here");
	cr_expect_eq(faccessat(AT_FDCWD, IBDEV "/node_type", R_OK, AT_EACCESS), 0, "%m");
	cr_expect_eq(faccessat(AT_FDCWD, IBDEV "/node_type", R_OK, 0), 0, "%m");
	cr_expect_eq(access(IBDEV "/node_type", R_OK), 0, "%m");
	cr_expect_eq(eaccess(IBDEV "/node_type", R_OK), 0, "%m");
	cr_expect_eq(euidaccess(IBDEV, R_OK | X_OK), 0, "%m");
	cr_expect_eq(faccessat(AT_FDCWD, IBDEV "/node_type", W_OK, AT_EACCESS), -1);
	cr_expect_eq(errno, EACCES);
}
#endif

Test(preload, links)
{
	char buf[PATH_MAX], *p;

	cr_expect_eq(readlink(IBDEV "/ports", buf, sizeof(buf)), -1);
	cr_expect_eq(errno, EINVAL, "no symlink");
	cr_expect_eq(readlinkat(AT_FDCWD, NODE, buf, sizeof(buf)), -1);
	cr_expect_eq(errno, EINVAL);
	cr_expect_gt(readlink("/proc/self/exe", buf, sizeof(buf)), 0);
	cr_expect_gt(__readlink_chk("/proc/self/exe", buf, sizeof(buf), sizeof(buf)), 0);
	cr_expect_str_eq(realpath(IBDEV, buf), PCI "/infiniband/dpa0");
	cr_expect_str_eq(__realpath_chk(NODE, buf, sizeof(buf)), NODE);
	p = canonicalize_file_name(IBDEV "/ports/1");
	cr_assert_not_null(p);
	cr_expect_str_eq(p, PCI "/infiniband/dpa0/ports/1");
	free(p);
	cr_expect_null(realpath(IBDEV "/nothing", NULL));
	cr_expect_str_eq(realpath("/proc/../proc", buf), "/proc");
}

Test(preload, working_directory)
{
	cr_assert_eq(chdir(IBDEV "/ports"), 0);
	expect_text(open("1/link_layer", O_RDONLY), "Ethernet\n");
	cr_assert_eq(chdir("/sys/class/infiniband"), 0);
	expect_text(open("dpa0/node_type", O_RDONLY), "1: CA\n");
	cr_expect_eq(access("dpa0/ports/1/state", R_OK), 0);
	cr_assert_eq(chdir("/"), 0);
	cr_expect_eq(access("dpa0", F_OK), -1);
}

Test(preload, attributes)
{
	char buf[64];

	cr_expect_eq(getxattr(IBDEV, "user.x", buf, sizeof(buf)), -1);
	cr_expect_eq(errno, ENODATA);
	cr_expect_eq(lgetxattr(NODE, "user.x", buf, sizeof(buf)), -1);
	cr_expect_eq(errno, ENODATA);
	cr_expect_eq(listxattr(IBDEV, buf, sizeof(buf)), 0);
	cr_expect_eq(llistxattr(NODE, buf, sizeof(buf)), 0);
}

Test(preload, errno_is_left_alone)
{
	struct stat st;
	int fd;

	errno = 4711;
	fd = open(IBDEV "/node_guid", O_RDONLY);
	cr_expect_eq(stat(NODE, &st), 0);
	cr_expect_eq(access(IBDEV, R_OK), 0);
	close(fd);
	cr_expect_eq(errno, 4711);
}

static void *little_stack(void *arg)
{
	struct stat st;
	int fd = open("/etc/passwd", O_RDONLY);

	*(bool *)arg = fd >= 0 && fstat(fd, &st) == 0 && stat("/etc/passwd", &st) == 0 &&
		       access("/etc/passwd", R_OK) == 0 && close(fd) == 0;
	return NULL;
}

/* Other paths cost almost no stack. */
Test(preload, little_stack)
{
	pthread_attr_t attr;
	bool ok = false;
	pthread_t t;

	pthread_attr_init(&attr);
	cr_assert_eq(pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN), 0);
	if (pthread_create(&t, &attr, little_stack, &ok))
		cr_skip_test("the C library wants a larger stack here");
	pthread_join(t, NULL);
	cr_expect(ok);
}

/* A setting of a kernel module that is not loaded. If it is loaded, the file is the kernel's. */
Test(preload, a_setting_of_rdma_cm)
{
	static const char file[] = "/proc/sys/net/rdma_ucm/max_backlog";
	struct stat st;
	char buf[8];
	int dir;

	cr_assert_eq(stat(file, &st), 0);
	cr_expect(S_ISREG(st.st_mode));
	if (syscall(SYS_faccessat, AT_FDCWD, file, F_OK))
		expect_text(open(file, O_RDONLY), "1024\n");
	cr_expect_eq(open("/proc/sys/net/rdma_ucm/no_such", O_RDONLY), -1);
	cr_expect_eq(errno, ENOENT);
	dir = open("/proc/sys/net", O_RDONLY | O_DIRECTORY);
	cr_assert_geq(dir, 0);
	cr_expect_eq(faccessat(dir, "rdma_ucm/max_backlog", R_OK, 0), 0);
	cr_expect_eq(faccessat(dir, "core/somaxconn", R_OK, 0), 0);
	close(dir);
	/* the folder above it is the kernel's */
	cr_expect_eq(lgetxattr("/proc/sys/net/rdma_ucm/..", "user.x", buf, sizeof(buf)), -1);
	cr_expect_neq(errno, ENOENT);
}
