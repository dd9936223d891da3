/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "util.h"
#include <dirent.h>
#include <sys/prctl.h>
#include <sys/wait.h>

char bt_dir[64];
char bt_path[192];
char bt_err[512];

static const char *die_step;
static int die_nth;

void bt_setup(void)
{
	snprintf(bt_dir, sizeof(bt_dir), "/dev/shm/dpa-test-XXXXXX");
	cr_assert_not_null(mkdtemp(bt_dir), "%s", strerror(errno));
	snprintf(bt_path, sizeof(bt_path), "%s/board", bt_dir);
}

/* Only files that the test itself made and removed may have existed. */
void bt_teardown(void)
{
	cr_expect(rmdir(bt_dir) == 0, "%s: %s", bt_dir, strerror(errno));
}

struct dpa_board_cfg bt_cfg(void)
{
	return (struct dpa_board_cfg){.path = bt_path, .lib_version = BT_VERSION};
}

int bt_try(struct dpa_board **b, const char *version)
{
	struct dpa_board_cfg cfg = {.path = bt_path, .lib_version = version};

	return dpa_board_open(&cfg, b, bt_err, sizeof(bt_err));
}

struct dpa_board *bt_open(void)
{
	struct dpa_board *b = NULL;
	int rc = bt_try(&b, BT_VERSION);

	cr_assert(rc == 0, "%s: %s", strerror(rc), bt_err);
	return b;
}

pid_t bt_fork(void (*fn)(void *), void *arg)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	cr_assert(pid >= 0, "fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		fn(arg);
		_exit(0);
	}
	return pid;
}

int bt_wait(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

void bt_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	bt_wait(pid);
}

static void die_hook(const char *step)
{
	if (strcmp(step, die_step) == 0 && --die_nth == 0)
		kill(getpid(), SIGKILL);
}

void bt_die_at(const char *step, int nth)
{
	die_step = step;
	die_nth = nth;
	dpa_board_step_hook = die_hook;
}

struct dying {
	void (*fn)(void *);
	void *arg;
	const char *step;
	int nth;
};

static void run_dying(void *arg)
{
	struct dying *d = arg;

	bt_die_at(d->step, d->nth);
	d->fn(d->arg);
}

bool bt_dies(void (*fn)(void *), void *arg, const char *step, int nth)
{
	struct dying d = {fn, arg, step, nth};
	int status = bt_wait(bt_fork(run_dying, &d));

	cr_assert(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL),
		  "status %#x at %s %d", (unsigned)status, step, nth);
	return status != 0;
}

void bt_signal_init(struct bt_signal *s)
{
	cr_assert(pipe(s->fd) == 0);
}

void bt_signal_send(struct bt_signal *s)
{
	char c = 0;

	if (write(s->fd[1], &c, 1) != 1)
		_exit(1);
}

void bt_signal_wait(struct bt_signal *s)
{
	char c;
	ssize_t n;

	do
		n = read(s->fd[0], &c, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(1);
}

unsigned int bt_seed(void)
{
	const char *env = getenv("DPA_TEST_SEED");
	unsigned int seed = env ? (unsigned int)strtoul(env, NULL, 0) : 1;

	cr_log_info("DPA_TEST_SEED=%u", seed);
	return seed;
}

uint32_t bt_uars(struct dpa_board *b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->uar_pages; i++) {
		struct dpa_board_uar *u = dpa_board_uar_page(b, i);

		for (uint32_t s = 0; u && s < DPA_UAR_SLOTS; s++)
			n += atomic_load(&u->slot_owner[s]) != 0;
	}
	return n;
}

uint32_t bt_qpns(struct dpa_board *b)
{
	uint32_t n = 0, slot, gen;

	for (uint32_t i = 0; i < DPA_BOARD_QPNS; i++)
		n += dpa_board_qpn_owner(b, b->board_num << 16 | i, &slot, &gen);
	return n;
}

uint32_t bt_procs(struct dpa_board *b)
{
	uint32_t n = 0;

	for (uint32_t i = dpa_board_proc_next(b, 0); i < DPA_BOARD_PROCS;
	     i = dpa_board_proc_next(b, i + 1))
		n += atomic_load(&dpa_board_proc(b, i)->state) != DPA_PROC_FREE;
	return n;
}

bool bt_list_whole(struct dpa_board *b)
{
	bool seen[DPA_BOARD_UAR_PAGES] = {false};
	uint32_t at = DPA_BOARD_UAR_PAGES, n = 0;

	for (;;) {
		struct dpa_board_link *l =
			at == DPA_BOARD_UAR_PAGES ? &b->shm->head.list : &b->shm->links[at];
		struct dpa_board_link *m;
		uint32_t next = l->next;

		if (next > DPA_BOARD_UAR_PAGES)
			return false;
		m = next == DPA_BOARD_UAR_PAGES ? &b->shm->head.list : &b->shm->links[next];
		if (m->prev != at)
			return false;
		if (next == DPA_BOARD_UAR_PAGES)
			return n == b->uar_pages;
		if (seen[next])
			return false;
		seen[next] = true;
		at = next;
		n++;
	}
}
