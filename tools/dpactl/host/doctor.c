/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doctor.c - everything between a program and dpa0, one line each: what is right, what is wrong and
 * the fix. Nothing is changed, and no kernel module is loaded by asking.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <board/board.h>
#include <link/udp/udp.h>
#include "pabi.h"
#include "doctor.h"

struct ibv_device;

void say(struct visit *v, enum verdict how, const char *what, const char *fix, const char *fmt, ...)
{
	static const char *const names[] = {"ok", "note", "wrong"};
	char text[2 * PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (how == BAD)
		v->c->status = EXIT_WRONG;
	if (v->c->json) {
		struct json_object *o = json_object_new_object();

		json_add(o, "check", what);
		json_add(o, "verdict", names[how]);
		json_add(o, "text", text);
		if (fix)
			json_add(o, "fix", fix);
		json_object_array_add(v->list, o);
		return;
	}
	printf("%-6s %-15s %s%s%s\n", names[how], what, text, fix ? "; fix: " : "", fix ? fix : "");
}

/* ---------------------------------------------------------------- libibverbs */

static void look_at_library(struct visit *v)
{
	void *dl = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map;

	if (!dl || dlinfo(dl, RTLD_DI_LINKMAP, &map)) {
		say(v, BAD, "libibverbs", "install libibverbs1 (Debian) or libibverbs (Fedora)",
		    "there is none");
		return;
	}
	snprintf(v->ibverbs, sizeof(v->ibverbs), "%s", map->l_name);
	v->pabi = pabi_of_library(v->ibverbs);
	if (v->pabi)
		say(v, OK, "libibverbs", NULL, "%s, private ABI %d", v->ibverbs, v->pabi);
	else
		say(v, BAD, "libibverbs", "install the distribution's rdma-core",
		    "%s shows no private ABI number", v->ibverbs);
}

static void look_at_provider(struct visit *v)
{
	const char *dirs[] = {v->w.plugins, v->w.lib};
	char path[PATH_MAX + 64], have[128] = "";

	if (!v->pabi) {
		say(v, NOTE, "provider", NULL, "for which libibverbs is not known");
		return;
	}
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/libdpa-rdmav%d.so", dirs[i], v->pabi);
		if (!access(path, R_OK)) {
			v->provider = true;
			say(v, OK, "provider", NULL, "%s", path);
			return;
		}
	}
	pabi_providers_in(v->w.plugins, have, sizeof(have));
	pabi_providers_in(v->w.lib, have, sizeof(have));
	if (have[0])
		say(v, BAD, "provider", "install the dpa that was built for this libibverbs",
		    "libibverbs needs private ABI %d, there is a provider for %s", v->pabi, have);
	else
		say(v, BAD, "provider", "install ibverbs-provider-dpa, or build dpa",
		    "no libdpa-rdmav%d.so in %s or %s", v->pabi, v->w.plugins, v->w.lib);
}

