/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * redirect.c - calls of libibverbs that are not ops. libibverbs creates a completion channel by a
 * write() to cmd_fd, queries a GID by ioctl(), and waits for a completion event by a bare read().
 * There is no kernel behind our descriptors, so these calls of libibverbs (and of librdmacm) must
 * come here.
 *
 * The dynamic linker reaches an imported function through one pointer in the importing library's
 * global offset table. This file replaces some of those pointers, in those two libraries only. No
 * other library's write() is touched, and for descriptors that are not ours the function that the
 * pointer held before is called. The names that a library imports depend on its build: the table
 * below has all that compilers produce.
 *
 * The slots are never restored: libibverbs never unloads a provider, and the provider is linked
 * with -z nodelete, which also keeps libibverbs, so neither end can dangle.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "redirect/hooks.h"
#include "redirect/redirect.h"

#if defined(__x86_64__)
#define RELOC_JUMP_SLOT R_X86_64_JUMP_SLOT
#define RELOC_GLOB_DAT	R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define RELOC_JUMP_SLOT R_AARCH64_JUMP_SLOT
#define RELOC_GLOB_DAT	R_AARCH64_GLOB_DAT
#else
#error "redirect.c: name this machine's relocation types"
#endif

static ssize_t our_write(int fd, const void *buf, size_t n);
static ssize_t our_read(int fd, void *buf, size_t n);
static ssize_t our_read_chk(int fd, void *buf, size_t n, size_t room);
static int our_ioctl(int fd, unsigned long request, ...);
static int our_close(int fd);
static int our_open(const char *path, int flags, ...);
static int our_open64(const char *path, int flags, ...);
static int our_open_2(const char *path, int flags);
static int our_open64_2(const char *path, int flags);
static int our_fstat(int fd, struct stat *st);
static int our_fstat64(int fd, struct stat *st);
static int our_fxstat(int ver, int fd, struct stat *st);
static int our_fxstat64(int ver, int fd, struct stat *st);
static int our_stat(const char *path, struct stat *st);
static int our_stat64(const char *path, struct stat *st);
static int our_xstat(int ver, const char *path, struct stat *st);
static int our_xstat64(int ver, const char *path, struct stat *st);

enum fn {
	FN_WRITE,
	FN_READ,
	FN_READ_CHK,
	FN_IOCTL,
	FN_CLOSE,
	FN_OPEN,
	FN_OPEN64,
	FN_OPEN_2,
	FN_OPEN64_2,
	FN_FSTAT,
	FN_FSTAT64,
	FN_FXSTAT,
	FN_FXSTAT64,
	FN_STAT,
	FN_STAT64,
	FN_XSTAT,
	FN_XSTAT64,
	FN_NUM
};

/*
 * Names that the compiler generates for open(), fstat(), stat() and read(): with
 * _FILE_OFFSET_BITS=64, with _FORTIFY_SOURCE, and by the headers of glibc before 2.33. musl has
 * none of them. The structures are the same: off_t has 64 bits on both machines.
 */
#define LIBC(name) __asm__(#name) __attribute__((weak))
ssize_t libc_read_chk(int fd, void *buf, size_t n, size_t room) LIBC(__read_chk);
int libc_open64(const char *path, int flags, ...) LIBC(open64);
int libc_open_2(const char *path, int flags) LIBC(__open_2);
int libc_open64_2(const char *path, int flags) LIBC(__open64_2);
int libc_fstat64(int fd, struct stat *st) LIBC(fstat64);
int libc_fxstat(int ver, int fd, struct stat *st) LIBC(__fxstat);
int libc_fxstat64(int ver, int fd, struct stat *st) LIBC(__fxstat64);
int libc_stat64(const char *path, struct stat *st) LIBC(stat64);
int libc_xstat(int ver, const char *path, struct stat *st) LIBC(__xstat);
int libc_xstat64(int ver, const char *path, struct stat *st) LIBC(__xstat64);

enum { IN_BOTH = 0, IN_CM = 1, IN_VERBS = 2 };

/*
 * `real` is the old value of a slot, so that another interposition stays in the chain. It is
 * written before the first slot points here (release/acquire through the slot itself).
 */
