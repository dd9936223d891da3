/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * deep.c - libraries that are loaded with RTLD_DEEPBIND.
 *
 * Such a library, and each library that comes with it, looks for functions among themselves before
 * it looks in the program. They find the C library's there, and not those of the preload. A
 * libibverbs that comes in this way with a plug-in sees no dpa0. A library that is loaded already
 * keeps its bindings. Therefore load libibverbs and librdmacm first, in the usual way, if they are
 * what the program asks for or if the file names them. They would be loaded anyway.
 *
 * The plug-in's own calls of open() and the like still go past the preload.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

static const char *const names[] = {"libibverbs.so.1", "librdmacm.so.1"};
#define NAMES (sizeof(names) / sizeof(names[0]))

/*
 * Maps the whole file; NULL on failure. Direct system calls, because the library's functions lead
 * back to this preload.
 */
static void *map_library(const char *path, size_t *len)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *at = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size > 0) {
		*len = (size_t)st.st_size;
		at = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	syscall(SYS_close, fd);
	return at == MAP_FAILED ? NULL : at;
}

static bool load_deep(const char *name)
{
	return PL_NEXT(dlopen)(name, RTLD_LAZY | RTLD_LOCAL) != NULL;
}

/*
 * Loads the libraries that a plug-in needs. The handles are kept, so the provider stays loaded,
 * too.
 */
static bool load_named(const char *path)
{
	size_t len = 0;
	const char *file = map_library(path, &len);
	bool ok = true;

	for (size_t i = 0; file && i < NAMES; i++)
		if (memmem(file, len, names[i], strlen(names[i]) + 1))
			ok &= load_deep(names[i]);
	if (file)
		munmap((void *)file, len);
	return ok;
}

static PL_OUT_OF_LINE void load_before(const char *file)
{
	const char *base = strrchr(file, '/');
	bool ok = true, self = false;

	base = base ? base + 1 : file;
	for (size_t i = 0; i < NAMES; i++)
		self |= strncmp(base, names[i], strlen(names[i]) - 2) == 0; /* any .so */
	if (self)
		ok = load_deep(file);
	else if (base != file)
		ok = load_named(file);
	if (!ok)
		(void)dlerror(); /* not an error of the program */
}

/*
 * The last call must be a jump: the C library uses the RUNPATH and the namespace of the object that
 * called it. So nothing here is on the stack, and CMakeLists.txt has compiler options for this.
 */
PL_EXPORT void *dlopen(const char *file, int mode)
{
	if (__builtin_expect((mode & RTLD_DEEPBIND) != 0, 0) && file && !(mode & RTLD_NOLOAD) &&
	    pl_enabled())
		load_before(file);
	return PL_NEXT(dlopen)(file, mode);
}