static bool names_dpa(const char *path)
{
	char line[256], word[64];
	FILE *f = fopen(path, "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, " driver %63s", word) == 1 && !strcmp(word, "dpa");
	if (f)
		fclose(f);
	return found;
}

/* Of a list of names or paths, parted by colons or semicolons, the entry that ends in /libdpa. */
static void find_libdpa_entry(const char *list, char *buf, size_t len)
{
	for (size_t n; *list; list += n + (list[n] != 0)) {
		n = strcspn(list, ":;");
		if (n > 7 && n < len && !memcmp(list + n - 7, "/libdpa", 7)) {
			memcpy(buf, list, n);
			buf[n] = '\0';
			return;
		}
	}
}

static void look_at_driver(struct visit *v)
{
	const char *dir = "/etc/libibverbs.d", *env = getenv("RDMAV_DRIVERS");
	char path[PATH_MAX];
	const struct dirent *e;
	DIR *d = opendir(dir);

	if (!env)
		env = getenv("IBV_DRIVERS");
	if (env)
		find_libdpa_entry(env, v->prefix, sizeof(v->prefix));
	while (d && !v->driver && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		v->driver = strstr(e->d_name, ".driver") && names_dpa(path);
	}
	if (d)
		closedir(d);
	if (v->driver) {
		say(v, OK, "driver file", NULL, "%s", path);
	} else if (env && strstr(env, "libdpa")) {
		v->driver = true;
		say(v, OK, "driver file", NULL, "not needed: the environment names %s", env);
	} else {
		say(v, NOTE, "driver file", "install ibverbs-provider-dpa, or use dpa-run",
		    "nothing in %s names dpa", dir);
	}
}

/*
 * As libibverbs does it, in a process of its own: by the path that the environment gives, else from
 * its own folder.
 */
static void look_at_loading(struct visit *v)
{
	char path[2 * PATH_MAX], why[512] = "";
	int fd[2], status = -1;
	ssize_t n = 0;
	pid_t pid;

	if (!v->provider || !v->driver)
		return;
	if (v->prefix[0])
		snprintf(path, sizeof(path), "%s-rdmav%d.so", v->prefix, v->pabi);
	else
		snprintf(path, sizeof(path), "%.*s/libibverbs/libdpa-rdmav%d.so",
			 (int)(strrchr(v->ibverbs, '/') - v->ibverbs), v->ibverbs, v->pabi);
	if (pipe2(fd, O_CLOEXEC)) {
		say(v, BAD, "loading", NULL, "no pipe can be made: %s", strerror(errno));
		return;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (dlopen(path, RTLD_NOW))
			_exit(0);
		snprintf(why, sizeof(why), "%s", dlerror());
		_exit(write(fd[1], why, strlen(why)) < 0 ? 2 : 1);
	}
	if (pid < 0)
		snprintf(why, sizeof(why), "no process can be started: %s", strerror(errno));
	close(fd[1]);
	if (pid > 0) {
		n = read(fd[0], why, sizeof(why) - 1);
		why[n > 0 ? n : 0] = '\0';
		waitpid(pid, &status, 0);
	}
	close(fd[0]);
	v->loads = status == 0;
	if (v->loads)
		say(v, OK, "loading", NULL, "libibverbs can load it");
	else
		say(v, BAD, "loading", "install ibverbs-provider-dpa again, or use dpa-run",
		    "libibverbs cannot load %s: %s", path, why[0] ? why : "it ends the process");
}

/* ------------------------------------------------------------- tree and node */

static void look_at_tree(struct visit *v)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/sysfs/class/infiniband_verbs/uverbs_dpa0/dev", v->w.tree);
	v->tree = v->w.tree[0] && !access(path, R_OK);
	if (v->tree)
		say(v, OK, "tree", NULL, "%s/sysfs", v->w.tree);
	else
		say(v, BAD, "tree", "install ibverbs-provider-dpa, or build dpa",
		    "no share/dpa/sysfs beside %s", v->w.lib);
}

/* Past a preload that shows a node of its own. */
static void look_at_node(struct visit *v)
{
	const char *node = "/dev/infiniband/uverbs_dpa0";
	struct stat st;

	if (preloaded_here()) {
		say(v, OK, "device node", NULL, "the preload shows one");
		v->node = true;
	} else if (stat(node, &st)) {
		say(v, NOTE, "device node",
		    "as root: ln -s /dev/null " DPA_NODE " (systemd-tmpfiles does it at boot)",
		    "%s: %s; only programs without the preload need it", node, strerror(errno));
	} else if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3)) {
		say(v, BAD, "device node", "as root: ln -sf /dev/null " DPA_NODE,
		    "%s is not the null device", node);
	} else if (access(node, R_OK | W_OK)) {
		say(v, BAD, "device node", "as root: chmod 666 /dev/null",
		    "%s cannot be opened: %s", node, strerror(errno));
	} else {
		v->node = true;
		say(v, OK, "device node", NULL, "%s", node);
	}
}

/* Asking netlink would load ib_core. */
static void look_at_kernel(struct visit *v)
{
	v->kernel_rdma = kernel_has_rdma();
	if (v->kernel_rdma)
		say(v, OK, "netlink", NULL,
		    "this kernel has RDMA: programs find dpa0 by the preload, beside real devices");
	else
		say(v, OK, "netlink", NULL,
		    "this kernel has no RDMA: SYSFS_PATH or the preload shows dpa0");
}

static void look_at_real(struct visit *v)
{
	DIR *d = opendir("/sys/class/infiniband");
	const struct dirent *e;
	char text[256] = "";
	size_t n = 0;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && strncmp(e->d_name, "dpa0", 4) && n < 200)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.40s", n ? ", " : "",
					      e->d_name);
	if (d)
		closedir(d);
	say(v, OK, "real devices", NULL, "%s", n ? text : "none");
}

