/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* status.c - the adapter state at a glance. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "dpactl.h"

struct summary {
	uint32_t alive, dead;
	uint32_t pages, slots; /* UAR pages with a slot in use, slots in use */
	uint32_t qps;
	uint64_t bytes;		   /* of memory that the file takes */
	struct dpa_board_ident id; /* copied once */
};

static void count_uars(struct ctl *c, struct summary *s)
{
	for (uint32_t i = 0; i < c->b->uar_pages; i++) {
		struct dpa_board_uar *u = dpa_board_uar_page(c->b, i);
		uint32_t used = 0;

		for (uint32_t k = 0; u && k < DPA_UAR_SLOTS; k++)
			used += atomic_load_explicit(&u->slot_owner[k], memory_order_relaxed) != 0;
		s->slots += used;
		s->pages += used != 0;
	}
}

static struct summary summarise_board(struct ctl *c)
{
	struct summary s = {0};
	uint32_t slot, gen;
	struct stat st;
	struct proc p;

	memcpy(&s.id, &c->b->shm->head.ident, sizeof(s.id));
	printable(s.id.lib_version, sizeof(s.id.lib_version));
	for (uint32_t i = 0; i < DPA_BOARD_PROCS; i++)
		if (proc_read(c, i, &p))
			*(p.alive ? &s.alive : &s.dead) += 1;
	count_uars(c, &s);
	for (uint32_t i = 0; i < DPA_BOARD_QPNS; i++)
		s.qps += dpa_board_qpn_owner(c->b, c->b->board_num << 16 | i, &slot, &gen);
	if (fstat(c->b->fd, &st) == 0)
		s.bytes = (uint64_t)st.st_blocks * 512;
	return s;
}

static void status_json(struct ctl *c, const struct summary *s)
{
	struct json_object *o = json_object_new_object();

	json_add(o, "board", c->path);
	json_add(o, "state", !c->b ? "none" : s->alive ? "in use" : "stale");
	json_add_bool(o, "disabled", c->cfg.disable);
	if (c->b) {
		const struct dpa_board_ident *id = &s->id;

		json_add(o, "id", c->b->id);
		json_add_num(o, "number", c->b->board_num);
		json_add(o, "version", id->lib_version);
		json_add_num(o, "layout", id->layout);
		json_add_num(o, "interface", id->hw_version);
		json_add_num(o, "created_ns", id->created_ns);
		json_add_num(o, "processes", s->alive);
		json_add_num(o, "dead_processes", s->dead);
		json_add_num(o, "max_processes", DPA_BOARD_PROCS);
		json_add_num(o, "qps", s->qps);
		json_add_num(o, "uar_pages", c->b->uar_pages);
		json_add_num(o, "uar_pages_used", s->pages);
		json_add_num(o, "uar_slots", c->b->uar_pages * DPA_UAR_SLOTS);
		json_add_num(o, "uar_slots_used", s->slots);
		json_add_num(o, "bytes", s->bytes);
	}
	print_json(o);
}

/* True if dead processes left connections of rdma_cm whose peers must be notified. */
static bool has_connections(struct ctl *c)
{
	struct dpa_gsi_id id;
	uint32_t slot, gen;

	for (uint32_t at = 0; dpa_board_cmid_next(c->b, &at, &id, &slot, &gen); at++)
		if (id.tell_peer)
			return true;
	return false;
}

static void status_text(struct ctl *c, const struct summary *s)
{
	const struct dpa_board_ident *id = &s->id;
	char when[32];

	printf("file        %s\n", c->path);
	if (s->alive)
		printf("state       in use by %u process%s", s->alive, s->alive == 1 ? "" : "es");
	else
		printf("state       stale: no process uses it, the next process %s",
		       has_connections(c) ? "ends its connections at their peers"
					  : "makes a new one");
	if (s->dead)
		printf(", %u died and will be cleaned up", s->dead);
	printf("\nnumber      %u: its QP numbers are %06x to %06x\n", c->b->board_num,
	       c->b->board_num << 16, c->b->board_num << 16 | 0xffff);
	printf("version     %s (layout %u, interface %u)\n", id->lib_version, id->layout,
	       id->hw_version);
	printf("made        %s\n", time_text(id->created_ns, when, sizeof(when)));
	printf("QPs         %u\n", s->qps);
	printf("UAR         %u of %u slots in use, on %u of %u pages\n", s->slots,
	       c->b->uar_pages * DPA_UAR_SLOTS, s->pages, c->b->uar_pages);
	printf("memory      %llu KiB\n", (unsigned long long)(s->bytes / 1024));
}

void cmd_status(struct ctl *c)
{
	struct summary s = {0};

	if (c->b)
		s = summarise_board(c);
	if (c->json) {
		status_json(c, &s);
		return;
	}
	if (c->b)
		status_text(c, &s);
	else
		printf("no adapter instance: no process of this user uses dpa0 (%s)\n", c->path);
	if (c->cfg.disable)
		printf("disabled    DPA_DISABLE or the configuration hides dpa0 from new "
		       "processes\n");
}
