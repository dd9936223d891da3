/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_revoke_cases.c - an owner revokes its memory, by every verb that can, from four initiators
 * that access it; these are stopped, killed and replaced at any moment. Once the verb has returned
 * no initiator writes to the memory, and none reads the data that the owner puts there then.
 *
 * Each initiator is a process, or a thread of the owner's process, because a race detector sees
 * only one process. Side 1 returns at once.
 */
#include "vt_maps.h"
#include "vt_owner.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
	LIMIT_S = 240,
	ROUNDS = 100,
	THREAD_ROUNDS = 20,
	SLOW_FACTOR = 25,
	GLANCES = 16,
	PATIENCE_S = 90
};
enum { N = VT_INITIATORS };

struct thread {
	struct vt t;
	struct vt_target *to;
	uint32_t nth;
	pthread_t th;
};

/* An owner, and its initiators in processes or in threads. */
struct game {
	struct vt_owner o;
	struct vt_nursery nursery;
	pid_t pid[N];
	bool stopped[N], dead[N];
	struct thread thread[N];
	bool expects_direct;
	uint32_t rounds, killed;
};

/* Return whether initiators of this device copy by themselves: docs/direct-path.md. */
static bool has_direct_path(void)
{
#if defined(__x86_64__)
	extern const unsigned int __rseq_size __attribute__((weak));
	uint64_t from = 1, to = 0;
	struct iovec a = {&from, 8}, b = {&to, 8};
	const char *direct = getenv("DPA_DIRECT"), *shm = getenv("DPA_SHM");

	return &__rseq_size && __rseq_size && process_vm_writev(getpid(), &a, 1, &b, 1, 0) == 8 &&
	       !(direct && !strcmp(direct, "never")) && !(shm && !strcmp(shm, "never")) &&
	       !getenv("DPA_FAULT") && !getenv("DPA_CAPTURE");
#else
	return false;
#endif
}

/*
 * Return the least number of `rounds` in which they had it mapped. `auto` shares memory that a
 * process with one thread registers, and not always; a race detector has one thread more.
 */
static uint32_t shared_rounds(bool threads, uint32_t rounds)
{
	const char *share = vt_share_policy();

#if defined(__SANITIZE_THREAD__)
	threads = true;
#endif
	if (!strcmp(share, "always"))
		return rounds / 4;
	return !threads && !strcmp(share, "auto") ? rounds / 16 : 0;
}

static void yields(uint64_t n)
{
	for (; n; n--)
		sched_yield();
}

/* --------------------------------------------------------------- stops and deaths */

/* Stop, kill or continue some, at any point. */
static void disturb(struct game *g)
{
	for (uint32_t i = 0; i < N; i++) {
		if (g->o.t.threads || vt_draw(&g->o.x) % 2)
			continue;
		if (vt_draw(&g->o.x) % 8 == 0) {
			CHECK_EQ(kill(g->pid[i], SIGKILL), 0);
			g->dead[i] = true;
			g->killed++;
		} else {
			CHECK_EQ(kill(g->pid[i], SIGSTOP), 0);
			g->stopped[i] = true;
			yields(vt_draw(&g->o.x) % 3);
			if (vt_draw(&g->o.x) % 4 == 0) {
				CHECK_EQ(kill(g->pid[i], SIGCONT), 0);
				g->stopped[i] = false;
			}
		}
		g->o.away[i] = g->dead[i] || g->stopped[i];
	}
}

static void let_go(struct game *g)
{
	for (uint32_t i = 0; i < N; i++)
		if (g->stopped[i]) {
			CHECK_EQ(kill(g->pid[i], SIGCONT), 0);
			g->stopped[i] = g->o.away[i] = false;
		}
}

static void replace_the_dead(struct game *g)
{
	for (uint32_t i = 0; i < N; i++)
		if (g->dead[i]) {
			vt_owner_forget(&g->o, i);
			g->pid[i] = vt_nursery_fork(&g->nursery, i);
			g->dead[i] = g->o.away[i] = false;
		}
}

/* ----------------------------------------------------------------------- a round */

struct progress {
	uint64_t done, direct, mapped;
};

static struct progress progress(const struct game *g)
{
	struct progress p = {0};

	for (uint32_t i = 0; i < N; i++) {
		p.done += atomic_load(&g->o.to->slot[i].done);
		p.direct += atomic_load(&g->o.to->slot[i].direct);
		p.mapped += atomic_load(&g->o.to->slot[i].mapped);
	}
	return p;
}

/*
 * Wait until they use the path that will be revoked: after some failures a device may avoid its
 * shorter paths for a time, and then there would be no race.
 */
static void wait_for_work(struct game *g)
{
	struct progress was = progress(g), now;
	time_t limit = time(NULL) + PATIENCE_S;

	do {
		sched_yield();
		vt_owner_repair(&g->o);
		vt_owner_more_keys(&g->o);
		now = progress(g);
		CHECK(time(NULL) < limit, "%llu operations, and the direct path was not taken",
		      (unsigned long long)(now.done - was.done));
	} while (now.done < was.done + 8 || (g->expects_direct && now.direct == was.direct));
}

/*
 * Start with the bytes that a late initiator would access last, and do not write those again: all
 * the rest takes longer than its access.
 */
