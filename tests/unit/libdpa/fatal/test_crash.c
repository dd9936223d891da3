/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_crash.c - the state after a fault: the context, its QPs, the files. */
#include <arpa/inet.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fatal_rig.h"
#include "libdpa/eu/pool_int.h"

TestSuite(crash, .init = crash_setup, .fini = crash_teardown, .timeout = 100);

static void crash_by(doca_dpa_func_t *func, uint64_t address)
{
	struct rig r;

	fatal_rig_start(&r);
	fatal_rig_run(&r, func, address);
	fake_push_recv(r.cq, 1);
	OK(dpa_thread_wait(r.thread, -1));
	IS(doca_dpa_peek_at_last_error(r.dpa), BAD_STATE);
	cr_assert_eq(FATAL_READ(&r, begun), 1u);
	cr_assert_eq(FATAL_READ(&r, survived), 0u);
	rig_close(&r);
}

Test(crash, bad_pointer)
{
	char pid[32];
	const char *t;

	crash_by(&bad_write, 8);
	t = crash_text();
	snprintf(pid, sizeof(pid), "process      %d (", (int)getpid());
	has(t, pid);
	has(t, "device       dpa0\n");
	has(t, "application  fatal_app\n");
	has(t, "kernel       bad_write\n");
	has(t, "EU           ");
	has(t, "reason       SIGSEGV at address 0x8: nothing is mapped there\n");
	has(t, " innermost (");
	has(t, "/kernels.c:");
	has(t, " middle (");
	has(t, "#2 ");
	has(t, " bad_write (");
	has(t, " dpal_eu_call");
#if defined(__x86_64__)
	has(t, "rip 0x");
#else
	has(t, "pc  0x");
#endif
	has(t, "gdb          gdb /");
}

Test(crash, division)
{
#if defined(__aarch64__)
	crash_skip("a division by zero is 0 on this processor");
#endif
	crash_by(&divide_by_zero, 0);
	has(crash_text(), "integer division by zero");
	has(crash_text(), " divide_by_zero (");
}

Test(crash, trap)
{
	crash_by(&trap, 0);
	has(crash_text(), "reason       SIG");
	has(crash_text(), "#0  0x");
	has(crash_text(), " trap (");
}

/* The first frame is not code; the caller is found nevertheless. */
Test(crash, jump_to_null)
{
	crash_by(&jump_nowhere, 0);
	has(crash_text(), "(no code)");
	has(crash_text(), " jump_nowhere (");
}

Test(crash, jump_to_a_wild_address)
{
	crash_by(&jump_nowhere, 0x1122334455667788);
	has(crash_text(), "kernel       jump_nowhere\n");
}

/* The call stack continues from there: it ended at the first frame, "(no code)". */
Test(crash, in_the_c_library)
{
	crash_by(&call_outside, (uint64_t)(uintptr_t)&inet_network);
	has(crash_text(), " call_outside (");
	cr_expect_not(strstr(crash_text(), "(no code)"), "%s", crash_text());
}

Test(crash, stack_overflow)
{
	crash_by(&overflow, 0);
	has(crash_text(), "reason       stack overflow");
	has(crash_text(), " deep (");
}

Test(crash, stack_overflow_in_a_call_of_the_library)
{
	crash_by(&overflow_in_calls, 0);
	has(crash_text(), "(stack overflow)");
	has(crash_text(), " deep_calls (");
}

/* For a frame of any size, nothing beyond the stack is accessed, such as another EU's stack. */
Test(crash, stack_overflow_by_one_frame)
{
	crash_by(&overflow_by_one_frame, 16 << 20);
	has(crash_text(), "reason       stack overflow");
	has(crash_text(), " far_end (");
}

Test(crash, spoilt_stack_pointer)
{
	crash_by(&spoil_stack, 0);
	has(crash_text(), "kernel       spoil_stack\n");
}

Test(crash, mistake)
{
	crash_by(&bad_handle, 0);
	has(crash_text(), "a handle that is no completion context's");
	has(crash_text(), " bad_handle (");
}

