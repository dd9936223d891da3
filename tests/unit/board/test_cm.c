/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_cm.c - services and communication ids of QP1, and their state after a process dies at any
 * point.
 */
#include "util.h"
#include "tables/tables.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

TestSuite(board_cm, .init = bt_setup, .fini = bt_teardown, .timeout = 60);

static struct dpa_gsi_id content(uint32_t local_id, uint32_t n)
{
	return (struct dpa_gsi_id){.local_id = local_id,
				   .remote_id = n,
				   .remote_guid = n,
				   .tid = n,
				   .service_id = n,
				   .remote_qpn = n,
				   .tell_peer = 1,
				   .id = n};
}

static bool is_whole(const struct dpa_gsi_id *id)
{
	return id->remote_guid == id->remote_id && id->tid == id->remote_id &&
	       id->service_id == id->remote_id && id->remote_qpn == id->remote_id &&
	       id->id == id->remote_id;
}

/* ------------------------------------------------------------------------- ids */

Test(board_cm, ids)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	static uint32_t last[65536];
	struct dpa_board_gsi g;
	uint32_t id, held;

	dpa_board_gsi_set(a, 5);
	dpa_board_gsi_set(b, 6);
	cr_assert_eq(dpa_board_cmid_new(b, &held), 0);
	for (uint32_t i = 0; i < 3 * 65536; i++) {
		cr_assert_eq(dpa_board_cmid_new(a, &id), 0);
		cr_assert_neq(id, held);
		cr_assert_eq(id >> 24, a->board_num);
		cr_assert_neq(id, last[id & 0xffff], "in the last life of its record");
		last[id & 0xffff] = id;
		cr_assert(dpa_board_cmid_owner(b, id, &g));
		cr_assert_eq(g.qpn, 5);
		dpa_board_cmid_free(b, id); /* it does not belong to b */
		cr_assert(dpa_board_cmid_owner(b, id, &g));
		dpa_board_cmid_free(a, id);
		cr_assert_not(dpa_board_cmid_owner(b, id, &g));
	}
	cr_assert(dpa_board_cmid_owner(a, held, &g));
	cr_expect_eq(g.qpn, 6);
	dpa_board_gsi_set(b, 0);
	cr_expect_not(dpa_board_cmid_owner(a, held, &g), "it has closed its endpoint");
	dpa_board_close(b);
	dpa_board_close(a);
}

/* -------------------------------------------------------------------- neighbours */

struct victim {
	struct bt_signal up;
	uint32_t qpn;
};

static void be_killed(void *arg)
{
	struct victim *v = arg;

	dpa_board_gsi_set(bt_open(), v->qpn);
	bt_signal_send(&v->up);
	pause();
}

/* A process that was killed and is not reaped, with an endpoint or without one. */
static void leave_dead(uint32_t qpn)
{
	struct victim v = {.qpn = qpn};
	pid_t pid;

	bt_signal_init(&v.up);
	pid = bt_fork(be_killed, &v);
	bt_signal_wait(&v.up);
	bt_kill(pid);
}

static bool is_before(struct dpa_board *b, const struct dpa_board *of)
{
	uint32_t slot, gen;

	return dpa_board_proc_before(b, &slot, &gen) && slot == of->slot && gen == of->gen;
}

Test(board_cm, the_process_in_front_of_an_endpoint_watches_it)
{
	struct dpa_board *a = bt_open(), *b;
	uint32_t slot, gen;

	dpa_board_gsi_set(a, 5);
	cr_expect_not(dpa_board_gsi_is_next(a), "it is alone");
	cr_expect_not(dpa_board_proc_before(a, &slot, &gen), "it is alone");
	dpa_board_gsi_set(a, 0);
	b = bt_open();
	cr_expect_not(dpa_board_gsi_is_next(a) || dpa_board_gsi_is_next(b), "there is none");
	dpa_board_gsi_set(b, 6);
	cr_expect(dpa_board_gsi_is_next(a));
	cr_expect_not(dpa_board_gsi_is_next(b), "not itself");
	cr_expect(is_before(b, a));
	cr_expect(is_before(a, b), "in a circle");
	dpa_board_gsi_set(a, 5);
	cr_expect(dpa_board_gsi_is_next(b), "in a circle");
	dpa_board_close(b);
	dpa_board_close(a);
}

