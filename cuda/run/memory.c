/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* memory.c - regions of memory that are registered with the device, and GPU memory. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "gpu.h"
#include "memory.h"

enum { PAGE = 4096 };
#define DEFAULT_SIZE ((size_t)4 << 30)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* All under lock. Regions are sorted by address. */
static struct region *regions;
static size_t num_regions, room_regions;
static uint64_t last_id;

/* GPU memory: set up once, then constant; `used` and the regions are under lock. */
static struct {
	int fd;
	size_t size, used;
	char *base, *alias;
	enum memory_mode mode;
	int key;
	unsigned int kernels; /* kernels that run: MEMORY_TOGGLE */
} vram = {.fd = -1};
static pthread_once_t once = PTHREAD_ONCE_INIT;

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

static size_t size_setting(void)
{
	const char *v = getenv("DPACUDA_MEMORY_SIZE");
	unsigned long long mib = v ? strtoull(v, NULL, 10) : 0;

	return mib && mib < 1ull << 20 ? (size_t)mib << 20 : DEFAULT_SIZE;
}

/* Read DPACUDA_MEMORY. False: not a valid value. */
static bool mode_setting(enum memory_mode *mode)
{
	static const struct {
		const char *name;
		enum memory_mode mode;
	} names[] = {{"open", MEMORY_OPEN}, {"hidden", MEMORY_KEYS}, {"toggle", MEMORY_TOGGLE}};
	const char *v = getenv("DPACUDA_MEMORY");

	*mode = MEMORY_OPEN;
	for (size_t i = 0; v && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(v, names[i].name)) {
			*mode = names[i].mode;
			return true;
		}
	return !v || !*v;
}

static bool map_twice(int fd, size_t size)
{
	const int flags = MAP_SHARED | MAP_NORESERVE;

	vram.base = mmap(NULL, size, PROT_NONE, flags, fd, 0);
	vram.alias = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (vram.base != MAP_FAILED && vram.alias != MAP_FAILED)
		return true;
	if (vram.base != MAP_FAILED)
		munmap(vram.base, size);
	if (vram.alias != MAP_FAILED)
		munmap(vram.alias, size);
	vram.base = vram.alias = NULL;
	return false;
}

static bool vram_map(int fd, size_t size)
{
	if (fd < 0)
		return false;
	if (!ftruncate(fd, (off_t)size) && map_twice(fd, size)) {
		vram.fd = fd;
		vram.size = size;
		return true;
	}
	close(fd);
	return false;
}

static void vram_hide(enum memory_mode mode)
{
	vram.mode = MEMORY_TOGGLE;
#if defined(__x86_64__) && defined(PKEY_DISABLE_ACCESS)
	if (mode == MEMORY_KEYS)
		vram.key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
	if (mode == MEMORY_KEYS && vram.key >= 0)
		vram.mode = MEMORY_KEYS;
#endif
}

static void vram_init(void)
{
	size_t size = size_setting();
	enum memory_mode mode;

	/*
	 * Memory of memfd_secret() is also out of reach of process_vm_readv() and similar calls.
	 * Its pages count as locked: if the limit is too low, use an ordinary memfd.
	 */
	if (!mode_setting(&mode))
		return; /* all allocations fail */
	if (!(mode != MEMORY_OPEN && vram_map((int)syscall(SYS_memfd_secret, O_CLOEXEC), size)) &&
	    !vram_map(memfd_create("dpa-cuda", MFD_CLOEXEC), size))
		return;
	/* a child must not share it: CUDA does not work there */
	madvise(vram.base, vram.size, MADV_DONTFORK);
	madvise(vram.alias, vram.size, MADV_DONTFORK);
	if (mode != MEMORY_OPEN)
		vram_hide(mode);
}

enum memory_mode memory_mode(void)
{
	pthread_once(&once, vram_init);
	return vram.mode;
}

void memory_open(void)
{
#if defined(__x86_64__) && defined(PKEY_DISABLE_ACCESS)
	if (vram.mode == MEMORY_KEYS)
		pkey_set(vram.key, 0);
#endif
}

