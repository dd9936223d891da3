/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cm_port.c - claims of rdma_cm ports by byte locks; the contract is in dpa_cm_port.h.
 *
 * Each family, port space and port has four bytes, and one more for each address:
 *
 *   claim                     X    WILD    ADDR   A(address)
 *   wildcard                  wr
 *   wildcard, reuse           rd   rd, ADDR must be free
 *   address                   rd   WILD must be free, rd    wr
 *   address, reuse            rd                            rd
 *
 * A claim that listens also has LISTEN (rd), which excludes nothing: dpa_cm_port_listens() reads
 * it.
 *
 * Two claims exclude each other although both only read: a wildcard that reuses, and an address
 * that does not. Each takes its own byte first and checks the other's byte afterwards. If both do
 * so at the same time, at least one sees the other; both may fail.
 *
 * Locks of one open file do not conflict with each other. So the claims of the channel are compared
 * here, and a byte has the strongest mode that one of them needs.
 *
 * At each call the kernel searches the list of all locks of the file, and it joins adjacent locks
 * of one open file. So the bytes of adjacent ports are adjacent, and a channel takes its unused
 * ports in a row: a thousand connections need a few locks, not thousands.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "cm_port.h"
#include "board_priv.h"
#include "util/cap.h"

#define PORT_BYTES (1ll << 42) /* + ((family * 4 + port space) * 4 + which) * 65536 + port */
#define ADDR_BYTES (1ll << 62) /* + 45 bits of a hash * 65536 + port */
#define ADDR_MASK  ((1ull << 45) - 1)

enum byte { BYTE_X, BYTE_WILD, BYTE_ADDR, BYTE_LISTEN, BYTE_NUM };
enum { MAX_BYTES = 2 * (BYTE_NUM + 1) };

/* A claim of the channel, in the list of its port. */
struct dpa_cm_held {
	struct dpa_cm_claim c;
	struct dpa_cm_held *next;
};

/* A byte that a claim needs, its mode, and the error if another file holds it. */
struct need {
	int64_t at;
	short mode;  /* F_RDLCK, F_WRLCK; F_UNLCK: no other file may hold it; it is only checked */
	int refusal; /* errno */
};

static int ps_index(uint16_t ps)
{
	switch (ps) {
	case DPA_CM_PS_TCP:
		return 0;
	case DPA_CM_PS_UDP:
		return 1;
	case DPA_CM_PS_IPOIB:
		return 2;
	case DPA_CM_PS_IB:
		return 3;
	}
	return -1;
}

static bool is_wildcard(const struct dpa_cm_claim *c)
{
	static const uint8_t any[16];

	return memcmp(c->addr, any, sizeof(any)) == 0;
}

static bool same_address(const struct dpa_cm_claim *a, const struct dpa_cm_claim *b)
{
	return a->v6 == b->v6 && a->scope == b->scope && memcmp(a->addr, b->addr, 16) == 0;
}

/* The rules of the header for two claims of one channel. */
static int claims_conflict(const struct dpa_cm_claim *a, const struct dpa_cm_claim *b)
{
	if (a->ps != b->ps || a->port != b->port || (a->reuse && b->reuse))
		return 0;
	if (a->v6 != b->v6 && a->afonly && b->afonly)
		return 0;
	if (is_wildcard(a) || is_wildcard(b))
		return EADDRNOTAVAIL;
	return same_address(a, b) ? EADDRINUSE : 0;
}

static int64_t port_byte(const struct dpa_cm_claim *c, bool v6, enum byte which)
{
	return PORT_BYTES + (((((int64_t)v6 * 4 + ps_index(c->ps)) * 4 + which) << 16) | c->port);
}

/* A hash collision of two addresses only makes them exclude each other. */
static int64_t addr_byte(const struct dpa_cm_claim *c)
{
	uint8_t in[24] = {(uint8_t)c->v6, (uint8_t)ps_index(c->ps)};

	memcpy(in + 4, &c->scope, 4);
	memcpy(in + 8, c->addr, 16);
	return ADDR_BYTES + (int64_t)((dpa_board_hash(in, sizeof(in)) & ADDR_MASK) << 16 | c->port);
}

