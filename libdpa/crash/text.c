/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * text.c - the .crash file: a summary to read first. The call stack is unwound by the image's own
 * tables.
 */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <dlfcn.h>
#include "../eu/pool.h"
#include "witness.h"

#define MAX_FRAMES 64

struct text {
	const struct dpa_crash *c;
	const struct dpa_crash_story *s;
	FILE *f;
	Dwfl *dwfl;
	unsigned frame;
	/* address at which unwinding begins: not that of the fault if that is no code */
	uintptr_t start;
	bool returned; /* `start` is a return address taken from the stack */
	bool asked;    /* the only thread was returned */
};

/* ---------------------------------------------------------------- symbols */

static int no_elf(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base, char **path,
		  Elf **elf)
{
	return -1;
}

static int no_debuginfo(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **path)
{
	return -1;
}

static const Dwfl_Callbacks finders = {.find_elf = no_elf, .find_debuginfo = no_debuginfo};

static bool library_holds(const struct dl_phdr_info *info, uintptr_t addr)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && addr - info->dlpi_addr - ph->p_vaddr < ph->p_memsz)
			return true;
	}
	return false;
}

/*
 * Report the modules of the process. The library detects an error in its own frames, which are on
 * top, or in code of the process that it or the device code called: the C library, a sanitizer.
 * Files of images do not exist any more.
 */
static int report_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool own = library_holds(info, (uintptr_t)&dpa_crash_write_text);
	const char *name = info->dlpi_name;
	Dwfl *dwfl = arg;
	int fd;

	if (name[0] != '/' || access(name, R_OK)) {
		if (name[0] && !own)
			return 0;
		name = "/proc/self/exe";
	} else if (!strncmp(name, "/proc/", 6)) {
		return 0;
	}
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 &&
	    !dwfl_report_elf(dwfl, own ? "libdpa" : name, name, fd, info->dlpi_addr, true))
		close(fd);
	return 0;
}

static Dwfl *open_modules(const struct dpa_crash_story *s)
{
	Dwfl *dwfl = dwfl_begin(&finders);
	int fd;

	if (!dwfl)
		return NULL;
	dwfl_report_begin(dwfl);
	fd = dup(s->image_fd);
	if (fd >= 0 && !dwfl_report_elf(dwfl, "image", s->image_path, fd, s->base, false))
		close(fd);
	dl_iterate_phdr(report_module, dwfl);
	dwfl_report_end(dwfl, NULL, NULL);
	return dwfl;
}

/* Return "function (file:line)". look: an address inside the instruction. */
static const char *code_place_text(struct text *t, uintptr_t pc, uintptr_t look)
{
	Dwfl_Module *mod = dwfl_addrmodule(t->dwfl, look);
	const char *name = mod ? dwfl_module_addrname(mod, look) : NULL;
	Dwfl_Line *line = mod ? dwfl_module_getsrc(mod, look) : NULL;
	int row = 0;
	const char *file = line ? dwfl_lineinfo(line, NULL, &row, NULL, NULL, NULL) : NULL;

	fprintf(t->f, "0x%016llx  %s", (unsigned long long)pc,
		name  ? name
		: mod ? "?"
		      : "(no code)");
	if (file)
		fprintf(t->f, " (%s:%d)", file, row);
	if (look >= t->s->base && mod &&
	    !strcmp(dwfl_module_info(mod, NULL, NULL, NULL, NULL, NULL, NULL, NULL), "image"))
		fprintf(t->f, "  image + 0x%llx", (unsigned long long)(pc - t->s->base));
	fputc('\n', t->f);
	return name;
}

static const char *where_text(struct text *t, uintptr_t pc, uintptr_t look)
{
	fprintf(t->f, "  #%-2u ", t->frame++);
	return code_place_text(t, pc, look);
}

/* Write the positions of the context's other EUs when it ended; the core has the rest of them. */
static void other_threads(struct text *t)
{
	if (t->s->others)
		fprintf(t->f, "\nother EUs of the context\n");
	for (const struct dpa_witness *w = t->s->others; w; w = w->next) {
		fprintf(t->f, "  EU %d (thread %d), %s  ", w->eu, (int)w->crash.tid, w->kernel);
		code_place_text(t, dpa_crash_pc(&w->crash), dpa_crash_pc(&w->crash));
	}
}

/* -------------------------------------------------------------- unwinding */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	struct text *t = arg;

	if (t->asked)
		return 0;
	t->asked = true;
	*thread = t;
	return t->c->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	*thread = arg;
	return true;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	const struct text *t = arg;
	uint64_t v;

	if (!dpa_crash_read(t->c, (uintptr_t)addr, &v, sizeof(v)))
		return false;
	*result = v;
	return true;
}

static bool initial_registers(Dwfl_Thread *thread, void *arg)
{
	const struct text *t = arg;

#if defined(__x86_64__)
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,	REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
	Dwarf_Word regs[17];

	for (int i = 0; i < 17; i++)
		regs[i] = (Dwarf_Word)t->c->regs.gregs[order[i]];
	regs[16] = t->start;
	if (t->returned)
		regs[7] += 8;
	return dwfl_thread_state_registers(thread, 0, 17, regs);
#elif defined(__aarch64__)
	Dwarf_Word regs[32];

	memcpy(regs, t->c->regs.regs, 31 * sizeof(*regs));
	regs[31] = t->c->regs.sp;
	if (!dwfl_thread_state_registers(thread, 0, 32, regs))
		return false;
	dwfl_thread_state_register_pc(thread, t->start);
	return true;
#else
	return false;
#endif
}