Test(board_cm, dead_processes_watch_none_and_are_watched)
{
	struct dpa_board *a = bt_open(), *b = bt_open();

	leave_dead(0);
	dpa_board_gsi_set(a, 5);
	cr_expect(dpa_board_gsi_is_next(b), "the dead one in between does not");
	cr_expect(is_before(a, b));
	dpa_board_gsi_set(a, 0);
	cr_expect_not(dpa_board_gsi_is_next(b));
	leave_dead(7);
	cr_expect(dpa_board_gsi_is_next(b), "its ids are left");
	dpa_board_gsi_watch(b);
	cr_expect_eq(dpa_board_gsi_died(b), 1);
	cr_expect_not(dpa_board_gsi_is_next(b), "it was reaped");
	dpa_board_close(b);
	dpa_board_close(a);
}

Test(board_cm, all_ids_and_no_more)
{
	struct dpa_board *a = bt_open();
	uint32_t *ids = calloc(DPA_BOARD_CMIDS, sizeof(*ids)), more, at = 0, n = 0, slot, gen;
	static uint8_t taken[DPA_BOARD_CMIDS];
	struct dpa_gsi_id id;

	for (uint32_t i = 0; i < DPA_BOARD_CMIDS; i++) {
		cr_assert_eq(dpa_board_cmid_new(a, &ids[i]), 0, "id %u", i);
		cr_assert_eq(taken[ids[i] & 0xffff]++, 0);
	}
	cr_expect_eq(dpa_board_cmid_new(a, &more), ENOMEM);
	id = content(ids[9], 9);
	dpa_board_cmid_set(a, &id);
	for (; dpa_board_cmid_next(a, &at, &id, &slot, &gen); at++, n++)
		cr_expect(id.remote_id == 9 && slot == a->slot && gen == a->gen);
	cr_expect_eq(n, 1, "only what was set is shown");
	dpa_board_cm_end(a);
	cr_assert_eq(dpa_board_cmid_new(a, &more), 0);
	free(ids);
	dpa_board_close(a);
}

/* A reader sees a record of one write, never of two. The writer continues until enough was seen. */
static _Atomic bool enough;

static void *writes(void *arg)
{
	struct dpa_board *b = arg;
	struct dpa_gsi_id id;
	uint32_t local;

	if (dpa_board_cmid_new(b, &local))
		abort();
	for (uint32_t i = 1; !enough; i++) {
		id = content(local, i);
		dpa_board_cmid_set(b, &id);
	}
	return NULL;
}

Test(board_cm, a_record_is_whole)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t slot, gen, changed = 0, last = 0;
	struct dpa_gsi_id id;
	pthread_t t;

	cr_assert_eq(pthread_create(&t, NULL, writes, a), 0);
	while (changed < 2000) {
		uint32_t at = 0;

		if (!dpa_board_cmid_next(b, &at, &id, &slot, &gen))
			continue;
		cr_assert(is_whole(&id), "%u", id.remote_id);
		cr_assert_geq(id.remote_id, last);
		changed += id.remote_id != last;
		last = id.remote_id;
	}
	enough = true;
	pthread_join(t, NULL);
	dpa_board_cm_end(a);
	dpa_board_close(b);
	dpa_board_close(a);
}

/* Nor a mixture of two uses of the record, if it read the owner word before the first one ended. */
static void *renews(void *arg)
{
	struct dpa_board *b = arg;
	struct dpa_gsi_id id;
	uint32_t local;

	b->shm->head.cmid_window = 1; /* as small as possible: records are soon used again */
	for (uint32_t i = 1; !enough; i++) {
		if (dpa_board_cmid_new(b, &local))
			abort();
		id = content(local, i);
		dpa_board_cmid_set(b, &id);
		dpa_board_cmid_free(b, local);
		b->shm->head.cmid_next = 0;
	}
	return NULL;
}

