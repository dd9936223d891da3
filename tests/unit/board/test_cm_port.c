/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_cm_port.c - ports of the communication manager: the kernel's rules (cma_check_port() of
 * Linux 6.1) between claims of one channel, of two channels, of processes and of users.
 */
#include "util.h"
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <dpa_cm_port.h>

static char file[192];

static void setup(void)
{
	bt_setup();
	snprintf(file, sizeof(file), "%s/cm", bt_dir);
}

static void teardown(void)
{
	unlink(file);
	bt_teardown();
}

TestSuite(cm_port, .init = setup, .fini = teardown);

static struct dpa_cm_ports *channel(void)
{
	struct dpa_cm_ports *p = NULL;

	cr_assert_eq(dpa_cm_ports_open(file, &p), 0);
	return p;
}

/* A claim by text: 4 or 6, then * (wildcard) or the last digit of an address, o: AFONLY, r:
 * REUSEADDR */
static struct dpa_cm_claim claim(const char *text, uint16_t port)
{
	struct dpa_cm_claim c = {.ps = DPA_CM_PS_TCP, .port = port};

	c.v6 = text[0] == '6';
	c.afonly = !c.v6 || strchr(text, 'o');
	c.reuse = strchr(text, 'r');
	if (text[1] != '*') {
		c.addr[0] = c.v6 ? 0x20 : 0;
		c.addr[12] = c.v6 ? 0 : 10;
		c.addr[15] = (uint8_t)(text[1] - '0');
	}
	return c;
}

static int two(bool one_channel, const char *first, const char *second)
{
	struct dpa_cm_ports *a = channel(), *b = one_channel ? a : channel();
	struct dpa_cm_claim c = claim(first, 7174), d = claim(second, 7174), e = claim("4*", 7174);
	int rc;

	cr_assert_eq(dpa_cm_port_claim(a, &c), 0);
	rc = dpa_cm_port_claim(b, &d);
	if (!rc)
		cr_expect_eq(dpa_cm_port_release(b, &d), 0);
	cr_expect_eq(dpa_cm_port_release(a, &c), 0);
	cr_expect_eq(dpa_cm_port_claim(a, &e), 0, "%s, %s: all is free again", first, second);
	dpa_cm_ports_close(a);
	if (!one_channel)
		dpa_cm_ports_close(b);
	return rc;
}

/* The kernel's answer to the second bind, by its rules and man rdma_bind_addr. */
static const struct {
	const char *first, *second;
	int rc;
} rules[] = {
	{"41", "41", EADDRINUSE},
	{"41", "42", 0},
	{"4*", "41", EADDRNOTAVAIL},
	{"41", "4*", EADDRNOTAVAIL},
	{"4*", "4*", EADDRNOTAVAIL},
	{"61", "61", EADDRINUSE},
	{"61", "62", 0},
	{"41", "61", 0},
	{"4*", "6*", EADDRNOTAVAIL},
	{"4*", "6*o", 0},
	{"6*o", "41", 0},
	{"6*", "41", EADDRNOTAVAIL},
	{"4*", "61", EADDRNOTAVAIL},
	{"4*", "61o", 0},
	{"6*o", "61", EADDRNOTAVAIL},
	{"41r", "41r", 0},
	{"4*r", "4*r", 0},
	{"4*r", "41r", 0},
	{"41r", "41", EADDRINUSE},
	{"41", "41r", EADDRINUSE},
	{"4*r", "41", EADDRNOTAVAIL},
	{"41", "4*r", EADDRNOTAVAIL},
	{"4*", "4*r", EADDRNOTAVAIL},
	{"4*r", "4*", EADDRNOTAVAIL},
	{"41r", "4*", EADDRNOTAVAIL},
	{"41r", "42", 0},
	{"6*r", "4*r", 0},
	{"6*r", "41", EADDRNOTAVAIL},
	{"61r", "4*", EADDRNOTAVAIL},
	{"6*or", "4*", 0},
};

