/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_sysfs.c - the device as in a kernel's sysfs: links, the PCI function, listed files are
 * readable.
 */
#include "preloaded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

TestSuite(preload_sysfs, .init = need_preload);

static void expect_real(const char *path, const char *want)
{
	char buf[PATH_MAX];

	cr_assert_not_null(realpath(path, buf), "%s: %s", path, strerror(errno));
	cr_expect_str_eq(buf, want, "%s", path);
}

Test(preload_sysfs, paths_without_links)
{
	expect_real(IBDEV, PCI "/infiniband/dpa0");
	expect_real(IBDEV "/device", PCI);
	expect_real(IBDEV "/device/", PCI);
	expect_real(IBDEV "/../..", PCI);
	expect_real(IBDEV "/device/infiniband/dpa0/ports/1/gids",
		    PCI "/infiniband/dpa0/ports/1/gids");
	expect_real(IBDEV "/subsystem", "/sys/class/infiniband");
	expect_real(IBDEV "/device/subsystem", "/sys/bus/pci");
	expect_real(IBDEV "/ports/1/gids/0", PCI "/infiniband/dpa0/ports/1/gids/0");
	expect_real(VERBS "/uverbs_dpa0", PCI "/infiniband_verbs/uverbs_dpa0");
	expect_real(VERBS "/uverbs_dpa0/device", PCI);
	expect_real("/sys/bus/pci/devices/d9a0:00:00.0", PCI);
	expect_real("/sys/class/infiniband/..", "/sys/class");
	expect_real("/sys/class/net/../infiniband/dpa0/device", PCI);
	cr_expect_null(realpath(IBDEV "/device/nothing", NULL));
	cr_expect_eq(errno, ENOENT);
	cr_expect_null(realpath(IBDEV "/node_guid/x", NULL));
	cr_expect_eq(errno, ENOTDIR);
	cr_expect_null(realpath(IBDEV "/node_type/x", NULL));
	cr_expect_eq(errno, ENOTDIR);
}

