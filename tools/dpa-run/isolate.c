/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * isolate.c - discovery without a preload.
 *
 * libibverbs finds dpa0 if it reads SYSFS_PATH (a seccomp filter refuses the netlink socket that it
 * would try first) and finds a character device in /dev/infiniband. If the node is missing, or real
 * devices must be linked beside dpa0, a private mount namespace of the program holds both: it ends
 * with its last process, however that ends. An ordinary user gets it inside a user namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dpa-run.h"

#define NODE_DIR "/dev/infiniband"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "isolate.c: name this machine's audit architecture"
#endif

/* Low half of a system call's argument; both machines are little-endian. */
#define ARG(n)		(offsetof(struct seccomp_data, args) + (n)*8)
#define LOAD(off)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (off))
#define UNLESS(v, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (v), 0, (skip))

/*
 * Let socket(AF_NETLINK, any, NETLINK_RDMA) return EPROTONOSUPPORT; all other calls are unchanged.
 */
static void filter_netlink(void)
{
	struct sock_filter code[] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		UNLESS(NATIVE_ARCH, 7),
		LOAD(offsetof(struct seccomp_data, nr)),
		UNLESS(SYS_socket, 5),
		LOAD(ARG(0)),
		UNLESS(AF_NETLINK, 3),
		LOAD(ARG(2)),
		UNLESS(NETLINK_RDMA, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0)
		return;
	/* Without CAP_SYS_ADMIN allowed only for a process that can gain no privileges any more. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog))
		die(EXIT_FAILED, "cannot install a seccomp filter (%s): run without --no-preload",
		    strerror(errno));
}

static bool have_nodes(unsigned sfs)
{
	char path[PATH_MAX], name[32];
	struct stat st;

	for (unsigned n = 0; n <= sfs; n++) {
		uverbs_name(n, name, sizeof(name));
		path_print(path, NODE_DIR "/%s", name);
		if (stat(path, &st) || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
			return false;
	}
	return true;
}

static bool write_proc(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) >= 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Map the user: the user id stays the same; supplementary groups cannot be mapped. */
static bool map_self(uid_t uid, gid_t gid)
{
	char uids[64], gids[64];

	snprintf(uids, sizeof(uids), "%u %u 1", uid, uid);
	snprintf(gids, sizeof(gids), "%u %u 1", gid, gid);
	return write_proc("/proc/self/setgroups", "deny") &&
	       write_proc("/proc/self/uid_map", uids) && write_proc("/proc/self/gid_map", gids);
}

/*
 * Make a mount namespace. needed: without one dpa-run ends. Otherwise it is made only if that
 * requires no user namespace, because processes in one could not copy from the memory of processes
 * in another.
 */
static bool private_mounts(bool needed)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	bool own = unshare(CLONE_NEWNS) == 0;

	if (!own && !needed)
		return false;
	if (!own && (unshare(CLONE_NEWUSER | CLONE_NEWNS) || !map_self(uid, gid)))
		die(EXIT_FAILED,
		    "no private mount namespace is available (%s): as root, ln -s "
		    "/dev/null " NODE_DIR "/" UVERBS ", or run without --no-preload",
		    strerror(errno));
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die(EXIT_FAILED, "cannot make mounts private: %s", strerror(errno));
	return true;
}

/* Show the nodes over /dev/infiniband if it exists, else over /dev. */
static void show_nodes(const char *scratch, unsigned sfs)
{
	const char *over = access(NODE_DIR, F_OK) == 0 ? NODE_DIR : "/dev";
	char dir[PATH_MAX], node_dir[PATH_MAX];
	int err;

	path_print(dir, "%s/dev", scratch);
	path_print(node_dir, strcmp(over, "/dev") == 0 ? "%s/infiniband" : "%s", dir);
	err = tree_bind_dir(dir, over, NULL);
	if (err)
		die(EXIT_FAILED, "cannot bind what is in %s: %s", over, strerror(err));
	tree_make_nodes(node_dir, sfs);
	if (mount(dir, over, NULL, MS_BIND | MS_REC, NULL))
		die(EXIT_FAILED, "cannot mount over %s: %s", over, strerror(errno));
}

void isolate(const struct place *pl, unsigned sfs)
{
	const char *sysfs = getenv("SYSFS_PATH");
	char scratch[PATH_MAX], tree[PATH_MAX];
	bool nodes = have_nodes(sfs), link, mounted = false, shown = false;

	if (!sysfs || sysfs[0] != '/')
		sysfs = "/sys";
	link = tree_has_devices(sysfs) || sfs; /* the tree itself shows only dpa0 */
	path_print(tree, "%s/sysfs", pl->tree);
	if (private_mounts(!nodes || link)) {
		path_print(scratch, "%s/mnt", pl->tree);
		if (mount("dpa-run", scratch, "tmpfs", MS_NOSUID, "mode=755,size=16m") == 0)
			mounted = true;
		else if (!nodes || link)
			die(EXIT_FAILED, "cannot mount a tmpfs on %s: %s", scratch,
			    strerror(errno));
		if (!nodes)
			show_nodes(scratch, sfs);
		/* Verbs do not need it: they use the tree. */
		shown = mounted && sysfs_show(scratch, pl, sfs) && strcmp(sysfs, "/sys") == 0;
	}
	if (shown) {
		path_print(tree, "%s", sysfs);
	} else if (link) {
		path_print(tree, "%s/sys", scratch);
		tree_link_sysfs(tree, sysfs, pl, sfs);
	}
	if (setenv("SYSFS_PATH", tree, 1))
		die(EXIT_FAILED, "SYSFS_PATH: %s", strerror(errno));
	filter_netlink();
}