Test(cm_port, rules_within_a_channel_and_between_two)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		cr_expect_eq(two(true, rules[i].first, rules[i].second), rules[i].rc,
			     "one channel: %s, then %s", rules[i].first, rules[i].second);
		cr_expect_eq(two(false, rules[i].first, rules[i].second), rules[i].rc,
			     "two channels: %s, then %s", rules[i].first, rules[i].second);
	}
}

/* A wildcard that got an address is a claim of that address, independent of others. */
static void check_narrow(bool one_channel, const char *wild, const char *then, const char *other)
{
	struct dpa_cm_ports *a = channel(), *b = one_channel ? a : channel(), *f = channel();
	struct dpa_cm_claim c = claim(wild, 7174), d = claim(then, 7174), e = claim(other, 7174),
			    all = claim("4*", 7174);
	int rc = two(one_channel, then, other), got;

	cr_assert_eq(dpa_cm_port_claim(a, &c), 0);
	cr_assert_eq(dpa_cm_port_narrow(a, &c, d.addr, 0), 0);
	cr_expect_eq(memcmp(&c, &d, sizeof(c)), 0);
	cr_expect_eq(dpa_cm_port_narrow(a, &c, d.addr, 0), ENOENT, "it is no wildcard any more");
	got = dpa_cm_port_claim(b, &e);
	cr_expect_eq(got, rc, "%s as %s, then %s: %d", wild, then, other, got);
	if (!got)
		cr_expect_eq(dpa_cm_port_release(b, &e), 0);
	cr_expect_eq(dpa_cm_port_release(a, &c), 0);
	cr_expect_eq(dpa_cm_port_claim(f, &all), 0, "%s as %s: all is free again", wild, then);
	dpa_cm_ports_close(f);
	dpa_cm_ports_close(a);
	if (!one_channel)
		dpa_cm_ports_close(b);
}

Test(cm_port, a_wildcard_that_gets_an_address)
{
	static const char *const narrow[][2] = {
		{"4*", "41"}, {"4*r", "41r"}, {"6*", "61"}, {"6*o", "61o"}, {"6*or", "61or"}};
	static const char *const others[] = {"41", "42", "4*",	"41r", "4*r", "61",
					     "62", "6*", "6*o", "61r", "6*r", "61o"};

	for (size_t i = 0; i < sizeof(narrow) / sizeof(*narrow); i++)
		for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++) {
			check_narrow(true, narrow[i][0], narrow[i][1], others[k]);
			check_narrow(false, narrow[i][0], narrow[i][1], others[k]);
		}
}

/* A claim that gets `reuse` later equals one that had it from the start, beside any other claim. */
static void check_share(bool one_channel, const char *text, const char *other)
{
	struct dpa_cm_ports *a = channel(), *b = one_channel ? a : channel(), *f = channel();
	char then[8];
	struct dpa_cm_claim c = claim(text, 7174), d, e = claim(other, 7174),
			    all = claim("4*", 7174);
	int rc, got;

	snprintf(then, sizeof(then), "%sr", text);
	d = claim(then, 7174);
	rc = two(one_channel, then, other);
	cr_assert_eq(dpa_cm_port_claim(a, &c), 0);
	cr_assert_eq(dpa_cm_port_share(a, &c), 0);
	cr_expect_eq(memcmp(&c, &d, sizeof(c)), 0);
	cr_expect_eq(dpa_cm_port_share(a, &c), 0, "it is so already");
	got = dpa_cm_port_claim(b, &e);
	cr_expect_eq(got, rc, "%s as %s, then %s: %d", text, then, other, got);
	if (!got)
		cr_expect_eq(dpa_cm_port_release(b, &e), 0);
	cr_expect_eq(dpa_cm_port_listen(a, &c), 0);
	cr_expect_eq(dpa_cm_port_share(a, &c), EINVAL, "it listens");
	cr_expect_eq(dpa_cm_port_release(a, &c), 0);
	cr_expect_eq(dpa_cm_port_share(a, &c), ENOENT);
	cr_expect_eq(dpa_cm_port_claim(f, &all), 0, "%s as %s: all is free again", text, then);
	dpa_cm_ports_close(f);
	dpa_cm_ports_close(a);
	if (!one_channel)
		dpa_cm_ports_close(b);
}

