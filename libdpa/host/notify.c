/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* notify.c - notification completions: device code activates a thread without a completion. */
#include "libdpa.h"

doca_error_t
doca_dpa_notification_completion_create(struct doca_dpa *dpa, struct doca_dpa_thread *dpa_thread,
					struct doca_dpa_notification_completion **notify_comp)
{
	struct doca_dpa_notification_completion *n;

	if (!dpa_live(dpa) || !dpa_live(dpa_thread) || !notify_comp || dpa_thread->dpa != dpa)
		return DOCA_ERROR_INVALID_VALUE;
	n = dpa_obj_new(DPA_T_NOTIFICATION, sizeof(*n));
	if (!n)
		return DOCA_ERROR_NO_MEMORY;
	n->dpa = dpa;
	n->thread = dpa_thread;
	dpa_thread_hold(dpa_thread);
	dpa->notifications++;
	*notify_comp = n;
	return DOCA_SUCCESS;
}

static void halt_notify(struct doca_dpa_notification_completion *n)
{
	if (!n->started)
		return;
	dpa_handle_drop(&n->dpa->handles, &n->obj);
	dpa_pool_quiesce();
	n->started = false;
}

doca_error_t
doca_dpa_notification_completion_destroy(struct doca_dpa_notification_completion *notify_comp)
{
	struct doca_dpa *dpa;
	doca_error_t ret;

	if (!dpa_live(notify_comp))
		return DOCA_ERROR_INVALID_VALUE;
	dpa = notify_comp->dpa;
	ret = dpa->state == DPA_DEAD ? DOCA_ERROR_BAD_STATE : DOCA_SUCCESS;
	halt_notify(notify_comp);
	dpa_thread_release(notify_comp->thread);
	dpa_obj_free(notify_comp);
	dpa->notifications--;
	dpa_ctx_put(dpa);
	return ret;
}

doca_error_t
doca_dpa_notification_completion_get_thread(struct doca_dpa_notification_completion *notify_comp,
					    struct doca_dpa_thread **dpa_thread)
{
	DPA_RETURN_VALUE(notify_comp, dpa_thread, notify_comp->thread);
}

doca_error_t
doca_dpa_notification_completion_start(struct doca_dpa_notification_completion *notify_comp)
{
	struct doca_dpa_notification_completion *n = notify_comp;

	if (!dpa_live(n))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(n->dpa) || n->started || !n->thread->started)
		return DOCA_ERROR_BAD_STATE;
	if (!dpa_handle_new(&n->dpa->handles, DPA_H_NOTIFICATION, &n->obj))
		return DOCA_ERROR_DRIVER;
	n->started = true;
	return DOCA_SUCCESS;
}

doca_error_t
doca_dpa_notification_completion_stop(struct doca_dpa_notification_completion *notify_comp)
{
	if (!dpa_live(notify_comp))
		return DOCA_ERROR_INVALID_VALUE;
	if (notify_comp->dpa->state == DPA_DEAD || !notify_comp->started)
		return DOCA_ERROR_BAD_STATE;
	halt_notify(notify_comp);
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_notification_completion_get_dpa_handle(
	struct doca_dpa_notification_completion *notify_comp,
	doca_dpa_dev_notification_completion_t *handle)
{
	if (!dpa_live(notify_comp) || !handle)
		return DOCA_ERROR_INVALID_VALUE;
	if (notify_comp->dpa->state == DPA_DEAD || !notify_comp->started)
		return DOCA_ERROR_BAD_STATE;
	*handle = notify_comp->obj.handle;
	return DOCA_SUCCESS;
}