Test(crash, gdb_reads_the_core)
{
	char out[16384];

	if (!crash_has_program("gdb"))
		crash_skip("no gdb");
	crash_by(&bad_write, 8);
	crash_gdb(
		out, sizeof(out),
		"-ex 'info threads' -ex bt -ex 'frame 0' -ex 'print counter' -ex 'print/x value' "
		"-ex 'print $_siginfo.si_signo' -ex 'print $_siginfo._sifields._sigfault.si_addr'");
	has(out, "Program terminated with signal SIGSEGV");
	has(out, "innermost (where=");
	has(out, "middle (depth=");
	has(out, "bad_write (arg=");
	has(out, "the line that faults");
	has(out, "= 78187493520"); /* a static of the image, unchanged */
	has(out, "= 0x2a");
	has(out, "= 11\n");
	has(out, "= (void *) 0x8");
}

Test(crash, gdb_reads_the_core_of_a_mistake)
{
	char out[16384];

	if (!crash_has_program("gdb"))
		crash_skip("no gdb");
	crash_by(&bad_handle, 0);
	crash_gdb(out, sizeof(out), "-ex bt");
	has(out, "Program terminated with signal SIGABRT");
}

/* More threads of the same context, in the middle of work. */
struct others {
	struct rig loops, waits;
	struct doca_sync_event *event;
};

static void start_beside(const struct rig *r, struct rig *other, doca_dpa_func_t *func)
{
	*other = *r;
	OK(doca_dpa_mem_alloc(r->dpa, sizeof(struct fatal_shared), &other->shared));
	OK(doca_dpa_memset(r->dpa, other->shared, 0, sizeof(struct fatal_shared)));
	fatal_rig_run(other, func, 0);
}

static void end_beside(struct rig *other)
{
	OK(doca_dpa_completion_destroy(other->comp));
	OK(doca_dpa_thread_destroy(other->thread));
}

static void begin(struct rig *r)
{
	fake_push_recv(r->cq, 1);
	while (FATAL_READ(r, begun) < 1)
		sched_yield();
}

static void others_start(struct others *o, const struct rig *r)
{
	OK(doca_sync_event_create(&o->event));
	OK(doca_sync_event_add_publisher_location_cpu(o->event, r->dev));
	OK(doca_sync_event_add_subscriber_location_dpa(o->event, r->dpa));
	OK(doca_sync_event_start(o->event));
	start_beside(r, &o->loops, &loop);
	start_beside(r, &o->waits, &wait_for_ever);
	OK(doca_sync_event_get_dpa_handle(
		o->event, r->dpa, &((struct fatal_shared *)(uintptr_t)o->waits.shared)->event));
	begin(&o->loops);
	begin(&o->waits);
}

static void others_end(struct others *o)
{
	end_beside(&o->loops);
	end_beside(&o->waits);
	OK(doca_sync_event_destroy(o->event));
}

static void crash_among_others(void)
{
	struct rig r;
	struct others o;

	fatal_rig_start(&r);
	others_start(&o, &r);
	fatal_rig_run(&r, &bad_write, 8);
	fake_push_recv(r.cq, 1);
	OK(dpa_thread_wait(r.thread, -1));
	IS(doca_dpa_peek_at_last_error(r.dpa), BAD_STATE);
	others_end(&o);
	rig_close(&r);
}

/* Read the registers of the core's threads, in order. Return their number. */
static int threads_of_core(struct elf_prstatus *st, int max)
{
	static char buf[1 << 20];
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)buf;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(buf + sizeof(*e));
	char path[200];
	int n = 0;
	FILE *f;

	crash_path(path, sizeof(path), "core");
	f = fopen(path, "r");
	cr_assert(f && fread(buf, 1, sizeof(buf), f) > 1000);
	fclose(f);
	cr_assert_eq(ph->p_type, PT_NOTE);
	for (size_t at = ph->p_offset; at < ph->p_offset + ph->p_filesz;) {
		const Elf64_Nhdr *h = (const Elf64_Nhdr *)(buf + at);
		size_t desc = at + sizeof(*h) + ((h->n_namesz + 3) & ~3u);

		if (h->n_type == NT_PRSTATUS && !strcmp(buf + at + sizeof(*h), "CORE") && n < max)
			memcpy(&st[n++], buf + desc, sizeof(*st));
		at = desc + ((h->n_descsz + 3) & ~3u);
	}
	return n;
}

