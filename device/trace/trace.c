/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* trace.c - records the timeline: see trace.h, and layout.h for the memory. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include "trace/trace.h"
#include "util/clock.h"
#include "util/count.h"
#include "util/lock.h"
#include "util/sys.h"

/*
 * The gate: bit 0 all events, bit 1 there is a reader, bit 2 is that of the meters, the rest a
 * number that is never 0 and changes with each switch: threads then find their ring again.
 */
#define GATE_ALL    1u
#define GATE_READER 2u
#define GATE_NUMBER 8u
_Static_assert(DPA_TRACE_EVERY == GATE_ALL && DPA_TRACE_METERS == 4u, "bits of their own");

/*
 * Where many events are skipped: windows of 2^19 ticks (some 0.2 ms), one in 16. A thread has many
 * if QUICK events take it less than 16 windows. Between two windows it reads the clock once for
 * LEAP + 1 events.
 */
#define WINDOW_BITS 19
#define WINDOWS	    16u
#define QUICK	    1024u
#define LEAP	    63u

_Atomic uint32_t dpa_trace_gate;

static struct {
	struct dpa_trace_shm *shm;
	/*
	 * A page that fork clears: 1 in the process that made the memory. Read before each event: a
	 * raw clone has no handler that switches the timeline off.
	 */
	_Atomic uint32_t *ours;
	int fd;
	uint64_t dev, ino; /* of fd: shows whether the program closed it */
	enum dpa_trace_clock clock;
	uint32_t number; /* of the last switch */
	dpa_spin_t lock; /* a leaf: rings are taken */
} trace = {.fd = -1};

/* The state of one thread. */
struct writer {
	struct dpa_trace_ring *ring;
	uint32_t gate; /* value of the gate for which `ring` is valid */
	bool quick;
	uint32_t skip;	/* events to skip without a look at the clock */
	uint32_t n;	/* events since `since` */
	uint64_t since; /* ticks */
};
static _Thread_local __attribute__((tls_model("initial-exec"))) struct writer me;

/* ---------------------------------------------------------------------- clock */

#if defined(__x86_64__)
static uint64_t read_ticks(void)
{
	return trace.clock == DPA_TRACE_CLOCK_TICKS ? __builtin_ia32_rdtsc() : dpa_now_ns();
}

/* The counter has a constant rate and does not stop: CPUID 80000007h, EDX bit 8. */
static bool have_ticks(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
}
#elif defined(__aarch64__)
static uint64_t read_ticks(void)
{
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
}

static bool have_ticks(void)
{
	return true;
}
#else
static uint64_t read_ticks(void)
{
	return dpa_now_ns();
}

static bool have_ticks(void)
{
	return false;
}
#endif

enum dpa_trace_clock dpa_trace_clock(void)
{
	return have_ticks() ? DPA_TRACE_CLOCK_TICKS : DPA_TRACE_CLOCK_NS;
}

/* --------------------------------------------------------------------- memory */

/* ftruncate() beyond the limit would end the program by SIGXFSZ. */
static bool size_is_allowed(size_t n)
{
	struct rlimit lim;

	return getrlimit(RLIMIT_FSIZE, &lim) || lim.rlim_cur == RLIM_INFINITY || lim.rlim_cur >= n;
}