static struct {
	const char *name;
	uintptr_t ours;
	uintptr_t real; /* 0: not in this C library */
	int in;		/* the libraries that import it: IN_BOTH, ... */
	bool chained;	/* real is the old value of the first slot, not our own import */
} fns[FN_NUM] = {
	[FN_WRITE] = {"write", (uintptr_t)our_write, (uintptr_t)write, IN_BOTH, false},
	[FN_READ] = {"read", (uintptr_t)our_read, (uintptr_t)read, IN_BOTH, false},
	[FN_READ_CHK] = {"__read_chk", (uintptr_t)our_read_chk, (uintptr_t)libc_read_chk, IN_BOTH,
			 false},
	[FN_IOCTL] = {"ioctl", (uintptr_t)our_ioctl, (uintptr_t)ioctl, IN_BOTH, false},
	[FN_CLOSE] = {"close", (uintptr_t)our_close, (uintptr_t)close, IN_BOTH, false},
	[FN_OPEN] = {"open", (uintptr_t)our_open, (uintptr_t)open, IN_CM, false},
	[FN_OPEN64] = {"open64", (uintptr_t)our_open64, (uintptr_t)libc_open64, IN_CM, false},
	[FN_OPEN_2] = {"__open_2", (uintptr_t)our_open_2, (uintptr_t)libc_open_2, IN_CM, false},
	[FN_OPEN64_2] = {"__open64_2", (uintptr_t)our_open64_2, (uintptr_t)libc_open64_2, IN_CM,
			 false},
	[FN_FSTAT] = {"fstat", (uintptr_t)our_fstat, (uintptr_t)fstat, IN_CM, false},
	[FN_FSTAT64] = {"fstat64", (uintptr_t)our_fstat64, (uintptr_t)libc_fstat64, IN_CM, false},
	[FN_FXSTAT] = {"__fxstat", (uintptr_t)our_fxstat, (uintptr_t)libc_fxstat, IN_CM, false},
	[FN_FXSTAT64] = {"__fxstat64", (uintptr_t)our_fxstat64, (uintptr_t)libc_fxstat64, IN_CM,
			 false},
	[FN_STAT] = {"stat", (uintptr_t)our_stat, (uintptr_t)stat, IN_VERBS, false},
	[FN_STAT64] = {"stat64", (uintptr_t)our_stat64, (uintptr_t)libc_stat64, IN_VERBS, false},
	[FN_XSTAT] = {"__xstat", (uintptr_t)our_xstat, (uintptr_t)libc_xstat, IN_VERBS, false},
	[FN_XSTAT64] = {"__xstat64", (uintptr_t)our_xstat64, (uintptr_t)libc_xstat64, IN_VERBS,
			false},
};

static ssize_t our_write(int fd, const void *buf, size_t n)
{
	ssize_t ret;

	if (dpa_hook_write(fd, buf, n, &ret))
		return ret;
	return ((ssize_t(*)(int, const void *, size_t))fns[FN_WRITE].real)(fd, buf, n);
}

static ssize_t our_read(int fd, void *buf, size_t n)
{
	ssize_t ret;

	if (dpa_hook_read(fd, buf, n, &ret))
		return ret;
	return ((ssize_t(*)(int, void *, size_t))fns[FN_READ].real)(fd, buf, n);
}

static ssize_t our_read_chk(int fd, void *buf, size_t n, size_t room)
{
	ssize_t ret;

	if (n <= room && dpa_hook_read(fd, buf, n, &ret))
		return ret;
	return ((ssize_t(*)(int, void *, size_t, size_t))fns[FN_READ_CHK].real)(fd, buf, n, room);
}

static int our_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;
	int ret;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (dpa_hook_ioctl(fd, request, arg, &ret))
		return ret;
	return ((int (*)(int, unsigned long, ...))fns[FN_IOCTL].real)(fd, request, arg);
}

static int our_close(int fd)
{
	dpa_hook_close(fd);
	return ((int (*)(int))fns[FN_CLOSE].real)(fd);
}

static int open_as(enum fn fn, const char *path, int flags, mode_t mode)
{
	int fd;

	if (dpa_hook_open(path, flags, &fd))
		return fd;
	return ((int (*)(const char *, int, ...))fns[fn].real)(path, flags, mode);
}