Test(crash, the_other_eus_are_in_the_files)
{
	struct elf_prstatus st[8];

	crash_among_others();
	cr_assert_eq(threads_of_core(st, 8), 3);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(st[i].pr_cursig, SIGSEGV);
	cr_assert_neq(st[1].pr_pid, st[0].pr_pid);
	cr_assert_neq(st[2].pr_pid, st[0].pr_pid);
	cr_assert_neq(st[1].pr_pid, st[2].pr_pid);
	has(crash_text(), "\nother EUs of the context\n");
	has(crash_text(), "), loop  0x");
	has(crash_text(), "  around (");
	has(crash_text(), "), wait_for_ever  0x");
}

static uint32_t awaits(struct dpa_witnesses *w, const void *owner)
{
	uint32_t n;

	free(w->tickets);
	w->awaited = 0;
	dpal_eu_self = NULL; /* another thread ends the context */
	dpa_witnesses_expect(w, owner);
	dpal_eu_self = &dpa_pool.threads[0];
	n = w->awaited;
	return n;
}

/*
 * An EU that itself detects the end of the context is on its way out when the others are searched:
 * it was not awaited, and its snapshot came too late.
 */
Test(crash, a_leaving_thread_is_awaited)
{
	struct dpal_eu *eu = &dpa_pool.threads[0];
	struct dpa_witnesses w;
	int owner = 0, other = 0;

	dpa_witnesses_init(&w);
	atomic_store(&dpa_pool.num_threads, 1);
	dpal_eu_self = eu;
	cr_expect_eq(awaits(&w, &owner), 0);
	atomic_store(&eu->owner, &owner);
	cr_expect_eq(awaits(&w, &owner), 0, "not there yet: it looks at the mark then");
	atomic_store(&eu->ticket, 7);
	cr_expect_eq(awaits(&w, &owner), 1);
	cr_expect_eq(awaits(&w, &other), 0);
	dpal_eu_exit();
	cr_expect_eq(awaits(&w, &other), 0);
	cr_assert_eq(awaits(&w, &owner), 1);
	dpa_witnesses_report(&w, "kernel", eu);
	cr_expect_eq(w.awaited, 0);
	/* searched only then: it reports again when it is gone */
	cr_assert_eq(awaits(&w, &owner), 1);
	dpal_eu_gone();
	dpa_witnesses_report(&w, "kernel", eu);
	cr_expect_eq(w.awaited, 0);
	cr_expect_eq(awaits(&w, &owner), 0);
	dpa_witnesses_free(dpa_witnesses_take(&w));
	dpa_witnesses_fini(&w);
	dpal_eu_self = NULL;
	atomic_store(&dpa_pool.num_threads, 0);
}

/* Working threads of another context are not included: they are unrelated. */
Test(crash, other_contexts_are_not_in_the_files)
{
	struct elf_prstatus st[8];
	struct rig good;
	struct others o;

	fatal_rig_start(&good);
	others_start(&o, &good);
	crash_by(&bad_write, 8);
	cr_assert_eq(threads_of_core(st, 8), 1);
	cr_assert_null(strstr(crash_text(), "other EUs"));
	OK(doca_dpa_peek_at_last_error(good.dpa));
	others_end(&o);
	rig_close(&good);
}

Test(crash, gdb_shows_the_other_eus)
{
	char out[16384];

	if (!crash_has_program("gdb"))
		crash_skip("no gdb");
	crash_among_others();
	crash_gdb(out, sizeof(out), "-ex 'info threads' -ex 'thread apply all bt'");
	has(out, "Program terminated with signal SIGSEGV");
	has(out, "* 1    LWP ");
	has(out, "  3    LWP ");
	has(out, "innermost (where=");
	has(out, "around (n=");
	has(out, "loop (arg=");
}