static int make_trace_memory(struct dpa_trace_shm **shm)
{
	int fd = memfd_create("dpa-timeline", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *p = MAP_FAILED;

	if (fd < 0)
		return -1;
	if (!ftruncate(fd, sizeof(**shm)) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		p = mmap(NULL, sizeof(**shm), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		const int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	dpa_sys_madvise(p, sizeof(**shm), MADV_DONTFORK);
	*shm = p;
	return fd;
}

static int make_ours(void)
{
	void *p;

	if (trace.ours) { /* the parent's, cleared by fork */
		atomic_store_explicit(trace.ours, 1, memory_order_relaxed);
		return 0;
	}
	p = mmap(NULL, DPA_TRACE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return errno;
	if (dpa_sys_madvise(p, DPA_TRACE_PAGE, MADV_WIPEONFORK)) {
		const int err = errno;

		munmap(p, DPA_TRACE_PAGE);
		return err;
	}
	trace.ours = p;
	atomic_store_explicit(trace.ours, 1, memory_order_relaxed);
	return 0;
}

static bool is_trace_ours(void)
{
	return trace.ours && atomic_load_explicit(trace.ours, memory_order_relaxed);
}

int dpa_trace_prepare(void)
{
	struct dpa_trace_shm *shm;
	struct stat st;
	int ret, fd;

	if (trace.shm && is_trace_ours())
		return 0;
	if (!size_is_allowed(sizeof(*shm)))
		return EFBIG;
	fd = make_trace_memory(&shm);
	if (fd < 0)
		return errno;
	ret = fstat(fd, &st) ? errno : make_ours();
	if (ret) {
		munmap(shm, sizeof(*shm));
		close(fd);
		return ret;
	}
	trace.clock = dpa_trace_clock();
	trace.fd = fd;
	trace.dev = st.st_dev;
	trace.ino = st.st_ino;
	trace.shm = shm;
	return 0;
}

int dpa_trace_fd(void)
{
	struct stat st;

	return trace.fd >= 0 && !fstat(trace.fd, &st) && st.st_dev == trace.dev &&
			       st.st_ino == trace.ino
		       ? trace.fd
		       : -1;
}

void dpa_trace_child(void)
{
	const int fd = dpa_trace_fd();

	atomic_store_explicit(&dpa_trace_gate, 0, memory_order_relaxed); /* the meters, too */
	if (fd >= 0)
		close(fd);
	trace.fd = -1;
	trace.shm = NULL;	      /* the mapping was not inherited */
	dpa_spin_unlock(&trace.lock); /* its holder is not in this process */
	me.ring = NULL;
	me.gate = 0;
}

/* --------------------------------------------------------------------- switch */

void dpa_trace_set(enum dpa_trace_mode mode, bool reader)
{
	uint32_t gate = 0, was = atomic_load_explicit(&dpa_trace_gate, memory_order_relaxed);

	if (mode != DPA_TRACE_OFF) {
		trace.number += GATE_NUMBER;
		if (!trace.number)
			trace.number = GATE_NUMBER;
		gate = trace.number | (mode == DPA_TRACE_ALL ? GATE_ALL : 0) |
		       (reader ? GATE_READER : 0);
	}
	while (!atomic_compare_exchange_weak_explicit(&dpa_trace_gate, &was,
						      gate | (was & DPA_TRACE_METERS),
						      memory_order_release, memory_order_relaxed))
		;
}

void dpa_meters_set(bool on)
{
	if (on)
		atomic_fetch_or_explicit(&dpa_trace_gate, DPA_TRACE_METERS, memory_order_release);
	else
		atomic_fetch_and_explicit(&dpa_trace_gate, ~DPA_TRACE_METERS, memory_order_release);
}

static uint32_t rings_used(void)
{
	return trace.shm && is_trace_ours()
		       ? atomic_load_explicit(&trace.shm->used, memory_order_acquire)
		       : 0;
}

void dpa_trace_forget(void)
{
	for (uint32_t i = 0; i < rings_used(); i++) {
		struct dpa_trace_ring *r = &trace.shm->ring[i];

		atomic_store_explicit(&r->tail,
				      atomic_load_explicit(&r->head, memory_order_relaxed),
				      memory_order_relaxed);
	}
}

struct dpa_trace_sums dpa_trace_sums(void)
{
	struct dpa_trace_sums s = {0, 0};

	for (uint32_t i = 0; i < rings_used(); i++) {
		s.lost += atomic_load_explicit(&trace.shm->ring[i].lost, memory_order_relaxed);
		s.skipped +=
			atomic_load_explicit(&trace.shm->ring[i].skipped, memory_order_relaxed);
	}
	return s;
}

/* ---------------------------------------------------------------------- rings */

static bool thread_lives(uint32_t tid)
{
	return !syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) || errno != ESRCH;
}

/* Returns this thread's ring, that of a thread that has ended, or a new one; NULL: none is left. */
static struct dpa_trace_ring *take_ring(uint32_t tid)
{
	uint32_t used = atomic_load_explicit(&trace.shm->used, memory_order_relaxed), i;
	struct dpa_trace_ring *r = trace.shm->ring;

	for (i = 0; i < used; i++)
		if (atomic_load_explicit(&r[i].tid, memory_order_relaxed) == tid)
			return &r[i];
	for (i = 0; i < used; i++)
		if (!thread_lives(atomic_load_explicit(&r[i].tid, memory_order_relaxed)))
			break;
	if (i == DPA_TRACE_RINGS)
		return NULL;
	atomic_store_explicit(&r[i].tid, tid, memory_order_relaxed);
	if (i == used)
		atomic_store_explicit(&trace.shm->used, used + 1, memory_order_release);
	return &r[i];
}

static void put_thread(uint32_t tid)
{
	struct dpa_trace_words w = dpa_trace_words(DPA_TRACE_THREAD, 0, 0, tid, 0, 0, 0);

	prctl(PR_GET_NAME, &w.w[1]);
	dpa_trace_put(read_ticks(), w);
}

/* The first event of this thread since the timeline was switched. */
static void join_timeline(uint32_t gate)
{
	const uint32_t tid = (uint32_t)syscall(SYS_gettid);

	dpa_spin_lock(&trace.lock);
	me.ring = take_ring(tid);
	if (!me.ring && me.gate != gate)
		atomic_fetch_add_explicit(&trace.shm->ringless, 1, memory_order_relaxed);
	dpa_spin_unlock(&trace.lock);
	me.gate = gate;
	me.skip = me.n = 0;
	me.quick = false;
	me.since = 0;
	if (me.ring)
		put_thread(tid);
}

/* --------------------------------------------------------------------- events */

/*
 * True: the event at `now` is not recorded, nor are the next me.skip. A thread that slows down
 * records everything again.
 */
static bool is_skipped(uint64_t now)
{
	const uint64_t since = now - me.since;

	if (me.quick && (now >> WINDOW_BITS) % WINDOWS) {
		if (me.n == LEAP + 1 && since >> WINDOW_BITS) { /* LEAP + 1 took a window */
			me.quick = false;
			me.n = 0;
			me.since = now;
			return false;
		}
		me.n = LEAP + 1;
		me.since = now;
		me.skip = LEAP;
		dpa_count_add(&me.ring->skipped, LEAP + 1);
		return true;
	}
	if (++me.n >= QUICK) {
		me.quick = since >> WINDOW_BITS < WINDOWS;
		me.n = 0;
		me.since = now;
	}
	return false;
}

static uint32_t read_trace_gate(void)
{
	return atomic_load_explicit(&dpa_trace_gate, memory_order_acquire) & ~DPA_TRACE_METERS;
}

/* False: this thread records nothing. */
static bool has_trace_ring(uint32_t gate)
{
	if (!gate || !is_trace_ours())
		return false;
	if (dpa_unlikely(me.gate != gate))
		join_timeline(gate);
	return me.ring;
}

uint64_t dpa_trace_now(void)
{
	const uint32_t gate = read_trace_gate();
	uint64_t now;

	if (me.skip && gate == me.gate) { /* first: it is the cost of most events */
		me.skip--;
		return 0;
	}
	if (dpa_unlikely(!has_trace_ring(gate)))
		return 0;
	now = read_ticks();
	return !(gate & GATE_ALL) && is_skipped(now) ? 0 : now;
}

uint64_t dpa_trace_rare(void)
{
	return has_trace_ring(read_trace_gate()) ? read_ticks() : 0;
}

uint32_t dpa_trace_since(uint64_t began)
{
	const uint64_t d = read_ticks() - began;

	return d < UINT32_MAX ? (uint32_t)d : UINT32_MAX;
}

void dpa_trace_put(uint64_t at, struct dpa_trace_words w)
{
	struct dpa_trace_ring *r = me.ring;
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	struct dpa_trace_event_shm *e = &r->event[head % DPA_TRACE_EVENTS];

	if (dpa_unlikely(me.gate & GATE_READER &&
			 head - atomic_load_explicit(&r->tail, memory_order_relaxed) >=
				 DPA_TRACE_EVENTS))
		dpa_count_add(&r->lost, 1);
	atomic_store_explicit(&e->w[0], at, memory_order_release);
	for (int i = 0; i < 3; i++)
		atomic_store_explicit(&e->w[i + 1], w.w[i], memory_order_release);
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

const struct dpa_trace_ops dpa_trace_ops = {
	.gate = &dpa_trace_gate,
	.now = dpa_trace_now,
	.since = dpa_trace_since,
	.put = dpa_trace_put,
};
