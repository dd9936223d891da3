/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_far_errors.c - exports for the other side of the PCI bus: refused calls, and peers that
 * disappear.
 */
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "far_rig.h"

/* Offsets in an export: libdpa/common/mmap_pci.c has the table. */
enum {
	VERSION = 12,
	LENGTH = 24,
	KEY = 32,
	ACCESS = 36,
	TOKEN = 40,
	PORT = 64,
	NUM_GIDS = 66,
	GIDS = 72
};

TestSuite(dma_far_errors, .init = far_setup, .fini = far_teardown, .timeout = 120);

static struct doca_mmap *import_of(const char *blob)
{
	struct doca_mmap *m;

	OK(doca_mmap_create_from_export(NULL, blob, rig.len, rig.dev, &m));
	return m;
}

/* Copy 100 bytes from a map of the far memory. */
static doca_error_t read_by(struct doca_mmap *m)
{
	return far_copy(far_data(m, rig.far, 100), far_room(rig.map, rig.near, 100));
}

static doca_error_t write_by(struct doca_mmap *m)
{
	return far_copy(far_data(rig.map, rig.near, 100), far_room(m, rig.far, 100));
}

Test(dma_far_errors, exports)
{
	struct doca_mmap *m, *local = far_map(rig.near, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
	struct doca_dev *other;
	struct doca_devinfo **list;
	doca_dpa_dev_mmap_t handle;
	const void *blob, *again;
	uint32_t num;
	uint8_t flag;
	size_t n;

	IS(doca_mmap_export_pci(NULL, rig.dev, &blob, &n), INVALID_VALUE);
	IS(doca_mmap_export_pci(rig.owner, NULL, &blob, &n), INVALID_VALUE);
	IS(doca_mmap_export_pci(rig.owner, rig.dev, NULL, &n), INVALID_VALUE);
	IS(doca_mmap_export_pci(rig.owner, rig.dev, &blob, NULL), INVALID_VALUE);
	IS(doca_mmap_export_pci(local, rig.dev, &blob, &n), NOT_PERMITTED);
	IS(doca_mmap_export_pci(rig.import, rig.dev, &blob, &n), NOT_PERMITTED);
	IS(doca_mmap_export_rdma(rig.owner, rig.dev, &blob, &n), NOT_PERMITTED);
	OK(doca_mmap_create(&m));
	IS(doca_mmap_export_pci(m, rig.dev, &blob, &n), NOT_PERMITTED); /* not started */
	OK(doca_mmap_destroy(m));
	/* twice the same */
	OK(doca_mmap_export_pci(rig.owner, rig.dev, &blob, &n));
	OK(doca_mmap_export_pci(rig.owner, rig.dev, &again, &n));
	cr_assert(blob == again && n == rig.len && !memcmp(blob, rig.blob, n));
	OK(doca_mmap_get_exported(rig.owner, &flag));
	cr_assert_eq(flag, 1);
	OK(doca_mmap_get_from_export(rig.import, &flag));
	cr_assert_eq(flag, 1);
	IS(doca_mmap_dev_get_dpa_handle(rig.import, rig.dev, &handle), NOT_PERMITTED);

	OK(doca_devinfo_create_list(&list, &num));
	for (uint32_t i = 0; i < num; i++) {
		OK(doca_mmap_cap_is_export_pci_supported(list[i], &flag));
		cr_assert_eq(flag, !doca_dma_cap_task_memcpy_is_supported(list[i]));
		OK(doca_mmap_cap_is_create_from_export_pci_supported(list[i], &flag));
		if (flag)
			continue;
		OK(doca_dev_open(list[i], &other));
		IS(doca_mmap_create_from_export(NULL, rig.blob, rig.len, other, &m), NOT_SUPPORTED);
		IS(doca_mmap_export_pci(rig.owner, other, &blob, &n), NOT_FOUND);
		OK(doca_dev_close(other));
	}
	OK(doca_devinfo_destroy_list(list));
	OK(doca_mmap_destroy(local));
}

/*
 * Bytes that are no export: each byte of one is replaced by another value, and each length is
 * tried.
 */
Test(dma_far_errors, imports)
{
	struct doca_mmap *m;
	char blob[512];

	for (size_t i = 0; i < rig.len; i++) {
		doca_error_t ret;

		memcpy(blob, rig.blob, rig.len);
		blob[i] ^= (char)0x80;
		ret = doca_mmap_create_from_export(NULL, blob, rig.len, rig.dev, &m);
		cr_assert(!ret || ret == DOCA_ERROR_INVALID_VALUE ||
			  ret == DOCA_ERROR_NOT_SUPPORTED);
		if (!ret)
			OK(doca_mmap_destroy(m));
	}
	for (size_t n = 0; n < rig.len; n++)
		IS(doca_mmap_create_from_export(NULL, rig.blob, n, rig.dev, &m), INVALID_VALUE);
	IS(doca_mmap_create_from_export(NULL, rig.blob, rig.len + 1, rig.dev, &m), INVALID_VALUE);
	memcpy(blob, rig.blob, rig.len);
	blob[VERSION]++;
	IS(doca_mmap_create_from_export(NULL, blob, rig.len, rig.dev, &m), NOT_SUPPORTED);
	memcpy(blob, rig.blob, rig.len);
	memset(blob + LENGTH, 0, 8);
	IS(doca_mmap_create_from_export(NULL, blob, rig.len, rig.dev, &m), INVALID_VALUE);
	memcpy(blob, rig.blob, rig.len);
	blob[NUM_GIDS] = 9;
	IS(doca_mmap_create_from_export(NULL, blob, rig.len, rig.dev, &m), INVALID_VALUE);
}

Test(dma_far_errors, permissions)
{
	struct doca_mmap *readable = far_map(rig.far, DOCA_ACCESS_FLAG_PCI_READ_ONLY), *m;
	const void *blob;
	char forged[512];
	size_t n;

	OK(doca_mmap_export_pci(readable, rig.dev, &blob, &n));
	memcpy(forged, blob, n);
	m = import_of(forged);
	OK(read_by(m));
	cr_assert_eq(write_by(m), DOCA_ERROR_NOT_PERMITTED);
	OK(doca_mmap_destroy(m));
	/* one that claims more access than it has */
	forged[ACCESS] = DOCA_ACCESS_FLAG_PCI_READ_WRITE;
	m = import_of(forged);
	cr_assert_eq(write_by(m), DOCA_ERROR_IO_FAILED);
	OK(read_by(m));
	OK(doca_mmap_destroy(m));
	OK(doca_mmap_destroy(readable));
}

/* Forged exports: each copy ends with an error, and the real one still works. */
Test(dma_far_errors, forged)
{
	static const int at[] = {KEY, TOKEN, PORT};
	struct doca_mmap *m;
	char blob[512];

	memcpy(blob, rig.blob, rig.len); /* no address that can be used */
	memset(blob + GIDS, 0, 16 * 8);
	m = import_of(blob);
	cr_assert_eq(read_by(m), DOCA_ERROR_IO_FAILED);
	OK(doca_mmap_destroy(m));
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		memcpy(blob, rig.blob, rig.len);
		blob[at[i]] ^= 0x55;
		m = import_of(blob);
		cr_assert_eq(read_by(m), DOCA_ERROR_IO_FAILED, "byte %d", at[i]);
		OK(doca_mmap_destroy(m));
		OK(read_by(rig.import));
	}
}

