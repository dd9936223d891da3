/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_far.c - copies with memory that was exported for the other side of the PCI bus. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "far_rig.h"

TestSuite(dma_far, .init = far_setup, .fini = far_teardown, .timeout = 120);

#define NEAR(at, len)	 far_data(rig.map, rig.near + (at), (len))
#define FAR(at, len)	 far_data(rig.import, rig.far + (at), (len))
#define TO_NEAR(at, len) far_room(rig.map, rig.near + (at), (len))
#define TO_FAR(at, len)	 far_room(rig.import, rig.far + (at), (len))

Test(dma_far, reads_and_writes)
{
	static const size_t sizes[] = {1, 64, 209, 4096, 40000, 1 << 20, 9 << 20};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t n = sizes[i];

		OK(far_copy(FAR(7, n), TO_NEAR(3, n)));
		cr_assert(!memcmp(rig.near + 3, rig.far + 7, n), "%zu bytes", n);
		rig.near[0] = (char)i;
		OK(far_copy(NEAR(0, n), TO_FAR(1, n)));
		cr_assert(!memcmp(rig.near, rig.far + 1, n), "%zu bytes", n);
	}
}

/* Through the bounce buffer, which is smaller. */
Test(dma_far, from_a_peer_to_a_peer)
{
	const size_t n = 1000000;

	OK(far_copy(FAR(11, n), TO_FAR(6 << 20, n)));
	cr_assert(!memcmp(rig.far + 11, rig.far + (6 << 20), n));
}

/* Segments of both kinds on both sides, with different lengths; the total lengths are equal. */
Test(dma_far, lists)
{
	struct doca_buf *src = NEAR(0, 1000), *dst = TO_FAR(0, 700);
	char want[3000];
	size_t len;

	OK(doca_buf_chain_list(src, FAR(5000, 2000)));
	OK(doca_buf_chain_list(dst, TO_NEAR(100000, 1600)));
	OK(doca_buf_chain_list(dst, TO_FAR(200000, 1000)));
	memcpy(want, rig.near, 1000);
	memcpy(want + 1000, rig.far + 5000, 2000);
	OK(doca_buf_inc_refcount(dst, NULL));
	OK(far_copy(src, dst));
	cr_assert(!memcmp(rig.far, want, 700));
	cr_assert(!memcmp(rig.near + 100000, want + 700, 1600));
	cr_assert(!memcmp(rig.far + 200000, want + 2300, 700));
	OK(doca_buf_get_data_len(dst, &len));
	cr_assert_eq(len, 700u);
	OK(doca_buf_get_next_in_list(dst, &src));
	OK(doca_buf_get_data_len(src, &len));
	cr_assert_eq(len, 1600u);
	OK(doca_buf_get_last_in_list(dst, &src));
	OK(doca_buf_get_data_len(src, &len));
	cr_assert_eq(len, 700u);
	OK(doca_buf_dec_refcount(dst, NULL));
}

/* More than the queue pair holds, all at once, and they end in order. */
Test(dma_far, many)
{
	for (int i = 0; i < FAR_TASKS; i++)
		far_submit(FAR(i * 100, 100), TO_NEAR(i * 100, 100), (uint64_t)i);
	far_await(FAR_TASKS);
	cr_assert_eq(rig.done, FAR_TASKS);
	cr_assert(!memcmp(rig.near, rig.far, FAR_TASKS * 100));
}