Test(board_cm, a_record_is_of_one_life)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t slot, gen, seen = 0;
	struct dpa_gsi_id id;
	pthread_t t;

	cr_assert_eq(pthread_create(&t, NULL, renews, a), 0);
	while (seen < 200000) {
		uint32_t at = 0;

		if (!dpa_board_cmid_next(b, &at, &id, &slot, &gen))
			continue;
		cr_assert(is_whole(&id), "%u, %u", id.remote_id, id.id);
		seen++;
	}
	enough = true;
	pthread_join(t, NULL);
	dpa_board_close(b);
	dpa_board_close(a);
}

/* ---------------------------------------------------------------------- deaths */

static void sets_thrice(void *arg)
{
	struct dpa_board *b = bt_open();
	struct dpa_gsi_id id;
	uint32_t local;

	dpa_board_gsi_set(b, 7);
	if (dpa_board_cmid_new(b, &local))
		_exit(2);
	*(_Atomic uint32_t *)arg = local;
	for (uint32_t i = 1; i <= 3; i++) {
		id = content(local, i);
		dpa_board_cmid_set(b, &id);
	}
}

static _Atomic uint32_t *shared(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(p, MAP_FAILED);
	return p;
}

/*
 * The content of the last complete write counts. The first write is that of the allocation itself.
 */
Test(board_cm, dies_while_it_sets)
{
	_Atomic uint32_t *local = shared();
	struct dpa_board *b = bt_open();
	struct dpa_gsi_id id;

	for (int nth = 1; nth <= 4; nth++) {
		uint32_t at = 0, died = dpa_board_gsi_died(b);

		cr_assert(bt_dies(sets_thrice, (void *)local, "cmid-written", nth));
		cr_expect_not(dpa_board_cmid_orphans(b), "not known to be dead yet");
		cr_assert_eq(dpa_board_reap(b), 1);
		cr_expect_neq(dpa_board_gsi_died(b), died);
		cr_expect_eq(dpa_board_cmid_orphans(b), nth > 2);
		if (nth > 2) {
			cr_assert(dpa_board_cmid_orphan(b, &at, &id));
			cr_expect(id.local_id == *local && is_whole(&id));
			cr_expect_eq(id.remote_id, (uint32_t)nth - 2);
			dpa_board_cmid_free(b, id.local_id);
		}
		cr_expect_not(dpa_board_cmid_orphan(b, &at, &id));
	}
	dpa_board_close(b);
}

static void sets_and_ends(void *arg)
{
	struct dpa_board *b = bt_open();
	struct dpa_gsi_id id;
	uint32_t local;

	dpa_board_gsi_set(b, 7);
	if (dpa_board_cmid_new(b, &local))
		_exit(2);
	id = content(local, 1);
	dpa_board_cmid_set(b, &id);
	dpa_board_cm_end(b);
}

/* It is killed while it closes QP1: the others still learn that it left an id. */
Test(board_cm, dies_while_it_ends)
{
	struct dpa_board *b = bt_open();
	uint32_t at = 0, died = dpa_board_gsi_died(b);
	struct dpa_gsi_id id;

	cr_assert(bt_dies(sets_and_ends, NULL, "cm-services-ended", 1));
	cr_assert_eq(dpa_board_reap(b), 1);
	cr_expect_neq(dpa_board_gsi_died(b), died);
	cr_assert(dpa_board_cmid_orphan(b, &at, &id));
	dpa_board_cmid_free(b, id.local_id);
	dpa_board_close(b);
}