static void hide(struct game *g)
{
	uint8_t *part[N];

	for (uint32_t i = 0; i < N; i++) {
		part[i] = g->o.t.buf + i * VT_PART;
		*(volatile uint64_t *)(void *)(part[i] + VT_TAIL) = VT_SECRET;
	}
	for (uint32_t i = 0; i < N; i++) {
		memset(part[i], 0xff, VT_TAIL);
		memset(part[i] + VT_TAIL + 8, 0xff, VT_PART - VT_TAIL - 8);
	}
}

static void check_untouched(struct game *g, enum vt_verb verb, const char *when)
{
	for (int n = 0; n < GLANCES; n++) {
		for (size_t i = 0; i < VT_PIECE; i += 8) {
			const volatile uint64_t *p = (volatile uint64_t *)(g->o.t.buf + i);

			CHECK(*p == VT_SECRET, "round %u, %s (keys of kind %d): %#llx at %zu, %s",
			      g->rounds, vt_verb_name(verb), (int)g->o.kind, (unsigned long long)*p,
			      i, when);
		}
		if (!vt_is_of_qps(verb))
			vt_owner_repair(&g->o); /* with the ended key, they try again */
		sched_yield();
	}
}

static void one_round(struct game *g)
{
	enum vt_verb verb = vt_owner_draw_verb(&g->o);

	wait_for_work(g);
	if (vt_draw(&g->o.x) % 2)
		disturb(g);
	yields(vt_draw(&g->o.x) % 20);
	vt_owner_take_away(&g->o, verb);
	hide(g);
	check_untouched(g, verb, "behind the verb");
	let_go(g);
	check_untouched(g, verb, "when they went on");
	/* repeatedly; the objects that they know are not the new ones */
	if (!vt_is_of_qps(verb) || g->o.kind == VT_WINDOW_2)
		vt_owner_end_keys(&g->o);
	memset(g->o.t.buf, 0, VT_PIECE);
	replace_the_dead(g);
	if (vt_is_of_qps(verb))
		vt_owner_connect(&g->o);
	if (!g->o.t.mr)
		vt_owner_make_keys(&g->o);
	g->rounds++;
}

/* ------------------------------------------------------------------ begin and end */

static void *initiator_thread(void *arg)
{
	struct thread *x = arg;

	vt_initiate(&x->t, x->to, x->nth);
	return NULL;
}

static void start_initiators(struct game *g)
{
	for (uint32_t i = 0; i < N; i++) {
		struct thread *x = &g->thread[i];

		if (!g->o.t.threads) {
			g->pid[i] = vt_nursery_fork(&g->nursery, i);
			continue;
		}
		*x = (struct thread){.t = {.side = 1, .threads = true}, .to = g->o.to, .nth = i};
		CHECK_EQ(pthread_create(&x->th, NULL, initiator_thread, x), 0);
	}
}

static void end_initiators(struct game *g)
{
	atomic_store_explicit(&g->o.to->over, 1, memory_order_release);
	for (uint32_t i = 0; i < N; i++)
		if (g->o.t.threads)
			CHECK_EQ(pthread_join(g->thread[i].th, NULL), 0);
	if (!g->o.t.threads)
		vt_nursery_end(&g->nursery);
}

static void start(struct game *g)
{
	g->o.to = mmap(NULL, sizeof(*g->o.to), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	CHECK(g->o.to != MAP_FAILED, "mmap");
	if (!g->o.t.threads)
		vt_nursery_start(&g->nursery, g->o.to);
	vt_owner_open(&g->o);
	start_initiators(g);
}

static void finish(struct game *g)
{
	struct progress p = progress(g);

	end_initiators(g);
	vt_owner_close(&g->o);
	munmap(g->o.to, sizeof(*g->o.to));
	printf("    %u rounds, %llu operations; of each fourth %llu went without a packet, %llu of "
	       "them atomics; %u initiators were killed\n",
	       g->rounds, (unsigned long long)p.done, (unsigned long long)p.direct,
	       (unsigned long long)p.mapped, g->killed);
	CHECK(!g->expects_direct || p.direct >= g->rounds, "the direct path was hardly taken");
	CHECK(!g->expects_direct || p.mapped >= shared_rounds(g->o.t.threads, g->rounds),
	      "nor mapped memory");
}

static void take_back(struct vt *t, uint32_t rounds)
{
	struct game *g;
	time_t end = time(NULL) + vt_seconds;

	if (t->side == 1)
		return;
	g = calloc(1, sizeof(*g));
	CHECK(g, "calloc");
	g->o.t.threads = t->threads;
	g->o.x = vt_seed() * 0x9e3779b97f4a7c15ull + 5;
	g->expects_direct = has_direct_path();
	start(g);
	while (vt_seconds ? time(NULL) < end : g->rounds < rounds)
		one_round(g);
	finish(g);
	free(g);
}

static void taken_back(struct vt *t)
{
	take_back(t, t->threads ? THREAD_ROUNDS : ROUNDS);
}

static void taken_back_long(struct vt *t)
{
	take_back(t, SLOW_FACTOR * (t->threads ? THREAD_ROUNDS : ROUNDS));
}

static const struct vt_case cases[] = {
	{"taken_back", taken_back, VT_BOTH, LIMIT_S},
	{"taken_back_long", taken_back_long, VT_BOTH | VT_SLOW, 5 * LIMIT_S},
};

VT_MAIN(cases)