/* lock is held. */
static void protect_region(const struct region *r, bool open)
{
#if defined(__x86_64__) && defined(PKEY_DISABLE_ACCESS)
	if (vram.mode == MEMORY_KEYS) {
		pkey_mprotect(r->base, r->size, open ? PROT_READ | PROT_WRITE : PROT_NONE,
			      open ? vram.key : 0);
		return;
	}
#endif
	if (vram.mode == MEMORY_TOGGLE && !vram.kernels)
		open = false;
	mprotect(r->base, r->size, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static void toggle_access(int by)
{
	if (memory_mode() != MEMORY_TOGGLE)
		return;
	pthread_mutex_lock(&lock);
	vram.kernels += (unsigned int)by;
	if (vram.kernels == (by > 0))
		for (size_t i = 0; i < num_regions; i++)
			if (regions[i].kind == REGION_DEVICE)
				protect_region(&regions[i], true);
	pthread_mutex_unlock(&lock);
}

void memory_kernel_begin(void)
{
	toggle_access(1);
}

void memory_kernel_end(void)
{
	toggle_access(-1);
}

/* Return the index of the first region that ends after addr; lock is held. */
static size_t region_at(const void *addr)
{
	size_t low = 0, high = num_regions;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (regions[mid].base + regions[mid].size <= (const char *)addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool overlaps_region(const void *addr, size_t size)
{
	size_t i = region_at(addr);

	return i < num_regions && regions[i].base < (const char *)addr + size;
}

static bool region_add(char *base, size_t size, enum region_kind kind, unsigned int flags)
{
	size_t i = region_at(base);

	if (num_regions == room_regions) {
		size_t room = room_regions ? 2 * room_regions : 64;
		struct region *more = realloc(regions, room * sizeof(*more));

		if (!more)
			return false;
		regions = more;
		room_regions = room;
	}
	memmove(&regions[i + 1], &regions[i], (num_regions - i) * sizeof(*regions));
	regions[i] = (struct region){base, size, kind, flags, ++last_id};
	num_regions++;
	return true;
}

static void region_remove(size_t i)
{
	num_regions--;
	memmove(&regions[i], &regions[i + 1], (num_regions - i) * sizeof(*regions));
}

/* First fit, whole pages, one page between two regions, so that an overrun faults. lock is held. */
static char *vram_place(size_t size)
{
	char *at = vram.base;

	for (size_t i = region_at(vram.base);
	     i < num_regions && regions[i].base < vram.base + vram.size; i++) {
		size_t pages = (regions[i].size + PAGE - 1) & ~(size_t)(PAGE - 1);

		if ((size_t)(regions[i].base - at) >= size + PAGE)
			break;
		at = regions[i].base + pages + PAGE;
	}
	return at <= vram.base + vram.size && (size_t)(vram.base + vram.size - at) >= size ? at
											   : NULL;
}

static char *vram_alloc(size_t size, size_t pages)
{
	char *at = vram.base ? vram_place(pages) : NULL;
	struct region r = {.base = at, .size = pages};

	if (!at || !region_add(at, size, REGION_DEVICE, 0))
		return NULL;
	protect_region(&r, true);
	vram.used += pages;
	return at;
}

static void vram_free(const struct region *r)
{
	struct region pages = {.base = r->base, .size = (r->size + PAGE - 1) & ~(size_t)(PAGE - 1)};

	protect_region(&pages, false);
	mprotect(pages.base, pages.size, PROT_NONE);
	/* drop the content; memory of memfd_secret() stays, zeroed */
	if (fallocate(vram.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, pages.base - vram.base,
		      (off_t)pages.size))
		memset(vram.alias + (pages.base - vram.base), 0, pages.size);
	vram.used -= pages.size;
}

static char *host_alloc(enum region_kind kind, size_t size, size_t pages, unsigned int flags)
{
	char *at = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (!region_add(at, size, kind, flags)) {
		munmap(at, pages);
		return NULL;
	}
	return at;
}

int memory_alloc(enum region_kind kind, size_t size, unsigned int flags, void **ptr)
{
	size_t pages = (size + PAGE - 1) & ~(size_t)(PAGE - 1);

	if (!ptr)
		return cudaErrorInvalidValue;
	*ptr = NULL;
	if (!size)
		return cudaSuccess;
	if (pages < size)
		return cudaErrorMemoryAllocation;
	pthread_once(&once, vram_init);
	pthread_mutex_lock(&lock);
	*ptr = kind == REGION_DEVICE ? vram_alloc(size, pages)
				     : host_alloc(kind, size, pages, flags);
	pthread_mutex_unlock(&lock);
	return *ptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

int memory_free(void *ptr, bool host)
{
	struct region r;
	size_t i;

	if (!ptr)
		return cudaSuccess;
	pthread_mutex_lock(&lock);
	i = region_at(ptr);
	if (i == num_regions || regions[i].base != ptr || regions[i].kind == REGION_REGISTERED ||
	    (regions[i].kind == REGION_HOST) != host) {
		pthread_mutex_unlock(&lock);
		return cudaErrorInvalidValue;
	}
	r = regions[i];
	region_remove(i);
	if (r.kind == REGION_DEVICE)
		vram_free(&r);
	else
		munmap(r.base, (r.size + PAGE - 1) & ~(size_t)(PAGE - 1));
	pthread_mutex_unlock(&lock);
	return cudaSuccess;
}

/* Return whether each page of the range can be read. */
static bool is_range_readable(const char *at, size_t size)
{
	const char *end = at + size;

	while (at < end) {
		char byte;
		struct iovec to = {&byte, 1}, from = {(void *)(uintptr_t)at, 1};

		if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1 && errno == EFAULT)
			return false;
		at = (const char *)(((uintptr_t)at & ~(uintptr_t)(PAGE - 1)) + PAGE);
	}
	return true;
}

int memory_register(void *ptr, size_t size, unsigned int flags)
{
	const unsigned int known = cudaHostRegisterPortable | cudaHostRegisterMapped |
				   cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
	int ret = cudaSuccess;

	if (!ptr || !size || (flags & ~known) || (uintptr_t)ptr + size < size)
		return cudaErrorInvalidValue;
	if (flags & cudaHostRegisterIoMemory)
		return cudaErrorNotSupported;
	if (!is_range_readable(ptr, size))
		return cudaErrorInvalidValue;
	pthread_mutex_lock(&lock);
	if (overlaps_region(ptr, size))
		ret = cudaErrorHostMemoryAlreadyRegistered;
	else if (!region_add(ptr, size, REGION_REGISTERED, flags))
		ret = cudaErrorMemoryAllocation;
	pthread_mutex_unlock(&lock);
	return ret;
}

int memory_unregister(void *ptr)
{
	int ret = cudaErrorHostMemoryNotRegistered;
	size_t i;

	if (!ptr)
		return cudaErrorInvalidValue;
	pthread_mutex_lock(&lock);
	i = region_at(ptr);
	if (i < num_regions && regions[i].base == ptr && regions[i].kind == REGION_REGISTERED) {
		region_remove(i);
		ret = cudaSuccess;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

void memory_reset(void)
{
	pthread_mutex_lock(&lock);
	while (num_regions) {
		struct region r = regions[num_regions - 1];

		region_remove(num_regions - 1);
		if (r.kind == REGION_DEVICE)
			vram_free(&r);
		else if (r.kind != REGION_REGISTERED)
			munmap(r.base, (r.size + PAGE - 1) & ~(size_t)(PAGE - 1));
	}
	pthread_mutex_unlock(&lock);
}

bool memory_find(const void *addr, struct region *found)
{
	bool is;
	size_t i;

	pthread_mutex_lock(&lock);
	i = region_at(addr);
	is = i < num_regions && regions[i].base <= (const char *)addr;
	if (is)
		*found = regions[i];
	pthread_mutex_unlock(&lock);
	return is;
}

void memory_info(size_t *avail, size_t *total)
{
	pthread_once(&once, vram_init);
	pthread_mutex_lock(&lock);
	*total = vram.size;
	*avail = vram.size - vram.used;
	pthread_mutex_unlock(&lock);
}

void *memory_view(const void *addr)
{
	const char *at = addr;

	if (vram.base && at >= vram.base && at < vram.base + vram.size)
		return vram.alias + (at - vram.base);
	return (void *)(uintptr_t)addr;
}