/* A process that died before it set anything leaves a record that others can use. */
Test(board_cm, dies_before_it_sets)
{
	_Atomic uint32_t *local = shared();
	struct dpa_board *b = bt_open();
	struct dpa_gsi_id id;
	uint32_t at = 0, n = 0;
	uint64_t owner;

	cr_assert(bt_dies(sets_thrice, (void *)local, "cmid-owned", 1));
	dpa_board_reap(b);
	for (uint32_t i = 0; i < DPA_BOARD_CMIDS; i++)
		if (dpa_board_present(b, DPA_BOARD_OFF_CMIDS + i * sizeof(*b->shm->cmids))) {
			owner = b->shm->cmids[i].owner;
			n += (owner << 16) != 0;
		}
	cr_expect_eq(n, 1);
	cr_expect_not(dpa_board_cmid_orphan(b, &at, &id));
	n = 0;
	for (uint32_t i = 0; i < DPA_BOARD_CMIDS; i++)
		if (dpa_board_present(b, DPA_BOARD_OFF_CMIDS + i * sizeof(*b->shm->cmids))) {
			owner = b->shm->cmids[i].owner;
			n += (owner << 16) != 0;
		}
	cr_expect_eq(n, 0, "freed");
	dpa_board_close(b);
}

static void takes_over(void *arg)
{
	struct dpa_board *b = bt_open();
	struct dpa_gsi_id id;
	uint32_t at = 0;

	dpa_board_gsi_set(b, 8);
	dpa_board_reap(b);
	dpa_board_cmid_orphan(b, &at, &id);
}

/* The heir dies as well. */
Test(board_cm, the_heir_dies)
{
	_Atomic uint32_t *local = shared();
	struct dpa_board *b = bt_open();
	struct dpa_gsi_id id;
	uint32_t at = 0;

	cr_assert(bt_dies(sets_thrice, (void *)local, "cmid-written", 4));
	cr_assert(bt_dies(takes_over, NULL, "cmid-taken-over", 1));
	dpa_board_reap(b);
	cr_assert(dpa_board_cmid_orphan(b, &at, &id));
	cr_expect_eq(id.local_id, *local);
	cr_expect_eq(id.remote_id, 2);
	dpa_board_cmid_free(b, id.local_id);
	cr_expect_not(dpa_board_cmid_orphan(b, &at, &id));
	dpa_board_close(b);
}

/* Many processes take over at once: each id is taken once. */
#define ORPHANS 64
#define HEIRS	4

static void leaves_many(void *arg)
{
	struct dpa_board *b = bt_open();
	struct dpa_gsi_id id;
	uint32_t local;

	dpa_board_gsi_set(b, 7);
	for (uint32_t i = 0; i < ORPHANS; i++) {
		if (dpa_board_cmid_new(b, &local))
			_exit(2);
		id = content(local, i);
		dpa_board_cmid_set(b, &id);
	}
	kill(getpid(), SIGKILL);
}

static void inherits(void *arg)
{
	_Atomic uint32_t *taken = arg;
	struct dpa_board *b = bt_open();
	struct dpa_gsi_id id;
	uint32_t at = 0;

	dpa_board_reap(b);
	while (!taken[ORPHANS])
		sched_yield();
	while (dpa_board_cmid_orphan(b, &at, &id)) {
		taken[id.remote_id]++;
		dpa_board_cmid_free(b, id.local_id);
	}
	dpa_board_close(b);
}

Test(board_cm, each_once)
{
	_Atomic uint32_t *taken = shared();
	struct dpa_board *b = bt_open();
	pid_t pid[HEIRS];

	for (int lap = 0; lap < 20; lap++) {
		memset((void *)taken, 0, 4096);
		bt_wait(bt_fork(leaves_many, NULL));
		for (int i = 0; i < HEIRS; i++)
			pid[i] = bt_fork(inherits, (void *)taken);
		while (bt_procs(b) < HEIRS + 1)
			sched_yield();
		taken[ORPHANS] = 1;
		for (int i = 0; i < HEIRS; i++)
			cr_assert_eq(bt_wait(pid[i]), 0);
		for (uint32_t i = 0; i < ORPHANS; i++)
			cr_assert_eq(taken[i], 1, "id %u, lap %d", i, lap);
	}
	dpa_board_close(b);
}