Test(cm_port, reuse_that_is_set_later)
{
	static const char *const first[] = {"41", "4*", "61", "61o", "6*", "6*o"};
	static const char *const others[] = {"41", "42", "4*",	"41r", "4*r", "61",
					     "62", "6*", "6*o", "61r", "6*r", "61o"};

	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++) {
			check_share(true, first[i], others[k]);
			check_share(false, first[i], others[k]);
		}
}

/* Two of them at the same port, of one channel: releasing one keeps the other. */
Test(cm_port, two_wildcards_that_get_addresses)
{
	struct dpa_cm_ports *a = channel(), *b = channel();
	struct dpa_cm_claim c = claim("4*r", 7174), d = c, one = claim("41r", 7174),
			    two = claim("42r", 7174), e = claim("42", 7174), w = claim("4*r", 7174);

	cr_assert_eq(dpa_cm_port_claim(a, &c), 0);
	cr_assert_eq(dpa_cm_port_claim(a, &d), 0);
	cr_assert_eq(dpa_cm_port_narrow(a, &c, one.addr, 0), 0);
	cr_expect_eq(dpa_cm_port_claim(b, &e), EADDRNOTAVAIL, "one is a wildcard still");
	cr_assert_eq(dpa_cm_port_narrow(a, &d, two.addr, 0), 0);
	cr_expect_eq(dpa_cm_port_claim(b, &e), EADDRINUSE);
	cr_expect_eq(dpa_cm_port_release(a, &d), 0);
	cr_expect_eq(dpa_cm_port_claim(b, &e), 0);
	cr_expect_eq(dpa_cm_port_release(b, &e), 0);
	cr_expect_eq(dpa_cm_port_claim(b, &w), 0);
	dpa_cm_ports_close(a);
	dpa_cm_ports_close(b);
}

Test(cm_port, port_spaces_and_ports_are_apart)
{
	const uint16_t ps[] = {DPA_CM_PS_TCP, DPA_CM_PS_UDP, DPA_CM_PS_IPOIB, DPA_CM_PS_IB};
	struct dpa_cm_ports *a = channel();

	for (int i = 0; i < 4; i++)
		for (uint16_t port = 7000; port < 7010; port++) {
			struct dpa_cm_ports *b = channel();
			struct dpa_cm_claim c = claim("6*", port), d = c;

			c.ps = d.ps = ps[i];
			cr_expect_eq(dpa_cm_port_claim(a, &c), 0);
			cr_expect_eq(dpa_cm_port_claim(b, &d), EADDRNOTAVAIL);
			dpa_cm_ports_close(b);
		}
	dpa_cm_ports_close(a);
}

Test(cm_port, link_local_addresses_are_of_an_interface)
{
	struct dpa_cm_ports *a = channel(), *b = channel();
	struct dpa_cm_claim c = claim("61", 7174), d = c;

	c.scope = 1;
	d.scope = 2;
	cr_expect_eq(dpa_cm_port_claim(a, &c), 0);
	cr_expect_eq(dpa_cm_port_claim(b, &d), 0);
	dpa_cm_ports_close(a);
	dpa_cm_ports_close(b);
}

Test(cm_port, nonsense_is_refused)
{
	struct dpa_cm_ports *a = channel();
	struct dpa_cm_claim c = claim("41", 7174);

	c.ps = 7;
	cr_expect_eq(dpa_cm_port_claim(a, &c), EINVAL);
	c = claim("41", 7174);
	c.afonly = false;
	cr_expect_eq(dpa_cm_port_claim(a, &c), EINVAL);
	c = claim("41", 7174);
	cr_expect_eq(dpa_cm_port_release(a, &c), ENOENT);
	cr_expect_eq(dpa_cm_port_listen(a, &c), ENOENT);
	dpa_cm_ports_close(a);
}