/* List the bytes of a claim: first those to take, then those to look at. Returns their number. */
static int locks_of_claim(const struct dpa_cm_claim *c, struct need need[MAX_BYTES])
{
	const bool wild = is_wildcard(c);
	bool both = c->v6 && !c->afonly;
	int n = 0;

	for (int v6 = 0; v6 < 2; v6++) {
		if (v6 != c->v6 && !both)
			continue;
		need[n++] = (struct need){port_byte(c, v6, BYTE_X),
					  wild && !c->reuse ? F_WRLCK : F_RDLCK, EADDRNOTAVAIL};
		if (wild == c->reuse)
			need[n++] = (struct need){port_byte(c, v6, wild ? BYTE_WILD : BYTE_ADDR),
						  F_RDLCK, EADDRNOTAVAIL};
	}
	for (int v6 = 0; v6 < 2; v6++)
		if (c->listening && (v6 == c->v6 || both))
			need[n++] = (struct need){port_byte(c, v6, BYTE_LISTEN), F_RDLCK,
						  EADDRNOTAVAIL};
	if (!wild)
		need[n++] = (struct need){addr_byte(c), c->reuse ? F_RDLCK : F_WRLCK, EADDRINUSE};
	for (int v6 = 0; v6 < 2; v6++)
		if ((v6 == c->v6 || both) && wild == c->reuse)
			need[n++] = (struct need){port_byte(c, v6, wild ? BYTE_ADDR : BYTE_WILD),
						  F_UNLCK, EADDRNOTAVAIL};
	return n;
}

/* 0, or the errno; EAGAIN: another open file has it. */
static int set_lock(int fd, int64_t at, short mode)
{
	struct flock l = {.l_type = mode, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

	if (fcntl(fd, F_OFD_SETLK, &l) == 0)
		return 0;
	return errno == EACCES ? EAGAIN : errno;
}

/* EAGAIN: another open file has it. */
static int must_be_free(int fd, int64_t at)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

	if (fcntl(fd, F_OFD_GETLK, &l))
		return errno;
	return l.l_type == F_UNLCK ? 0 : EAGAIN;
}

/* 0: not locked; 1: read; 2: write. */
static int lock_strength(short mode)
{
	return mode == F_WRLCK ? 2 : mode == F_RDLCK ? 1 : 0;
}

static struct dpa_cm_held **list_of(struct dpa_cm_ports *p, uint16_t port)
{
	return &p->held[port % DPA_CM_PORT_LISTS];
}

/* The strongest mode of a byte of a port that these claims need. */
static short mode_of_claims(const struct need *need, int n, int64_t at, short mode)
{
	while (n-- > 0)
		if (need[n].at == at && lock_strength(need[n].mode) > lock_strength(mode))
			mode = need[n].mode;
	return mode;
}

/*
 * The same of all claims of the channel but `except`. Claims of other ports have other bytes.
 */
static short lock_mode_of(struct dpa_cm_ports *p, const struct dpa_cm_claim *c, int64_t at,
			  const struct dpa_cm_held *except)
{
	struct need need[MAX_BYTES];
	short mode = F_UNLCK;

	for (const struct dpa_cm_held *h = *list_of(p, c->port); h; h = h->next)
		if (h != except && h->c.port == c->port && h->c.ps == c->ps)
			mode = mode_of_claims(need, locks_of_claim(&h->c, need), at, mode);
	return mode;
}

/* The locks of a claim while another one of the same port takes its place. */
struct change {
	struct dpa_cm_ports *p;
	const struct dpa_cm_claim *c; /* of both: port and port space */
	const struct dpa_cm_held *h;  /* the claim that changes; not to be compared with */
	struct need old[MAX_BYTES], new[MAX_BYTES];
	int num_old, num_new;
};

static struct change change_of(struct dpa_cm_ports *p, const struct dpa_cm_held *h,
			       const struct dpa_cm_claim *old, const struct dpa_cm_claim *new)
{
	struct change ch = {.p = p, .c = new ? new : old, .h = h};

	ch.num_old = old ? locks_of_claim(old, ch.old) : 0;
	ch.num_new = new ? locks_of_claim(new, ch.new) : 0;
	return ch;
}

