/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sync_event.c - sync events: creation, publishers and subscribers. */
#include <stdlib.h>
#include "../common/buf/buf.h"
#include "../host/libdpa.h"
#include "../run/inject.h"
#include "sync_event.h"
#include <doca_sync_event.h>

static _Atomic uint32_t num_events; /* events of the process */

static uint32_t state_of(const struct doca_sync_event *se)
{
	return atomic_load_explicit(&se->state, memory_order_acquire);
}

static bool side_has(const struct dpa_se_side *s, const struct doca_dpa *dpa)
{
	for (uint32_t i = 0; i < s->num_dpas; i++)
		if (s->dpas[i] == dpa)
			return true;
	return false;
}

bool dpa_se_usable(const struct doca_sync_event *se, const struct doca_dpa *dpa,
		   enum dpa_se_role role)
{
	if (!dpa_live(se) || state_of(se) != DPA_SE_STARTED)
		return false;
	return side_has(role == DPA_SE_PUBLISHER ? &se->pub : &se->sub, dpa);
}

void dpa_se_hold(struct doca_sync_event *se)
{
	atomic_fetch_add_explicit(&se->refs, 1, memory_order_relaxed);
}

void dpa_se_release(struct doca_sync_event *se)
{
	if (atomic_fetch_sub_explicit(&se->refs, 1, memory_order_acq_rel) > 1)
		return;
	dpa_se_unshare(se);
	free(se->pci_blob);
	dpa_obj_free(se);
}

uint64_t dpa_se_read(const struct doca_sync_event *se)
{
	if (state_of(se) != DPA_SE_STARTED)
		return 0; /* stopped while a kernel uses it: the user's word may be gone */
	return atomic_load_explicit(se->word, memory_order_acquire);
}

uint64_t dpa_se_add(struct doca_sync_event *se, uint64_t n)
{
	uint64_t before, ns;

	if (state_of(se) != DPA_SE_STARTED)
		return 0;
	if (dpa_injected(DPA_HW_INJECT_SYNC, &ns)) /* the caller sees that it was done */
		return dpa_se_read(se);
	before = atomic_fetch_add_explicit(se->word, n, memory_order_seq_cst);
	dpa_se_changed(se);
	return before;
}

void dpa_se_set(struct doca_sync_event *se, uint64_t value)
{
	uint64_t ns;

	if (state_of(se) != DPA_SE_STARTED || dpa_injected(DPA_HW_INJECT_SYNC, &ns))
		return;
	atomic_store_explicit(se->word, value, memory_order_seq_cst);
	dpa_se_changed(se);
}

/* -------------------------------------------------------------- host's calls */

doca_error_t doca_sync_event_create(struct doca_sync_event **event)
{
	struct doca_sync_event *se;

	if (!event)
		return DOCA_ERROR_INVALID_VALUE;
	se = dpa_obj_new(DPA_T_SYNC_EVENT, sizeof(*se));
	if (!se)
		return DOCA_ERROR_NO_MEMORY;
	se->word = &se->own;
	atomic_init(&se->refs, 1);
	dpa_se_ctx_init(se);
	atomic_fetch_add(&num_events, 1);
	*event = se;
	return DOCA_SUCCESS;
}

static void drop_side(struct dpa_se_side *s)
{
	for (uint32_t i = 0; i < s->num_dpas; i++)
		dpa_ctx_release(s->dpas[i]);
	if (s->dev)
		dpa_dev_use(s->dev, -1);
}

static void stop_event(struct doca_sync_event *se, enum dpa_se_state to)
{
	atomic_store_explicit(&se->state, to, memory_order_release);
	dpa_se_export_drop(&se->exports);
	dpa_se_watch_stop(se);
	dpa_se_unregister(se);
}

static void drop_buf(struct doca_sync_event *se)
{
	if (se->buf)
		doca_buf_dec_refcount(se->buf, NULL);
	se->buf = NULL;
}

doca_error_t doca_sync_event_destroy(struct doca_sync_event *event)
{
	if (!dpa_live(event) || dpa_core_fini(&event->ctx))
		return DOCA_ERROR_INVALID_VALUE;
	dpa_obj_remove(event, DPA_T_SYNC_EVENT);
	stop_event(event, DPA_SE_DEAD);
	drop_side(&event->pub);
	drop_side(&event->sub);
	drop_buf(event);
	dpa_se_release(event);
	if (atomic_fetch_sub(&num_events, 1) == 1)
		dpa_se_watch_rest();
	return DOCA_SUCCESS;
}

static doca_error_t add_side(struct doca_sync_event *se, struct dpa_se_side *s, uint32_t where)
{
	if (state_of(se) != DPA_SE_IDLE || se->imported)
		return DOCA_ERROR_INVALID_VALUE;
	s->where |= where;
	return DOCA_SUCCESS;
}

/* Add the CPU. The first device is used: progress is driven on it while the CPU waits. */
static doca_error_t add_cpu(struct doca_sync_event *se, struct dpa_se_side *s, struct doca_dev *dev)
{
	doca_error_t ret =
		dpa_live(dev) ? add_side(se, s, DPA_SE_LOC_CPU) : DOCA_ERROR_INVALID_VALUE;

	if (!ret && !s->dev) {
		dpa_dev_use(dev, 1);
		s->dev = dev;
	}
	return ret;
}

