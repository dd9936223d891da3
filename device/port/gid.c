/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gid.c - the GID table: one writer at a time, readers without a lock. The sequence count works
 * without fences: the writer makes it odd, stores the slot's words with release, and makes it even
 * with release. A reader loads the words with acquire: if it sees a new word it also sees the odd
 * count, or a later one, when it reads the count again.
 */
#include <errno.h>
#include <string.h>

#include "port/port.h"

#define LOAD(p)	    atomic_load_explicit(p, memory_order_acquire)
#define STORE(p, v) atomic_store_explicit(p, v, memory_order_release)

struct entry {
	uint64_t gid[2];
	uint32_t ifindex;
	uint32_t mtu;
	uint32_t hidden;
};

static struct entry read_gid_slot(struct dpa_port *port, uint32_t i)
{
	struct dpa_port_slot *s = &port->slots[i];
	struct entry e;
	uint32_t seq;

	do {
		seq = LOAD(&port->seq);
		e.gid[0] = LOAD(&s->gid[0]);
		e.gid[1] = LOAD(&s->gid[1]);
		e.ifindex = LOAD(&s->ifindex);
		e.mtu = LOAD(&s->mtu);
		e.hidden = LOAD(&s->hidden);
	} while ((seq & 1) || seq != atomic_load_explicit(&port->seq, memory_order_relaxed));
	return e;
}

static void write_gid_slot(struct dpa_port *port, uint32_t i, const struct entry *e)
{
	struct dpa_port_slot *s = &port->slots[i];
	uint32_t seq = atomic_load_explicit(&port->seq, memory_order_relaxed);

	atomic_store_explicit(&port->seq, seq + 1, memory_order_relaxed);
	STORE(&s->gid[0], e->gid[0]);
	STORE(&s->gid[1], e->gid[1]);
	STORE(&s->ifindex, e->ifindex);
	STORE(&s->mtu, e->mtu);
	STORE(&s->hidden, e->hidden);
	if (atomic_load_explicit(&port->num, memory_order_relaxed) <= i)
		STORE(&port->num, i + 1);
	STORE(&port->seq, seq + 2);
}

static struct entry to_entry(const struct dpa_port_addr *a)
{
	struct entry e = {.ifindex = a->ifindex, .mtu = a->mtu, .hidden = a->hidden};

	memcpy(e.gid, a->gid, sizeof(e.gid));
	return e;
}

static bool same_addr(const struct entry *a, const struct entry *b)
{
	return a->mtu && b->mtu && a->gid[0] == b->gid[0] && a->gid[1] == b->gid[1] &&
	       a->ifindex == b->ifindex && a->hidden == b->hidden;
}

/*
 * Removes slot i if its address is gone; otherwise takes over a new MTU. True: a GID was removed.
 */
static bool refresh_slot(struct dpa_port *port, uint32_t i, const struct dpa_port_addr *addrs,
			 int n)
{
	struct entry e = read_gid_slot(port, i);

	if (!e.mtu)
		return false;
	for (int k = 0; k < n; k++) {
		struct entry now = to_entry(&addrs[k]);

		if (!same_addr(&e, &now))
			continue;
		if (now.mtu != e.mtu)
			write_gid_slot(port, i, &now);
		return false;
	}
	write_gid_slot(port, i, &(struct entry){.mtu = 0});
	return true;
}

/*
 * Returns the first free slot of an adapter's table for this address: 1 is reserved for link-local
 * IPv6, 3 for IPv4.
 */
static uint32_t free_adapter_slot(struct dpa_port *port, const uint8_t gid[16])
{
	uint32_t i = dpa_gid_is_v4(gid) ? 3 : 5;

	if (dpa_gid_is_link_local(gid) && !read_gid_slot(port, 1).mtu)
		return 1;
	while (i < DPA_MAX_GIDS && read_gid_slot(port, i).mtu)
		i += 2;
	return i;
}