/* The mode of the byte before the change, and after it. */
static short mode_before(const struct change *ch, int64_t at)
{
	return mode_of_claims(ch->old, ch->num_old, at, lock_mode_of(ch->p, ch->c, at, ch->h));
}

static short mode_after(const struct change *ch, int64_t at)
{
	return mode_of_claims(ch->new, ch->num_new, at, lock_mode_of(ch->p, ch->c, at, ch->h));
}

/* Dropping or weakening a lock cannot fail. */
static void weaken_bytes(const struct change *ch, const struct need *need, int n)
{
	for (int i = 0; i < n; i++) {
		short after = mode_after(ch, need[i].at);

		if (need[i].mode != F_UNLCK &&
		    lock_strength(after) < lock_strength(mode_before(ch, need[i].at)))
			(void)set_lock(ch->p->fd, need[i].at, after);
	}
}

/* Restores the first n bytes that a change strengthened. */
static void undo_strengthening(const struct change *ch, int n)
{
	for (int i = 0; i < n; i++) {
		short before = mode_before(ch, ch->new[i].at);

		if (lock_strength(before) < lock_strength(mode_after(ch, ch->new[i].at)))
			(void)set_lock(ch->p->fd, ch->new[i].at, before);
	}
}

/*
 * Takes what the new claim needs before it weakens what the old one had, so that no other open file
 * gets in between. All or nothing. free: also check the bytes that must be free.
 */
static int change_locks(const struct change *ch, bool free)
{
	int i, rc = 0;

	for (i = 0; i < ch->num_new && !rc; i++) {
		const struct need *b = &ch->new[i];
		short after = mode_after(ch, b->at);

		if (b->mode == F_UNLCK)
			rc = free ? must_be_free(ch->p->fd, b->at) : 0;
		else if (lock_strength(after) > lock_strength(mode_before(ch, b->at)))
			rc = set_lock(ch->p->fd, b->at, after);
		if (rc == EAGAIN)
			rc = b->refusal;
	}
	if (rc) {
		undo_strengthening(ch, i - 1);
		return rc;
	}
	weaken_bytes(ch, ch->old, ch->num_old);
	return 0;
}

static struct dpa_cm_held *find_held(struct dpa_cm_ports *p, const struct dpa_cm_claim *c)
{
	struct dpa_cm_held *h = *list_of(p, c->port);

	while (h && !(h->c.ps == c->ps && h->c.port == c->port && h->c.afonly == c->afonly &&
		      h->c.reuse == c->reuse && same_address(&h->c, c)))
		h = h->next;
	return h;
}

/* Adds the claim. Its locks are held. */
static void hold_claim(struct dpa_cm_ports *p, struct dpa_cm_held *h)
{
	struct dpa_cm_held **list = list_of(p, h->c.port);

	h->next = *list;
	*list = h;
}

/* Compares the claim with the channel's own claims, except one. */
static int conflict_here(struct dpa_cm_ports *p, const struct dpa_cm_claim *c,
			 const struct dpa_cm_held *except)
{
	int rc = 0;

	for (const struct dpa_cm_held *h = *list_of(p, c->port); h && !rc; h = h->next)
		if (h != except)
			rc = claims_conflict(&h->c, c);
	return rc;
}

static int claim_given_port(struct dpa_cm_ports *p, struct dpa_cm_held *h)
{
	struct change ch = change_of(p, h, NULL, &h->c);
	int rc = conflict_here(p, &h->c, NULL);

	return rc ? rc : change_locks(&ch, true);
}

static bool has_port_claim(struct dpa_cm_ports *p, const struct dpa_cm_claim *c)
{
	const struct dpa_cm_held *h = *list_of(p, c->port);

	while (h && !(h->c.ps == c->ps && h->c.port == c->port))
		h = h->next;
	return h;
}

/*
 * Takes the locks of the claim if no claim of any address and family has its port; EAGAIN
 * otherwise. Takes a wildcard of both families for that, which then becomes the claim.
 */