/* ----------------------------------------------------------------- the file */

static void sets_and_stays(void *arg)
{
	sets_thrice(arg);
	for (;;)
		pause();
}

Test(board_cm, the_file_waits_for_the_next_process)
{
	_Atomic uint32_t *local = shared();
	struct dpa_gsi_id id;
	struct dpa_board *b;
	uint32_t at = 0, num;
	pid_t pid = bt_fork(sets_and_stays, (void *)local);

	while (!*local)
		sched_yield();
	b = bt_open();
	num = b->board_num;
	while (dpa_board_cmid_next(b, &at, &id, &(uint32_t){0}, &(uint32_t){0}) == 0)
		at = 0;
	bt_kill(pid);
	dpa_board_close(b); /* has not looked */
	cr_assert_eq(access(bt_path, F_OK), 0, "it stays");
	b = bt_open();
	cr_expect_eq(b->board_num, num);
	at = 0;
	cr_assert(dpa_board_cmid_orphan(b, &at, &id));
	cr_expect_eq(id.local_id, *local);
	id.tell_peer = 0; /* there is nothing to tell any more */
	dpa_board_cmid_set(b, &id);
	dpa_board_close(b);
	cr_expect_neq(access(bt_path, F_OK), 0, "it is gone");
}

/* The file has a name by which other processes of the folder recognise it as a board. */
static void dies_with_an_id(_Atomic uint32_t *local)
{
	snprintf(bt_path, sizeof(bt_path), "%s/dpa-%u-1", bt_dir, dpa_board_uid());
	cr_assert(bt_dies(sets_thrice, (void *)local, "cmid-written", 4));
}

static void opens_beside(const char *name)
{
	char path[160];
	struct dpa_board_cfg cfg = {.path = path, .lib_version = BT_VERSION};
	struct dpa_board *b;

	snprintf(path, sizeof(path), "%s/dpa-%u-%s", bt_dir, dpa_board_uid(), name);
	cr_assert_eq(dpa_board_open(&cfg, &b, bt_err, sizeof(bt_err)), 0, "%s", bt_err);
	dpa_board_close(b);
}

/* The time of the first check, in the file without a process. */
static uint64_t left_at(const uint64_t *set)
{
	const off_t at = offsetof(struct dpa_board_shm, head.left_at);
	int fd = open(bt_path, O_RDWR);
	uint64_t was = 0;

	cr_assert_geq(fd, 0);
	cr_assert_eq(pread(fd, &was, sizeof(was), at), (ssize_t)sizeof(was));
	if (set)
		cr_assert_eq(pwrite(fd, set, sizeof(*set), at), (ssize_t)sizeof(*set));
	close(fd);
	return was;
}

/*
 * All processes of a namespace were killed, and a process of another namespace creates a board
 * before the next one of that namespace comes.
 */
Test(board_cm, the_file_waits_while_others_make_boards)
{
	_Atomic uint32_t *local = shared();
	struct dpa_gsi_id id;
	struct dpa_board *b;
	uint32_t at = 0;

	dies_with_an_id(local);
	opens_beside("2");
	cr_assert_eq(access(bt_path, F_OK), 0, "it stays");
	cr_expect_neq(left_at(NULL), 0u);
	opens_beside("2");
	b = bt_open();
	cr_assert(dpa_board_cmid_orphan(b, &at, &id));
	cr_expect_eq(id.local_id, *local);
	cr_expect_eq(b->shm->head.left_at, 0u, "somebody came");
	id.tell_peer = 0;
	dpa_board_cmid_set(b, &id);
	dpa_board_close(b);
}