static doca_error_t add_dpa(struct doca_sync_event *se, struct dpa_se_side *s, struct doca_dpa *dpa)
{
	doca_error_t ret;

	if (!dpa_live(dpa) || (s->num_dpas == DPA_SE_MAX_DPA && !side_has(s, dpa)))
		return DOCA_ERROR_INVALID_VALUE;
	ret = add_side(se, s, DPA_SE_LOC_DPA);
	if (!ret && !side_has(s, dpa)) {
		dpa_ctx_hold(dpa);
		s->dpas[s->num_dpas++] = dpa;
	}
	return ret;
}

doca_error_t doca_sync_event_add_publisher_location_cpu(struct doca_sync_event *event,
							struct doca_dev *dev)
{
	return dpa_live(event) ? add_cpu(event, &event->pub, dev) : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_sync_event_add_publisher_location_dpa(struct doca_sync_event *event,
							struct doca_dpa *dpa)
{
	return dpa_live(event) ? add_dpa(event, &event->pub, dpa) : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_sync_event_add_publisher_location_remote_net(struct doca_sync_event *event)
{
	return dpa_live(event) ? add_side(event, &event->pub, DPA_SE_LOC_NET)
			       : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_sync_event_add_subscriber_location_cpu(struct doca_sync_event *event,
							 struct doca_dev *dev)
{
	return dpa_live(event) ? add_cpu(event, &event->sub, dev) : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_sync_event_add_subscriber_location_dpa(struct doca_sync_event *event,
							 struct doca_dpa *dpa)
{
	return dpa_live(event) ? add_dpa(event, &event->sub, dpa) : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_sync_event_add_publisher_location_remote_pci(struct doca_sync_event *event)
{
	return dpa_live(event) ? add_side(event, &event->pub, DPA_SE_LOC_PCI)
			       : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_sync_event_add_subscriber_location_remote_pci(struct doca_sync_event *event)
{
	return dpa_live(event) ? add_side(event, &event->sub, DPA_SE_LOC_PCI)
			       : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_sync_event_set_addr(struct doca_sync_event *event, uint64_t *addr)
{
	if (!dpa_live(event) || !addr || (uintptr_t)addr % sizeof(*addr))
		return DOCA_ERROR_INVALID_VALUE;
	if (state_of(event) != DPA_SE_IDLE)
		return DOCA_ERROR_BAD_STATE;
	if (event->imported)
		return DOCA_ERROR_NOT_SUPPORTED;
	drop_buf(event);
	event->word = (_Atomic uint64_t *)addr;
	return DOCA_SUCCESS;
}

/* Return whether peers may access the word in any way, by one key, and the CPU as well. */
static bool buf_is_a_word(const struct doca_buf *buf)
{
	const uint32_t all = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |
			     DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC;

	return (dpa_mmap_local_access(buf->mmap) & all) == all &&
	       buf->data_len == sizeof(uint64_t) && !((uintptr_t)buf->data % sizeof(uint64_t));
}

doca_error_t doca_sync_event_set_doca_buf(struct doca_sync_event *event, struct doca_buf *buf)
{
	if (!dpa_live(event) || !dpa_buf_live(buf))
		return DOCA_ERROR_INVALID_VALUE;
	if (state_of(event) != DPA_SE_IDLE)
		return DOCA_ERROR_BAD_STATE;
	if (event->imported || !buf_is_a_word(buf) || doca_buf_inc_refcount(buf, NULL))
		return DOCA_ERROR_NOT_PERMITTED;
	drop_buf(event);
	event->buf = buf;
	event->word = (_Atomic uint64_t *)(void *)buf->data;
	return DOCA_SUCCESS;
}

doca_error_t dpa_se_start(struct doca_sync_event *se)
{
	doca_error_t ret;

	if (state_of(se) != DPA_SE_IDLE || !se->pub.where || !se->sub.where)
		return DOCA_ERROR_INVALID_VALUE;
	ret = dpa_se_share(se);
	if (ret)
		return ret;
	se->polled = se->word != &se->own ||
		     se->pub.where & ~(uint32_t)(DPA_SE_LOC_CPU | DPA_SE_LOC_DPA);
	dpa_inject_begin();
	atomic_store_explicit(&se->state, DPA_SE_STARTED, memory_order_release);
	return DOCA_SUCCESS;
}

void dpa_se_stop(struct doca_sync_event *se)
{
	stop_event(se, DPA_SE_IDLE);
}

doca_error_t doca_sync_event_start(struct doca_sync_event *event)
{
	return dpa_live(event) && !event->is_ctx ? dpa_se_start(event) : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_sync_event_stop(struct doca_sync_event *event)
{
	if (!dpa_live(event) || event->is_ctx || state_of(event) != DPA_SE_STARTED)
		return DOCA_ERROR_INVALID_VALUE;
	dpa_se_stop(event);
	return DOCA_SUCCESS;
}

doca_error_t doca_sync_event_get_dpa_handle(struct doca_sync_event *event, struct doca_dpa *dpa,
					    doca_dpa_dev_sync_event_t *dpa_dev_se_handle)
{
	if (!dpa_live(event) || !dpa_live(dpa) || !dpa_dev_se_handle ||
	    state_of(event) != DPA_SE_STARTED)
		return DOCA_ERROR_INVALID_VALUE;
	if (!side_has(&event->pub, dpa) && !side_has(&event->sub, dpa))
		return DOCA_ERROR_NOT_SUPPORTED;
	if (!dpa_ctx_usable(dpa))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_se_export_handle(&event->exports, dpa, DPA_H_SYNC_EVENT, event, dpa_dev_se_handle))
		return DOCA_ERROR_NO_MEMORY;
	return DOCA_SUCCESS;
}
