/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_core.c - the DPA heap in the core file: it was missing, although the guide promises memory
 * and variables.
 */
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fatal_rig.h"

TestSuite(core, .init = crash_setup, .fini = crash_teardown, .timeout = 100);

static void crash(struct rig *r)
{
	fatal_rig_run(r, &bad_write, 8);
	fake_push_recv(r->cq, 1);
	OK(dpa_thread_wait(r->thread, -1));
	IS(doca_dpa_peek_at_last_error(r->dpa), BAD_STATE);
}

struct file {
	const char *at;
	size_t size;
	uint64_t on_disk; /* bytes */
	uint32_t num;	  /* program headers */
};

static void open_core(struct file *f)
{
	const Elf64_Ehdr *e;
	const Elf64_Shdr *s;
	char path[200];
	struct stat st;
	int fd;

	crash_path(path, sizeof(path), "core");
	fd = open(path, O_RDONLY);
	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &st), 0);
	f->size = (size_t)st.st_size;
	f->on_disk = (uint64_t)st.st_blocks * 512;
	f->at = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
	cr_assert_neq(f->at, MAP_FAILED);
	close(fd);
	e = (const Elf64_Ehdr *)f->at;
	f->num = e->e_phnum;
	if (e->e_phnum == PN_XNUM) {
		cr_assert_leq(e->e_shoff + sizeof(*s), f->size);
		s = (const Elf64_Shdr *)(f->at + e->e_shoff);
		f->num = s->sh_info;
	}
	cr_assert_leq(e->e_phoff + (uint64_t)f->num * sizeof(Elf64_Phdr), f->size);
}

static void close_core(struct file *f)
{
	munmap((void *)f->at, f->size);
}

/* Return the core's bytes at an address; NULL: not in the core. */
static const char *in_core(const struct file *f, uint64_t addr, size_t len)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)(f->at + ((const Elf64_Ehdr *)f->at)->e_phoff);

	for (uint32_t i = 0; i < f->num; i++, p++) {
		if (p->p_type != PT_LOAD || addr < p->p_vaddr ||
		    addr + len > p->p_vaddr + p->p_filesz)
			continue;
		cr_assert_leq(p->p_offset + p->p_filesz, f->size, "beyond the end of the file");
		return f->at + p->p_offset + (addr - p->p_vaddr);
	}
	return NULL;
}

static uint64_t filled(struct rig *r, size_t size, int value)
{
	uint64_t p;

	OK(doca_dpa_mem_alloc(r->dpa, size, &p));
	OK(doca_dpa_memset(r->dpa, p, value, size));
	return p;
}

static bool all_are(const char *p, size_t n, int value)
{
	return p && *p == (char)value && !memcmp(p, p + 1, n - 1);
}

Test(core, has_the_heap)
{
	const struct fatal_shared *s;
	struct rig r;
	uint64_t a, b, gone;
	struct file f;

	fatal_rig_start(&r);
	a = filled(&r, 1, 0x51);
	b = filled(&r, 3 * 4096 + 77, 0x52);
	gone = filled(&r, 64 << 10, 0x53);
	OK(doca_dpa_mem_free(r.dpa, gone));
	crash(&r);
	open_core(&f);
	s = (const struct fatal_shared *)in_core(&f, r.shared, sizeof(*s));
	cr_assert(s);
	cr_assert_eq(s->address, 8u);
	cr_assert_eq(s->begun, 1u, "as it was when the code faulted");
	cr_assert(all_are(in_core(&f, a, 1), 1, 0x51));
	cr_assert(all_are(in_core(&f, b, 3 * 4096 + 77), 3 * 4096 + 77, 0x52));
	cr_assert_not(in_core(&f, b, 3 * 4096 + 78));
	cr_assert_not(in_core(&f, gone, 64 << 10));
	close_core(&f);
	rig_close(&r);
}

