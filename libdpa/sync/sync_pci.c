/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sync_pci.c - sync events for the other side of the PCI bus: here, another process of this user on
 * this host. The word of such an event lies on its own page, in a memfd that cannot be resized; the
 * export identifies it, and the importer maps it.
 *
 * An export is bytes in host order:
 *   0  magic "dpapci\0\1"          16 process id     24 cookie, which is on the page as well
 *   8  size of this, bytes         20 its descriptor
 *  12  version
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../host/libdpa.h"
#include "sync_event.h"
#include <doca_sync_event.h>

#define EXPORT_VERSION 1
#define PAGE_BYTES     4096
#define SEALS	       (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* The word has its own cache line. */
struct dpa_se_page {
	uint64_t cookie[2];
	uint8_t rsvd[48];
	_Atomic uint64_t word;
};
static_assert(offsetof(struct dpa_se_page, word) == 64, "the format of the page");

struct blob {
	char magic[8];
	uint32_t size;
	uint32_t version;
	uint32_t pid;
	uint32_t fd;
	uint64_t cookie[2];
};
static_assert(sizeof(struct blob) == 40, "the format of exports");

static const char magic[8] = {'d', 'p', 'a', 'p', 'c', 'i', 0, 1};

static int map_page(struct doca_sync_event *se, int fd)
{
	void *p = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return errno;
	se->page = p;
	se->page_fd = fd;
	return 0;
}

/* Share the event: its value moves to the page. */
doca_error_t dpa_se_share(struct doca_sync_event *se)
{
	int fd;

	if (se->page || se->word != &se->own || !((se->pub.where | se->sub.where) & DPA_SE_LOC_PCI))
		return DOCA_SUCCESS;
	fd = memfd_create("dpa-event", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return DOCA_ERROR_NO_MEMORY;
	if (ftruncate(fd, PAGE_BYTES) || fcntl(fd, F_ADD_SEALS, SEALS) || map_page(se, fd)) {
		close(fd);
		return DOCA_ERROR_NO_MEMORY;
	}
	/* the cookie only distinguishes pages behind the same descriptor number */
	if (getrandom(se->page->cookie, sizeof(se->page->cookie), GRND_NONBLOCK) < 0)
		se->page->cookie[0] = (uintptr_t)se;
	atomic_store(&se->page->word, atomic_load(&se->own));
	se->word = &se->page->word;
	return DOCA_SUCCESS;
}

void dpa_se_unshare(struct doca_sync_event *se)
{
	if (!se->page)
		return;
	munmap(se->page, PAGE_BYTES);
	close(se->page_fd);
	se->page = NULL;
}

doca_error_t doca_sync_event_export_to_remote_pci(struct doca_sync_event *event,
						  struct doca_dev *dev, const uint8_t **data,
						  size_t *sz)
{
	struct blob *b;

	if (!dpa_live(event) || !dpa_live(dev) || !data || !sz ||
	    atomic_load_explicit(&event->state, memory_order_acquire) != DPA_SE_STARTED)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dev->info.is_dpa || event->imported || !event->page ||
	    event->word != &event->page->word)
		return DOCA_ERROR_NOT_SUPPORTED;
	if (!event->pci_blob) {
		b = calloc(1, sizeof(*b));
		if (!b)
			return DOCA_ERROR_NO_MEMORY;
		memcpy(b->magic, magic, sizeof(magic));
		b->size = sizeof(*b);
		b->version = EXPORT_VERSION;
		b->pid = (uint32_t)getpid();
		b->fd = (uint32_t)event->page_fd;
		memcpy(b->cookie, event->page->cookie, sizeof(b->cookie));
		event->pci_blob = b;
	}
	*data = event->pci_blob;
	*sz = sizeof(*b);
	return DOCA_SUCCESS;
}

/* ------------------------------------------------------------- the other side */

static doca_error_t pci_error(int err)
{
	switch (err) {
	case ENOENT: /* the process is gone, or has no such descriptor */
	case ESRCH:
		return DOCA_ERROR_INVALID_VALUE;
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		return DOCA_ERROR_NO_MEMORY;
	default: /* owned by another user */
		return DOCA_ERROR_NOT_SUPPORTED;
	}
}

/*
 * Open the page. The first open is O_PATH: a descriptor that is no page of an event is never opened
 * for access, because opening a device has effects.
 */
static doca_error_t open_event_page(const struct blob *b, int *out)
{
	char path[64];
	struct stat st;
	int name;

	snprintf(path, sizeof(path), "/proc/%u/fd/%u", b->pid, b->fd);
	name = open(path, O_PATH | O_CLOEXEC);
	if (name < 0)
		return pci_error(errno);
	if (fstat(name, &st) || !S_ISREG(st.st_mode) || st.st_size != PAGE_BYTES) {
		close(name);
		return DOCA_ERROR_INVALID_VALUE;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", name);
	*out = open(path, O_RDWR | O_CLOEXEC);
	close(name);
	if (*out < 0)
		return pci_error(errno);
	if ((fcntl(*out, F_GET_SEALS) & SEALS) == SEALS)
		return DOCA_SUCCESS;
	close(*out);
	return DOCA_ERROR_INVALID_VALUE;
}

static doca_error_t import_blob(struct doca_sync_event *se, const struct blob *b)
{
	doca_error_t ret;
	int fd = -1;

	ret = open_event_page(b, &fd);
	if (ret)
		return ret;
	if (map_page(se, fd)) {
		close(fd);
		return DOCA_ERROR_NO_MEMORY;
	}
	if (memcmp(se->page->cookie, b->cookie, sizeof(b->cookie)))
		return DOCA_ERROR_INVALID_VALUE; /* the page belongs to another event now */
	se->word = &se->page->word;
	se->imported = true;
	return DOCA_SUCCESS;
}

doca_error_t doca_sync_event_create_from_export(struct doca_dev *dev, const uint8_t *data,
						size_t sz, struct doca_sync_event **event)
{
	struct doca_sync_event *se;
	struct blob b;
	doca_error_t ret;

	if (!dpa_live(dev) || !data || !event || sz != sizeof(b))
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(&b, data, sizeof(b));
	if (memcmp(b.magic, magic, sizeof(magic)) || b.size != sizeof(b))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dev->info.is_dpa || b.version != EXPORT_VERSION)
		return DOCA_ERROR_NOT_SUPPORTED;
	ret = doca_sync_event_create(&se);
	if (ret)
		return ret;
	doca_sync_event_add_publisher_location_cpu(se, dev);
	doca_sync_event_add_subscriber_location_cpu(se, dev);
	ret = import_blob(se, &b);
	if (ret)
		doca_sync_event_destroy(se);
	else
		*event = se;
	return ret;
}

/* ------------------------------------------------------------- capabilities */

doca_error_t
doca_sync_event_cap_is_export_to_remote_pci_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}

doca_error_t doca_sync_event_cap_is_create_from_export_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}