/* Releasing a claim keeps those of the same channel and port. */
Test(cm_port, release_keeps_the_others)
{
	struct dpa_cm_ports *a = channel(), *b = channel();
	struct dpa_cm_claim c = claim("41", 7174), d = claim("42", 7174), w = claim("4*", 7174);

	cr_expect_eq(dpa_cm_port_claim(a, &c), 0);
	cr_expect_eq(dpa_cm_port_claim(a, &d), 0);
	cr_expect_eq(dpa_cm_port_release(a, &c), 0);
	cr_expect_eq(dpa_cm_port_claim(b, &w), EADDRNOTAVAIL);
	cr_expect_eq(dpa_cm_port_claim(b, &c), 0, "the address that was given up");
	cr_expect_eq(dpa_cm_port_claim(b, &d), EADDRINUSE);
	dpa_cm_ports_close(a);
	dpa_cm_ports_close(b);
}

Test(cm_port, refused_claim_keeps_nothing)
{
	struct dpa_cm_ports *a = channel(), *b = channel(), *d = channel();
	struct dpa_cm_claim c = claim("41", 7174), e = claim("41", 7174), w = claim("4*", 7174);

	cr_expect_eq(dpa_cm_port_claim(a, &c), 0);
	cr_expect_eq(dpa_cm_port_claim(b, &e), EADDRINUSE);
	cr_expect_eq(dpa_cm_port_claim(b, &w), EADDRNOTAVAIL);
	cr_expect_eq(dpa_cm_port_release(a, &c), 0);
	cr_expect_eq(dpa_cm_port_claim(d, &w), 0);
	dpa_cm_ports_close(a);
	dpa_cm_ports_close(b);
	dpa_cm_ports_close(d);
}

Test(cm_port, listening_ends_reuse)
{
	for (int channels = 1; channels <= 2; channels++) {
		struct dpa_cm_ports *a = channel(), *b = channels == 1 ? a : channel();
		struct dpa_cm_claim c = claim("41r", 7174), d = c, e = c;

		cr_expect_eq(dpa_cm_port_claim(a, &c), 0);
		cr_expect_eq(dpa_cm_port_claim(b, &d), 0);
		cr_expect_eq(dpa_cm_port_listen(a, &c), EADDRINUSE, "another one has it");
		cr_expect(c.reuse);
		cr_expect_eq(dpa_cm_port_release(b, &d), 0);
		cr_expect_eq(dpa_cm_port_listen(a, &c), 0);
		cr_expect_not(c.reuse);
		cr_expect_eq(dpa_cm_port_claim(b, &e), EADDRINUSE);
		cr_expect_eq(dpa_cm_port_release(a, &c), 0);
		cr_expect_eq(dpa_cm_port_claim(b, &e), 0);
		dpa_cm_ports_close(a);
		if (b != a)
			dpa_cm_ports_close(b);
	}
}

Test(cm_port, any_port_is_one_that_nobody_has)
{
	struct dpa_cm_ports *a = channel(), *b = channel();
	static bool seen[65536];
	unsigned int lo = 0, hi = 0;
	FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");

	cr_assert(f && fscanf(f, "%u %u", &lo, &hi) == 2);
	fclose(f);
	for (int i = 0; i < 2000; i++) {
		const char *kind[] = {"41", "42", "4*", "61", "6*", "6*o", "41r", "4*r"};
		struct dpa_cm_claim c = claim(kind[i % 8], 0);

		cr_assert_eq(dpa_cm_port_claim(i & 1 ? a : b, &c), 0);
		cr_expect(c.port >= lo && c.port <= hi);
		cr_expect_not(seen[c.port]);
		seen[c.port] = true;
	}
	dpa_cm_ports_close(a);
	dpa_cm_ports_close(b);
}

