/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * core.c - the ELF core of a context: the EU that ended it, then the other ones, as threads; their
 * stacks; the image's segments; the DPA heap. Pages of zeros are holes of the file.
 *
 * Debuggers read it with the image as the program: the auxiliary vector has the address of the
 * image's program headers and entry, from which they compute its load offset.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <unistd.h>
#include "../host/libdpa.h"
#include "witness.h"

#define PAGE	   4096u
#define ALIGN4(n)  (((n) + 3) & ~(size_t)3)
#define PAGE_UP(n) (((n) + PAGE - 1) & ~(uint64_t)(PAGE - 1))

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

struct load {
	uintptr_t addr;
	const void *from;
	size_t size;
	uint32_t flags;
	bool of_image;
};

/* Both arrays grow. Without memory the rest is left out. */
struct core {
	struct load *loads;
	uint32_t num, room;
	uint8_t *notes;
	size_t len;
};

static void put_note(struct core *c, const char *name, uint32_t type, const void *p, size_t n)
{
	Elf64_Nhdr h = {
		.n_namesz = (uint32_t)strlen(name) + 1, .n_descsz = (uint32_t)n, .n_type = type};
	size_t need = sizeof(h) + ALIGN4(h.n_namesz) + ALIGN4(n);
	uint8_t *more = realloc(c->notes, c->len + need);

	if (!more)
		return;
	c->notes = more;
	memset(more + c->len, 0, need);
	memcpy(c->notes + c->len, &h, sizeof(h));
	memcpy(c->notes + c->len + sizeof(h), name, h.n_namesz);
	memcpy(c->notes + c->len + sizeof(h) + ALIGN4(h.n_namesz), p, n);
	c->len += need;
}

static void fill_regs(const struct dpa_crash *c, elf_gregset_t *out)
{
#if defined(__x86_64__)
	static const int from[] = {REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP, REG_RBX, REG_R11,
				   REG_R10, REG_R9,  REG_R8,  REG_RAX, REG_RCX, REG_RDX, REG_RSI,
				   REG_RDI, -1,	     REG_RIP, -1,      REG_EFL, REG_RSP};
	uint64_t regs[ELF_NGREG] = {0};

	for (size_t i = 0; i < sizeof(from) / sizeof(*from); i++)
		if (from[i] >= 0)
			regs[i] = (uint64_t)c->regs.gregs[from[i]];
	regs[15] = ~0ull; /* orig_rax: not in a system call */
	regs[17] = (uint64_t)c->regs.gregs[REG_CSGSFS] & 0xffff;
	memcpy(out, regs, sizeof(*out));
#elif defined(__aarch64__)
	uint64_t regs[34];

	memcpy(regs, c->regs.regs, 31 * sizeof(*regs));
	regs[31] = c->regs.sp;
	regs[32] = c->regs.pc;
	regs[33] = c->regs.pstate;
	memcpy(out, regs, sizeof(*out));
#else
	memset(out, 0, sizeof(*out));
#endif
}

/*
 * sig: the signal of the process, in each thread, as in the kernel's cores: readers use that of the
 * last thread.
 */
static void add_status(struct core *k, const struct dpa_crash *c, int sig, bool first)
{
	struct elf_prstatus st = {0};

	st.pr_info.si_signo = st.pr_cursig = (short)sig;
	st.pr_pid = c->tid;
	st.pr_ppid = getppid();
	fill_regs(c, &st.pr_reg);
	st.pr_fpvalid = c->has_fp;
	put_note(k, "CORE", NT_PRSTATUS, &st, sizeof(st));
	if (c->has_fp)
		put_note(k, "CORE", NT_FPREGSET, c->fp, sizeof(c->fp));
	if (first && c->sig)
		put_note(k, "CORE", NT_SIGINFO, &c->info, sizeof(c->info));
}

static void add_prpsinfo(struct core *k, const struct dpa_crash_story *s)
{
	struct elf_prpsinfo ps = {.pr_state = 0, .pr_sname = 'R'};

	ps.pr_pid = getpid();
	ps.pr_ppid = getppid();
	snprintf(ps.pr_fname, sizeof(ps.pr_fname), "%.15s", s->kernel);
	snprintf(ps.pr_psargs, sizeof(ps.pr_psargs), "%.30s of %.30s on EU %d", s->kernel, s->app,
		 s->eu);
	put_note(k, "CORE", NT_PRPSINFO, &ps, sizeof(ps));
}