/* The token of one export with the range and the R_Key of another one of the same device. */
Test(dma_far_errors, the_token_of_another_export)
{
	struct doca_mmap *other = far_map(rig.far, DOCA_ACCESS_FLAG_PCI_READ_ONLY), *m;
	const void *its;
	char blob[512];
	size_t n;

	OK(doca_mmap_export_pci(other, rig.dev, &its, &n));
	memcpy(blob, rig.blob, rig.len);
	memcpy(blob + 16, (const char *)its + 16, 20); /* address, length, R_Key */
	m = import_of(blob);
	cr_assert_eq(read_by(m), DOCA_ERROR_IO_FAILED);
	OK(doca_mmap_destroy(m));
	m = import_of(its);
	OK(read_by(m));
	OK(doca_mmap_destroy(m));
	OK(read_by(rig.import));
	OK(doca_mmap_destroy(other));
}

/* The owner stops its map, with a connected link and without one. */
Test(dma_far_errors, the_map_is_gone)
{
	struct doca_mmap *keeps = far_map(rig.far, DOCA_ACCESS_FLAG_PCI_READ_ONLY);
	const void *blob;
	size_t n;

	OK(doca_mmap_export_pci(keeps, rig.dev, &blob, &n)); /* the port stays */
	OK(read_by(rig.import));
	OK(doca_mmap_stop(rig.owner));
	cr_assert_eq(read_by(rig.import), DOCA_ERROR_IO_FAILED);
	cr_assert_eq(write_by(rig.import), DOCA_ERROR_IO_FAILED);
	OK(doca_mmap_destroy(keeps)); /* and the port is closed */
	cr_assert_eq(read_by(rig.import), DOCA_ERROR_IO_FAILED);
	/* started again it is another export */
	OK(doca_mmap_start(rig.owner));
	OK(doca_mmap_export_pci(rig.owner, rig.dev, &blob, &n));
	cr_assert_eq(read_by(rig.import), DOCA_ERROR_IO_FAILED);
	far_drop_import();
	OK(doca_mmap_create_from_export(NULL, blob, n, rig.dev, &rig.import));
	OK(read_by(rig.import));
}

