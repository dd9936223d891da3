/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* doca_pcc: objects, settings, start and stop, states, the mailbox. The work is in engine.c. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "../eu/clock.h"
#include "pcc.h"

#define WAIT_MS 1000

static bool is_port(const struct doca_devinfo *info)
{
	return info->is_dpa && !info->function;
}

doca_error_t doca_devinfo_get_is_pcc_supported(const struct doca_devinfo *devinfo)
{
	if (!dpa_live(devinfo))
		return DOCA_ERROR_INVALID_VALUE;
	return is_port(devinfo) ? DOCA_SUCCESS : DOCA_ERROR_NOT_SUPPORTED;
}

doca_error_t doca_pcc_np_cap_is_supported(const struct doca_devinfo *devinfo)
{
	return doca_devinfo_get_is_pcc_supported(devinfo);
}

static void init_locks(struct doca_pcc *p)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->call_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &attr);
	pthread_condattr_destroy(&attr);
}

static doca_error_t create_pcc(struct doca_dev *doca_dev, const struct pcc_role *role,
			       struct doca_pcc **pcc)
{
	struct doca_pcc *p;
	doca_error_t ret;

	if (!dpa_live(doca_dev) || !pcc)
		return DOCA_ERROR_INVALID_VALUE;
	if (!is_port(&doca_dev->info))
		return DOCA_ERROR_NOT_SUPPORTED;
	p = dpa_obj_new(DPA_T_PCC, sizeof(*p));
	if (!p)
		return DOCA_ERROR_NO_MEMORY;
	ret = doca_dpa_create(doca_dev, &p->dpa);
	if (ret) {
		dpa_obj_free(p);
		return ret;
	}
	p->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->news < 0) {
		doca_dpa_destroy(p->dpa);
		dpa_obj_free(p);
		return DOCA_ERROR_DRIVER;
	}
	p->role = role;
	p->probes = (struct dpa_pcc_probes){.format = DPA_PCC_CCMAD,
					    .gns = DPA_PCC_IFA2_GNS,
					    .hops = DPA_PCC_IFA2_HOPS,
					    .marker = DPA_PCC_IFA1_MARKER};
	p->dev = doca_dev;
	p->dpa->pcc = p;
	init_locks(p);
	*pcc = p;
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_create(struct doca_dev *doca_dev, struct doca_pcc **pcc)
{
	return create_pcc(doca_dev, &pcc_rp, pcc);
}

doca_error_t doca_pcc_np_create(struct doca_dev *doca_dev, struct doca_pcc **pcc)
{
	return create_pcc(doca_dev, &pcc_np, pcc);
}

/* A new list of formats in place of the old one; NULL: none. */
static void set_formats(struct doca_pcc *p, char **formats, uint32_t n)
{
	for (uint32_t i = 0; i < p->num_formats; i++)
		free(p->formats[i]);
	free(p->formats);
	p->formats = formats;
	p->num_formats = n;
}

doca_error_t doca_pcc_destroy(struct doca_pcc *pcc)
{
	if (!dpa_live(pcc))
		return DOCA_ERROR_INVALID_VALUE;
	if (pcc->started)
		doca_pcc_stop(pcc);
	pcc->dpa->pcc = NULL;
	doca_dpa_destroy(pcc->dpa);
	set_formats(pcc, NULL, 0);
	free(pcc->eus);
	free(pcc->core_file);
	close(pcc->news);
	pthread_cond_destroy(&pcc->changed);
	pthread_mutex_destroy(&pcc->call_lock);
	pthread_mutex_destroy(&pcc->lock);
	dpa_obj_free(pcc);
	return DOCA_SUCCESS;
}

/* ---------------------------------------------------------------------- settings */

/* Common to all setters. */
static doca_error_t check_pcc_may_set(const struct doca_pcc *pcc, bool good)
{
	if (!dpa_live(pcc) || !good)
		return DOCA_ERROR_INVALID_VALUE;
	return pcc->started ? DOCA_ERROR_BAD_STATE : DOCA_SUCCESS;
}

doca_error_t doca_pcc_get_min_num_threads(struct doca_pcc *pcc, uint32_t *min_num_threads)
{
	DPA_RETURN_VALUE(pcc, min_num_threads, 1);
}

doca_error_t doca_pcc_get_max_num_threads(struct doca_pcc *pcc, uint32_t *max_num_threads)
{
	DPA_RETURN_VALUE(pcc, max_num_threads, dpa_hwif_num_eus(pcc->dev->ctx));
}