/* A large heap that is hardly used takes hardly any disk space. */
Test(core, zeros_are_holes)
{
	const size_t size = 64u << 20;
	struct rig r;
	struct file f;
	const char *p;
	uint64_t m;

	fatal_rig_start(&r);
	m = filled(&r, size, 0);
	OK(doca_dpa_memset(r.dpa, m + size / 2 + 5000, 7, 3));
	crash(&r);
	open_core(&f);
	p = in_core(&f, m, size);
	cr_assert(p);
	cr_assert(all_are(p, size / 2 + 5000, 0));
	cr_assert(all_are(p + size / 2 + 5000, 3, 7));
	cr_assert(all_are(p + size / 2 + 5003, size / 2 - 5003, 0));
	cr_assert_lt(f.on_disk, 16u << 20);
	close_core(&f);
	rig_close(&r);
}

/* The number of an ELF file's program headers has 16 bits. */
Test(core, more_allocations_than_16_bits_count)
{
	enum { N = 70000 };
	uint64_t *m = calloc(N, sizeof(*m));
	char out[16384], cmd[100];
	struct rig r;
	struct file f;

	fatal_rig_start(&r);
	for (uint64_t i = 0; i < N; i++) {
		OK(doca_dpa_mem_alloc(r.dpa, 8, &m[i]));
		OK(doca_dpa_h2d_memcpy(r.dpa, m[i], &i, 8));
	}
	crash(&r);
	open_core(&f);
	cr_assert_gt(f.num, (uint32_t)N);
	for (uint64_t i = 0; i < N; i += 997) {
		const char *p = in_core(&f, m[i], 8);

		cr_assert(p && !memcmp(p, &i, 8), "allocation %lu", (unsigned long)i);
	}
	close_core(&f);
	rig_close(&r);
	if (crash_has_program("gdb")) {
		snprintf(cmd, sizeof(cmd), "-ex 'print *(unsigned long *)%#lx'",
			 (unsigned long)m[69001]);
		crash_gdb(out, sizeof(out), cmd);
		has(out, "= 69001");
	}
	free(m);
}

Test(core, gdb_follows_a_pointer_into_the_heap)
{
	char out[16384], cmd[200];
	struct rig r;

	if (!crash_has_program("gdb"))
		crash_skip("no gdb");
	fatal_rig_start(&r);
	crash(&r);
	rig_close(&r);
	snprintf(cmd, sizeof(cmd),
		 "-ex 'frame function bad_write' -ex 'print arg' "
		 "-ex 'print *(struct fatal_shared *)arg'");
	crash_gdb(out, sizeof(out), cmd);
	has(out, "address = 8,");
	has(out, "begun = 1,");
}

static _Atomic bool over;

static void *allocate(void *arg)
{
	struct doca_dpa *dpa = arg;

	while (!atomic_load(&over)) {
		uint64_t m[16];

		for (int i = 0; i < 16; i++)
			OK(doca_dpa_mem_alloc(dpa, 100000, &m[i]));
		for (int i = 0; i < 16; i++)
			OK(doca_dpa_mem_free(dpa, m[i]));
	}
	return NULL;
}

/* The host's thread allocates and frees while the EU writes the core. */
Test(core, the_host_goes_on_meanwhile)
{
	for (int round = 0; round < 10; round++) {
		struct rig r;
		struct file f;
		pthread_t t;

		fatal_rig_start(&r);
		fatal_rig_run(&r, &bad_write, 8);
		atomic_store(&over, false);
		cr_assert_eq(pthread_create(&t, NULL, allocate, r.dpa), 0);
		fake_push_recv(r.cq, 1);
		OK(dpa_thread_wait(r.thread, -1));
		atomic_store(&over, true);
		pthread_join(t, NULL);
		open_core(&f);
		cr_assert(in_core(&f, r.shared, sizeof(struct fatal_shared)));
		close_core(&f);
		rig_close(&r);
	}
}

/* A core that finds no space is left out, the text is written. */
Test(core, without_room_for_it)
{
	struct rlimit old, small = {2 << 20, 2 << 20};
	struct rig r;
	char path[200];

	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	fatal_rig_start(&r);
	filled(&r, 8 << 20, 1);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	crash(&r);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
	has(crash_text(), "reason       SIGSEGV at address 0x8");
	has(crash_text(), "core         none: File too large\n");
	cr_assert_not(strstr(crash_text(), "gdb "));
	crash_path(path, sizeof(path), "core");
	cr_assert_eq(access(path, F_OK), -1);
	rig_close(&r);
}
