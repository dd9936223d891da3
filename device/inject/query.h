/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* query.h - matches of rules, for the files of this folder. */
#ifndef DPA_INJECT_QUERY_H
#define DPA_INJECT_QUERY_H

#include <stdint.h>
#include "injects.h"

/* A call, completion or event that is matched against the rules, and the rule that selects it. */
struct dpa_inject_query {
	enum dpa_inject_line line;
	int call;   /* line CALL */
	int effect; /* DPA_INJECT_ANY, or the effect that the rule must have */
	int to, op; /* DPA_INJECT_ANY: it has none */
	uint64_t size;
	uint32_t qpn;
	/* of the rule that fired: */
	const struct dpa_inject_rule *rule;
	uint64_t number; /* of the match */
	uint64_t early;	 /* ns: the device was not open then; 0: it was */
};

/*
 * Count the match. Returns the effect of the rule that selects it, or `none`. *ns: the time of that
 * rule; NULL: not needed. Any thread; takes the lock of the rules (inject.h).
 */
int dpa_inject_select(struct dpa_inject_query *q, int none, uint64_t *ns);

#endif