/* Give the file the layout of another version, or of this one. */
static void set_layout(uint32_t layout)
{
	int fd = open(bt_path, O_RDWR);
	struct dpa_board_ident id;

	cr_assert_geq(fd, 0);
	cr_assert_eq(pread(fd, &id, sizeof(id), 0), (ssize_t)sizeof(id));
	id.layout = layout;
	id.check = dpa_board_ident_check(&id);
	cr_assert_eq(pwrite(fd, &id, sizeof(id), 0), (ssize_t)sizeof(id));
	close(fd);
}

/* The same if the process that creates a board is of another version and cannot read the ids. */
Test(board_cm, the_file_waits_while_other_versions_make_boards)
{
	static const uint32_t others[] = {1, DPA_BOARD_LAYOUT - 1, DPA_BOARD_LAYOUT + 1};
	_Atomic uint32_t *local = shared();
	const uint64_t long_ago = 1;
	struct dpa_gsi_id id;
	struct dpa_board *b;
	uint32_t at = 0;

	dies_with_an_id(local);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		set_layout(others[i]);
		opens_beside("2");
		cr_assert_eq(access(bt_path, F_OK), 0, "it stays, layout %u", others[i]);
		cr_expect_neq(left_at(NULL), 0u);
	}
	set_layout(DPA_BOARD_LAYOUT);
	b = bt_open();
	cr_assert(dpa_board_cmid_orphan(b, &at, &id));
	cr_expect_eq(id.local_id, *local);
	id.tell_peer = 0;
	dpa_board_cmid_set(b, &id);
	dpa_board_close(b);
	dies_with_an_id(local);
	set_layout(DPA_BOARD_LAYOUT + 1);
	left_at(&long_ago);
	opens_beside("2");
	cr_expect_neq(access(bt_path, F_OK), 0, "not for ever");
}

/* The namespace has ended as well: the file does not stay for ever. */
Test(board_cm, the_file_goes_if_nobody_comes)
{
	const uint64_t long_ago = 1;
	uint64_t later = UINT64_MAX;

	dies_with_an_id(shared());
	left_at(&later); /* the clock was set */
	opens_beside("2");
	cr_assert_eq(access(bt_path, F_OK), 0, "it stays");
	later = left_at(&long_ago);
	cr_expect(later && later < UINT64_MAX);
	opens_beside("2");
	cr_expect_neq(access(bt_path, F_OK), 0, "it is gone");
}

/*
 * Its number belongs to another board by now: the ids are lost, but two boards do not share a
 * number.
 */
Test(board_cm, the_number_is_taken)
{
	_Atomic uint32_t *local = shared();
	struct dpa_board *b;
	uint32_t num, id;
	int fd;
	pid_t pid = bt_fork(sets_and_stays, (void *)local);

	while (!*local)
		sched_yield();
	num = *local >> 24;
	bt_kill(pid);
	cr_assert_eq(dpa_board_num_again(num, &fd), 0);
	b = bt_open();
	cr_expect_neq(b->board_num, num);
	cr_assert_eq(dpa_board_cmid_new(b, &id), 0);
	cr_expect_eq(id >> 24, b->board_num);
	dpa_board_close(b);
	close(fd);
}

/* -------------------------------------------------------------------- services */

static const struct dpa_gsi_service all = {.service_id = 0x1060001, .v4 = true, .v6 = true};
static const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1};
static const uint8_t v6[16] = {0x20, 1, [15] = 1};

static void dies_adding(void *arg)
{
	struct dpa_board *b = bt_open();
	uint32_t at;

	dpa_board_service_add(b, &all, &at);
}

