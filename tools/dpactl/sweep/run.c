/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * run.c - one run of a sweep. dpactl is the reaper of everything that the program leaves: what lives on
 * after its end is seen and ended.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "sweep.h"

#define NAP_MS	 2
#define GRACE_MS 1000 /* for processes that are just ending, and for the other end */
#define PEER_MS	 5000 /* until the other end listens */
#define KILL_MS	 5000 /* until a process that was killed has ended */
#define FILES_MS 50   /* between two looks for files */
#define CHILDREN "/proc/%1$d/task/%1$d/children"

static volatile sig_atomic_t stopped;

static void on_sweep_signal(int sig)
{
	stopped = 1;
}

void sweep_begin(void)
{
	struct sigaction sa = {.sa_handler = on_sweep_signal};
	char path[64];

	snprintf(path, sizeof(path), CHILDREN, (int)getpid());
	if (access(path, R_OK))
		die(EXIT_NONE, "%s: %s (the kernel needs CONFIG_PROC_CHILDREN)", path,
		    strerror(errno));
	signal(SIGCHLD, SIG_DFL); /* ignored, the kernel would reap what ends */
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool sweep_stopped(void)
{
	return stopped;
}

static uint64_t sweep_now_ms(void)
{
	return now_ns() / 1000000;
}

static void nap_ms(uint32_t ms)
{
	const struct timespec ts = {.tv_nsec = ms * 1000000l};

	nanosleep(&ts, NULL);
}

static void nap_once(void)
{
	nap_ms(NAP_MS);
}

/* -------------------------------------------------------------------- processes */

struct child {
	pid_t pid; /* and its process group; 0: none */
	bool ended, crashed;
	int status; /* exit status; crashed: number of the signal */
};

static void redirect_to_file(const char *path, int flags, int fd)
{
	int f = open(path, flags | O_CLOEXEC, 0600);

	if (f < 0 || dup2(f, fd) < 0)
		_exit(127);
}

/* In the child. rule NULL: neither rules nor a record of the calls. */
static _Noreturn void become_program(const struct sweep_setup *s, char **program,
				     const char *output, const char *calls, const char *rule)
{
	char path[SWEEP_PATH], **argv;
	size_t n = 0;

	while (program[n])
		n++;
	argv = calloc(n + 2, sizeof(*argv));
	if (!argv)
		_exit(127);
	argv[0] = (char *)s->dpa_run;
	memcpy(argv + 1, program, n * sizeof(*argv));
	snprintf(path, sizeof(path), "%s/board", s->dir);
	setenv("DPA_BOARD", path, 1);
	unsetenv("DPA_INJECT");
	unsetenv("DPA_INJECT_CALLS");
	if (rule)
		setenv("DPA_INJECT", rule, 1);
	if (calls)
		setenv("DPA_INJECT_CALLS", calls, 1);
	setpgid(0, 0);
	redirect_to_file("/dev/null", O_RDONLY, 0);
	redirect_to_file(output, O_WRONLY | O_CREAT | O_TRUNC, 1);
	dup2(1, 2);
	execv(s->dpa_run, argv);
	_exit(127);
}

static struct child start_child(const struct sweep_setup *s, char **program, const char *output,
				const char *calls, const char *rule)
{
	struct child c = {.pid = fork()};

	if (c.pid < 0)
		die(EXIT_NONE, "cannot start a process: %s", strerror(errno));
	if (!c.pid)
		become_program(s, program, output, calls, rule);
	setpgid(c.pid, c.pid); /* both do, so that it is one when either goes on */
	return c;
}

/*
 * Records the end of a program that was started here. It stays a zombie until its process group was
 * killed: until then its number belongs to no other process and no other group.
 */
static void note_child_end(struct child *c)
{
	siginfo_t si = {.si_pid = 0};

	if (!c->pid || c->ended || waitid(P_PID, (id_t)c->pid, &si, WEXITED | WNOHANG | WNOWAIT) ||
	    !si.si_pid)
		return;
	c->ended = true;
	c->crashed = si.si_code != CLD_EXITED;
	c->status = si.si_status;
}

/*
 * Calls fn for each child of this process, in any group, that is neither a nor b: what the programs
 * left. Returns their number. A pid that fn does not wait for is not given to another process.
 */
static uint32_t each_left(const struct child *a, const struct child *b, void (*fn)(pid_t))
{
	char path[64];
	uint32_t n = 0;
	int pid;
	FILE *f;

	snprintf(path, sizeof(path), CHILDREN, (int)getpid());
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1) {
		if (pid == a->pid || pid == b->pid)
			continue;
		n++;
		if (fn)
			fn(pid);
	}
	if (f)
		fclose(f);
	return n;
}