static void add_auxv(struct core *k, const struct dpa_crash_story *s)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)s->base;
	const Elf64_auxv_t aux[] = {
		{AT_PHDR, {s->base + e->e_phoff}},  {AT_PHENT, {e->e_phentsize}},
		{AT_PHNUM, {e->e_phnum}},	    {AT_PAGESZ, {PAGE}},
		{AT_ENTRY, {s->base + e->e_entry}}, {AT_NULL, {0}},
	};

	put_note(k, "CORE", NT_AUXV, aux, sizeof(aux));
}

/* count, page size, (start, end, file page) for each, then the names */
static void add_files(struct core *k, const struct dpa_crash_story *s)
{
	size_t name = strlen(s->image_path) + 1, at = 16;
	uint8_t *buf = malloc(at + k->num * (24 + name));
	uint64_t n = 0;

	if (!buf)
		return;
	for (uint32_t i = 0; i < k->num; i++) {
		const struct load *l = &k->loads[i];
		uint64_t row[3] = {l->addr, PAGE_UP(l->addr + l->size), (l->addr - s->base) / PAGE};

		if (!l->of_image)
			continue;
		memcpy(buf + at, row, sizeof(row));
		at += sizeof(row);
		n++;
	}
	for (uint64_t i = 0; i < n; i++) {
		memcpy(buf + at, s->image_path, name);
		at += name;
	}
	memcpy(buf, &n, 8);
	memcpy(buf + 8, &(uint64_t){PAGE}, 8);
	put_note(k, "CORE", NT_FILE, buf, at);
	free(buf);
}

/* Add the story, for readers with readelf -n or strings. */
static void add_story(struct core *k, const struct dpa_crash_story *s)
{
	char text[1024];
	int n = snprintf(text, sizeof(text), "kernel=%s\napp=%s\ndevice=%s\neu=%d\nreason=%s\n",
			 s->kernel, s->app, s->device, s->eu, s->reason);

	if (n > 0)
		put_note(k, "DPA", 1, text,
			 (size_t)n < sizeof(text) ? (size_t)n + 1 : sizeof(text));
}

static void add_load(struct core *k, uintptr_t addr, const void *from, size_t size, uint32_t flags)
{
	struct load *more = k->loads;

	if (!size)
		return;
	if (k->num == k->room) {
		uint32_t room = k->room ? 2 * k->room : 64;

		more = realloc(k->loads, room * sizeof(*more));
		if (!more)
			return;
		k->loads = more;
		k->room = room;
	}
	more[k->num++] = (struct load){.addr = addr, .from = from, .size = size, .flags = flags};
}

static void collect_loads(struct core *k, const struct dpa_crash *c,
			  const struct dpa_crash_story *s)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)s->base;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(s->base + e->e_phoff);

	for (unsigned i = 0; i < e->e_phnum; i++) {
		uintptr_t lo = (s->base + ph[i].p_vaddr) & ~(uintptr_t)(PAGE - 1);
		uintptr_t hi = PAGE_UP(s->base + ph[i].p_vaddr + ph[i].p_memsz);

		if (ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_R)
			add_load(k, lo, (const void *)lo, hi - lo, ph[i].p_flags);
	}
	for (uint32_t i = 0; i < k->num; i++)
		k->loads[i].of_image = true;
	add_load(k, c->sp, c->copy, c->copied, PF_R | PF_W);
	for (const struct dpa_witness *w = s->others; w; w = w->next)
		add_load(k, w->crash.sp, w->crash.copy, w->crash.copied, PF_R | PF_W);
	for (size_t i = 0; i < s->heap_num; i++) {
		const struct dpa_mem *m = s->heap[i];

		add_load(k, (uintptr_t)m->base, m->base, m->size, PF_R | PF_W);
	}
}

/*
 * Write the headers. The number of program headers has 16 bits; a larger one is in the only section
 * header, as in the kernel's cores.
 */