static int our_open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return open_as(FN_OPEN, path, flags, mode);
}

static int our_open64(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return open_as(FN_OPEN64, path, flags, mode);
}

static int open_2_as(enum fn fn, const char *path, int flags)
{
	int fd;

	if (dpa_hook_open(path, flags, &fd))
		return fd;
	return ((int (*)(const char *, int))fns[fn].real)(path, flags);
}

static int our_open_2(const char *path, int flags)
{
	return open_2_as(FN_OPEN_2, path, flags);
}

static int our_open64_2(const char *path, int flags)
{
	return open_2_as(FN_OPEN64_2, path, flags);
}

static int fstat_as(enum fn fn, int fd, struct stat *st)
{
	int ret = ((int (*)(int, struct stat *))fns[fn].real)(fd, st);

	if (!ret)
		dpa_hook_fstat(fd, st);
	return ret;
}

static int our_fstat(int fd, struct stat *st)
{
	return fstat_as(FN_FSTAT, fd, st);
}

static int our_fstat64(int fd, struct stat *st)
{
	return fstat_as(FN_FSTAT64, fd, st);
}

static int fxstat_as(enum fn fn, int ver, int fd, struct stat *st)
{
	int ret = ((int (*)(int, int, struct stat *))fns[fn].real)(ver, fd, st);

	if (!ret)
		dpa_hook_fstat(fd, st);
	return ret;
}

static int our_fxstat(int ver, int fd, struct stat *st)
{
	return fxstat_as(FN_FXSTAT, ver, fd, st);
}

static int our_fxstat64(int ver, int fd, struct stat *st)
{
	return fxstat_as(FN_FXSTAT64, ver, fd, st);
}

/*
 * libibverbs calls stat() for each device whenever it lists the devices. librdmacm lists them
 * before it opens its node. So a librdmacm that the program loaded after its first listing (a
 * plug-in of UCX, of libfabric) is found here; libibverbs calls the provider for new devices only.
 */
static int stat_as(enum fn fn, const char *path, struct stat *st)
{
	dpa_redirect_install();
	return ((int (*)(const char *, struct stat *))fns[fn].real)(path, st);
}

static int our_stat(const char *path, struct stat *st)
{
	return stat_as(FN_STAT, path, st);
}

static int our_stat64(const char *path, struct stat *st)
{
	return stat_as(FN_STAT64, path, st);
}

static int xstat_as(enum fn fn, int ver, const char *path, struct stat *st)
{
	dpa_redirect_install();
	return ((int (*)(int, const char *, struct stat *))fns[fn].real)(ver, path, st);
}

static int our_xstat(int ver, const char *path, struct stat *st)
{
	return xstat_as(FN_XSTAT, ver, path, st);
}

static int our_xstat64(int ver, const char *path, struct stat *st)
{
	return xstat_as(FN_XSTAT64, ver, path, st);
}

/* Parts of a loaded library's dynamic section. */
struct image {
	uintptr_t base, end;	    /* where it is mapped */
	uintptr_t relro, relro_end; /* read-only after relocation */
	const ElfW(Sym) * symtab;
	const char *strtab;
	const ElfW(Rela) * rela[2]; /* data and PLT relocations */
	size_t num_rela[2];
	bool cm;   /* librdmacm */
	int slots; /* that point here */
};

/* glibc relocates the addresses in the dynamic section in place, musl does not. */
static const void *dyn_addr(const struct image *im, ElfW(Addr) addr)
{
	return (const void *)(addr < im->base ? im->base + addr : addr);
}