static void expect_link(int dirfd, const char *path, const char *want)
{
	char buf[PATH_MAX] = "";
	struct stat st;
	ssize_t n = readlinkat(dirfd, path, buf, sizeof(buf) - 1);

	cr_assert_gt(n, 0, "%s: %s", path, strerror(errno));
	cr_expect_str_eq(buf, want, "%s", path);
	cr_expect_eq(readlinkat(dirfd, path, buf, 3), 3, "%s: the end is cut off", path);
	cr_assert_eq(fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	cr_expect(S_ISLNK(st.st_mode), "%s", path);
	cr_expect_eq(st.st_size, (off_t)strlen(want), "%s", path);
	cr_assert_eq(fstatat(dirfd, path, &st, 0), 0, "%s", path);
	cr_expect(S_ISDIR(st.st_mode), "%s", path);
	cr_expect_eq(openat(dirfd, path, O_RDONLY | O_NOFOLLOW), -1);
	cr_expect_eq(errno, ELOOP, "%s", path);
}

Test(preload_sysfs, links)
{
	static const char from_class[] = "../../devices/pcid9a0:00/d9a0:00:00.0/infiniband/dpa0";
	char name[NAME_MAX + 1] = "", path[PATH_MAX], target[PATH_MAX], buf[PATH_MAX];
	int fd = open("/sys/class/infiniband", O_RDONLY | O_DIRECTORY);
	FILE *f = fopen(IBDEV "/ports/1/gid_attrs/ndevs/0", "r");

	expect_link(AT_FDCWD, IBDEV, from_class);
	expect_link(fd, "dpa0", from_class);
	close(fd);
	expect_link(AT_FDCWD, IBDEV "/device", "../../../d9a0:00:00.0");
	fd = open(IBDEV, O_RDONLY | O_DIRECTORY);
	expect_link(fd, "device", "../../../d9a0:00:00.0");
	close(fd);
	if (!f || !fgets(name, sizeof(name), f))
		cr_skip_test("GID 0 has no interface here");
	fclose(f);
	name[strcspn(name, "\n")] = '\0';
	snprintf(target, sizeof(target), "/sys/class/net/%s", name);
	if (access(target, F_OK))
		cr_skip_test("/sys is that of another network namespace");
	snprintf(path, sizeof(path), IBDEV "/device/net/%s", name);
	snprintf(target, sizeof(target), "../../../../class/net/%s", name);
	expect_link(AT_FDCWD, path, target);
	snprintf(path, sizeof(path), IBDEV "/device/net/%s/address", name);
	cr_expect_eq(access(path, R_OK), 0, "%s", strerror(errno));
	snprintf(target, sizeof(target), "/sys/class/net/%s/address", name);
	cr_assert_not_null(realpath(target, buf));
	expect_real(path, buf);
	fd = open(IBDEV "/device/net", O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/address", name);
	cr_expect_eq(faccessat(fd, path, R_OK, 0), 0, "%s", strerror(errno));
	close(fd);
}

/* First line of a file. */
static const char *text_of(const char *path)
{
	static char text[256];
	FILE *f = fopen(path, "r");

	cr_assert_not_null(f, "%s: %s", path, strerror(errno));
	cr_assert_not_null(fgets(text, sizeof(text), f), "%s is empty", path);
	text[strcspn(text, "\n")] = '\0';
	fclose(f);
	return text;
}

Test(preload_sysfs, pci_function)
{
	static const struct {
		const char *file, *text;
	} files[] = {
		{"class", "0x020700"},
		{"vendor", "0xd9a0"},
		{"device", "0xd0a0"},
		{"subsystem_vendor", "0xd9a0"},
		{"subsystem_device", "0x0001"},
		{"revision", "0x01"},
		{"modalias", "pci:v0000D9A0d0000D0A0sv0000D9A0sd00000001bc02sc07i00"},
		{"current_link_speed", "16.0 GT/s PCIe"},
		{"current_link_width", "16"},
		{"max_link_speed", "16.0 GT/s PCIe"},
		{"max_link_width", "16"},
		{"uevent", "PCI_CLASS=20700"},
		{"infiniband/dpa0/node_type", "1: CA"},
	};
	char path[PATH_MAX], cpus[256];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), IBDEV "/device/%s", files[i].file);
		cr_expect_str_eq(text_of(path), files[i].text, "%s", path);
	}
	strcpy(cpus, text_of("/sys/devices/system/cpu/online"));
	cr_expect_str_eq(text_of(PCI "/local_cpulist"), cpus);
	cr_expect_gt(strtoul(text_of(PCI "/local_cpus"), NULL, 16), 0u);
	cr_expect_leq(atoi(text_of(PCI "/numa_node")), 0);
}

/* lspci and libpciaccess read it for each device, and give up if they cannot. */
Test(preload_sysfs, configuration_space)
{
	int fd = open("/sys/bus/pci/devices/d9a0:00:00.0/config", O_RDONLY);
	uint8_t c[300];

	cr_assert_geq(fd, 0);
	cr_expect_eq(read(fd, c, sizeof(c)), 256);
	close(fd);
	cr_expect_eq(c[0] | c[1] << 8, 0xd9a0);
	cr_expect_eq(c[2] | c[3] << 8, 0xd0a0);
	cr_expect_eq(c[8], 1);
	cr_expect_eq(c[9] | c[10] << 8 | c[11] << 16, 0x020700);
	cr_expect_eq(c[0x2c] | c[0x2d] << 8, 0xd9a0);
	cr_expect_eq(c[0x2e] | c[0x2f] << 8, 0x0001);
}

Test(preload_sysfs, relative_to_a_folder)
{
	int fd = open(IBDEV, O_RDONLY | O_DIRECTORY), in, file;
	char text[64] = "";
	struct stat a, b;

	cr_assert_geq(fd, 0);
	in = openat(fd, "ports", O_RDONLY | O_DIRECTORY);
	cr_assert_geq(in, 0);
	file = openat(in, "1/gids/0", O_RDONLY);
	cr_assert_geq(file, 0, "%s", strerror(errno));
	cr_expect_eq(read(file, text, sizeof(text)), 40);
	close(file);
	cr_expect_eq(faccessat(in, "1/gids/255", R_OK, 0), 0);
	cr_expect_eq(faccessat(in, "1/gids/256", R_OK, 0), -1);
	cr_expect_eq(fstatat(in, "../node_guid", &a, 0), 0);
	cr_expect(S_ISREG(a.st_mode));
	cr_expect_eq(fstatat(in, "../device", &a, 0), 0);
	cr_expect_eq(stat(PCI, &b), 0);
	cr_expect(a.st_dev == b.st_dev && a.st_ino == b.st_ino, "one folder");
	cr_expect_eq(fstatat(in, "../device/../../class", &a, 0), -1);
	cr_expect_eq(fstatat(in, "../device/../../../class/infiniband", &a, 0), 0);
	close(in);
	close(fd);
}

