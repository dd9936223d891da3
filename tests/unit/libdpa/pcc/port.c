/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include "port.h"

#define RINGS	4
#define EVENTS	4096
#define ANSWERS 256

struct dpa_pcc_image {
	enum dpa_pcc_role role;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
	struct dpa_pcc_image image;
	bool loaded, occupied, published, woken;
	int fail_load;
	struct dpa_pcc_slot slots[DPA_PCC_USER_SLOTS];
	uint32_t populated, enabled, disabled;
	uint32_t counters[DPA_PCC_USER_SLOTS][64], params[DPA_PCC_USER_SLOTS][64];
	struct dpa_pcc_report events[RINGS][EVENTS];
	uint32_t head[RINGS], tail[RINGS];
	uint64_t pending;
	struct dpa_pcc_probes probes;
	struct dpa_pcc_probe probe[RINGS];
	bool has_probe[RINGS];
	enum { NO_ANSWER, REFUSED, ANSWERED } answered_probe[RINGS];
	struct dpa_pcc_reply np_answer[RINGS];
	struct {
		uint32_t flow, n, words[DPA_PCC_HEADER];
		uint8_t dscp;
		int fail;
	} custom;
	struct {
		uint32_t flow, rate;
		bool probe;
	} answer[ANSWERS];
	uint32_t nanswers, total;
	bool asked, answered;
	uint32_t slot, id, value;
	int err;
} p;

static int load(void *port, enum dpa_pcc_role role, struct dpa_pcc_image **image,
		enum dpa_pcc_state *state)
{
	int err = p.fail_load;

	p.fail_load = 0;
	if (err)
		return err;
	if (p.loaded)
		return EALREADY;
	p.loaded = true;
	p.image.role = role;
	*image = &p.image;
	*state = p.occupied ? DPA_PCC_STANDBY : DPA_PCC_ACTIVE;
	return 0;
}

