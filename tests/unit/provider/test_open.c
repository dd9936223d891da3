/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_open.c - open: refused settings, and resources that an open leaves behind. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include "dpa.h"
#include "fake_hw.h"
#include "discovery/match.h"

static int open_errno(void)
{
	struct ibv_context *ctx = fake_open();

	if (!ctx)
		return errno;
	ibv_close_device(ctx);
	return 0;
}

/* Return the number of the lowest free descriptor: opened ones must be closed again. */
static int lowest_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

/* libibverbs reads the table of every driver for a device that it found by netlink. */
Test(open, match_table_is_there)
{
	cr_assert_not_null(dpa_dev_ops.match_table);
	cr_expect_eq(dpa_dev_ops.match_table[0].kind, VERBS_MATCH_SENTINEL);
}

Test(open, descriptors_come_and_go)
{
	int before;

	cr_assert_eq(open_errno(), 0);
	before = lowest_fd();
	for (int i = 0; i < 10; i++)
		cr_assert_eq(open_errno(), 0);
	cr_assert_eq(lowest_fd(), before);
	cr_assert_eq(fake.contexts, 0);
}

/* The device reads the queues of QPs until they end: a close with QPs crashed. */
Test(open, qps_end_before_their_queues_are_freed)
{
	static struct ibv_cq *volatile cq; /* outlives its context: for the leak check */
	struct ibv_context *ctx = fake_open();

	cr_assert(ctx);
	cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	cr_assert(cq);
	cr_assert_eq(ibv_close_device(ctx), 0);
	cr_expect_gt(fake.at_end, 0);
}

/* man ibv_query_device_ex: the extended word has the bits of the plain one, too. */
Test(open, capabilities_are_in_both_words)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_device_attr_ex a;

	cr_assert(ctx);
	cr_assert_eq(dpa_query_device_ex(ctx, NULL, &a, sizeof(a)), 0);
	cr_expect_eq(a.device_cap_flags_ex & UINT32_MAX, a.orig_attr.device_cap_flags);
	cr_expect(a.device_cap_flags_ex >> 40 & 1, "atomic write");
	ibv_close_device(ctx);
}

Test(open, bad_settings_are_einval_and_one_line_in_the_log)
{
	char name[] = "/tmp/dpa-test-open-XXXXXX", line[512] = "";
	int fd = mkstemp(name), before;

	cr_assert_geq(fd, 0);
	cr_assert_eq(open_errno(), 0);
	before = lowest_fd();
	setenv("DPA_LOG_FILE", name, 1);
	setenv("DPA_PLACMENT", "eu", 1);
	cr_expect_eq(open_errno(), EINVAL);
	cr_expect_gt(read(fd, line, sizeof(line) - 1), 0);
	cr_expect(strstr(line, "DPA_PLACMENT") && strstr(line, "DPA_PLACEMENT"), "%s", line);
	cr_expect_eq(strchr(line, '\n'), line + strlen(line) - 1, "one line");
	unsetenv("DPA_PLACMENT");
	setenv("DPA_BLUEFLAME", "maybe", 1);
	cr_expect_eq(open_errno(), EINVAL);
	unsetenv("DPA_BLUEFLAME");
	unsetenv("DPA_LOG_FILE");
	cr_expect_eq(open_errno(), 0);
	cr_expect_eq(lowest_fd(), before);
	close(fd);
	unlink(name);
}

/* Open with DPA_CONFIG=path in another process, as user 65534 if possible: return its errno. */
static int open_errno_with(const char *path, const char *log)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		/* skip exit handlers of the framework: they belong to the parent */
		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(255);
		setenv("DPA_LOG_FILE", log, 1);
		setenv("DPA_CONFIG", path, 1);
		_exit(open_errno());
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void refuses_config(const char *path, const char *log, const char *why)
{
	int fd = open(log, O_RDWR | O_TRUNC);
	char line[512] = "";

	cr_assert_geq(fd, 0);
	cr_expect_eq(open_errno_with(path, log), EINVAL, "%s", path);
	cr_expect_gt(read(fd, line, sizeof(line) - 1), 0, "%s", path);
	cr_expect(strstr(line, path) && strstr(line, why), "%s", line);
	cr_expect_eq(strchr(line, '\n'), line + strlen(line) - 1, "one line");
	close(fd);
}