static bool read_dynamic(struct image *im, const ElfW(Dyn) * dyn)
{
	for (; dyn->d_tag != DT_NULL; dyn++) {
		switch (dyn->d_tag) {
		case DT_SYMTAB:
			im->symtab = dyn_addr(im, dyn->d_un.d_ptr);
			break;
		case DT_STRTAB:
			im->strtab = dyn_addr(im, dyn->d_un.d_ptr);
			break;
		case DT_RELA:
			im->rela[0] = dyn_addr(im, dyn->d_un.d_ptr);
			break;
		case DT_RELASZ:
			im->num_rela[0] = dyn->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_JMPREL:
			im->rela[1] = dyn_addr(im, dyn->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			im->num_rela[1] = dyn->d_un.d_val / sizeof(ElfW(Rela));
			break;
		}
	}
	return im->symtab && im->strtab;
}

static bool read_image(struct image *im, const struct dl_phdr_info *info)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	const ElfW(Dyn) *dyn = NULL;

	*im = (struct image){.base = info->dlpi_addr};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_DYNAMIC)
			dyn = (const ElfW(Dyn) *)start;
		if (ph->p_type == PT_LOAD && start + ph->p_memsz > im->end)
			im->end = start + ph->p_memsz;
		if (ph->p_type == PT_GNU_RELRO) { /* whole pages, as the linker protects them */
			im->relro = start & ~page;
			im->relro_end = (start + ph->p_memsz) & ~page;
		}
	}
	return dyn && read_dynamic(im, dyn);
}

/*
 * One aligned pointer store, so that a thread in the middle of a call sees the old function or the
 * new one. A slot that the linker has not bound yet points into its own library. Then `real` stays
 * our own import of the function, because the linker's stub would bind the slot again.
 */
static void point_here(struct image *im, uintptr_t *slot, int fn)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1, was;
	uintptr_t start = (uintptr_t)slot & ~page;
	bool relro = (uintptr_t)slot >= im->relro && (uintptr_t)slot < im->relro_end;

	was = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	if (was == fns[fn].ours) {
		im->slots++;
		return;
	}
	if (was >= im->base && was < im->end && !fns[fn].real)
		return;
	if ((was < im->base || was >= im->end) && was != fns[fn].real) {
		if (fns[fn].chained)
			return; /* two libraries with two interposers: leave the second one alone */
		fns[fn].chained = true;
		__atomic_store_n(&fns[fn].real, was, __ATOMIC_RELAXED);
	}
	if (relro && mprotect((void *)start, page + 1, PROT_READ | PROT_WRITE))
		return;
	__atomic_store_n(slot, fns[fn].ours, __ATOMIC_RELEASE);
	im->slots++;
	if (relro)
		(void)mprotect((void *)start, page + 1, PROT_READ);
}

static void rewrite_slots(struct image *im, const ElfW(Rela) * rela, size_t num)
{
	for (size_t i = 0; i < num; i++) {
		unsigned type = (unsigned)ELF64_R_TYPE(rela[i].r_info);
		const char *name = im->strtab + im->symtab[ELF64_R_SYM(rela[i].r_info)].st_name;

		if (type != RELOC_JUMP_SLOT && type != RELOC_GLOB_DAT)
			continue;
		for (int fn = 0; fn < FN_NUM; fn++)
			if (fns[fn].in != (im->cm ? IN_VERBS : IN_CM) &&
			    strcmp(name, fns[fn].name) == 0)
				point_here(im, (uintptr_t *)(im->base + rela[i].r_offset), fn);
	}
}

/* Also libibverbs-1a2b3c.so.1, the form of renamed libraries in Python wheels. */
static bool is_named(const char *path, const char *lib)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return strncmp(name, lib, strlen(lib)) == 0 && strstr(name, ".so");
}

static bool is_verbs_library(const char *path)
{
	return is_named(path, "libibverbs") || is_named(path, "librdmacm");
}

static int visit_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct image im;

	if (!info->dlpi_name || !is_verbs_library(info->dlpi_name) || !read_image(&im, info))
		return 0;
	im.cm = is_named(info->dlpi_name, "librdmacm");
	for (int i = 0; i < 2; i++)
		if (im.rela[i])
			rewrite_slots(&im, im.rela[i], im.num_rela[i]);
	*(int *)arg += im.slots;
	return 0;
}

/* Held over fork(): the child lists devices, too. */
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_install(void)
{
	pthread_mutex_lock(&install_lock);
}

static void unlock_install(void)
{
	pthread_mutex_unlock(&install_lock);
}

__attribute__((constructor)) static void install_atfork(void)
{
	pthread_atfork(lock_install, unlock_install, unlock_install);
}

int dpa_redirect_install(void)
{
	int slots = 0;

	lock_install();
	dl_iterate_phdr(visit_library, &slots);
	unlock_install();
	return slots;
}