static void expect_same(const struct stat *a, const struct stat *b, const char *what)
{
	cr_expect(a->st_dev == b->st_dev && a->st_ino == b->st_ino, "%s: another file", what);
	cr_expect_eq(a->st_mode, b->st_mode, "%s", what);
	cr_expect_eq(a->st_nlink, b->st_nlink, "%s", what);
}

/* Regression: cp detected a replaced file between its lstat and its fstat. */
Test(preload_sysfs, a_file_stays_itself)
{
	static const char *const files[] = {IBDEV "/node_guid", IBDEV "/ports/1/gids/0",
					    IBDEV "/node_type", IBDEV "/device/config"};
	struct stat before, open_one, last = {0};
	struct statx stx;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd;

		cr_assert_eq(lstat(files[i], &before), 0);
		fd = open(files[i], O_RDONLY);
		cr_assert_geq(fd, 0);
		cr_assert_eq(fstat(fd, &open_one), 0);
		expect_same(&before, &open_one, files[i]);
		cr_assert_eq(fstatat(fd, "", &open_one, AT_EMPTY_PATH), 0);
		expect_same(&before, &open_one, files[i]);
		cr_assert_eq(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx), 0);
		cr_expect_eq(stx.stx_ino, before.st_ino, "%s", files[i]);
		cr_assert_eq(statx(AT_FDCWD, files[i], 0, STATX_BASIC_STATS, &stx), 0);
		cr_expect_eq(stx.stx_ino, before.st_ino, "%s", files[i]);
		cr_expect(last.st_ino != before.st_ino, "each its own");
		last = before;
		close(fd);
	}
}

Test(preload_sysfs, working_directory)
{
	char buf[PATH_MAX], link[64], small[8];
	int fd;

	cr_assert_eq(chdir(IBDEV "/ports/1"), 0);
	cr_expect_str_eq(getcwd(buf, sizeof(buf)), PCI "/infiniband/dpa0/ports/1");
	cr_expect_null(getcwd(small, sizeof(small)));
	cr_expect_eq(errno, ERANGE);
	expect_real(".", PCI "/infiniband/dpa0/ports/1");
	expect_real("../../device", PCI);
	cr_assert_eq(chdir("../../device"), 0);
	cr_expect_str_eq(getcwd(buf, sizeof(buf)), PCI);
	cr_expect_eq(access("infiniband/dpa0/node_guid", R_OK), 0);
	fd = open(".", O_RDONLY | O_DIRECTORY);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	memset(buf, 0, sizeof(buf));
	cr_expect_gt(readlink(link, buf, sizeof(buf) - 1), 0);
	cr_expect_str_eq(buf, PCI);
	cr_expect_eq(chdir("config"), -1);
	cr_expect_eq(errno, ENOTDIR);
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(fchdir(fd), 0);
	cr_expect_str_eq(getcwd(buf, sizeof(buf)), PCI);
	cr_assert_eq(chdir("/proc"), 0);
	cr_expect_str_eq(getcwd(buf, sizeof(buf)), "/proc");
	close(fd);
}

/*
 * Each entry of a folder opens by its name and in its folder; files can be read, or fail with the
 * right error.
 */
static void read_all(const char *path, unsigned depth)
{
	char name[PATH_MAX + NAME_MAX + 2], text[512];
	struct dirent *ent;
	DIR *dir = opendir(path);

	cr_assert_not_null(dir, "%s: %s", path, strerror(errno));
	while ((ent = readdir(dir))) {
		struct stat a, b;
		int fd;

		if (ent->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, ent->d_name);
		cr_assert_eq(lstat(name, &a), 0, "%s: %s", name, strerror(errno));
		cr_assert_eq(fstatat(dirfd(dir), ent->d_name, &b, AT_SYMLINK_NOFOLLOW), 0, "%s",
			     name);
		cr_expect_eq(a.st_mode, b.st_mode, "%s", name);
		cr_expect(ent->d_type == DT_UNKNOWN ||
				  (mode_t)DTTOIF(ent->d_type) == (a.st_mode & S_IFMT),
			  "%s", name);
		if (S_ISDIR(a.st_mode) && depth)
			read_all(name, depth - 1);
		if (!S_ISREG(a.st_mode))
			continue;
		fd = openat(dirfd(dir), ent->d_name, O_RDONLY);
		if (fd < 0) /* an index without a GID; a GID without an interface */
			cr_expect(errno == EINVAL && strstr(name, "/gid_attrs/"), "%s: %s", name,
				  strerror(errno));
		else
			cr_expect_gt(read(fd, text, sizeof(text)), 0, "%s", name);
		if (fd >= 0)
			close(fd);
	}
	closedir(dir);
}