static void reap_one(pid_t pid)
{
	(void)waitpid(pid, NULL, WNOHANG);
}

static void kill_one(pid_t pid)
{
	(void)kill(pid, SIGKILL);
}

/* Takes every process that has ended, also those that the program left to this one. */
static void reap_ended(struct child *a, struct child *b)
{
	note_child_end(a);
	note_child_end(b);
	each_left(a, b, reap_one);
}

static bool is_child_alive(const struct child *c)
{
	return c->pid && !c->ended;
}

/* Writes the pid and the name of a process that could not be ended. */
static void name_stuck(struct sweep_run *r, const struct child *a, const struct child *b)
{
	char path[64], name[20] = "";
	FILE *f;

	snprintf(path, sizeof(path), CHILDREN, (int)getpid());
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &r->stuck) == 1)
		if ((r->stuck != a->pid || !a->ended) && (r->stuck != b->pid || !b->ended))
			break;
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)r->stuck);
	f = fopen(path, "re");
	if (f && fscanf(f, "%19[^\n]", name) == 1)
		snprintf(r->stuck_name, sizeof(r->stuck_name), "%s", name);
	if (f)
		fclose(f);
}

static void kill_leader(const struct child *c)
{
	if (is_child_alive(c))
		kill_one(c->pid);
}

static void reap_leader(struct child *c)
{
	if (c->ended)
		(void)waitpid(c->pid, NULL, 0);
}

/*
 * Ends both groups, and what has left them. A process of another user, or one that waits for a device,
 * may not end: after KILL_MS it is named.
 */
static void end_all(struct child *a, struct child *b, struct sweep_run *r)
{
	uint64_t end = sweep_now_ms() + KILL_MS;

	if (a->pid)
		kill(-a->pid, SIGKILL);
	if (b->pid)
		kill(-b->pid, SIGKILL);
	while (each_left(a, b, kill_one) || is_child_alive(a) || is_child_alive(b)) {
		if (sweep_now_ms() >= end) {
			name_stuck(r, a, b);
			break;
		}
		kill_leader(a); /* it may have changed its group */
		kill_leader(b);
		nap_once();
		reap_ended(a, b);
	}
	reap_leader(a);
	reap_leader(b);
}

/* ------------------------------------------------------------------- the other end */

/* Open sockets of the process: writes "socket:[N]" of descriptor `fd`. False: there is none. */
static bool socket_of_fd(pid_t pid, const char *fd, char *name, size_t len)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", (int)pid, fd);
	n = readlink(path, name, len - 1);
	if (n <= 8 || strncmp(name, "socket:[", 8) != 0)
		return false;
	name[n] = '\0';
	return true;
}

/* True if a TCP socket with this inode listens (state 0A). */
static bool inode_listens(const char *file, unsigned long inode)
{
	FILE *f = fopen(file, "re");
	unsigned long found;
	unsigned state;
	char line[256];
	bool listens = false;

	while (f && !listens && fgets(line, sizeof(line), f))
		listens = sscanf(line, " %*d: %*s %*s %x %*s %*s %*s %*s %*s %lu", &state,
				 &found) == 2 &&
			  state == 0x0a && found == inode;
	if (f)
		fclose(f);
	return listens;
}

static bool tcp_listens(pid_t pid)
{
	bool listens = false;
	char path[64], name[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && !listens && (e = readdir(d)))
		if (socket_of_fd(pid, e->d_name, name, sizeof(name))) {
			unsigned long inode = strtoul(name + 8, NULL, 10);

			listens = inode_listens("/proc/net/tcp", inode) ||
				  inode_listens("/proc/net/tcp6", inode);
		}
	if (d)
		closedir(d);
	return listens;
}

static struct dpa_board *peek_sweep_board(const struct sweep_setup *s)
{
	char path[SWEEP_PATH], err[256];
	struct dpa_board_cfg cfg = {.path = path, .lib_version = DPA_VERSION};
	struct dpa_board *b;