struct shared {
	struct bt_signal ready, go;
	_Atomic int rc;
};

static void holds(void *arg)
{
	struct shared *s = arg;
	struct dpa_cm_claim c = claim("41", 7174);
	struct dpa_cm_ports *p;

	if (dpa_cm_ports_open(file, &p) || dpa_cm_port_claim(p, &c))
		_exit(1);
	bt_signal_send(&s->ready);
	bt_signal_wait(&s->go);
}

Test(cm_port, killed_process_holds_nothing)
{
	struct dpa_cm_ports *p = channel();
	struct dpa_cm_claim c = claim("41", 7174);
	struct shared s;
	pid_t pid;

	bt_signal_init(&s.ready);
	bt_signal_init(&s.go);
	pid = bt_fork(holds, &s);
	bt_signal_wait(&s.ready);
	cr_expect_eq(dpa_cm_port_claim(p, &c), EADDRINUSE);
	bt_kill(pid);
	cr_expect_eq(dpa_cm_port_claim(p, &c), 0);
	dpa_cm_ports_close(p);
}

static void waits(void *arg)
{
	struct shared *s = arg;

	bt_signal_send(&s->ready);
	bt_signal_wait(&s->go);
}

/* daemon(): the parent exits, the child listens on. */
Test(cm_port, forked_child_keeps_the_ports)
{
	struct dpa_cm_ports *p = channel(), *other;
	struct dpa_cm_claim c = claim("41", 7174), d = c;
	struct shared s;
	pid_t pid;

	bt_signal_init(&s.ready);
	bt_signal_init(&s.go);
	cr_assert_eq(dpa_cm_port_claim(p, &c), 0);
	pid = bt_fork(waits, &s);
	bt_signal_wait(&s.ready);
	dpa_cm_ports_close(p);
	cr_expect_eq(access(file, F_OK), 0, "the child has it open");
	other = channel();
	cr_expect_eq(dpa_cm_port_claim(other, &d), EADDRINUSE);
	bt_kill(pid);
	cr_expect_eq(dpa_cm_port_claim(other, &d), 0);
	dpa_cm_ports_close(other);
	cr_expect_eq(access(file, F_OK), -1, "the last one removes it");
}

static void as_another_user(void *arg)
{
	struct shared *s = arg;
	struct dpa_cm_claim c = claim("41", 7174), low = claim("41", 80);
	struct dpa_cm_ports *p = NULL;

	if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		_exit(1);
	s->rc = dpa_cm_ports_open(file, &p);
	if (!s->rc)
		s->rc = dpa_cm_port_claim(p, &c) * 1000 + dpa_cm_port_claim(p, &low);
}

static struct shared *map_shared(void)
{
	void *m = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(m, MAP_FAILED);
	return m;
}

Test(cm_port, users_share_the_ports)
{
	struct shared *s = map_shared();
	struct dpa_cm_claim c = claim("41", 7174);
	struct dpa_cm_ports *p;

	if (geteuid() != 0)
		bt_skip("needs two users");
	cr_assert_eq(chmod(bt_dir, 01777), 0);
	p = channel();
	cr_assert_eq(dpa_cm_port_claim(p, &c), 0);
	cr_expect_eq(bt_wait(bt_fork(as_another_user, s)), 0);
	cr_expect_eq(s->rc, EADDRINUSE * 1000 + EACCES, "%d", s->rc);
	dpa_cm_ports_close(p);
}

struct watch {
	/* closed: the file once existed without being open to all users */
	_Atomic bool stop, closed;
};

static void watch_modes(void *arg)
{
	struct watch *w = arg;
	struct stat st;

	while (!atomic_load(&w->stop))
		if (stat(file, &st) == 0 && (st.st_mode & 0777) != 0666)
			atomic_store(&w->closed, true);
}

