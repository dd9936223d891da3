/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fake_gsi.c - QP1 of a host with one process: its MADs return to it. A test can lose, duplicate,
 * hold and reorder MADs by the hook of fake_gsi.h. A forked child has its own QP1, which is empty.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <dpa_hw.h>
#include "fake_gsi.h"

struct mad {
	struct mad *next;
	struct dpa_gsi_addr from;
	uint8_t bytes[DPA_MAD_BYTES];
};

struct dpa_hw_gsi {
	dpa_gsi_fn *ready;
	void *arg;
	pthread_mutex_t lock;
	struct mad *head, **tail;
	struct mad *kept; /* the last one first */
	uint32_t next_id;
	bool left; /* `past` can be taken over */
	struct dpa_gsi_id past;
};

static struct dpa_hw_gsi the_gsi = {.lock = PTHREAD_MUTEX_INITIALIZER};
struct fake_gsi fake_gsi;

int dpa_hw_gsi_open(struct dpa_hw_ctx *ctx, dpa_gsi_fn *ready, void *arg, struct dpa_hw_gsi **gsi)
{
	the_gsi.ready = ready;
	the_gsi.arg = arg;
	pthread_mutex_init(&the_gsi.lock, NULL); /* the parent may have held it at fork() */
	the_gsi.head = NULL;
	the_gsi.tail = &the_gsi.head;
	the_gsi.kept = NULL;
	*gsi = &the_gsi;
	return 0;
}

void dpa_hw_gsi_close(struct dpa_hw_gsi *gsi)
{
}

void dpa_hw_gsi_on_need(dpa_gsi_fn *need, void *arg)
{
}

static void arrive(struct dpa_hw_gsi *gsi, struct mad *m)
{
	m->next = NULL;
	pthread_mutex_lock(&gsi->lock);
	*gsi->tail = m;
	gsi->tail = &m->next;
	pthread_mutex_unlock(&gsi->lock);
}

static void keep(struct dpa_hw_gsi *gsi, struct mad *m)
{
	pthread_mutex_lock(&gsi->lock);
	m->next = gsi->kept;
	gsi->kept = m;
	pthread_mutex_unlock(&gsi->lock);
}

static struct mad *new_mad(const struct dpa_gsi_addr *from, const uint8_t *bytes)
{
	struct mad *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	m->from = *from;
	memcpy(m->bytes, bytes, DPA_MAD_BYTES);
	return m;
}

static bool is_far(const uint8_t gid[16])
{
	return fake_gsi.far && gid[15] == fake_gsi.far && gid[12] == 127;
}

int dpa_hw_gsi_send(struct dpa_hw_gsi *gsi, const struct dpa_gsi_addr *to,
		    const uint8_t mad[DPA_MAD_BYTES])
{
	struct dpa_gsi_addr from = *to;
	int copies;

	if (fake_gsi.full)
		return ENOBUFS;
	if (fake_gsi.full_instance && mad[17] != DPA_CM_REQ % 256 &&
	    mad[DPA_MAD_HDR + 4] == fake_gsi.full_instance)
		return EAGAIN;
	copies = fake_gsi.copies ? fake_gsi.copies(mad) : 1;
	memcpy(from.sgid, to->dgid, 16);
	memcpy(from.dgid, to->sgid, 16);
	if (is_far(to->dgid))
		return 0;
	if (copies == FAKE_GSI_KEEP)
		keep(gsi, new_mad(&from, mad));
	for (int i = 0; i < copies; i++)
		arrive(gsi, new_mad(&from, mad));
	if (copies > 0)
		gsi->ready(gsi->arg);
	return 0;
}

bool dpa_hw_gsi_died(struct dpa_hw_gsi *gsi)
{
	return atomic_exchange(&fake_gsi.died, false);
}

bool fake_gsi_pending(void)
{
	bool pending;

	pthread_mutex_lock(&the_gsi.lock);
	pending = the_gsi.head;
	pthread_mutex_unlock(&the_gsi.lock);
	return pending;
}

static struct mad *reversed(struct mad *list)
{
	struct mad *out = NULL, *m;

	while ((m = list)) {
		list = m->next;
		m->next = out;
		out = m;
	}
	return out;
}

int fake_gsi_release(bool reverse)
{
	struct mad *list, *m;
	int n = 0;

	pthread_mutex_lock(&the_gsi.lock);
	list = the_gsi.kept;
	the_gsi.kept = NULL;
	pthread_mutex_unlock(&the_gsi.lock);
	if (!reverse)
		list = reversed(list);
	for (; (m = list); n++) {
		list = m->next;
		arrive(&the_gsi, m);
	}
	fake_gsi_wake();
	return n;
}

void fake_gsi_inject(const struct dpa_gsi_addr *from, const uint8_t *mad)
{
	arrive(&the_gsi, new_mad(from, mad));
	fake_gsi_wake();
}

void fake_gsi_leave(const struct dpa_gsi_id *id)
{
	pthread_mutex_lock(&the_gsi.lock);
	the_gsi.past = *id;
	the_gsi.left = true;
	fake_gsi.ids++; /* for the process that takes it over */
	pthread_mutex_unlock(&the_gsi.lock);
	fake_gsi_wake();
}

void fake_gsi_wake(void)
{
	if (the_gsi.ready)
		the_gsi.ready(the_gsi.arg);
}

