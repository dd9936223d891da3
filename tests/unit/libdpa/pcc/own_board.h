/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* own_board.h - a private adapter instance of the test: other programs do not affect it. */
#ifndef TEST_PCC_OWN_BOARD_H
#define TEST_PCC_OWN_BOARD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <criterion/criterion.h>
#include <doca_dev.h>

/* Criterion sees only assertions of its own processes; children of a test use this one. */
#define OK(call)                                                                                   \
	do {                                                                                       \
		doca_error_t ret_ = (call);                                                        \
		if (ret_ != DOCA_SUCCESS) {                                                        \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
				doca_error_get_name(ret_));                                        \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static inline struct doca_dev *open_dpa0(void)
{
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	struct doca_devinfo **list;
	struct doca_dev *dev = NULL;
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && !dev; i++) {
		OK(doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)));
		if (!strcmp(name, "dpa0"))
			OK(doca_dev_open(list[i], &dev));
	}
	OK(doca_devinfo_destroy_list(list));
	if (!dev)
		abort();
	return dev;
}

static char own_dir[] = "/tmp/test_pcc_XXXXXX";

static inline void own_board_setup(void)
{
	char path[64];

	cr_assert(mkdtemp(own_dir));
	snprintf(path, sizeof(path), "%s/board", own_dir);
	setenv("DPA_BOARD", path, 1);
}

/* All was closed: the last process has removed the file, or was killed. */
static inline void own_board_teardown(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", own_dir);
	cr_assert_eq(system(command), 0);
}

#endif