/* The port closes while a link is connected. */
Test(dma_far_errors, the_port_is_gone)
{
	OK(read_by(rig.import));
	OK(doca_mmap_destroy(rig.owner));
	rig.owner = NULL;
	for (int i = 0; i < 10; i++)
		far_submit(far_data(rig.import, rig.far, 100), far_room(rig.map, rig.near, 100),
			   (uint64_t)i);
	far_await(11);
	cr_assert_eq(rig.status[0], DOCA_ERROR_IO_FAILED);
	for (int i = 1; i < 10; i++)
		cr_assert_eq(rig.status[i], DOCA_ERROR_SHUTDOWN);
	far_restart();
}

static int call_port(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	in.sin_port = htons((uint16_t)((uint8_t)rig.blob[PORT] | (uint8_t)rig.blob[PORT + 1] << 8));
	cr_assert(fd >= 0 && !connect(fd, (struct sockaddr *)&in, sizeof(in)));
	return fd;
}

/* Peers that send nothing, nonsense, or too little: more of them than the port has places. */
Test(dma_far_errors, strangers)
{
	int fds[300], n = 0;
	char byte, junk[48];

	memset(junk, 0xa5, sizeof(junk));
	for (int i = 0; i < 20; i++) {
		int fd = call_port();

		cr_assert_eq(send(fd, junk, sizeof(junk), MSG_NOSIGNAL), (ssize_t)sizeof(junk));
		cr_assert(recv(fd, &byte, 1, 0) <= 0, "it hangs up");
		close(fd);
	}
	for (; n < 300; n++) {
		fds[n] = call_port();
		if (n % 2)
			send(fds[n], junk, 3, MSG_NOSIGNAL);
	}
	OK(read_by(rig.import));
	OK(write_by(rig.import));
	while (n)
		close(fds[--n]);
	OK(read_by(rig.import));
}