/* Returns the slot for an address that is not in the table; DPA_MAX_GIDS or more: none. */
static uint32_t free_slot(struct dpa_port *port, const struct dpa_port_addr *addr)
{
	uint32_t i;

	if (addr->hidden) {
		for (i = DPA_MAX_GIDS; i > 0; i--)
			if (!read_gid_slot(port, i - 1).mtu)
				return i - 1;
		return DPA_MAX_GIDS;
	}
	if (port->order == DPA_CFG_GIDS_ADAPTER)
		return free_adapter_slot(port, addr->gid);
	for (i = 0; i < DPA_MAX_GIDS && read_gid_slot(port, i).mtu;)
		i++;
	return i;
}

int dpa_port_hide(enum dpa_cfg_gid_order order, struct dpa_port_addr *addrs, int n)
{
	bool v4_leads_out = false;
	int shown = 0;

	for (int i = 0; i < n; i++)
		v4_leads_out |= dpa_gid_is_v4(addrs[i].gid) && dpa_port_leads_out(addrs[i].rank);
	for (int i = 0; i < n; i++) {
		struct dpa_port_addr *a = &addrs[i];
		bool alone =
			order == DPA_CFG_GIDS_ADAPTER && !v4_leads_out && dpa_gid_is_v4(a->gid);

		a->hidden =
			order != DPA_CFG_GIDS_ADDRESSES && !dpa_port_leads_out(a->rank) && !alone;
		shown += !a->hidden;
	}
	return shown;
}

/* True if it was new and a slot was free. */
static bool add_addr(struct dpa_port *port, const struct dpa_port_addr *addr)
{
	struct entry now = to_entry(addr);
	uint32_t hole;

	for (uint32_t i = 0; i < DPA_MAX_GIDS; i++) {
		struct entry e = read_gid_slot(port, i);

		if (same_addr(&e, &now))
			return false;
	}
	hole = free_slot(port, addr);
	if (hole >= DPA_MAX_GIDS)
		return false;
	write_gid_slot(port, hole, &now);
	return true;
}

bool dpa_port_table_update(struct dpa_port *port, const struct dpa_port_addr *addrs, int n)
{
	bool changed = false;

	for (uint32_t i = 0; i < DPA_MAX_GIDS; i++)
		changed |= refresh_slot(port, i, addrs, n);
	for (int k = 0; k < n; k++)
		changed |= add_addr(port, &addrs[k]);
	return changed;
}

int dpa_port_gid(struct dpa_port *port, uint32_t index, struct dpa_hw_gid *gid)
{
	struct entry e;

	if (index >= DPA_MAX_GIDS)
		return EINVAL;
	e = read_gid_slot(port, index);
	if (!e.mtu || e.hidden)
		return ENODATA;
	*gid = (struct dpa_hw_gid){
		.index = index, .ifindex = e.ifindex, .type = DPA_GID_ROCE_V2, .valid = 1};
	memcpy(gid->gid, e.gid, sizeof(gid->gid));
	return 0;
}

uint32_t dpa_port_gid_mtu(struct dpa_port *port, uint32_t index)
{
	return index < DPA_MAX_GIDS ? read_gid_slot(port, index).mtu : 0;
}

uint32_t dpa_port_mtu(const struct dpa_port *port)
{
	return LOAD(&port->active_mtu);
}

int dpa_port_find(struct dpa_port *port, const uint8_t gid[16])
{
	uint32_t num = LOAD(&port->num);
	uint64_t want[2];

	memcpy(want, gid, sizeof(want));
	for (uint32_t i = 0; i < num; i++) {
		struct entry e = read_gid_slot(port, i);

		if (e.mtu && e.gid[0] == want[0] && e.gid[1] == want[1])
			return (int)i;
	}
	return -1;
}

bool dpa_port_is_own(struct dpa_port *port, const uint8_t gid[16])
{
	/* the bits of a GUID that identify the function */
	const uint8_t fn = DPA_MAX_FUNCTIONS - 1;
	struct dpa_port *pf;
	uint8_t own[16];

	if (dpa_port_find(port, gid) >= 0)
		return true;
	if (gid[0] != 0xfe)
		return false;
	pf = atomic_load_explicit(&port->sf[0], memory_order_acquire);
	if (!(gid[15] & fn))
		return pf && dpa_port_find(pf, gid) >= 0;
	dpa_port_derive_gid(port->node_guid, own);
	return memcmp(own, gid, 15) == 0 && ((own[15] ^ gid[15]) & (uint8_t)~fn) == 0;
}
