/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_adopt.c - a connection whose process died: another process takes it over and destroys it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include "util.h"

static const struct dpav_cm_past past = {.state = DPA_CM_ST_ESTABLISHED,
					 .remote_id = PEER_ID,
					 .remote_qpn = PEER_QPN,
					 .remote_guid = PEER_GUID,
					 .tid = PEER_TID,
					 .service_id = SERVICE,
					 .path = &test_path};

static struct dpav_cm_effects adopt(struct dpav_cm *cm)
{
	struct dpav_cm_effects out;

	cr_assert_eq(dpav_cm_adopt(cm, &test_config, &past, NOW, &out), 0);
	return out;
}

Test(cm_adopt, disconnects_at_once)
{
	struct dpav_cm cm;
	struct dpav_cm_effects out = adopt(&cm);

	cr_assert(out.send && out.mad.attr == DPA_CM_DREQ && out.mad.tid == OWN_TID);
	cr_assert(out.mad.dreq.local_id == ID && out.mad.dreq.remote_id == PEER_ID);
	cr_assert_eq(out.mad.dreq.remote_qpn, PEER_QPN);
	cr_assert(out.deadline == NOW + 4096 && !out.done && !out.event.type);
	cr_assert(out.record_changed && out.record.local_id == ID);
	cr_assert_eq(out.record.live, DPA_CM_LIVE_LOCAL | DPA_CM_LIVE_ID | DPA_CM_LIVE_QP);
	cr_assert(out.record.remote_id == PEER_ID && out.record.ca_guid == PEER_GUID);
}

/* Any answer of the peer ends it, after timewait; no event comes. */
Test(cm_adopt, answered)
{
	static const enum dpa_cm_attr answers[] = {DPA_CM_DREP, DPA_CM_REJ, DPA_CM_DREQ};

	for (size_t i = 0; i < 3; i++) {
		struct dpa_mad m = test_mad(answers[i]);
		struct dpav_cm_input in = test_receive(&m), timer = test_input(DPA_CM_TIMER);
		struct dpav_cm_effects out;
		struct dpav_cm cm;

		adopt(&cm);
		if (answers[i] == DPA_CM_DREQ)
			/* the QP does not exist any more, and its number */
			m.dreq.remote_qpn = 0x98765;
		out = test_step(&cm, &in);
		cr_assert_eq(out.send, answers[i] == DPA_CM_DREQ);
		if (out.send)
			cr_assert(out.mad.attr == DPA_CM_DREP && out.mad.tid == PEER_TID);
		cr_assert(cm.state == DPA_CM_ST_TIMEWAIT && out.deadline == NOW + 2048);
		timer.now = out.deadline;
		out = test_step(&cm, &timer);
		cr_assert(out.done && !out.event.type && out.record.live == 0);
	}
}

Test(cm_adopt, never_answered)
{
	struct dpav_cm_input timer = test_input(DPA_CM_TIMER);
	struct dpav_cm_effects out;
	struct dpav_cm cm;
	int sent = 1;

	out = adopt(&cm);
	while (!out.done) {
		timer.now = out.deadline;
		out = test_step(&cm, &timer);
		sent += out.send && out.mad.attr == DPA_CM_DREQ;
		cr_assert_leq(sent, 16, "it is repeated for ever");
		cr_assert_eq(out.event.type, DPA_CM_EV_NONE);
	}
	cr_assert_eq(sent, 16);
	cr_assert_eq(timer.now, NOW + 16 * 4096 + 2048);
}

/* Its MADs are found, even if the peer's CA GUID is unknown. */
Test(cm_adopt, is_found)
{
	for (uint64_t guid = 0; guid <= PEER_GUID; guid += PEER_GUID) {
		struct dpav_cm_past p = past;
		struct dpa_mad m = test_mad(DPA_CM_DREP);
		struct dpav_cm_entry entry = {0}, *which;
		struct dpav_cm_index ix;
		struct dpav_cm_effects out;
		struct dpav_cm cm;

		p.remote_guid = guid;
		cr_assert_eq(dpav_cm_adopt(&cm, &test_config, &p, NOW, &out), 0);
		cr_assert_eq(dpav_cm_index_init(&ix), 0);
		dpav_cm_index_put(&ix, &entry, &out.record);
		cr_assert_eq(dpav_cm_classify(&ix, &m, test_path.dgid, &which), DPA_CM_FOUND);
		cr_assert_eq(which, &entry);
		dpav_cm_index_fini(&ix);
	}
}

Test(cm_adopt, has_no_owner)
{
	struct dpav_cm_input in = test_input(DPA_CM_DISCONNECT);
	struct dpav_cm_effects out;
	struct dpav_cm cm;

	adopt(&cm);
	cr_assert_eq(dpav_cm_step(&cm, &in, &out), EINVAL);
	in.kind = DPA_CM_DESTROY;
	cr_assert(!test_step(&cm, &in).done);
}

Test(cm_adopt, numbers_that_are_too_large)
{
	struct dpav_cm_path path = test_path;
	struct dpav_cm_past p = past;
	struct dpav_cm_effects out;
	struct dpav_cm cm;

	p.remote_qpn = 1u << 24;
	cr_assert_eq(dpav_cm_adopt(&cm, &test_config, &p, NOW, &out), EINVAL);
	p = past;
	p.state = DPA_CM_STATES;
	cr_assert_eq(dpav_cm_adopt(&cm, &test_config, &p, NOW, &out), EINVAL);
	p = past;
	path.life_time = 32;
	p.path = &path;
	cr_assert_eq(dpav_cm_adopt(&cm, &test_config, &p, NOW, &out), EINVAL);
}

/* In each state: the message that the process's own DESTROY would send, and the same end. */
Test(cm_adopt, as_destroy)
{
	for (int p = 0; p < PLACES; p++) {
		struct dpav_cm_past at = past;
		struct dpav_cm_effects own, other;
		struct dpav_cm cm, heir;

		test_reach(&cm, (enum place)p);
		at.state = cm.state;
		at.remote_id = cm.remote_id;
		at.remote_qpn = cm.remote_qpn;
		at.remote_guid = cm.remote_guid;
		at.tid = cm.tid;
		cr_assert_eq(dpav_cm_adopt(&heir, &test_config, &at, NOW, &other), 0);
		own = test_call(&cm, DPA_CM_DESTROY);
		if (p == P_DREQ_SENT) { /* its DREQ is sent once more */
			own.send = true;
			own.mad = cm.msg;
		}
		if (p == P_DREQ_RCVD) { /* its DREP may not have been sent */
			own.send = true;
			own.mad = cm.answer;
		}
		cr_assert_eq(own.send, other.send, "%s", test_place_names[p]);
		if (own.send)
			cr_assert_eq(memcmp(&own.mad, &other.mad, sizeof(own.mad)), 0, "%s",
				     test_place_names[p]);
		cr_assert_eq(heir.state, cm.state, "%s", test_place_names[p]);
		cr_assert_eq(own.done, other.done, "%s", test_place_names[p]);
		cr_assert(own.record.live == other.record.live &&
				  own.record.remote_id == other.record.remote_id &&
				  own.record.ca_guid == other.record.ca_guid &&
				  own.record.qpn == other.record.qpn,
			  "%s", test_place_names[p]);
	}
}