/*
 * Regression: the file existed for a moment with the mode that the umask leaves. Another user that
 * bound a port in that moment got EACCES.
 */
Test(cm_port, the_file_is_for_all_from_the_beginning)
{
	struct watch *w =
		mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t watcher;

	cr_assert_neq(w, MAP_FAILED);
	umask(077);
	watcher = bt_fork(watch_modes, w);
	for (int i = 0; i < 5000; i++)
		dpa_cm_ports_close(channel());
	atomic_store(&w->stop, true);
	cr_expect_eq(bt_wait(watcher), 0);
	cr_expect(!atomic_load(&w->closed));
}

Test(cm_port, what_another_user_put_there_is_refused)
{
	struct shared *s = map_shared();
	int fd;

	if (geteuid() != 0)
		bt_skip("needs two users");
	cr_assert_eq(chmod(bt_dir, 01777), 0);
	fd = open(file, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	close(fd);
	cr_expect_eq(bt_wait(bt_fork(as_another_user, s)), 0);
	cr_expect_eq(s->rc, EACCES);
}

Test(cm_port, only_a_plain_file)
{
	struct dpa_cm_ports *p;

	cr_assert_eq(symlink("/dev/null", file), 0);
	cr_expect_eq(dpa_cm_ports_open(file, &p), EPROTO);
	cr_assert_eq(unlink(file), 0);
	cr_assert_eq(mkfifo(file, 0666), 0);
	cr_expect_eq(dpa_cm_ports_open(file, &p), EPROTO);
}

struct race {
	_Atomic int holders[4][5]; /* port, wildcard or address */
	_Atomic int wrong, claims, not_opened;
	unsigned int seed;
};

/*
 * Claims and releases at random; two claims that exclude each other must never be held at one time.
 */
static void races(void *arg)
{
	const char *kind[] = {"4*", "41", "42", "43", "44"};
	struct race *r = arg;
	unsigned int seed = r->seed + (unsigned int)getpid();

	for (int i = 0; i < 3000; i++) {
		unsigned int port = (unsigned int)rand_r(&seed) % 4,
			     k = (unsigned int)rand_r(&seed) % 5;
		struct dpa_cm_claim c = claim(kind[k], (uint16_t)(7000 + port));
		struct dpa_cm_ports *p;

		if (dpa_cm_ports_open(file, &p)) {
			r->not_opened++;
			return;
		}
		if (dpa_cm_port_claim(p, &c) == 0) {
			int others = 0;

			others += r->holders[port][k]++;
			for (unsigned int o = 0; o < 5; o++)
				if (o != k && (o == 0 || k == 0))
					others += r->holders[port][o];
			if (others)
				r->wrong++;
			r->claims++;
			r->holders[port][k]--;
		}
		dpa_cm_ports_close(p);
	}
}

/* The file is created and removed all the time: each process may be its last. */
Test(cm_port, claims_of_many_processes)
{
	struct race *r =
		mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[4];

	cr_assert_neq(r, MAP_FAILED);
	r->seed = bt_seed();
	for (int i = 0; i < 4; i++)
		pid[i] = bt_fork(races, r);
	for (int i = 0; i < 4; i++)
		cr_expect_eq(bt_wait(pid[i]), 0);
	cr_expect_eq(r->not_opened, 0);
	cr_expect_eq(r->wrong, 0, "%d of %d claims", r->wrong, r->claims);
	cr_expect_gt(r->claims, 100);
}

struct listed {
	uint32_t n, bits; /* of 3 ports in each space */
};

static void list_one(void *arg, uint16_t ps, uint16_t port)
{
	struct listed *l = arg;
	uint32_t space = ps == DPA_CM_PS_TCP   ? 0
			 : ps == DPA_CM_PS_UDP ? 1
			 : ps == DPA_CM_PS_IB  ? 3
					       : 2;

	l->n++;
	if (port >= 7174 && port < 7177)
		l->bits |= 1u << (space * 3 + port - 7174);
}

/* The listeners of all users of the namespace, for tools. */
Test(cm_port, listeners_are_listed)
{
	struct dpa_cm_claim c = claim("6*", 7174), d = claim("41", 7175), idle = claim("4*", 7176);
	struct listed l = {0};
	struct dpa_cm_ports *p, *q;
	char path[192];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) && unshare(CLONE_NEWNET))
		cr_skip_test("a network namespace of its own is not available");
	cr_assert_eq(dpa_cm_ports_path(path, sizeof(path)), 0);
	cr_assert_eq(dpa_cm_ports_open(path, &p), 0);
	cr_assert_eq(dpa_cm_ports_open(path, &q), 0);
	cr_assert_eq(dpa_cm_port_claim(p, &c), 0);
	d.ps = DPA_CM_PS_IB;
	cr_assert_eq(dpa_cm_port_claim(q, &d), 0);
	cr_assert_eq(dpa_cm_port_claim(q, &idle), 0);
	cr_assert_eq(dpa_cm_port_each(list_one, &l), 0);
	cr_expect_eq(l.n, 0, "no process listens yet");
	cr_assert_eq(dpa_cm_port_listen(p, &c), 0);
	cr_assert_eq(dpa_cm_port_listen(q, &d), 0);
	cr_assert_eq(dpa_cm_port_each(list_one, &l), 0);
	cr_expect_eq(l.bits, 1u << 0 | 1u << (3 * 3 + 1), "%#x", l.bits);
	dpa_cm_ports_close(q);
	dpa_cm_ports_close(p);
}