static const Dwfl_Thread_Callbacks threads = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = initial_registers,
};

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct text *t = arg;
	Dwarf_Addr pc;
	bool exact;
	const char *name;

	if (!dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	if (t->returned && t->frame == 1)
		exact = false;
	name = where_text(t, (uintptr_t)pc, (uintptr_t)pc - !exact);
	if (name && !strcmp(name, "dpal_eu_call")) /* the caller of the device code */
		return DWARF_CB_ABORT;
	return t->frame < MAX_FRAMES ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/*
 * Find the start of the unwinding. After a jump to an address without code the caller is on top of
 * the stack, or in the link register.
 */
static void find_start(struct text *t)
{
	uintptr_t pc = dpa_crash_pc(t->c);
	uint64_t back = 0;

	t->start = pc;
	if (dwfl_addrmodule(t->dwfl, pc))
		return;
#if defined(__x86_64__)
	if (!dpa_crash_read(t->c, (uintptr_t)t->c->regs.gregs[REG_RSP], &back, sizeof(back)))
		return;
#elif defined(__aarch64__)
	back = t->c->regs.regs[30];
#endif
	if (!dwfl_addrmodule(t->dwfl, back))
		return;
	where_text(t, pc, pc);
	t->start = back;
	t->returned = true;
}

static void call_stack(struct text *t)
{
	fprintf(t->f, "\ncall stack\n");
	t->dwfl = open_modules(t->s);
	if (!t->dwfl) {
		fprintf(t->f, "  not available: %s\n", dwfl_errmsg(-1));
		return;
	}
	find_start(t);
	if (!dwfl_attach_state(t->dwfl, NULL, getpid(), &threads, t)) {
		fprintf(t->f, "  not available: %s\n", dwfl_errmsg(-1));
	} else {
		unsigned before = t->frame;

		dwfl_getthread_frames(t->dwfl, t->c->tid, on_frame, t);
		if (t->frame == before) /* not even the first frame */
			where_text(t, t->start, t->start);
	}
	other_threads(t);
	dwfl_end(t->dwfl);
}

/* --------------------------------------------------------------- registers */

static void print_registers(struct text *t)
{
	fprintf(t->f, "\nregisters\n");
#if defined(__x86_64__)
	static const struct {
		const char *name;
		int reg;
	} r[] = {{"rax", REG_RAX}, {"rbx", REG_RBX}, {"rcx", REG_RCX}, {"rdx", REG_RDX},
		 {"rsi", REG_RSI}, {"rdi", REG_RDI}, {"rbp", REG_RBP}, {"rsp", REG_RSP},
		 {"r8", REG_R8},   {"r9", REG_R9},   {"r10", REG_R10}, {"r11", REG_R11},
		 {"r12", REG_R12}, {"r13", REG_R13}, {"r14", REG_R14}, {"r15", REG_R15},
		 {"rip", REG_RIP}, {"efl", REG_EFL}};

	for (size_t i = 0; i < sizeof(r) / sizeof(*r); i++)
		fprintf(t->f, "  %-3s 0x%016llx%s", r[i].name,
			(unsigned long long)t->c->regs.gregs[r[i].reg], i % 3 == 2 ? "\n" : "");
#elif defined(__aarch64__)
	for (int i = 0; i < 31; i++)
		fprintf(t->f, "  x%-2d 0x%016llx%s", i, (unsigned long long)t->c->regs.regs[i],
			i % 3 == 2 ? "\n" : "");
	fprintf(t->f, "  sp  0x%016llx\n  pc  0x%016llx  psr 0x%016llx\n",
		(unsigned long long)t->c->regs.sp, (unsigned long long)t->c->regs.pc,
		(unsigned long long)t->c->regs.pstate);
#endif
}

/* ------------------------------------------------------------------ the file */

static void print_head(struct text *t)
{
	const struct dpa_crash_story *s = t->s;
	char when[40], comm[32] = "";
	time_t now = time(NULL);
	struct tm tm;
	FILE *f = fopen("/proc/self/comm", "re");

	if (f) {
		if (fgets(comm, sizeof(comm), f))
			comm[strcspn(comm, "\n")] = '\0';
		fclose(f);
	}
	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	fprintf(t->f, "DPA crash, %s\n\n", when);
	fprintf(t->f, "process      %d (%s)\n", (int)getpid(), comm);
	fprintf(t->f, "device       %s\n", s->device);
	fprintf(t->f, "application  %s\n", s->app);
	fprintf(t->f, "kernel       %s\n", s->kernel);
	fprintf(t->f, "EU           %d (thread %d)\n", s->eu, (int)t->c->tid);
	fprintf(t->f, "reason       %s\n", s->reason);
	fprintf(t->f, "image        %s, loaded at 0x%llx\n", s->image_path,
		(unsigned long long)s->base);
	if (s->core_error)
		fprintf(t->f, "core         none: %s\n", strerror(s->core_error));
	else
		fprintf(t->f, "gdb          gdb %s %s\n", s->image_path, s->core_path);
}

int dpa_crash_write_text(const struct dpa_crash *c, const struct dpa_crash_story *s, int fd)
{
	struct text t = {.c = c, .s = s};
	int copy = dup(fd), ret;

	if (copy < 0)
		return errno;
	t.f = fdopen(copy, "w");
	if (!t.f) {
		ret = errno;
		close(copy);
		return ret;
	}
	print_head(&t);
	call_stack(&t);
	print_registers(&t);
	ret = fflush(t.f) || ferror(t.f) ? EIO : 0;
	fclose(t.f);
	return ret;
}
