/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fake_gsi.h - QP1 that leads back to the process; see fake_gsi.c. */
#ifndef DPA_FAKE_GSI_H
#define DPA_FAKE_GSI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <dpa_hw.h>

struct dpa_gsi_addr;
struct dpa_gsi_id;

#define FAKE_GSI_KEEP (-1)

struct fake_gsi {
	/*
	 * Return how often a MAD arrives; NULL: once. FAKE_GSI_KEEP: not before fake_gsi_release().
	 * Called by any thread.
	 */
	int (*copies)(const uint8_t *mad);
	_Atomic int services, ids; /* that are held */
	/* errno of the next id_new, listen, route; 0: it succeeds */
	int fail_id, fail_listen, fail_route;
	uint8_t gid[16]; /* an address besides those of the loopback; all 0: none */
	/* 127.0.0.far is another host, which answers nothing; 0: there is none */
	uint8_t far;
	uint8_t no_index; /* 127.0.0.no_index is in no GID table; 0: there is none */
	/* it refuses: no process has port 4791 there; `forged`: from a sender that saw no packet */
	atomic_bool refuses, forged;
	atomic_bool board_gone; /* the other adapter instances of this host have no process */
	atomic_bool full;	/* there is no room for another MAD */
	/* the high byte of new ids; that of an adapter instance without room, 0: none */
	_Atomic uint8_t instance, full_instance;
	atomic_bool silent; /* its link address is not known */
	atomic_int probes;
	/* the last refusal that was recorded, and their number */
	struct dpa_gsi_refusal noted;
	atomic_int notes;
	atomic_bool died;	 /* another process did; taken by dpa_hw_gsi_died() */
	_Atomic uint32_t unread; /* a QP whose completions are not all polled; 0: none */
};
extern struct fake_gsi fake_gsi;

/* Return true while a MAD has arrived that no caller has taken yet. */
bool fake_gsi_pending(void);
/* Let the held MADs arrive: the last one first if `reverse`. Returns their number. */
int fake_gsi_release(bool reverse);
/* Let a MAD arrive from elsewhere: from->sgid is the receiver's GID, from->dgid the sender's. */
void fake_gsi_inject(const struct dpa_gsi_addr *from, const uint8_t *mad);
/*
 * Copy the record of the id whose peer has this id, as it was published last. False: none. The hook
 * `copies` may call it.
 */
bool fake_gsi_record(uint32_t remote_id, struct dpa_gsi_id *id);
/* Offer an id of a process that died for take-over; one at a time. */
void fake_gsi_leave(const struct dpa_gsi_id *id);
/* Call `ready` as a device thread does when there may be work. */
void fake_gsi_wake(void);

#endif
