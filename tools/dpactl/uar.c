/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* uar.c - the map of the BAR: UAR pages, slots, their owners and the writes to them. */
#include <stdio.h>
#include "dpactl.h"

/* A slot in use, copied once. */
struct slot {
	uint32_t page, slot, qpn;
	bool known; /* the process below is its owner */
	struct proc owner;
	uint64_t doorbells, blueflames;
};

/* Processes of the adapter instance by index: an owner word refers to one. */
static struct proc procs[DPA_BOARD_PROCS];
static bool have[DPA_BOARD_PROCS];

static void read_uar_procs(struct ctl *c)
{
	for (uint32_t i = 0; i < DPA_BOARD_PROCS; i++)
		have[i] = proc_read(c, i, &procs[i]);
}

static bool slot_read(struct ctl *c, uint32_t page, uint32_t slot, struct slot *s)
{
	struct dpa_board_uar *u = dpa_board_uar_page(c->b, page);
	struct dpa_uar_slot *w = dpa_board_uar_addr(c->b, page, slot);
	dpa_owner_t o = u ? atomic_load_explicit(&u->slot_owner[slot], memory_order_acquire) : 0;
	uint32_t i = dpa_owner_slot(o);

	if (!o || !w)
		return false;
	*s = (struct slot){
		.page = page,
		.slot = slot,
		.qpn = atomic_load_explicit(&u->slot_qpn[slot], memory_order_relaxed),
		.known = i < DPA_BOARD_PROCS && have[i] && procs[i].gen == dpa_owner_gen(o),
		.doorbells = __atomic_load_n(&w->doorbells, __ATOMIC_RELAXED),
		.blueflames = __atomic_load_n(&w->blueflames, __ATOMIC_RELAXED),
	};
	if (s->known)
		s->owner = procs[i];
	return true;
}

/* A letter for each process: A to Z, a to z, then #; ! is a dead one. */
static char slot_letter(const struct slot *s)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	if (!s->known || !s->owner.alive)
		return '!';
	return s->owner.slot < sizeof(letters) - 1 ? letters[s->owner.slot] : '#';
}

static uint32_t page_map(struct ctl *c, uint32_t page, char map[DPA_UAR_SLOTS + 1])
{
	uint32_t used = 0;
	struct slot s;

	for (uint32_t k = 0; k < DPA_UAR_SLOTS; k++) {
		bool taken = slot_read(c, page, k, &s);

		map[k] = taken ? slot_letter(&s) : '.';
		used += taken;
	}
	map[DPA_UAR_SLOTS] = '\0';
	return used;
}

typedef void slot_fn(void *arg, const struct slot *s);

static void each_slot(struct ctl *c, slot_fn *fn, void *arg)
{
	struct slot s;

	for (uint32_t i = 0; i < c->b->uar_pages; i++)
		for (uint32_t k = 0; k < DPA_UAR_SLOTS; k++)
			if (slot_read(c, i, k, &s))
				fn(arg, &s);
}

/* The page that the next QP is offered: the head of the global list. */
static uint32_t next_page(struct ctl *c)
{
	return __atomic_load_n(&c->b->shm->head.list.next, __ATOMIC_RELAXED);
}

static void uar_slot_json(void *arg, const struct slot *s)
{
	struct json_object *o = json_object_new_object();

	json_add_num(o, "page", s->page);
	json_add_num(o, "slot", s->slot);
	json_add_num(o, "offset", s->page * DPA_UAR_PAGE_SIZE + s->slot * DPA_UAR_SLOT_SIZE);
	json_add_num(o, "qpn", s->qpn);
	if (s->known) {
		json_add_num(o, "pid", s->owner.pid);
		json_add(o, "command", s->owner.comm);
	}
	json_add_bool(o, "alive", s->known && s->owner.alive);
	json_add_num(o, "doorbells", s->doorbells);
	json_add_num(o, "blueflames", s->blueflames);
	json_object_array_add(arg, o);
}

static void uar_json(struct ctl *c)
{
	struct json_object *o = json_object_new_object();
	struct json_object *slots = json_object_new_array();

	json_add_num(o, "pages", c->b->uar_pages);
	json_add_num(o, "page_size", DPA_UAR_PAGE_SIZE);
	json_add_num(o, "slots_per_page", DPA_UAR_SLOTS);
	json_add_num(o, "next_page", next_page(c));
	each_slot(c, uar_slot_json, slots);
	json_object_object_add(o, "slots", slots);
	print_json(o);
}

static void slot_text(void *arg, const struct slot *s)
{
	bool *head = arg;

	if (!*head)
		printf("\n   SLOT     QPN      PID  COMMAND           DOORBELLS  BLUEFLAMES\n");
	*head = true;
	printf("%4u.%-2u  ", s->page, s->slot);
	if (s->qpn)
		printf("%06x  ", s->qpn);
	else
		printf("     -  ");
	if (s->known)
		printf("%7u  %-15s", s->owner.pid, s->owner.comm);
	else
		printf("      -  %-15s", "(dead)");
	printf("  %10llu  %10llu\n", (unsigned long long)s->doorbells,
	       (unsigned long long)s->blueflames);
}

static void print_legend(void)
{
	for (uint32_t i = 0; i < DPA_BOARD_PROCS; i++) {
		struct slot s = {.known = true, .owner = procs[i]};

		if (have[i] && procs[i].alive)
			printf("  %c  %u %s\n", slot_letter(&s), procs[i].pid, procs[i].comm);
	}
	printf("  .  free\n");
	printf("  !  of a process that died\n\n");
}

void cmd_uar(struct ctl *c)
{
	char map[DPA_UAR_SLOTS + 1];
	uint32_t unused = 0;
	bool head = false;

	read_uar_procs(c);
	if (c->json) {
		uar_json(c);
		return;
	}
	printf("%u pages of %u bytes, %u slots each; the next QP is offered page %u\n",
	       c->b->uar_pages, DPA_UAR_PAGE_SIZE, DPA_UAR_SLOTS, next_page(c));
	print_legend();
	printf(" PAGE  OFFSET    SLOTS\n");
	for (uint32_t i = 0; i < c->b->uar_pages; i++) {
		if (page_map(c, i, map) == 0 && !c->all)
			unused++;
		else
			printf("%5u  0x%06x  %s\n", i, i * DPA_UAR_PAGE_SIZE, map);
	}
	if (unused)
		printf("%u pages are free\n", unused);
	each_slot(c, slot_text, &head);
}