/* Each copies the data of the previous one; two append to one buf. */
Test(dma_far, in_order)
{
	struct doca_buf *dst = TO_NEAR(0, 1000);
	size_t len;

	OK(doca_buf_inc_refcount(dst, NULL));
	OK(doca_buf_inc_refcount(dst, NULL));
	far_submit(FAR(0, 300), dst, 0);		/* far to near */
	far_submit(FAR(300, 300), dst, 1);		/* behind it */
	far_submit(NEAR(0, 600), TO_FAR(5000, 600), 2); /* and back */
	far_submit(FAR(5000, 600), TO_FAR(9000, 600), 3);
	far_submit(FAR(9000, 600), TO_NEAR(2000, 600), 4);
	far_submit(NEAR(2000, 600), TO_NEAR(4000, 600), 5);
	far_await(6);
	cr_assert_eq(rig.done, 6);
	cr_assert(!memcmp(rig.near + 4000, rig.far, 600));
	OK(doca_buf_get_data_len(dst, &len));
	cr_assert_eq(len, 600u);
	OK(doca_buf_dec_refcount(dst, NULL));
}

/* The engine's descriptor reports each step: a program that only waits for it reaches the end. */
Test(dma_far, notification)
{
	doca_notification_handle_t fd;
	struct pollfd p;

	OK(doca_pe_get_notification_handle(rig.pe, &fd));
	p = (struct pollfd){.fd = fd, .events = POLLIN};
	for (int i = 0; i < 20; i++) {
		far_submit(FAR(i, 100000), TO_NEAR(0, 100000), 0);
		while (rig.done == i) {
			OK(doca_pe_request_notification(rig.pe));
			cr_assert_eq(poll(&p, 1, 60000), 1);
			OK(doca_pe_clear_notification(rig.pe, fd));
			while (doca_pe_progress(rig.pe))
				;
		}
		cr_assert(!memcmp(rig.near, rig.far + i, 100000));
	}
}

/* A stop ends copies in flight: the context is idle, and starts again. */
Test(dma_far, stopping)
{
	for (int round = 0; round < 5; round++) {
		int before = rig.done + rig.failed;

		for (int i = 0; i < 20; i++)
			far_submit(FAR(0, 100000), TO_NEAR(0, 100000), (uint64_t)i);
		for (int i = 0; i < round; i++)
			doca_pe_progress(rig.pe);
		if (rig.done + rig.failed < before + 20)
			IS(doca_ctx_stop(rig.ctx), IN_PROGRESS);
		else
			OK(doca_ctx_stop(rig.ctx));
		far_await(before + 20);
		for (int i = 0; i < 20; i++)
			cr_assert(!rig.status[i] || rig.status[i] == DOCA_ERROR_SHUTDOWN);
		far_restart();
		OK(far_copy(FAR(0, 100), TO_NEAR(0, 100)));
	}
}

/* ------------------------------------------------------------- shared memory */

static void setup_shared(void)
{
	setenv("DPA_SHARE_MR", "always", 1); /* before the device is opened */
	far_setup();
}

TestSuite(dma_far_shared, .init = setup_shared, .fini = far_teardown, .timeout = 120);

/* Return whether the page of an address is mapped so that peers may map it, too. */
static bool is_shared(const char *at)
{
	unsigned long start, end;
	char line[512], access[5] = "";
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "re");

	cr_assert(f);
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%lx-%lx %4s", &start, &end, access) == 3 &&
			(uintptr_t)at >= start && (uintptr_t)at < end;
	fclose(f);
	cr_assert(found);
	return access[3] == 's';
}

/* The region of the export is registered first: the map's own one must not prevent the mapping. */
Test(dma_far_shared, an_export_is_mapped_by_peers)
{
	const size_t n = 1 << 20;
	char *middle = rig.far + FAR_MEM / 2;

	cr_assert(is_shared(middle));
	OK(far_copy(FAR(7, n), TO_NEAR(3, n)));
	cr_assert(!memcmp(rig.near + 3, rig.far + 7, n));
	rig.near[0] = 1;
	OK(far_copy(NEAR(0, n), TO_FAR(1, n)));
	cr_assert(!memcmp(rig.near, rig.far + 1, n));
	memcpy(rig.near, rig.far, FAR_MEM);
	far_drop_import();
	OK(doca_mmap_destroy(rig.owner));
	rig.owner = NULL;
	cr_assert_not(is_shared(middle));
	cr_assert(!memcmp(rig.near, rig.far, FAR_MEM));
}