/*
 * It returned the errno of reading the file, which means to a program that the device does not
 * exist.
 */
Test(open, unreadable_settings_are_einval_and_one_line_in_the_log)
{
	char log[] = "/tmp/dpa-test-open-XXXXXX", conf[] = "/tmp/dpa-test-conf-XXXXXX";
	int fd = mkstemp(log), cfd = mkstemp(conf);

	cr_assert(fd >= 0 && cfd >= 0);
	/*
	 * a file of another user in a sticky folder cannot be opened for writing:
	 * fs.protected_regular
	 */
	if (geteuid() == 0)
		cr_assert_eq(fchown(fd, 65534, 65534), 0);
	cr_assert_eq(fchmod(cfd, 0), 0);
	refuses_config("/nonexistent/dpa.conf", log, "correct the path");
	refuses_config("/", log, "is it a text file?");
	refuses_config(conf, log, "its permissions");
	close(fd);
	close(cfd);
	unlink(log);
	unlink(conf);
}

Test(open, blueflame_can_be_switched_off)
{
	struct ibv_qp_cap cap = {.max_send_wr = 1};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;
	struct fake_setup s;

	setenv("DPA_BLUEFLAME", "0", 1);
	fake_setup(&s, IBV_QPT_RC, &cap);
	s.hw->placement = DPA_PLACE_EU;
	cr_assert_eq(ibv_post_send(s.qp, &wr, &bad), 0);
	cr_assert_eq(s.hw->slot.blueflames, 0);
	cr_assert_eq(s.hw->slot.doorbells, 1);
	fake_teardown(&s);
}

Test(match, only_the_null_device_by_our_name_and_only_if_wanted)
{
	struct verbs_sysfs_dev dev = {.ibdev_name = "dpa0", .sysfs_cdev = makedev(1, 3)};

	cr_expect(dpa_match_device(&dev));
	dev.sysfs_cdev = makedev(231, 192);
	cr_expect_not(dpa_match_device(&dev), "a driver's device");
	dev.sysfs_cdev = makedev(1, 3);
	strcpy(dev.ibdev_name, "rxe0");
	cr_expect_not(dpa_match_device(&dev));
	strcpy(dev.ibdev_name, "dpa0_sf2");
	cr_expect_not(dpa_match_device(&dev), "one that is not configured");
	setenv("DPA_FUNCTIONS", "2", 1);
	cr_expect(dpa_match_device(&dev));
	strcpy(dev.ibdev_name, "dpa0_sf3");
	cr_expect_not(dpa_match_device(&dev));
	strcpy(dev.ibdev_name, "dpa0");
	cr_expect(dpa_match_device(&dev));
	setenv("DPA_DISABLE", "1", 1);
	cr_expect_not(dpa_match_device(&dev));
	cr_expect_eq(open_errno(), ENODEV);
	setenv("DPA_DISABLE", "yes", 1);
	cr_expect(dpa_match_device(&dev), "the open reports it");
	cr_expect_eq(open_errno(), EINVAL);
}

Test(match, functions_of_names)
{
	cr_expect_eq(dpa_function_of("dpa0"), 0);
	cr_expect_eq(dpa_function_of("dpa0_sf1"), 1);
	cr_expect_eq(dpa_function_of("dpa0_sf7"), 7);
	cr_expect_eq(dpa_function_of("dpa0_sf0"), -1);
	cr_expect_eq(dpa_function_of("dpa0_sf8"), -1);
	cr_expect_eq(dpa_function_of("dpa0_sf11"), -1);
	cr_expect_eq(dpa_function_of("dpa0_sf"), -1);
	cr_expect_eq(dpa_function_of("dpa1"), -1);
	cr_expect_eq(dpa_function_of("mlx5_0"), -1);
}