static bool there(const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", bt_dir, name);
	return access(path, F_OK) == 0;
}

/*
 * Files whose last process was killed are removed; a file in use, and another kind of file, stay.
 */
Test(cm_port, files_that_nobody_uses_are_removed)
{
	static const char *const names[] = {"dpa-cm-1", "dpa-cm-2", "dpa-cm-3x", "dpa-cm-",
					    "dpa-4"};
	struct dpa_cm_ports *in_use, *p;
	char path[300];
	pid_t pid;

	for (int i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%s", bt_dir, names[i]);
		pid = fork();
		if (!pid) {
			cr_assert_eq(dpa_cm_ports_open(path, &p), 0);
			raise(SIGKILL);
		}
		waitpid(pid, NULL, 0);
		cr_assert(there(names[i]));
	}
	snprintf(path, sizeof(path), "%s/%s", bt_dir, names[1]);
	cr_assert_eq(dpa_cm_ports_open(path, &in_use), 0);
	dpa_cm_ports_sweep(bt_dir);
	cr_expect_not(there("dpa-cm-1"));
	for (int i = 1; i < 5; i++)
		cr_expect(there(names[i]), "%s", names[i]);
	dpa_cm_ports_close(in_use);
	cr_expect_not(there("dpa-cm-2"));
	for (int i = 2; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%s", bt_dir, names[i]);
		unlink(path);
	}
}

/* One process opens and closes the file, another one removes unused files. */
Test(cm_port, an_open_while_files_are_removed)
{
	char path[300];
	int status;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/dpa-cm-1", bt_dir);
	pid = fork();
	if (!pid)
		for (;;)
			dpa_cm_ports_sweep(bt_dir);
	for (int i = 0; i < 2000; i++) {
		struct dpa_cm_claim c = claim("4*", 7174), d = c;
		struct dpa_cm_ports *a, *b;

		cr_assert_eq(dpa_cm_ports_open(path, &a), 0);
		cr_assert_eq(dpa_cm_port_claim(a, &c), 0);
		cr_assert_eq(dpa_cm_ports_open(path, &b), 0);
		cr_assert_eq(dpa_cm_port_claim(b, &d), EADDRNOTAVAIL, "the same file");
		dpa_cm_ports_close(a);
		dpa_cm_ports_close(b);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}