doca_error_t doca_pcc_set_app(struct doca_pcc *pcc, struct doca_pcc_app *app)
{
	doca_error_t ret = check_pcc_may_set(pcc, app);

	return ret ? ret : doca_dpa_set_app(pcc->dpa, (struct doca_dpa_app *)app);
}

doca_error_t doca_pcc_set_thread_affinity(struct doca_pcc *pcc, uint32_t num_threads,
					  uint32_t *affinity_configs)
{
	doca_error_t ret = check_pcc_may_set(pcc, affinity_configs && num_threads);
	uint32_t most, *eus;

	if (ret)
		return ret;
	most = dpa_hwif_num_eus(pcc->dev->ctx);
	if (num_threads > most)
		return DOCA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < num_threads; i++)
		if (affinity_configs[i] >= most)
			return DOCA_ERROR_INVALID_VALUE;
	eus = malloc(num_threads * sizeof(*eus));
	if (!eus) /* no documented error says so */
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(eus, affinity_configs, num_threads * sizeof(*eus));
	free(pcc->eus);
	pcc->eus = eus;
	pcc->num_eus = num_threads;
	return DOCA_SUCCESS;
}

/* Conversions of a format: numbers of any width, five at most; -1: something else. */
static int count_numbers(const char *f)
{
	int n = 0;

	for (; (f = strchr(f, '%')); f++) {
		f += 1 + strspn(f + 1, "-+ #0123456789.");
		f += strspn(f, "hlzjt");
		if (*f == '%')
			continue;
		if (!*f || !strchr("diouxXc", *f))
			return -1;
		n++;
	}
	return n <= 5 ? n : -1;
}

