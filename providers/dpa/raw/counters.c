/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * counters.c - counters of flow rules. The device counts the matches of each rule. A counters
 * object has points: each has the rule, the kind of its count (packets or bytes) and the index to
 * which it is added.
 */
#include <stdlib.h>
#include <string.h>
#include "dpa.h"

enum point_kind {
	POINT_SET,  /* for rules that are created later */
	POINT_LIVE, /* counts, starting at `base` */
	POINT_GONE, /* `base` is its final count */
};

struct point {
	enum point_kind kind;
	enum ibv_counter_description what;
	uint32_t index;
	struct dpa_flow *flow;
	uint64_t base;
};

#define MAX_POINTS 1024

struct dpa_counters {
	struct verbs_counters vc;
	/* protects the following, and the `counters` member of the rules in it */
	pthread_mutex_t lock;
	uint32_t n, room;
	struct point *points;
};

static struct dpa_counters *to_dpa_counters(struct ibv_counters *c)
{
	return (struct dpa_counters *)c;
}

struct ibv_counters *dpa_create_counters(struct ibv_context *context,
					 struct ibv_counters_init_attr *attr)
{
	struct dpa_counters *c;

	if (!dpa_alive(context))
		return dpa_null(EIO);
	if (attr->comp_mask)
		return dpa_null(EINVAL);
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->vc.counters.context = context;
	pthread_mutex_init(&c->lock, NULL);
	return &c->vc.counters;
}

int dpa_destroy_counters(struct ibv_counters *counters)
{
	struct dpa_counters *c = to_dpa_counters(counters);
	bool live = false;

	if (dpa_alive(counters->context)) {
		pthread_mutex_lock(&c->lock);
		for (uint32_t i = 0; i < c->n; i++)
			live |= c->points[i].kind == POINT_LIVE;
		pthread_mutex_unlock(&c->lock);
		if (live)
			return EBUSY;
		pthread_mutex_destroy(&c->lock);
	}
	free(c->points);
	free(c);
	return 0;
}

/* ------------------------------------------------------------ under the lock */

static int read_flow(const struct dpa_flow *flow, enum ibv_counter_description what, uint64_t *v)
{
	uint64_t packets, bytes;
	int ret = dpa_hw_flow_counts(flow->hw_qp, flow->flow.handle, &packets, &bytes);

	*v = what == IBV_COUNTER_PACKETS ? packets : bytes;
	return ret;
}

static int add_point(struct dpa_counters *c, const struct point *p)
{
	if (c->n == MAX_POINTS)
		return ENOMEM;
	if (c->n == c->room) {
		uint32_t room = c->room ? 2 * c->room : 8;
		struct point *more = realloc(c->points, room * sizeof(*more));

		if (!more)
			return ENOMEM;
		c->points = more;
		c->room = room;
	}
	c->points[c->n++] = *p;
	return 0;
}

/* ------------------------------------------------------------------- attach */

/*
 * man ibv_attach_counters_point_flow: without a rule it applies to rules that name the object
 * later.
 */
int dpa_attach_counters_point_flow(struct ibv_counters *counters,
				   struct ibv_counter_attach_attr *attr, struct ibv_flow *ibflow)
{
	struct dpa_counters *c = to_dpa_counters(counters);
	struct dpa_flow *flow = (struct dpa_flow *)ibflow;
	struct point p = {.kind = flow ? POINT_LIVE : POINT_SET,
			  .what = attr->counter_desc,
			  .index = attr->index,
			  .flow = flow};
	int ret = 0;

	if (!dpa_alive(counters->context))
		return EIO;
	if (attr->comp_mask || attr->index >= MAX_POINTS ||
	    (attr->counter_desc != IBV_COUNTER_PACKETS &&
	     attr->counter_desc != IBV_COUNTER_BYTES) ||
	    (ibflow && ibflow->context != counters->context))
		return EINVAL;
	pthread_mutex_lock(&c->lock);
	if (flow && flow->counters && flow->counters != c)
		ret = EBUSY;
	if (!ret && flow)
		ret = read_flow(flow, p.what, &p.base);
	if (!ret)
		ret = add_point(c, &p);
	if (!ret && flow)
		flow->counters = c;
	pthread_mutex_unlock(&c->lock);
	return ret;
}

int dpa_counters_follow(struct ibv_counters *counters, struct dpa_flow *flow)
{
	struct dpa_counters *c = to_dpa_counters(counters);
	uint32_t n;
	int ret = 0;

	pthread_mutex_lock(&c->lock);
	n = c->n;
	for (uint32_t i = 0; i < n && !ret; i++) {
		struct point p = c->points[i];

		if (p.kind != POINT_SET)
			continue;
		p.kind = POINT_LIVE;
		p.flow = flow;
		ret = add_point(c, &p);
	}
	if (ret)
		c->n = n;
	else if (c->n == n)
		ret = EINVAL; /* there is nothing to count */
	else
		flow->counters = c;
	pthread_mutex_unlock(&c->lock);
	return ret;
}

void dpa_counters_leave(struct dpa_flow *flow)
{
	struct dpa_counters *c = flow->counters;
	bool dead = !dpa_alive(flow->flow.context);

	if (dead)
		return; /* the lock cannot be taken */
	pthread_mutex_lock(&c->lock);
	for (uint32_t i = 0; i < c->n; i++) {
		struct point *p = &c->points[i];
		uint64_t v;

		if (p->kind != POINT_LIVE || p->flow != flow)
			continue;
		p->base = read_flow(flow, p->what, &v) ? 0 : v - p->base;
		p->kind = POINT_GONE;
		p->flow = NULL;
	}
	flow->counters = NULL;
	pthread_mutex_unlock(&c->lock);
}

/* --------------------------------------------------------------------- read */

/* Values of points with one index are added. Values beyond the last point are 0. */
int dpa_read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t n, uint32_t flags)
{
	struct dpa_counters *c = to_dpa_counters(counters);
	int ret = 0;

	if (!dpa_alive(counters->context))
		return EIO;
	if (flags & ~(uint32_t)IBV_READ_COUNTERS_ATTR_PREFER_CACHED)
		return EINVAL;
	memset(values, 0, n * sizeof(*values));
	pthread_mutex_lock(&c->lock);
	for (uint32_t i = 0; i < c->n && !ret; i++) {
		const struct point *p = &c->points[i];
		uint64_t v = 0;

		if (p->kind == POINT_SET || p->index >= n)
			continue;
		if (p->kind == POINT_LIVE)
			ret = read_flow(p->flow, p->what, &v);
		values[p->index] += p->kind == POINT_LIVE ? v - p->base : p->base;
	}
	pthread_mutex_unlock(&c->lock);
	return ret;
}