Test(preload_sysfs, what_is_listed_can_be_read)
{
	read_all(IBDEV "/", 9);
	read_all(IBDEV "/device", 9);
	read_all(VERBS "/uverbs_dpa0", 9);
}

/* libudev checks it before it accepts a folder as a device. */
Test(preload_sysfs, file_system)
{
	static const char *const paths[] = {IBDEV,
					    IBDEV "/ports/1",
					    IBDEV "/node_type",
					    IBDEV "/node_guid",
					    "/sys/class/infiniband",
					    PCI};
	struct statfs fs;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int fd = open(paths[i], O_RDONLY);

		cr_assert_eq(statfs(paths[i], &fs), 0, "%s", paths[i]);
		cr_expect_eq(fs.f_type, SYSFS_MAGIC, "%s", paths[i]);
		memset(&fs, 0, sizeof(fs));
		cr_assert_eq(fstatfs(fd, &fs), 0, "%s", paths[i]);
		cr_expect_eq(fs.f_type, SYSFS_MAGIC, "%s", paths[i]);
		close(fd);
	}
	cr_expect_eq(statfs(IBDEV "/nothing", &fs), -1);
	cr_expect_eq(errno, ENOENT);
	cr_assert_eq(statfs("/proc", &fs), 0);
	cr_expect_eq(fs.f_type, PROC_SUPER_MAGIC);
}

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	for (struct dirent *ent; dir && (ent = readdir(dir));)
		n += ent->d_name[0] != '.';
	cr_assert_not_null(dir, "%s", path);
	closedir(dir);
	return n;
}

Test(preload_sysfs, counters)
{
	cr_expect_gt(entries(IBDEV "/ports/1/counters"), 3);
	cr_expect_gt(entries(IBDEV "/ports/1/hw_counters"), 10);
	cr_expect_eq(access(IBDEV "/ports/1/counters/port_xmit_data", R_OK), 0);
	cr_expect_eq(access(IBDEV "/ports/1/hw_counters/out_of_sequence", R_OK), 0);
	cr_expect_eq(access(IBDEV "/ports/1/counters/out_of_sequence", F_OK), -1);
	cr_expect_eq(access(IBDEV "/ports/1/counters/nothing", F_OK), -1);
	cr_expect_eq(errno, ENOENT);
}

/* The host's own entries are unchanged. */
Test(preload_sysfs, host_is_left_alone)
{
	char path[PATH_MAX + NAME_MAX + 2], real[PATH_MAX];
	DIR *dir = opendir("/sys/bus/pci/devices");
	struct dirent *ent;
	int ours = 0;

	cr_assert_not_null(dir);
	while ((ent = readdir(dir))) {
		if (ent->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", ent->d_name);
		cr_assert_not_null(realpath(path, real));
		ours += strcmp(ent->d_name, "d9a0:00:00.0") == 0;
		cr_expect_eq(strncmp(real, "/sys/devices/", 13), 0, "%s", real);
		snprintf(path, sizeof(path), "%.2000s/subsystem", real);
		expect_real(path, "/sys/bus/pci");
	}
	cr_expect_eq(ours, 1);
	closedir(dir);
	expect_real("/sys/class/../class", "/sys/class");
	cr_expect_eq(access("/sys/class/infiniband/dpa1", F_OK), -1);
	cr_expect_eq(access("/sys/bus/pci/devices/d9a0:00:00.7", F_OK), -1, "no such SF");
	cr_expect_eq(access("/sys/devices/pcid9a0:00/d9a0:00:00.8", F_OK), -1);
}