doca_error_t doca_pcc_set_trace_message(struct doca_pcc *pcc, char **trace_message)
{
	doca_error_t ret = check_pcc_may_set(pcc, trace_message);
	uint32_t n = 0;
	char **copy;

	if (ret)
		return ret;
	for (; trace_message[n]; n++)
		if (count_numbers(trace_message[n]) < 0)
			return DOCA_ERROR_INVALID_VALUE;
	copy = calloc(n + 1, sizeof(*copy));
	for (uint32_t i = 0; copy && i < n; i++) {
		copy[i] = strdup(trace_message[i]);
		if (copy[i])
			continue;
		while (i)
			free(copy[--i]);
		free(copy);
		copy = NULL;
	}
	if (!copy)
		return DOCA_ERROR_NO_MEMORY;
	set_formats(pcc, copy, n);
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_set_print_buffer_size(struct doca_pcc *pcc, size_t buffer_size)
{
	return check_pcc_may_set(pcc, buffer_size);
}

doca_error_t doca_pcc_set_dev_coredump_file(struct doca_pcc *pcc, const char *file_name)
{
	doca_error_t ret = check_pcc_may_set(pcc, file_name && *file_name);
	char *copy;

	if (ret)
		return ret;
	copy = strdup(file_name);
	if (!copy)
		return DOCA_ERROR_NO_MEMORY;
	free(pcc->core_file);
	pcc->core_file = copy;
	pcc->dpa->log_path = copy;
	return DOCA_SUCCESS;
}

/* ----------------------------------------------------------------- start and stop */

static void free_mailbox(struct doca_pcc *pcc)
{
	free(pcc->request);
	free(pcc->response);
	pcc->request = pcc->response = NULL;
}

static doca_error_t make_mailbox(struct doca_pcc *pcc)
{
	if (!pcc->has_mailbox)
		return DOCA_SUCCESS;
	pcc->request = calloc(1, pcc->max_request + 1);
	pcc->response = calloc(1, pcc->max_response + 1);
	if (pcc->request && pcc->response)
		return DOCA_SUCCESS;
	free_mailbox(pcc);
	return DOCA_ERROR_NO_MEMORY;
}

static bool find_entries(struct doca_pcc *pcc)
{
	for (int i = 0; i < PCC_ENTRIES; i++) {
		const char *name = pcc->role->entries[i];

		pcc->entry[i] = name ? dpa_image_entry(&pcc->dpa->img, name) : NULL;
		if (name && !pcc->entry[i])
			return false;
	}
	return true;
}

static doca_error_t start_pcc_program(struct doca_pcc *pcc)
{
	int err;

	pcc->ops = dpa_hwif_pcc(pcc->dev->ctx, &pcc->port);
	if (!pcc->ops)
		return DOCA_ERROR_DRIVER;
	if (!find_entries(pcc))
		return DOCA_ERROR_NOT_SUPPORTED;
	err = pcc_engine_start(pcc);
	if (err)
		return err == ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER;
	if (pcc->stage != PCC_ERROR)
		return DOCA_SUCCESS;
	pcc_engine_stop(pcc);
	return DOCA_ERROR_DRIVER;
}

doca_error_t doca_pcc_start(struct doca_pcc *pcc)
{
	doca_error_t ret;

	if (!dpa_live(pcc) || !pcc->dpa->app)
		return DOCA_ERROR_INVALID_VALUE;
	if (pcc->started)
		return DOCA_ERROR_DRIVER;
	ret = make_mailbox(pcc);
	if (ret)
		return ret;
	ret = doca_dpa_start(pcc->dpa);
	if (!ret) {
		ret = start_pcc_program(pcc);
		if (ret)
			doca_dpa_stop(pcc->dpa);
	}
	if (ret)
		free_mailbox(pcc);
	pcc->started = !ret;
	return ret;
}

/* A forked child has none of the threads, and nothing of the port. */
doca_error_t doca_pcc_stop(struct doca_pcc *pcc)
{
	if (!dpa_live(pcc))
		return DOCA_ERROR_INVALID_VALUE;
	if (!pcc->started)
		return DOCA_ERROR_DRIVER;
	if (!dpa_ctx_foreign(pcc->dpa))
		pcc_engine_stop(pcc);
	doca_dpa_stop(pcc->dpa);
	free_mailbox(pcc);
	pcc->started = pcc->debug = false;
	return DOCA_SUCCESS;
}

/* ------------------------------------------------------------------------- states */

static doca_error_t check_pcc_started(const struct doca_pcc *pcc, bool good)
{
	if (!dpa_live(pcc) || !good)
		return DOCA_ERROR_INVALID_VALUE;
	return pcc->started && !dpa_ctx_foreign(pcc->dpa) ? DOCA_SUCCESS : DOCA_ERROR_BAD_STATE;
}

static enum pcc_stage stage_of(const struct doca_pcc *pcc)
{
	struct doca_pcc *p = (struct doca_pcc *)pcc;
	enum pcc_stage stage;

	pthread_mutex_lock(&p->lock);
	stage = p->stage;
	pthread_mutex_unlock(&p->lock);
	return stage;
}

doca_error_t doca_pcc_get_process_state(const struct doca_pcc *pcc,
					doca_pcc_process_state_t *process_state)
{
	static const doca_pcc_process_state_t states[] = {
		[PCC_STANDBY] = DOCA_PCC_PS_STANDBY,
		[PCC_ACTIVE] = DOCA_PCC_PS_ACTIVE,
		[PCC_DEACTIVATED] = DOCA_PCC_PS_DEACTIVATED,
		[PCC_ERROR] = DOCA_PCC_PS_ERROR,
	};
	doca_error_t ret = check_pcc_started(pcc, process_state);

	if (!ret)
		*process_state = states[stage_of(pcc)];
	return ret;
}

/* The lock is held: the program gives the port up. */
static void deactivate_program(struct doca_pcc *pcc)
{
	pcc->deactivate = true;
	pcc_engine_wake(pcc);
	while (pcc->stage == PCC_STANDBY || pcc->stage == PCC_ACTIVE)
		pthread_cond_wait(&pcc->changed, &pcc->lock);
}

/* Until the stage is another one, `end` (ns) has come, or a signal was handled. */
static void await_stage(struct doca_pcc *pcc, enum pcc_stage was, uint64_t end)
{
	struct pollfd p = {.fd = pcc->news, .events = POLLIN};
	eventfd_t n;

	for (;;) {
		uint64_t now = dpal_now_ns(), left = end > now ? end - now : 0;

		eventfd_read(pcc->news, &n);
		if (stage_of(pcc) != was || !left)
			return;
		/* another waiter may have drained it: so no longer than WAIT_MS at a time */
		left = left / 1000000 + 1;
		if (poll(&p, 1, left < WAIT_MS ? (int)left : WAIT_MS) < 0)
			return; /* EINTR, also where the handler is one that restarts calls */
	}
}

doca_error_t doca_pcc_wait(struct doca_pcc *pcc, int wait_time)
{
	doca_error_t ret = check_pcc_started(pcc, true);
	uint64_t end = UINT64_MAX;
	enum pcc_stage was;

	if (ret)
		return ret;
	if (wait_time >= 0)
		end = dpal_now_ns() + (uint64_t)wait_time * 1000000000;
	was = stage_of(pcc);
	if (was != PCC_STANDBY && was != PCC_ACTIVE)
		return DOCA_SUCCESS;
	await_stage(pcc, was, end);
	pthread_mutex_lock(&pcc->lock);
	if (wait_time > 0 && pcc->stage == was && dpal_now_ns() >= end)
		deactivate_program(pcc);
	pthread_mutex_unlock(&pcc->lock);
	return DOCA_SUCCESS;
}

doca_error_t doca_pcc_enable_debug(const struct doca_pcc *pcc, bool enable)
{
	doca_error_t ret = check_pcc_started(pcc, true);

	if (!ret)
		((struct doca_pcc *)pcc)->debug = enable;
	return ret;
}

/* Prints the work of each thread on the standard output, as all that a program prints. */
doca_error_t doca_pcc_dump_debug(const struct doca_pcc *pcc)
{
	doca_error_t ret = check_pcc_started(pcc, true);
	char line[160];

	if (ret)
		return ret;
	if (!pcc->debug)
		return DOCA_ERROR_BAD_STATE;
	for (uint32_t i = 0; i < pcc->num_workers; i++) {
		const struct pcc_worker *w = &pcc->workers[i];
		int n = snprintf(
			line, sizeof(line), "PCC thread %u: EU %d, events %llu, batches %llu\n", i,
			w->work.pin, (unsigned long long)w->events, (unsigned long long)w->batches);

		dpa_devlog_put_text(pcc->dpa->log, line, (uint64_t)n);
	}
	dpa_devlog_drain(pcc->dpa->log);
	return DOCA_SUCCESS;
}

/* ------------------------------------------------------------------------ mailbox */

doca_error_t doca_pcc_set_mailbox(struct doca_pcc *pcc, uint32_t max_request_size,
				  uint32_t max_response_size)
{
	doca_error_t ret = check_pcc_may_set(pcc, max_request_size || max_response_size);

	if (ret)
		return ret;
	pcc->max_request = max_request_size;
	pcc->max_response = max_response_size;
	pcc->has_mailbox = true;
	return DOCA_SUCCESS;
}

static doca_error_t get_buffer(const struct doca_pcc *pcc, void **out, bool response)
{
	doca_error_t ret = check_pcc_started(pcc, out);

	if (!ret && !pcc->has_mailbox)
		ret = DOCA_ERROR_INITIALIZATION;
	if (!ret)
		*out = response ? pcc->response : pcc->request;
	return ret;
}

doca_error_t doca_pcc_mailbox_get_request_buffer(struct doca_pcc *pcc, void **request_buffer)
{
	return get_buffer(pcc, request_buffer, false);
}

doca_error_t doca_pcc_mailbox_get_response_buffer(struct doca_pcc *pcc, void **response_buffer)
{
	return get_buffer(pcc, response_buffer, true);
}

doca_error_t doca_pcc_mailbox_send(struct doca_pcc *pcc, uint32_t request_size,
				   uint32_t *response_size, uint32_t *cb_ret_val)
{
	doca_error_t ret = check_pcc_started(pcc, response_size && cb_ret_val);
	struct dpa_pcc_mail mail;

	if (ret)
		return ret;
	if (!pcc->has_mailbox)
		return DOCA_ERROR_INITIALIZATION;
	if (request_size > pcc->max_request)
		return DOCA_ERROR_INVALID_VALUE;
	if (stage_of(pcc) != PCC_ACTIVE)
		return DOCA_ERROR_BAD_STATE;
	mail = (struct dpa_pcc_mail){.request = pcc->request,
				     .response = pcc->response,
				     .request_size = request_size,
				     .max_response = pcc->max_response};
	if (!pcc_call(pcc, PCC_MAIL, &mail) || !mail.handled)
		return DOCA_ERROR_DRIVER;
	*response_size =
		mail.response_size < pcc->max_response ? mail.response_size : pcc->max_response;
	*cb_ret_val = mail.result;
	return DOCA_SUCCESS;
}