bool dpa_hw_gsi_recv(struct dpa_hw_gsi *gsi, struct dpa_gsi_addr *from, uint8_t mad[DPA_MAD_BYTES])
{
	struct mad *m;

	pthread_mutex_lock(&gsi->lock);
	m = gsi->head;
	if (m) {
		gsi->head = m->next;
		if (!gsi->head)
			gsi->tail = &gsi->head;
	}
	pthread_mutex_unlock(&gsi->lock);
	if (!m)
		return false;
	*from = m->from;
	memcpy(mad, m->bytes, DPA_MAD_BYTES);
	free(m);
	return true;
}

bool dpa_hw_gsi_pass_on(struct dpa_hw_gsi *gsi, const struct dpa_gsi_addr *from,
			const uint8_t mad[DPA_MAD_BYTES])
{
	return false;
}

int dpa_hw_gsi_listen(struct dpa_hw_gsi *gsi, const struct dpa_gsi_service *s, uint32_t *handle)
{
	int err = fake_gsi.fail_listen;

	fake_gsi.fail_listen = 0;
	if (err)
		return err;
	fake_gsi.services++;
	*handle = 1;
	return 0;
}

void dpa_hw_gsi_unlisten(struct dpa_hw_gsi *gsi, uint32_t handle)
{
	fake_gsi.services--;
}

int dpa_hw_gsi_id_new(struct dpa_hw_gsi *gsi, uint32_t *local_id)
{
	int err = fake_gsi.fail_id;

	fake_gsi.fail_id = 0;
	if (err)
		return err;
	fake_gsi.ids++;
	*local_id = (uint32_t)fake_gsi.instance << 24 | ++gsi->next_id;
	return 0;
}

#define RECORDS 64u /* later ids take the places of earlier ones */
static struct dpa_gsi_id records[RECORDS];

void dpa_hw_gsi_id_set(struct dpa_hw_gsi *gsi, const struct dpa_gsi_id *id)
{
	pthread_mutex_lock(&gsi->lock);
	records[id->local_id % RECORDS] = *id;
	pthread_mutex_unlock(&gsi->lock);
}

bool fake_gsi_record(uint32_t remote_id, struct dpa_gsi_id *id)
{
	bool found = false;

	pthread_mutex_lock(&the_gsi.lock);
	for (size_t i = 0; i < RECORDS && !found; i++) {
		*id = records[i];
		found = id->local_id && id->remote_id == remote_id;
	}
	pthread_mutex_unlock(&the_gsi.lock);
	return found;
}

void dpa_hw_gsi_id_free(struct dpa_hw_gsi *gsi, uint32_t local_id)
{
	fake_gsi.ids--;
}

void dpa_hw_gsi_take_in(struct dpa_hw_gsi *gsi)
{
}

bool dpa_hw_gsi_unread(struct dpa_hw_gsi *gsi, uint32_t qpn)
{
	(void)gsi;
	return qpn && qpn == fake_gsi.unread;
}

bool dpa_hw_gsi_orphan(struct dpa_hw_gsi *gsi, struct dpa_gsi_id *id)
{
	bool left;

	pthread_mutex_lock(&gsi->lock);
	left = gsi->left;
	gsi->left = false;
	*id = gsi->past;
	pthread_mutex_unlock(&gsi->lock);
	return left;
}

/* 127.0.0.0/8 and ::1 are local, at GID index 0. */
int dpa_hw_route(struct dpa_hw_ctx *ctx, const uint8_t sgid[16], const uint8_t dgid[16],
		 struct dpa_hw_route *r)
{
	static const uint8_t mapped[13] = {[10] = 0xff, [11] = 0xff, [12] = 127};
	static const uint8_t one[16] = {[15] = 1};
	int err = fake_gsi.fail_route;

	fake_gsi.fail_route = 0;
	if (err)
		return err;
	if (is_far(sgid) ||
	    (memcmp(sgid, mapped, sizeof(mapped)) && memcmp(sgid, one, sizeof(one)) &&
	     memcmp(sgid, fake_gsi.gid, sizeof(fake_gsi.gid))))
		return EADDRNOTAVAIL;
	if (fake_gsi.no_index && sgid[15] == fake_gsi.no_index)
		return ENODEV;
	*r = (struct dpa_hw_route){.mtu = 5, .local = true, .ifindex = 1};
	return 0;
}

bool dpa_hw_gsi_there(struct dpa_hw_gsi *gsi, uint32_t id)
{
	return !fake_gsi.board_gone;
}

int dpa_hw_neighbour(struct dpa_hw_ctx *ctx, const uint8_t sgid[16], const uint8_t dgid[16])
{
	return is_far(dgid) && fake_gsi.silent ? EAGAIN : 0;
}

/* One answer waits at a time: that to the last packet. */
static _Atomic uint64_t answer;

int dpa_hw_gsi_probe(struct dpa_hw_gsi *gsi, const struct dpa_gsi_addr *to, uint64_t tid)
{
	struct dpa_hw_route r;

	if (!dpa_hw_route(NULL, to->dgid, to->dgid, &r))
		abort(); /* this host needs no packet */
	fake_gsi.probes++;
	if (fake_gsi.refuses && is_far(to->dgid))
		answer = fake_gsi.forged ? tid ^ 2 : tid;
	return 0;
}

bool dpa_hw_gsi_refused(struct dpa_hw_gsi *gsi, uint8_t dgid[16], uint64_t *tid)
{
	const uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = fake_gsi.far};

	*tid = atomic_exchange(&answer, 0);
	memcpy(dgid, gid, sizeof(gid));
	return *tid;
}

void dpa_hw_gsi_note(struct dpa_hw_gsi *gsi, const struct dpa_gsi_refusal *r)
{
	pthread_mutex_lock(&gsi->lock);
	fake_gsi.noted = *r;
	fake_gsi.notes++;
	pthread_mutex_unlock(&gsi->lock);
}