static void unload(struct dpa_pcc_image *image)
{
	pthread_mutex_lock(&lock);
	p.loaded = p.published = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static enum dpa_pcc_state take_over(struct dpa_pcc_image *image)
{
	enum dpa_pcc_state s;

	pthread_mutex_lock(&lock);
	s = p.occupied ? DPA_PCC_STANDBY : DPA_PCC_ACTIVE;
	pthread_mutex_unlock(&lock);
	return s;
}

static int publish(struct dpa_pcc_image *image, const struct dpa_pcc_slot *slots,
		   uint32_t populated, uint32_t enabled, uint32_t disabled,
		   const struct dpa_pcc_probes *probes, struct dpa_pcc_words *words)
{
	pthread_mutex_lock(&lock);
	p.probes = *probes;
	memcpy(p.slots, slots, sizeof(p.slots));
	p.populated = populated;
	p.enabled = enabled;
	p.disabled = disabled;
	for (uint32_t i = 0; i < DPA_PCC_USER_SLOTS; i++) {
		words->counters[i] = p.counters[i];
		words->params[i] = p.params[i];
		for (uint32_t k = 0; k < slots[i].nparams; k++)
			p.params[i][k] = slots[i].params[k].value;
	}
	p.published = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return 0;
}

static bool pending(struct dpa_pcc_image *image, uint64_t rings[DPA_PCC_RINGS / 64])
{
	bool any;

	pthread_mutex_lock(&lock);
	memset(rings, 0, DPA_PCC_RINGS / 8);
	any = p.pending;
	rings[0] = p.pending;
	p.pending = 0;
	pthread_mutex_unlock(&lock);
	return any;
}

static uint32_t take(struct dpa_pcc_image *image, uint32_t ring, struct dpa_pcc_report *out,
		     uint32_t n)
{
	uint32_t got = 0;

	pthread_mutex_lock(&lock);
	while (got < n && p.head[ring] != p.tail[ring])
		out[got++] = p.events[ring][p.head[ring]++ % EVENTS];
	pthread_mutex_unlock(&lock);
	return got;
}

static void answer(struct dpa_pcc_image *image, uint32_t flow, uint32_t rate, bool probe)
{
	uint32_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < p.nanswers && p.answer[i].flow != flow)
		i++;
	if (i < ANSWERS) {
		p.answer[i].flow = flow;
		p.answer[i].rate = rate;
		p.answer[i].probe = probe;
		p.nanswers = i >= p.nanswers ? i + 1 : p.nanswers;
	}
	p.total++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* The lock is held. */
static int custom_of(uint32_t flow)
{
	int err = p.custom.fail;

	p.custom.fail = 0;
	if (!err)
		p.custom.flow = flow;
	return err;
}

static int set_header(struct dpa_pcc_image *image, uint32_t flow, const uint32_t *words, uint32_t n)
{
	int err;

	pthread_mutex_lock(&lock);
	err = custom_of(flow);
	if (!err) {
		cr_assert_leq(n, DPA_PCC_HEADER);
		p.custom.n = n;
		memcpy(p.custom.words, words, n * sizeof(*words));
	}
	pthread_mutex_unlock(&lock);
	return err;
}

static int set_dscp(struct dpa_pcc_image *image, uint32_t flow, uint8_t dscp)
{
	int err;

	pthread_mutex_lock(&lock);
	err = custom_of(flow);
	if (!err)
		p.custom.dscp = dscp;
	pthread_mutex_unlock(&lock);
	return err;
}

static int publish_np(struct dpa_pcc_image *image, const struct dpa_pcc_probes *probes)
{
	pthread_mutex_lock(&lock);
	cr_assert_eq(image->role, DPA_PCC_NP);
	p.probes = *probes;
	p.published = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return 0;
}

static bool take_probe(struct dpa_pcc_image *image, uint32_t ring, struct dpa_pcc_probe *out)
{
	bool any;

	pthread_mutex_lock(&lock);
	any = ring < RINGS && p.has_probe[ring];
	if (any)
		*out = p.probe[ring];
	p.has_probe[ring % RINGS] = any ? false : p.has_probe[ring % RINGS];
	pthread_mutex_unlock(&lock);
	return any;
}

static void answer_probe(struct dpa_pcc_image *image, const struct dpa_pcc_probe *probe,
			 const struct dpa_pcc_reply *a)
{
	pthread_mutex_lock(&lock);
	cr_assert_lt(probe->ring, RINGS);
	p.answered_probe[probe->ring] = a ? ANSWERED : REFUSED;
	if (a)
		p.np_answer[probe->ring] = *a;
	p.total++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_for_news(struct dpa_pcc_image *image, uint32_t ms)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 1; /* a lost wake-up makes the test slow, never wrong */
	pthread_mutex_lock(&lock);
	if (!p.pending && !(p.asked && !p.answered) && !p.woken)
		pthread_cond_timedwait(&changed, &lock, &end);
	p.woken = false;
	pthread_mutex_unlock(&lock);
}

static void wake(struct dpa_pcc_image *image)
{
	pthread_mutex_lock(&lock);
	p.woken = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static bool next_param(struct dpa_pcc_image *image, uint32_t *slot, uint32_t *id, uint32_t *value)
{
	bool any;

	pthread_mutex_lock(&lock);
	any = p.asked && !p.answered;
	*slot = p.slot;
	*id = p.id;
	*value = p.value;
	pthread_mutex_unlock(&lock);
	return any;
}

static void answer_param(struct dpa_pcc_image *image, int err)
{
	pthread_mutex_lock(&lock);
	p.err = err;
	p.answered = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void port_bytes(void *port, uint64_t *tx, uint64_t *rx)
{
	*tx = 1000;
	*rx = 2000;
}

static const struct dpa_pcc_ops ops = {.answer = answer,
				       .answer_param = answer_param,
				       .answer_probe = answer_probe,
				       .load = load,
				       .next_param = next_param,
				       .pending = pending,
				       .port_bytes = port_bytes,
				       .publish = publish,
				       .publish_np = publish_np,
				       .set_dscp = set_dscp,
				       .set_header = set_header,
				       .take = take,
				       .take_over = take_over,
				       .take_probe = take_probe,
				       .unload = unload,
				       .wait = wait_for_news,
				       .wake = wake};

void port_reset(void)
{
	memset(&p, 0, sizeof(p));
	fake_set_pcc(&ops, &p);
}

void port_occupy(bool occupied)
{
	pthread_mutex_lock(&lock);
	p.occupied = occupied;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void port_fail_load(int err)
{
	p.fail_load = err;
}

void port_report(uint32_t ring, const struct dpa_pcc_report *r)
{
	pthread_mutex_lock(&lock);
	cr_assert_lt(p.tail[ring] - p.head[ring], EVENTS);
	p.events[ring][p.tail[ring]++ % EVENTS] = *r;
	p.pending |= UINT64_C(1) << ring;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void port_await(uint32_t n)
{
	pthread_mutex_lock(&lock);
	while (p.total < n)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

bool port_answer(uint32_t flow, uint32_t *rate, bool *probe)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < p.nanswers && !found; i++)
		if (p.answer[i].flow == flow) {
			*rate = p.answer[i].rate;
			*probe = p.answer[i].probe;
			found = true;
		}
	pthread_mutex_unlock(&lock);
	return found;
}

uint32_t port_answers(void)
{
	return p.total;
}

const struct dpa_pcc_slot *port_slots(uint32_t *populated, uint32_t *enabled, uint32_t *disabled)
{
	*populated = p.populated;
	*enabled = p.enabled;
	*disabled = p.disabled;
	return p.published ? p.slots : NULL;
}

uint32_t *port_counters(uint32_t slot)
{
	return p.counters[slot];
}

uint32_t *port_params(uint32_t slot)
{
	return p.params[slot];
}

int port_set_param(uint32_t slot, uint32_t id, uint32_t value)
{
	int err;

	pthread_mutex_lock(&lock);
	p.slot = slot;
	p.id = id;
	p.value = value;
	p.answered = false;
	p.asked = true;
	pthread_cond_broadcast(&changed);
	while (!p.answered)
		pthread_cond_wait(&changed, &lock);
	p.asked = false;
	err = p.err;
	pthread_mutex_unlock(&lock);
	return err;
}

void port_probe(uint32_t ring, const struct dpa_pcc_probe *probe)
{
	pthread_mutex_lock(&lock);
	p.probe[ring] = *probe;
	p.probe[ring].ring = ring;
	p.has_probe[ring] = true;
	p.answered_probe[ring] = NO_ANSWER;
	p.pending |= UINT64_C(1) << ring;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

bool port_np_answer(uint32_t ring, uint8_t answer[DPA_PCC_ANSWER])
{
	bool good;

	pthread_mutex_lock(&lock);
	cr_assert_neq(p.answered_probe[ring], NO_ANSWER);
	good = p.answered_probe[ring] == ANSWERED;
	memcpy(answer, p.np_answer[ring].data, DPA_PCC_ANSWER);
	pthread_mutex_unlock(&lock);
	return good;
}

uint8_t port_np_dscp(uint32_t ring)
{
	return p.np_answer[ring].dscp;
}

void port_fail_custom(int err)
{
	pthread_mutex_lock(&lock);
	p.custom.fail = err;
	pthread_mutex_unlock(&lock);
}

uint32_t port_custom(uint32_t *flow, uint32_t words[DPA_PCC_HEADER], uint8_t *dscp)
{
	uint32_t n;

	pthread_mutex_lock(&lock);
	*flow = p.custom.flow;
	*dscp = p.custom.dscp;
	n = p.custom.n;
	memcpy(words, p.custom.words, sizeof(p.custom.words));
	pthread_mutex_unlock(&lock);
	return n;
}

bool port_probes(struct dpa_pcc_probes *probes)
{
	*probes = p.probes;
	return p.published;
}