/* ------------------------------------------------------------ what it runs on */

static void look_at_memory(struct visit *v)
{
	struct statvfs fs;
	struct rlimit lim;
	int fd = memfd_create("dpa-doctor", MFD_CLOEXEC);

	if (fd < 0)
		say(v, BAD, "memfd", "allow memfd_create in the container's seccomp profile",
		    "memfd_create: %s", strerror(errno));
	else
		close(fd);
	if (statvfs("/dev/shm", &fs))
		say(v, NOTE, "shared memory", NULL, "no /dev/shm: the adapter state goes to /tmp");
	else if ((uint64_t)fs.f_bavail * fs.f_frsize < 8u << 20)
		say(v, BAD, "shared memory", "mount a larger tmpfs there: --shm-size of containers",
		    "/dev/shm has %llu KiB left",
		    (unsigned long long)((uint64_t)fs.f_bavail * fs.f_frsize >> 10));
	else
		say(v, OK, "shared memory", NULL, "/dev/shm has %llu MiB left",
		    (unsigned long long)((uint64_t)fs.f_bavail * fs.f_frsize >> 20));
	if (!getrlimit(RLIMIT_MEMLOCK, &lim)) {
		if (lim.rlim_cur == RLIM_INFINITY)
			say(v, OK, "memlock", NULL, "no limit");
		else
			say(v, OK, "memlock", NULL, "%llu KiB; nothing here locks memory",
			    (unsigned long long)lim.rlim_cur >> 10);
	}
	if (!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur < 256)
		say(v, BAD, "descriptors", "ulimit -n 1024", "%llu open files at most",
		    (unsigned long long)lim.rlim_cur);
}

/* The system calls by which EUs access the memory of applications. */
static void look_at_permissions(struct visit *v)
{
	uint32_t a = 1, b = 0;
	struct iovec l = {&b, sizeof(b)}, r = {&a, sizeof(a)};
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (f) {
		if (fscanf(f, "%d", &scope) != 1)
			scope = 0;
		fclose(f);
	}
	if (process_vm_readv(getpid(), &l, 1, &r, 1, 0) != sizeof(b) || b != a)
		say(v, NOTE, "permissions",
		    "allow process_vm_readv and process_vm_writev in the container's seccomp "
		    "profile",
		    "process_vm_readv: %s; data is copied through pipes and rings, slower",
		    strerror(errno));
	else if (scope)
		say(v, NOTE, "permissions",
		    scope == 1 ? "for large messages between processes: DPA_PTRACER=any for both "
				 "(man dpa.conf), or sysctl kernel.yama.ptrace_scope=0"
			       : "for large messages between processes: sysctl "
				 "kernel.yama.ptrace_scope=0",
		    "kernel.yama.ptrace_scope is %d: data between processes goes through rings",
		    scope);
	else
		say(v, OK, "permissions", NULL, "processes of one user can copy each other's data");
}

static void look_at_board(struct visit *v)
{
	struct dpa_board_cfg cfg = {.path = v->c->path, .lib_version = DPA_VERSION};
	char dir[sizeof(v->c->path)], *slash, err[512];
	struct dpa_board *b;
	int rc = dpa_board_peek(&cfg, &b, err, sizeof(err));

	snprintf(dir, sizeof(dir), "%s", v->c->path);
	slash = strrchr(dir, '/');
	if (slash && slash != dir)
		*slash = '\0';
	if (!rc)
		dpa_board_unpeek(b);
	v->board = false;
	if (rc && rc != ENOENT)
		say(v, BAD, "adapter",
		    "end what uses it, or set DPA_BOARD to a path that nothing uses", "%s", err);
	else if (!access(dir, W_OK | X_OK) || (errno == ENOENT && access(v->c->path, F_OK))) {
		v->board = true;
		say(v, OK, "adapter", NULL, "%s", v->c->path);
	} else
		say(v, BAD, "adapter", "set DPA_BOARD to a path that this user can write", "%s: %s",
		    dir, strerror(errno));
}

static void look_at_port(struct visit *v)
{
	struct dpa_udp_sock sock = {0};
	char text[160];

	switch (dpa_udp_who(4791, UINT32_MAX, 0, &sock)) {
	case DPA_HOLDER_NONE:
		say(v, OK, "UDP 4791", NULL, "free");
		return;
	case DPA_HOLDER_US:
	case DPA_HOLDER_BOARD:
		say(v, OK, "UDP 4791", NULL, "an adapter instance of this machine has it");
		return;
	case DPA_HOLDER_OTHER:
		dpa_udp_describe(&sock, text, sizeof(text));
		say(v, BAD, "UDP 4791",
		    "end it for QPs that address other hosts; on this host nothing is missing",
		    "%s has the port", text);
	}
}