static int claim_unused(struct dpa_cm_ports *p, struct dpa_cm_held *h)
{
	const struct dpa_cm_claim all = {.ps = h->c.ps, .port = h->c.port, .v6 = true};
	struct change take = change_of(p, h, NULL, &all), turn = change_of(p, h, &all, &h->c);
	int rc;

	if (has_port_claim(p, &h->c))
		return EAGAIN;
	rc = change_locks(&take, true);
	if (!rc) {
		rc = change_locks(&turn, true);
		if (rc) {
			struct change give = change_of(p, h, &all, NULL);

			(void)change_locks(&give, true);
		}
	}
	return rc == EADDRNOTAVAIL || rc == EADDRINUSE ? EAGAIN : rc;
}

static bool read_range(const char *path, unsigned int *lo, unsigned int *hi)
{
	FILE *f = fopen(path, "re");
	int n = f ? fscanf(f, "%u %u", lo, hi) : 0;

	if (f)
		fclose(f);
	return n >= 1;
}

/* Once for each channel. A later change of the range affects later channels only. */
static void choose_range(struct dpa_cm_ports *p)
{
	unsigned int lo = 0, hi = 0, r = 0;

	if (!read_range("/proc/sys/net/ipv4/ip_local_port_range", &lo, &hi) || !lo || hi < lo ||
	    hi > UINT16_MAX) {
		lo = 32768;
		hi = 60999;
	}
	(void)!getrandom(&r, sizeof(r), GRND_NONBLOCK);
	p->lo = lo;
	p->num = hi - lo + 1;
	p->next = r % p->num;
}

static int claim_any(struct dpa_cm_ports *p, struct dpa_cm_held *h)
{
	int rc = EAGAIN;

	if (!p->num)
		choose_range(p);
	for (uint32_t i = 0; i < p->num && rc == EAGAIN; i++) {
		h->c.port = (uint16_t)(p->lo + p->next);
		p->next = (p->next + 1) % p->num;
		rc = claim_unused(p, h);
	}
	return rc == EAGAIN ? EADDRNOTAVAIL : rc;
}

static bool is_privileged_port(uint16_t port)
{
	unsigned int first = 1024, unused;

	(void)read_range("/proc/sys/net/ipv4/ip_unprivileged_port_start", &first, &unused);
	return port < first && !dpa_has_capability(CAP_NET_BIND_SERVICE);
}

int dpa_cm_port_claim(struct dpa_cm_ports *p, struct dpa_cm_claim *c)
{
	struct dpa_cm_held *h;
	int rc;

	if (ps_index(c->ps) < 0 || (!c->v6 && (!c->afonly || c->scope)))
		return EINVAL;
	h = malloc(sizeof(*h));
	if (!h)
		return ENOMEM;
	c->listening = false;
	h->c = *c;
	if (!c->port)
		rc = claim_any(p, h);
	else
		rc = is_privileged_port(c->port) ? EACCES : claim_given_port(p, h);
	if (rc) {
		free(h);
		return rc;
	}
	hold_claim(p, h);
	c->port = h->c.port;
	return 0;
}

int dpa_cm_port_listen(struct dpa_cm_ports *p, struct dpa_cm_claim *c)
{
	struct dpa_cm_held *h = find_held(p, c);
	struct dpa_cm_claim alone = *c;
	struct change ch;
	int rc;

	if (!h)
		return ENOENT;
	if (h->c.listening)
		return 0;
	alone.reuse = false;
	alone.listening = true;
	ch = change_of(p, h, &h->c, &alone);
	rc = conflict_here(p, &alone, h);
	if (!rc)
		rc = change_locks(&ch, true);
	if (rc)
		return rc;
	h->c = *c = alone;
	return 0;
}