Test(board_cm, services)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	struct dpa_gsi_service one = {.service_id = 0x1060001}, only6 = all;
	uint32_t at, at2, at3;
	struct dpa_board_gsi g;

	dpa_board_gsi_set(a, 5);
	dpa_board_gsi_set(b, 6);
	memcpy(one.addr, v4, 16);
	cr_expect_not(dpa_board_service_find(a, 0x1060001, v4, &g));
	cr_assert(bt_dies(dies_adding, NULL, "service-odd", 1));
	cr_expect_not(dpa_board_service_find(a, 0x1060001, v4, &g));
	cr_assert_eq(dpa_board_service_add(a, &all, &at), 0);
	cr_assert_eq(dpa_board_service_add(b, &one, &at2), 0);
	cr_assert(dpa_board_service_find(a, 0x1060001, v4, &g));
	cr_expect_eq(g.qpn, 6, "by address");
	cr_assert(dpa_board_service_find(a, 0x1060001, v6, &g));
	cr_expect_eq(g.qpn, 5);
	cr_expect_not(dpa_board_service_find(a, 0x1060002, v6, &g));
	dpa_board_service_remove(a, at2); /* does not belong to a */
	dpa_board_service_remove(a, at);
	cr_expect_not(dpa_board_service_find(a, 0x1060001, v6, &g));
	cr_assert(dpa_board_service_find(a, 0x1060001, v4, &g));
	only6.v4 = false;
	cr_assert_eq(dpa_board_service_add(a, &only6, &at3), 0);
	cr_expect_eq(at3, at, "the place is used again");
	dpa_board_close(b);
	cr_expect_not(dpa_board_service_find(a, 0x1060001, v4, &g));
	cr_expect(dpa_board_service_find(a, 0x1060001, v6, &g));
	dpa_board_close(a);
}

Test(board_cm, all_services_and_no_more)
{
	struct dpa_board *a = bt_open();
	struct dpa_gsi_service s = all;
	struct dpa_board_gsi g;
	uint32_t at;

	dpa_board_gsi_set(a, 5);
	for (uint32_t i = 0; i < DPA_BOARD_SERVICES; i++)
		cr_assert_eq(dpa_board_service_add(a, &s, &at), 0, "service %u", i);
	cr_expect_eq(dpa_board_service_add(a, &s, &at), ENOMEM);
	dpa_board_cm_end(a);
	cr_expect_not(dpa_board_service_find(a, 0x1060001, v4, &g));
	cr_assert_eq(dpa_board_service_add(a, &s, &at), 0);
	dpa_board_close(a);
}

/* ------------------------------------------------------------------- refusals */

/* The last eight, the newest first; for tools. */
Test(board_cm, refusals)
{
	struct dpa_gsi_refusal what = {.why = DPA_GSI_GOT_REJ, .reason = 8, .peer = {[15] = 9}};
	struct dpa_board *a = bt_open(), *b = bt_open();
	struct dpa_board_refused r;

	cr_expect_not(dpa_board_refused_get(a, 0, &r));
	for (uint32_t i = 1; i <= 20; i++) {
		what.service_id = i;
		dpa_board_refused(i % 2 ? a : b, &what);
		cr_assert(dpa_board_refused_get(b, 0, &r));
		cr_assert_eq(memcmp(&r.what, &what, sizeof(what)), 0);
		cr_assert_eq(r.pid, (uint32_t)getpid());
		cr_assert_leq(r.time, (uint64_t)time(NULL));
		for (uint32_t n = 0; n < 8; n++) {
			cr_assert_eq(dpa_board_refused_get(b, n, &r), n < i, "%u of %u", n, i);
			if (n < i)
				cr_assert_eq(r.what.service_id, i - n);
		}
		cr_assert_not(dpa_board_refused_get(b, 8, &r));
	}
	/* a writer died: its record is skipped, and no process waits for it */
	a->shm->head.refusals[19 % 8].seq |= 1;
	cr_expect_not(dpa_board_refused_get(b, 0, &r));
	cr_expect(dpa_board_refused_get(b, 1, &r));
	for (uint32_t i = 0; i < 8; i++)
		dpa_board_refused(a, &what);
	cr_expect_not(dpa_board_refused_get(b, 0, &r));
	cr_expect(dpa_board_refused_get(b, 1, &r));
	dpa_board_close(a);
	dpa_board_close(b);
}
