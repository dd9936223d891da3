/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_foreign.c - files that are not our adapter state, or no longer: refused with a message that
 * names them, never used, never changed.
 */
#include "util.h"
#include <fcntl.h>
#include <sys/stat.h>

TestSuite(board_foreign, .init = bt_setup, .fini = bt_teardown);

static void expect_refused(const char *what)
{
	struct dpa_board_cfg cfg = bt_cfg();
	struct dpa_board *b;

	cr_expect_eq(bt_try(&b, BT_VERSION), EPROTO, "%s", what);
	cr_expect_not_null(strstr(bt_err, bt_path), "%s: %s", what, bt_err);
	cr_expect_eq(dpa_board_peek(&cfg, &b, bt_err, sizeof(bt_err)), EPROTO, "%s", what);
	cr_expect_not_null(strstr(bt_err, bt_path), "%s: %s", what, bt_err);
}

static void make_file(const char *path, const void *text, size_t len, mode_t mode)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, len), (ssize_t)len);
	cr_assert_eq(fchmod(fd, mode), 0);
	close(fd);
}

Test(board_foreign, text)
{
	char text[4096], back[4096];
	int fd;

	memset(text, 'x', sizeof(text));
	make_file(bt_path, text, sizeof(text), 0600);
	expect_refused("text");
	fd = open(bt_path, O_RDONLY);
	cr_assert_eq(read(fd, back, sizeof(back)), (ssize_t)sizeof(back));
	cr_expect_arr_eq(text, back, sizeof(text));
	close(fd);
	unlink(bt_path);
	make_file(bt_path, "short", 5, 0600);
	expect_refused("short text");
	unlink(bt_path);
}

Test(board_foreign, kinds_of_file)
{
	char other[160];

	snprintf(other, sizeof(other), "%s/other", bt_dir);
	make_file(other, "", 0, 0600);
	cr_assert_eq(symlink(other, bt_path), 0);
	expect_refused("symlink");
	unlink(bt_path);
	cr_assert_eq(link(other, bt_path), 0);
	expect_refused("hard link");
	unlink(bt_path);
	unlink(other);
	cr_assert_eq(mkdir(bt_path, 0700), 0);
	expect_refused("directory");
	rmdir(bt_path);
	cr_assert_eq(mkfifo(bt_path, 0600), 0);
	expect_refused("fifo");
	unlink(bt_path);
}

Test(board_foreign, mode_and_owner)
{
	make_file(bt_path, "", 0, 0644);
	expect_refused("readable by others");
	unlink(bt_path);
	if (geteuid() != 0)
		return;
	make_file(bt_path, "", 0, 0600);
	cr_assert_eq(chown(bt_path, 12345, 12345), 0);
	expect_refused("another user's");
	cr_expect_not_null(strstr(bt_err, "12345"), "%s", bt_err);
	unlink(bt_path);
}

static void set_ident(int fd, const struct dpa_board_ident *id)
{
	cr_assert_eq(pwrite(fd, id, sizeof(*id), 0), (ssize_t)sizeof(*id));
}

/* Each byte of the header damaged, while a process is attached to the board. */
Test(board_foreign, every_byte_damaged)
{
	struct dpa_board *b = bt_open();
	int fd = open(bt_path, O_RDWR);
	struct dpa_board_ident good = b->shm->head.ident;

	for (size_t i = 0; i < sizeof(good); i++) {
		struct dpa_board_ident bad = good;

		((uint8_t *)&bad)[i] ^= 0x55;
		set_ident(fd, &bad);
		expect_refused("damaged byte");
	}
	set_ident(fd, &good);
	close(fd);
	dpa_board_close(b);
}

/* Each field with another value and a matching checksum. */
static void refuse_with(int fd, const struct dpa_board_ident *good, size_t off, size_t len,
			uint64_t value, const char *what)
{
	struct dpa_board_ident bad = *good;

	memcpy((uint8_t *)&bad + off, &value, len);
	bad.check = dpa_board_ident_check(&bad);
	set_ident(fd, &bad);
	expect_refused(what);
	set_ident(fd, good);
}