/* No other open file can hold a byte that must be free beside a wildcard: no check is needed. */
int dpa_cm_port_narrow(struct dpa_cm_ports *p, struct dpa_cm_claim *c, const uint8_t addr[16],
		       uint32_t scope)
{
	struct dpa_cm_held *h = find_held(p, c);
	struct dpa_cm_claim one = *c;
	struct change ch;
	int rc;

	if (!h || !is_wildcard(c))
		return ENOENT;
	memcpy(one.addr, addr, sizeof(one.addr));
	one.scope = scope;
	ch = change_of(p, h, &h->c, &one);
	rc = change_locks(&ch, false);
	if (rc)
		return rc;
	h->c = *c = one;
	return 0;
}

/* As above: beside a wildcard without `reuse` there is no other claim, and an address needs less. */
int dpa_cm_port_share(struct dpa_cm_ports *p, struct dpa_cm_claim *c)
{
	struct dpa_cm_held *h = find_held(p, c);
	struct dpa_cm_claim shared = *c;
	struct change ch;
	int rc;

	if (!h)
		return ENOENT;
	if (h->c.listening)
		return EINVAL;
	if (c->reuse)
		return 0;
	shared.reuse = true;
	ch = change_of(p, h, &h->c, &shared);
	rc = change_locks(&ch, false);
	if (rc)
		return rc;
	h->c = *c = shared;
	return 0;
}

bool dpa_cm_port_listens(uint16_t ps, uint16_t port)
{
	const struct dpa_cm_claim c = {.ps = ps, .port = port};
	bool held = false;
	char path[192];
	int fd;

	if (ps_index(ps) < 0 || dpa_cm_ports_path(path, sizeof(path)))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	for (int v6 = 0; v6 < 2; v6++)
		held |= must_be_free(fd, port_byte(&c, v6, BYTE_LISTEN)) == EAGAIN;
	close(fd);
	return held;
}

/* The function to call for each port of a port space. */
struct dpa_cm_port_visit {
	dpa_cm_port_fn *fn;
	void *arg;
	uint16_t ps;
};

/*
 * Visits the locks of all open files in [from, to). A query returns any one lock of a range, so the
 * range is split at it.
 */
static void each_lock(int fd, int64_t from, int64_t to, const struct dpa_cm_port_visit *v)
{
	while (from < to) {
		struct flock l = {.l_type = F_WRLCK,
				  .l_whence = SEEK_SET,
				  .l_start = from,
				  .l_len = to - from};
		int64_t at, end;

		if (fcntl(fd, F_OFD_GETLK, &l) || l.l_type == F_UNLCK)
			return;
		at = l.l_start > from ? l.l_start : from;
		end = l.l_len && l.l_start + l.l_len < to ? l.l_start + l.l_len : to;
		each_lock(fd, from, at, v);
		for (; at < end; at++)
			v->fn(v->arg, v->ps, (uint16_t)(at - PORT_BYTES));
		from = end;
	}
}

int dpa_cm_port_each(dpa_cm_port_fn *fn, void *arg)
{
	static const uint16_t spaces[] = {DPA_CM_PS_TCP, DPA_CM_PS_UDP, DPA_CM_PS_IPOIB,
					  DPA_CM_PS_IB};
	char path[192];
	int fd, rc = dpa_cm_ports_path(path, sizeof(path));

	if (rc)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno;
	for (int v6 = 0; v6 < 2; v6++)
		for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
			const struct dpa_cm_claim c = {.ps = spaces[i]};
			const struct dpa_cm_port_visit v = {fn, arg, spaces[i]};
			int64_t from = port_byte(&c, v6, BYTE_LISTEN);

			each_lock(fd, from, from + (1 << 16), &v);
		}
	close(fd);
	return 0;
}

int dpa_cm_port_release(struct dpa_cm_ports *p, const struct dpa_cm_claim *c)
{
	struct dpa_cm_held *h = find_held(p, c), **at = list_of(p, c->port);
	struct change ch;

	if (!h)
		return ENOENT;
	ch = change_of(p, h, &h->c, NULL);
	(void)change_locks(&ch, false);
	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	free(h);
	return 0;
}

void dpa_cm_ports_forget(struct dpa_cm_ports *p)
{
	struct dpa_cm_held *h;

	for (uint32_t i = 0; i < DPA_CM_PORT_LISTS; i++)
		while ((h = p->held[i])) {
			p->held[i] = h->next;
			free(h);
		}
}
