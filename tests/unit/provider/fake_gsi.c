/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * QP1 of a host with one process: what is sent comes back to it. A test can lose and keep MADs by
 * the hook of fake_gsi.h.
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
	uint32_t next_id;
};

static struct dpa_hw_gsi the_gsi = {.lock = PTHREAD_MUTEX_INITIALIZER};
struct fake_gsi fake_gsi;

int dpa_hw_gsi_open(struct dpa_hw_ctx *ctx, dpa_gsi_fn *ready, void *arg, struct dpa_hw_gsi **gsi)
{
	the_gsi.ready = ready;
	the_gsi.arg = arg;
	the_gsi.tail = &the_gsi.head;
	*gsi = &the_gsi;
	return 0;
}

void dpa_hw_gsi_close(struct dpa_hw_gsi *gsi)
{
}

void dpa_hw_gsi_on_need(dpa_gsi_fn *need, void *arg)
{
}

int dpa_hw_gsi_send(struct dpa_hw_gsi *gsi, const struct dpa_gsi_addr *to,
		    const uint8_t mad[DPA_MAD_BYTES])
{
	int copies = fake_gsi.copies ? fake_gsi.copies(mad) : 1;

	for (int i = 0; i < copies; i++) {
		struct mad *m = calloc(1, sizeof(*m));

		if (!m)
			return ENOBUFS;
		m->from = *to;
		memcpy(m->from.sgid, to->dgid, 16);
		memcpy(m->from.dgid, to->sgid, 16);
		memcpy(m->bytes, mad, DPA_MAD_BYTES);
		pthread_mutex_lock(&gsi->lock);
		*gsi->tail = m;
		gsi->tail = &m->next;
		pthread_mutex_unlock(&gsi->lock);
	}
	gsi->ready(gsi->arg);
	return 0;
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
	fake_gsi.ids++;
	*local_id = ++gsi->next_id;
	return 0;
}

void dpa_hw_gsi_id_set(struct dpa_hw_gsi *gsi, const struct dpa_gsi_id *id)
{
}

void dpa_hw_gsi_id_free(struct dpa_hw_gsi *gsi, uint32_t local_id)
{
	fake_gsi.ids--;
}

bool dpa_hw_gsi_orphan(struct dpa_hw_gsi *gsi, struct dpa_gsi_id *id)
{
	return false;
}

/* 127.0.0.0/8 and ::1 are here, at GID index 0. */
int dpa_hw_route(struct dpa_hw_ctx *ctx, const uint8_t sgid[16], const uint8_t dgid[16],
		 struct dpa_hw_route *r)
{
	static const uint8_t mapped[13] = {[10] = 0xff, [11] = 0xff, [12] = 127};
	static const uint8_t one[16] = {[15] = 1};

	if (memcmp(sgid, mapped, sizeof(mapped)) && memcmp(sgid, one, sizeof(one)))
		return EADDRNOTAVAIL;
	*r = (struct dpa_hw_route){.mtu = 5, .local = true, .ifindex = 1};
	return 0;
}