	snprintf(path, sizeof(path), "%s/board", s->dir);
	return dpa_board_peek(&cfg, &b, err, sizeof(err)) ? NULL : b;
}

/* True if a process of the adapter instance listens by rdma_cm. */
static bool cm_listens(const struct sweep_setup *s)
{
	struct ctl c = {.b = peek_sweep_board(s)};
	char text[64] = "";

	if (!c.b)
		return false;
	cm_listeners(&c, text, sizeof(text));
	dpa_board_unpeek(c.b);
	return text[0];
}

/* A peer that never listens is taken as ready after a while: it may wait in another way. */
static void wait_for_peer(const struct sweep_setup *s, struct child *peer, struct child *none)
{
	uint64_t end = sweep_now_ms() + PEER_MS;

	while (!stopped && !peer->ended && sweep_now_ms() < end && !tcp_listens(peer->pid) &&
	       !cm_listens(s)) {
		s->tick(s->tick_arg);
		nap_once();
		reap_ended(peer, none);
	}
}

/* ------------------------------------------------------------------------- leaks */

static uint32_t count_procs(const struct sweep_setup *s)
{
	struct ctl c = {.b = peek_sweep_board(s)};
	uint32_t n = 0;
	struct proc p;

	if (!c.b)
		return 0;
	for (uint32_t slot = 0; slot < DPA_BOARD_PROCS; slot++)
		n += proc_read(&c, slot, &p) && p.alive;
	dpa_board_unpeek(c.b);
	return n;
}

/* Counts the files that the run left. One of a program that is just ending is given a moment. */
static void look_for_files(const struct sweep_shm *before, struct sweep_run *r)
{
	uint64_t end = sweep_now_ms() + GRACE_MS;

	while ((r->num_shm = sweep_shm_new(before, r->shm)) && sweep_now_ms() < end && !stopped)
		nap_ms(FILES_MS);
}

/* ----------------------------------------------------------------------- the run */

static void wait_for_child(const struct sweep_setup *s, struct child *c, struct child *other,
			   uint64_t end)
{
	while (!c->ended && !stopped && sweep_now_ms() < end) {
		s->tick(s->tick_arg);
		nap_once();
		reap_ended(c, other);
	}
}

/* Counts what the program left. Processes that are just ending are given a moment. */
static void look_for_leaks(const struct sweep_setup *s, struct child *c, struct child *peer,
			   struct sweep_run *r)
{
	uint64_t end = sweep_now_ms() + GRACE_MS;

	while ((r->left = each_left(c, peer, NULL)) && sweep_now_ms() < end) {
		nap_once();
		reap_ended(c, peer);
	}
	if (!is_child_alive(peer)) /* the other end uses dpa0, too */
		r->on_board = count_procs(s);
}

void sweep_run(const struct sweep_setup *s, const char *rule, struct sweep_run *r)
{
	char calls[SWEEP_PATH], output[SWEEP_PATH], peer_output[SWEEP_PATH];
	struct sweep_shm before = sweep_shm_list();
	struct child c = {0}, peer = {0};
	uint64_t begin;

	memset(r, 0, sizeof(*r));
	snprintf(calls, sizeof(calls), "%s/calls", s->dir);
	snprintf(output, sizeof(output), "%s/output", s->dir);
	snprintf(peer_output, sizeof(peer_output), "%s/peer", s->dir);
	unlink(calls);
	if (s->peer) {
		peer = start_child(s, s->peer, peer_output, NULL, NULL);
		wait_for_peer(s, &peer, &c);
	}
	begin = sweep_now_ms();
	c = start_child(s, s->program, output, calls, rule);
	wait_for_child(s, &c, &peer, begin + s->limit_ms);
	r->ms = (uint32_t)(sweep_now_ms() - begin);
	if (!c.ended) {
		r->end = stopped ? SWEEP_STOPPED : SWEEP_HANGS;
	} else {
		r->end = c.crashed ? SWEEP_SIGNAL : SWEEP_ENDED;
		r->status = c.status;
		if (peer.pid)
			wait_for_child(s, &peer, &c, sweep_now_ms() + GRACE_MS);
		look_for_leaks(s, &c, &peer, r);
	}
	if (peer.pid) {
		r->peer_hangs = !peer.ended;
		r->peer_signal = peer.crashed ? peer.status : 0;
	}
	end_all(&c, &peer, r);
	look_for_files(&before, r);
	free(before.name);
}