/* Also by fork: the child is another process than the one that uses the file. */
static void refused_by_name(void *arg)
{
	struct dpa_board *b;
	char want[64];

	snprintf(want, sizeof(want), "(pid %d)", (int)getppid());
	if (bt_try(&b, BT_VERSION) != EPROTO)
		_exit(2);
	_exit(strstr(bt_err, want) && strstr(bt_err, ": end it, or set DPA_BOARD to another path")
		      ? 0
		      : 1);
}

Test(board_foreign, another_layout_names_its_process)
{
	struct dpa_board *b = bt_open();
	int fd = open(bt_path, O_RDWR);
	struct dpa_board_ident good = b->shm->head.ident, bad = good;

	bad.layout++;
	bad.check = dpa_board_ident_check(&bad);
	set_ident(fd, &bad);
	cr_expect_eq(bt_wait(bt_fork(refused_by_name, NULL)), 0);
	set_ident(fd, &good);
	close(fd);
	dpa_board_close(b);
}

#define REFUSE(field, value)                                                                       \
	refuse_with(fd, &good, offsetof(struct dpa_board_ident, field), sizeof(good.field), value, \
		    #field)

Test(board_foreign, every_field_wrong)
{
	struct dpa_board *b = bt_open();
	int fd = open(bt_path, O_RDWR);
	struct dpa_board_ident good = b->shm->head.ident;

	REFUSE(magic, 0x1234567812345678ull);
	REFUSE(magic, 0);
	REFUSE(layout, DPA_BOARD_LAYOUT + 1);
	REFUSE(hw_version, DPA_HW_VERSION + 1);
	REFUSE(file_len, DPA_BOARD_FILE_LEN * 2);
	REFUSE(file_len, 0);
	REFUSE(procs, DPA_BOARD_PROCS * 2);
	REFUSE(qpns, DPA_BOARD_QPNS - 1);
	REFUSE(uar_pages, 0);
	REFUSE(uar_pages, DPA_BOARD_UAR_PAGES + 1);
	REFUSE(counters, 65);
	REFUSE(uid, good.uid + 1);
	REFUSE(board_num, 0);
	REFUSE(board_num, 255);
	REFUSE(netns, good.netns + 1);
	REFUSE(mutex_size, 8);
	refuse_with(fd, &good, offsetof(struct dpa_board_ident, lib_version), 8, 0x2121212121ull,
		    "lib_version");
	refuse_with(fd, &good, offsetof(struct dpa_board_ident, lib_version), 8, 0x07ull,
		    "unprintable lib_version");
	close(fd);
	dpa_board_close(b);
}

Test(board_foreign, wrong_length)
{
	struct dpa_board *b = bt_open();
	int fd = open(bt_path, O_RDWR);
	off_t len = DPA_BOARD_FILE_LEN;

	cr_assert_eq(ftruncate(fd, len + 4096), 0);
	expect_refused("too long");
	cr_assert_eq(ftruncate(fd, len - 4096), 0);
	expect_refused("too short");
	cr_assert_eq(ftruncate(fd, len), 0);
	close(fd);
	dpa_board_close(b);
}

/* A damaged board is refused even if no process is attached any more. */
static void open_and_die(void *arg)
{
	struct dpa_board *b;

	if (bt_try(&b, BT_VERSION) == 0)
		kill(getpid(), SIGKILL);
}

Test(board_foreign, damaged_and_dead)
{
	uint8_t bad = 0xff;
	int fd;

	bt_wait(bt_fork(open_and_die, NULL));
	fd = open(bt_path, O_RDWR);
	cr_assert_geq(fd, 0);
	cr_assert_eq(pwrite(fd, &bad, 1, 30), 1);
	expect_refused("damaged");
	close(fd);
	unlink(bt_path);
}