Test(crash, the_files_are_the_users_own)
{
	static const char *const kinds[] = {"core", "crash", "so"};
	char path[200];
	struct stat st;

	crash_by(&trap, 0);
	for (int i = 0; i < 3; i++) {
		crash_path(path, sizeof(path), kinds[i]);
		cr_assert_eq(stat(path, &st), 0);
		cr_assert_eq(st.st_mode & 0777, 0600u);
		cr_assert_gt(st.st_size, 100);
	}
}

/* Names in /tmp are predictable: a file there is replaced, never written through. */
Test(crash, links_are_replaced_not_followed)
{
	char path[200], victim[160];
	struct stat st;
	FILE *f;

	snprintf(victim, sizeof(victim), "%s/victim", crash_dir);
	f = fopen(victim, "w");
	fputs("precious", f);
	fclose(f);
	crash_path(path, sizeof(path), "crash");
	cr_assert_eq(symlink(victim, path), 0);
	crash_by(&trap, 0);
	cr_assert_eq(stat(victim, &st), 0);
	cr_assert_eq(st.st_size, 8);
	cr_assert_eq(lstat(path, &st), 0);
	cr_assert(S_ISREG(st.st_mode));
}

Test(crash, no_place_for_the_files)
{
	struct rig r;

	fatal_rig_start(&r);
	r.dpa->log_path = "/nowhere/at/all";
	fatal_rig_run(&r, &bad_write, 8);
	fake_push_recv(r.cq, 1);
	OK(dpa_thread_wait(r.thread, -1));
	IS(doca_dpa_peek_at_last_error(r.dpa), BAD_STATE);
	rig_close(&r);
}

/* Only the three files, and nothing of the first crash is left after the second. */
Test(crash, a_second_crash_replaces_the_files)
{
	struct dirent *e;
	int files = 0;
	DIR *d;

	crash_by(&trap, 0);
	crash_by(&bad_handle, 0);
	has(crash_text(), "kernel       bad_handle\n");
	d = opendir(crash_dir);
	while ((e = readdir(d)))
		files += e->d_name[0] != '.';
	closedir(d);
	cr_assert_eq(files, 3);
}

Test(crash, qps_go_to_the_error_state)
{
	struct ibv_context *ctx;
	struct dpa_qp *dqp, *late;
	struct rig r;

	fatal_rig_start(&r);
	OK(dpa_dev_get_ibv_context(r.dev, &ctx));
	OK(dpa_qp_export(r.dpa, fake_qp(ctx), &dqp));
	fatal_rig_run(&r, &trap, 0);
	cr_assert_not(fake_qp_failed());
	fake_push_recv(r.cq, 1);
	OK(dpa_thread_wait(r.thread, -1));
	cr_assert(fake_qp_failed());
	OK(dpa_qp_export(r.dpa, fake_qp(ctx), &late));
	cr_assert(fake_qp_failed(), "a QP of a context that has ended works");
	OK(dpa_qp_unexport(late));
	OK(dpa_qp_unexport(dqp));
	rig_close(&r);
}

Test(crash, thirty_rounds_beside_a_context_that_works)
{
	doca_dpa_func_t *const funcs[] = {
		&bad_write,
		&trap,
		&overflow,
		&overflow_in_calls,
		&jump_nowhere,
		&bad_handle,
		&spoil_stack,
#if defined(__x86_64__) /* elsewhere it is 0 */
		&divide_by_zero,
#endif
	};
	const size_t num = sizeof(funcs) / sizeof(funcs[0]);
	struct rig good;

	fatal_rig_start(&good);
	fatal_rig_run(&good, &work, 0);
	for (uint64_t i = 1; i <= 30; i++) {
		crash_by(funcs[i % num], 8);
		fake_push_recv(good.cq, i);
		while (FATAL_READ(&good, begun) < i)
			sched_yield();
	}
	OK(doca_dpa_peek_at_last_error(good.dpa));
	rig_close(&good);
}