static int write_heads(const struct core *k, int fd)
{
	Elf64_Ehdr e = {.e_type = ET_CORE,
			.e_machine = MACHINE,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(e),
			.e_ehsize = sizeof(e),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = k->num + 1 < PN_XNUM ? (uint16_t)(k->num + 1) : PN_XNUM};
	Elf64_Shdr count = {.sh_type = SHT_NULL, .sh_size = 1, .sh_info = k->num + 1};
	uint64_t at = sizeof(e) + (k->num + 1ull) * sizeof(Elf64_Phdr);
	Elf64_Phdr p = {.p_type = PT_NOTE, .p_filesz = k->len, .p_align = 4};
	int ret;

	memcpy(e.e_ident, ELFMAG, SELFMAG);
	e.e_ident[EI_CLASS] = ELFCLASS64;
	e.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	e.e_ident[EI_VERSION] = EV_CURRENT;
	if (e.e_phnum == PN_XNUM) {
		e.e_shoff = at;
		e.e_shentsize = sizeof(count);
		e.e_shnum = 1;
		at += sizeof(count);
	}
	p.p_offset = at;
	ret = dpa_write_all(fd, &e, sizeof(e));
	if (!ret)
		ret = dpa_write_all(fd, &p, sizeof(p));
	at = PAGE_UP(at + k->len);
	for (uint32_t i = 0; i < k->num && !ret; i++) {
		const struct load *l = &k->loads[i];

		p = (Elf64_Phdr){.p_type = PT_LOAD,
				 .p_flags = l->flags,
				 .p_offset = at,
				 .p_vaddr = l->addr,
				 .p_filesz = l->size,
				 .p_memsz = l->size,
				 .p_align = 1};
		ret = dpa_write_all(fd, &p, sizeof(p));
		at = PAGE_UP(at + l->size);
	}
	if (!ret && e.e_shoff)
		ret = dpa_write_all(fd, &count, sizeof(count));
	return ret;
}

/* Skip to the next page of the file, which leaves a hole. */
static int put_pad(int fd)
{
	off_t at = lseek(fd, 0, SEEK_CUR);

	if (at < 0 || lseek(fd, (off_t)PAGE_UP((uint64_t)at), SEEK_SET) < 0)
		return errno;
	return 0;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	return !p[0] && !memcmp(p, p + 1, n - 1);
}

/* Write memory, except pages of zeros: a heap may be large and hardly used. */
static int put_load(int fd, const struct load *l)
{
	const uint8_t *p = l->from;
	int ret = 0;

	for (size_t at = 0, n; at < l->size && !ret; at += n) {
		n = l->size - at < PAGE ? l->size - at : PAGE;
		if (!is_zero(p + at, n)) /* and all that follows up to the next page of zeros */
			while (at + n < l->size) {
				size_t more = l->size - at - n < PAGE ? l->size - at - n : PAGE;

				if (is_zero(p + at + n, more))
					break;
				n += more;
			}
		else if (lseek(fd, (off_t)n, SEEK_CUR) >= 0)
			continue;
		ret = dpa_write_all(fd, p + at, n);
	}
	return ret;
}

/* Set the file's end: trailing holes count as well. */
static int end_file(int fd)
{
	off_t at = lseek(fd, 0, SEEK_CUR);

	return at < 0 || ftruncate(fd, at) ? errno : 0;
}

int dpa_crash_write_core(const struct dpa_crash *c, const struct dpa_crash_story *s, int fd)
{
	int sig = c->sig ? c->sig : SIGABRT;
	struct core k = {0};
	int ret;

	collect_loads(&k, c, s);
	add_prpsinfo(&k, s);
	add_status(&k, c, sig, true);
	for (const struct dpa_witness *w = s->others; w; w = w->next)
		add_status(&k, &w->crash, sig, false);
	add_auxv(&k, s);
	add_files(&k, s);
	add_story(&k, s);
	ret = write_heads(&k, fd);
	if (!ret)
		ret = dpa_write_all(fd, k.notes, k.len);
	for (uint32_t i = 0; i < k.num && !ret; i++) {
		ret = put_pad(fd);
		if (!ret)
			ret = put_load(fd, &k.loads[i]);
	}
	if (!ret)
		ret = put_pad(fd);
	if (!ret)
		ret = end_file(fd);
	free(k.loads);
	free(k.notes);
	return ret;
}