/* ------------------------------------------------------------------ the proof */

/* In a program that finds devices by SYSFS_PATH, without the preload. NULL: nothing is missing. */
static const char *why_not_bare(const struct visit *v, const char **fix)
{
	const char *tree = getenv("SYSFS_PATH");
	char path[PATH_MAX];

	*fix = "start it by dpa-run, log in again, or as root: dpactl enable --system";
	if (!tree)
		return "neither a preload nor SYSFS_PATH";
	if (v->kernel_rdma)
		return "this kernel has RDMA, which libibverbs asks in place of SYSFS_PATH";
	if (snprintf(path, sizeof(path), "%s/class/infiniband_verbs/uverbs_dpa0", tree) >=
		    (int)sizeof(path) ||
	    access(path, X_OK))
		return "SYSFS_PATH leads to no tree with dpa0";
	if (!v->node)
		return "there is no device node";
	return NULL;
}

/* Why a program does not list it; *fix: the fix, unless a line above has it. */
static const char *why_not(const struct visit *v, const char **fix)
{
	const char *why;

	*fix = NULL;
	if (!v->ibverbs[0])
		return "there is no libibverbs";
	if (!v->provider)
		return "there is no provider for its libibverbs";
	if (!v->tree)
		return "there is no tree";
	if (v->c->cfg.disable)
		return "DPA_DISABLE or the configuration hides it";
	if (v->driver && !v->loads)
		return "its provider cannot be loaded"; /* by whichever way it is found */
	why = preloaded_here() ? NULL : why_not_bare(v, fix);
	if (why)
		return why;
	*fix = NULL;
	if (!v->driver)
		return "no setting names the provider to libibverbs";
	if (!v->board)
		return "its adapter state is not to be used";
	*fix = "DPA_LOG_FILE=/path of a file, DPA_LOG=debug: the reason is there";
	return "it is refused";
}

/* Lists the devices in a new process, which has this environment. */
static void look_at_list(struct visit *v)
{
	struct ibv_device **(*list)(int *);
	const char *(*name)(struct ibv_device *);
	const char *fix, *why = why_not(v, &fix);
	int status = -1, n = 0;
	pid_t pid;
	void *dl;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dl = dlopen("libibverbs.so.1", RTLD_NOW);
		*(void **)&list = dl ? dlsym(dl, "ibv_get_device_list") : NULL;
		*(void **)&name = dl ? dlsym(dl, "ibv_get_device_name") : NULL;
		if (!list || !name)
			_exit(2);
		struct ibv_device **devs = list(&n);

		for (int i = 0; devs && i < n; i++)
			if (!strcmp(name(devs[i]), "dpa0"))
				_exit(0);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		say(v, BAD, "devices", NULL, "no process can be started: %s", strerror(errno));
	else if (status == 0)
		say(v, OK, "devices", NULL, "a program started here lists dpa0 (%s)",
		    preloaded_here()	   ? "by the preload"
		    : getenv("SYSFS_PATH") ? "by SYSFS_PATH"
					   : "as it is");
	else
		say(v, BAD, "devices", fix, "a program started here does not list dpa0: %s", why);
}

void cmd_doctor(struct ctl *c)
{
	struct visit v = {.c = c, .list = json_object_new_array()};

	if (where_am_i(&v.w))
		say(&v, OK, "installation", NULL, "%s", v.w.lib);
	else
		say(&v, BAD, "installation", "install or build dpa",
		    "no libdpa-preload.so beside %s", v.w.prefix);
	look_at_library(&v);
	look_at_provider(&v);
	look_at_driver(&v);
	look_at_loading(&v);
	look_at_tree(&v);
	look_at_node(&v);
	look_at_kernel(&v);
	look_at_real(&v);
	look_at_memory(&v);
	look_at_permissions(&v);
	look_at_board(&v);
	look_at_port(&v);
	look_at_firewall(&v);
	look_at_rdma_cm(&v);
	look_at_refusals(&v);
	look_at_list(&v);
	if (c->json)
		print_json(v.list);
	else
		json_object_put(v.list);
}