/* No descriptor is left for the port: the map is not exported, and can be exported later. */
Test(dma_far_errors, no_descriptors)
{
	struct rlimit old, few;
	const void *blob;
	int lowest;
	size_t n;

	OK(doca_mmap_stop(rig.owner));
	OK(doca_mmap_start(rig.owner));
	cr_assert(!getrlimit(RLIMIT_NOFILE, &old));
	lowest = dup(0);
	close(lowest);
	few = (struct rlimit){(rlim_t)lowest, old.rlim_max};
	cr_assert(!setrlimit(RLIMIT_NOFILE, &few));
	IS(doca_mmap_export_pci(rig.owner, rig.dev, &blob, &n), DRIVER);
	cr_assert(!setrlimit(RLIMIT_NOFILE, &old));
	OK(doca_mmap_export_pci(rig.owner, rig.dev, &blob, &n));
	far_drop_import();
	OK(doca_mmap_create_from_export(NULL, blob, n, rig.dev, &rig.import));
	OK(read_by(rig.import));
}

static uint64_t cpu_ms(void)
{
	struct timespec ts;

	cr_assert(!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts));
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* No descriptor is left for a peer that connects: the port's thread does not run busily. */
Test(dma_far_errors, no_descriptor_for_a_peer)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), lowest;
	struct rlimit old, few;
	uint64_t before;

	OK(read_by(rig.import)); /* all descriptors of a copy are open */
	in.sin_port = htons((uint16_t)((uint8_t)rig.blob[PORT] | (uint8_t)rig.blob[PORT + 1] << 8));
	cr_assert(!getrlimit(RLIMIT_NOFILE, &old));
	lowest = dup(0);
	close(lowest);
	few = (struct rlimit){(rlim_t)lowest, old.rlim_max};
	cr_assert(!setrlimit(RLIMIT_NOFILE, &few));
	cr_assert(!connect(fd, (struct sockaddr *)&in, sizeof(in)));
	before = cpu_ms();
	poll(NULL, 0, 500);
	cr_assert_lt(cpu_ms() - before, 100);
	cr_assert(!setrlimit(RLIMIT_NOFILE, &old));
	OK(read_by(rig.import));
	close(fd);
	OK(read_by(rig.import));
}

/* The end of an idle link is reported once: then the engine's descriptor is not readable. */
Test(dma_far_errors, an_idle_link_ends)
{
	doca_notification_handle_t fd;
	struct pollfd p;

	OK(doca_pe_get_notification_handle(rig.pe, &fd));
	p = (struct pollfd){.fd = fd, .events = POLLIN};
	OK(read_by(rig.import));
	OK(doca_mmap_destroy(rig.owner));
	rig.owner = NULL;
	OK(doca_pe_request_notification(rig.pe));
	cr_assert_eq(poll(&p, 1, 60000), 1);
	OK(doca_pe_clear_notification(rig.pe, fd));
	while (doca_pe_progress(rig.pe))
		;
	OK(doca_pe_request_notification(rig.pe));
	cr_assert_eq(poll(&p, 1, 0), 0);
	cr_assert_eq(read_by(rig.import), DOCA_ERROR_IO_FAILED);
}

/*
 * A list that the user changes under a copy: the next copy with the removed buf still ends. A copy that
 * ended already has given its bufs back: then another one.
 */
Test(dma_far_errors, a_list_is_taken_apart)
{
	struct doca_buf *dst, *rest;
	int ended = -1;

	do {
		dst = far_room(rig.map, rig.near, 50);
		rest = far_room(rig.map, rig.near + 50, 50);
		OK(doca_buf_chain_list(dst, rest));
		far_submit(far_data(rig.import, rig.far, 100), dst, 0);
		doca_pe_progress(rig.pe);
		ended++;
	} while (rig.done + rig.failed > ended && ended < 1000);
	if (rig.done + rig.failed > ended)
		cr_skip_test("each copy ends in the call that begins it");
	OK(doca_buf_unchain_list(dst, rest));
	far_await(ended + 1);
	if (rig.failed)
		far_restart();
	OK(far_copy(far_data(rig.import, rig.far, 10), rest));
}
