/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* refusals.c - why connections of rdma_cm were refused, and what this user cannot see of others. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <board/board.h>
#include <board/cm.h>
#include <dpa_cm_port.h>
#include "doctor.h"
#include "tables/tables.h"

#define PORTS_MAX 64u

struct port {
	uint16_t ps, port;
	bool ours; /* of this user's adapter instance */
};

struct ports {
	struct port at[PORTS_MAX];
	uint32_t n;
};

static const char *space_of(uint16_t ps)
{
	return cm_space_name(
		&(struct dpa_gsi_service){.service_id = (uint64_t)ps << 16, .mask = UINT64_MAX});
}

/* IPv4 and IPv6 are claimed apart: one entry for both. */
static void add_port(void *arg, uint16_t ps, uint16_t port)
{
	struct ports *p = arg;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->at[i].ps == ps && p->at[i].port == port)
			return;
	if (p->n < PORTS_MAX)
		p->at[p->n++] = (struct port){.ps = ps, .port = port};
}

/* The ports of the namespace without those of this user's adapter instance. */
static void say_other_ports(struct visit *v, struct dpa_board *b)
{
	struct ports ports = {.n = 0};
	struct dpa_gsi_service s;
	uint32_t slot, gen;

	(void)dpa_cm_port_each(add_port, &ports);
	for (uint32_t at = 0; b && dpa_board_service_next(b, &at, &s, &slot, &gen); at++)
		for (uint32_t i = 0; i < ports.n; i++)
			ports.at[i].ours |= ports.at[i].ps == s.service_id >> 16 &&
					    ports.at[i].port == (s.service_id & 0xffff);
	for (uint32_t i = 0; i < ports.n; i++)
		if (!ports.at[i].ours)
			say(v, OK, "rdma_cm", NULL, "another user listens to %s port %u",
			    space_of(ports.at[i].ps), ports.at[i].port);
}

/* --------------------------------------------------------------- refusals */

static const char *reason_text(const struct dpa_gsi_refusal *r)
{
	if (r->sidr)
		return r->reason == 1 ? "no process listens to the port" : "the program refused it";
	switch (r->reason) {
	case 4:
		return "the peer gave up";
	case 8:
		return "no process listens to the port";
	case 10:
		return "its QP or id is one of a connection that stands or has just ended";
	case 12:
		return "the address is none of the host's";
	case 28:
		return "the program refused it, or listens for another type of QP";
	}
	return "see the InfiniBand Architecture, table 111";
}

static const char *mend_of(const struct dpa_gsi_refusal *r)
{
	const uint16_t nobody = r->sidr ? 1 : 8;

	switch (r->why) {
	case DPA_GSI_SENT_REJ:
	case DPA_GSI_GOT_REJ:
		return r->reason == nobody
			       ? "start the server first, at an address and a port space that "
				 "the client uses: dpactl ps on its host shows them"
			       : NULL;
	case DPA_GSI_NO_ANSWER:
		return "look for a firewall between the hosts that drops UDP 4791, and whether "
		       "the host is up";
	case DPA_GSI_NO_PORT:
		return "start the server there; a firewall that rejects UDP 4791 looks the same";
	case DPA_GSI_BACKLOG:
		return "a larger backlog of rdma_listen(), or take requests sooner";
	}
	return NULL;
}

static void what_happened(const struct dpa_gsi_refusal *r, char *text, size_t len)
{
	static const char *const said[] = {
		[DPA_GSI_SENT_REJ] = "refused a connection from",
		[DPA_GSI_GOT_REJ] = "was refused by",
		[DPA_GSI_NO_ANSWER] = "had no answer from",
		[DPA_GSI_NO_PORT] = "found UDP port 4791 closed at",
		[DPA_GSI_BACKLOG] = "had no room in its backlog for",
	};
	const struct dpa_gsi_service s = {.service_id = r->service_id, .mask = UINT64_MAX};
	const char *space = cm_space_name(&s);
	char peer[64];
	int n;

	n = snprintf(text, len, "%s %s, %s port %u",
		     r->why < sizeof(said) / sizeof(said[0]) && said[r->why] ? said[r->why] : "?",
		     gid_text(r->peer, peer, sizeof(peer)), space ? space : "service",
		     (unsigned)(r->service_id & 0xffff));
	if ((r->why == DPA_GSI_SENT_REJ || r->why == DPA_GSI_GOT_REJ) && n > 0 && (size_t)n < len)
		snprintf(text + n, len - (size_t)n, ": %s (%s %u)", reason_text(r),
			 r->sidr ? "status" : "reason", r->reason);
}

static void say_refusals(struct visit *v, struct dpa_board *b)
{
	struct dpa_board_refused r;
	char text[256];

	for (uint32_t i = 0; b && i < 8; i++) {
		int64_t ago;

		if (!dpa_board_refused_get(b, i, &r))
			continue;
		what_happened(&r.what, text, sizeof(text));
		r.comm[sizeof(r.comm) - 1] = '\0';
		printable(r.comm, sizeof(r.comm));
		ago = (int64_t)time(NULL) - (int64_t)r.time;
		say(v, NOTE, "rdma_cm", mend_of(&r.what), "%lld s ago %s[%u] %s", (long long)ago,
		    r.comm, r.pid, text);
	}
}

/* ------------------------------------------------- instances that are not visible from here */

/* Adapter instances of the namespace by their sockets, whichever /dev/shm their files are in. */
static uint32_t count_instances(void)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[256];
	uint32_t n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, " @dpa-board-");

		n += at && strstr(line, " 00010000 "); /* listens */
	}
	if (f)
		fclose(f);
	return n;
}

static uint32_t count_files(const char *dir, const char *suffix)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	uint32_t n = 0;

	while (d && (e = readdir(d))) {
		size_t len = strlen(e->d_name), end = strlen(suffix);

		n += !strncmp(e->d_name, "dpa-", 4) && strncmp(e->d_name, "dpa-cm-", 7) &&
		     len > end && !strcmp(e->d_name + len - end, suffix);
	}
	if (d)
		closedir(d);
	return n;
}

/* Only if the files lie in /dev/shm: other folders of another user cannot be listed. */
static void look_for_others(struct visit *v)
{
	char path[256], *suffix;
	uint32_t there = count_instances(), here;

	if (dpa_board_default_path(path, sizeof(path)) || strncmp(path, "/dev/shm/", 9))
		return;
	suffix = strrchr(path, '-'); /* and the namespace's number */
	here = suffix ? count_files("/dev/shm", suffix) : there;
	if (there > here)
		say(v, NOTE, "rdma_cm", "share /dev/shm between the containers of a pod",
		    "%u adapter instances of this network namespace have no file in this "
		    "/dev/shm: two programs may listen to the same port",
		    there - here);
}

void look_at_refusals(struct visit *v)
{
	struct dpa_board_cfg cfg = {.path = v->c->path, .lib_version = DPA_VERSION};
	struct dpa_board *b = NULL;
	char err[512];

	if (dpa_board_peek(&cfg, &b, err, sizeof(err)))
		b = NULL; /* look_at_board() prints the reason */
	say_other_ports(v, b);
	say_refusals(v, b);
	look_for_others(v);
	if (b)
		dpa_board_unpeek(b);
}
