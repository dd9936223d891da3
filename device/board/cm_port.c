/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cm_port.c - claims of rdma_cm ports by byte locks; the contract is in dpa_cm_port.h.
 *
 * Each family, port space and port has four bytes, each address of it one more:
 *
 *   claim                     X    WILD    ADDR   A(address)
 *   wildcard                  wr
 *   wildcard, reuse           rd   rd, ADDR must be free
 *   address                   rd   WILD must be free, rd    wr
 *   address, reuse            rd                            rd
 *
 * A claim that listens also has LISTEN (rd), which excludes nothing: dpa_cm_port_listens() looks.
 *
 * The two that exclude each other although both only read (a wildcard that reuses, an address that
 * does not) take their own byte first and look at the other's afterwards: one of two that do so
 * at the same time sees the other, perhaps both do and both fail.
 *
 * Locks of one open file do not conflict with each other. So the claims of the channel are compared
 * here, and a byte has the strongest mode that one of them needs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "board_priv.h"
#include "util/cap.h"
#include <dpa_cm_port.h>

#define OPENED	   (1ll << 40) /* read-locked while the file is open: who removes it looks */
#define PORT_BYTES (1ll << 41) /* + (family * 4 + port space) * 65536 * 4 + port * 4 + which */
#define ADDR_BYTES (1ll << 62) /* + 61 bits of a hash */
#define ADDR_MASK  ((1ll << 61) - 1)

/*
 * The process that removes the file holds its lock for three system calls, and may lose the
 * processor meanwhile. Waiting is bounded, for any user may hold that lock.
 */
#define TRIES	 20000
#define RETRY_NS 50000 /* at least; with the timer's slack some 100 us */

enum byte { BYTE_X, BYTE_WILD, BYTE_ADDR, BYTE_LISTEN, BYTE_NUM };
enum { MAX_BYTES = 2 * (BYTE_NUM + 1) };

struct dpa_cm_ports {
	int fd;
	char path[192];
	struct dpa_cm_claim *claims;
	uint32_t n, room;
};

/* A byte that a claim needs, how, and what it means if it cannot be had. */
struct need {
	int64_t at;
	short mode;  /* F_RDLCK, F_WRLCK; F_UNLCK: only looked at: no other file may have it */
	int refusal; /* errno */
	const struct dpa_cm_claim *of;
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
	return PORT_BYTES + ((((int64_t)v6 * 4 + ps_index(c->ps)) << 16) + c->port) * 4 + which;
}

/* Two addresses that share a byte would only exclude each other. */
static int64_t addr_byte(const struct dpa_cm_claim *c)
{
	uint8_t in[24] = {(uint8_t)c->v6, (uint8_t)ps_index(c->ps)};

	memcpy(in + 2, &c->port, 2);
	memcpy(in + 4, &c->scope, 4);
	memcpy(in + 8, c->addr, 16);
	return ADDR_BYTES + (int64_t)(dpa_board_hash(in, sizeof(in)) & ADDR_MASK);
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
					  wild && !c->reuse ? F_WRLCK : F_RDLCK, EADDRNOTAVAIL, c};
		if (wild == c->reuse)
			need[n++] = (struct need){port_byte(c, v6, wild ? BYTE_WILD : BYTE_ADDR),
						  F_RDLCK, EADDRNOTAVAIL, c};
	}
	for (int v6 = 0; v6 < 2; v6++)
		if (c->listening && (v6 == c->v6 || both))
			need[n++] = (struct need){port_byte(c, v6, BYTE_LISTEN), F_RDLCK,
						  EADDRNOTAVAIL, c};
	if (!wild)
		need[n++] =
			(struct need){addr_byte(c), c->reuse ? F_RDLCK : F_WRLCK, EADDRINUSE, c};
	for (int v6 = 0; v6 < 2; v6++)
		if ((v6 == c->v6 || both) && wild == c->reuse)
			need[n++] = (struct need){port_byte(c, v6, wild ? BYTE_ADDR : BYTE_WILD),
						  F_UNLCK, EADDRNOTAVAIL, c};
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

/*
 * The strongest mode of that byte which the channel's claims but `except` need. Claims of other ports
 * have other bytes.
 */
static short mode_of(const struct dpa_cm_ports *p, const struct need *byte, uint32_t except)
{
	struct need need[MAX_BYTES];
	short mode = F_UNLCK;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct dpa_cm_claim *c = &p->claims[i];

		if (i == except || c->port != byte->of->port || c->ps != byte->of->ps)
			continue;
		for (int k = locks_of_claim(c, need); k-- > 0;) {
			if (need[k].at != byte->at || need[k].mode == F_UNLCK)
				continue;
			if (need[k].mode == F_WRLCK)
				return F_WRLCK;
			mode = F_RDLCK;
		}
	}
	return mode;
}

/* Gives the bytes back what the other claims need. Giving up or weakening a lock does not fail. */
static void unlock_ports(struct dpa_cm_ports *p, const struct need *need, int n, uint32_t except)
{
	while (n-- > 0)
		if (need[n].mode != F_UNLCK)
			(void)set_lock(p->fd, need[n].at, mode_of(p, &need[n], except));
}

/* Takes what *c needs; `except`: the claim that it replaces, else p->n. All or nothing. */
static int lock_ports(struct dpa_cm_ports *p, const struct dpa_cm_claim *c, uint32_t except)
{
	struct need need[MAX_BYTES];
	int n = locks_of_claim(c, need), i, rc = 0;

	for (i = 0; i < n && !rc; i++) {
		if (need[i].mode == F_UNLCK)
			rc = must_be_free(p->fd, need[i].at);
		else if (need[i].mode == F_WRLCK || mode_of(p, &need[i], except) != F_WRLCK)
			rc = set_lock(p->fd, need[i].at, need[i].mode);
		if (rc == EAGAIN)
			rc = need[i].refusal;
	}
	if (rc)
		unlock_ports(p, need, i, p->n);
	return rc;
}

static uint32_t find_claim(const struct dpa_cm_ports *p, const struct dpa_cm_claim *c)
{
	uint32_t i;

	for (i = 0; i < p->n; i++) {
		const struct dpa_cm_claim *o = &p->claims[i];

		if (o->ps == c->ps && o->port == c->port && o->afonly == c->afonly &&
		    o->reuse == c->reuse && same_address(o, c))
			break;
	}
	return i;
}

/* Compares with the channel's own claims, then takes the locks. */
static int claim_port(struct dpa_cm_ports *p, const struct dpa_cm_claim *c)
{
	for (uint32_t i = 0; i < p->n; i++) {
		int rc = claims_conflict(&p->claims[i], c);

		if (rc)
			return rc;
	}
	return lock_ports(p, c, p->n);
}

/*
 * Claims c->port if no claim of any address and family has it, and adds it. EAGAIN: one has. A
 * wildcard of both families shows that: then the claim's own locks replace it.
 */
static int claim_unused(struct dpa_cm_ports *p, const struct dpa_cm_claim *c)
{
	const struct dpa_cm_claim all = {.ps = c->ps, .port = c->port, .v6 = true};
	struct need need[MAX_BYTES];
	int rc;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->claims[i].ps == c->ps && p->claims[i].port == c->port)
			return EAGAIN;
	rc = lock_ports(p, &all, p->n);
	if (rc)
		return rc == EADDRNOTAVAIL ? EAGAIN : rc;
	rc = lock_ports(p, c, p->n);
	if (!rc)
		p->claims[p->n++] = *c;
	unlock_ports(p, need, locks_of_claim(&all, need), p->n);
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

static int claim_any(struct dpa_cm_ports *p, struct dpa_cm_claim *c)
{
	unsigned int lo = 0, hi = 0, r = 0;
	int rc = EAGAIN;

	if (!read_range("/proc/sys/net/ipv4/ip_local_port_range", &lo, &hi) || !lo || hi < lo ||
	    hi > UINT16_MAX) {
		lo = 32768;
		hi = 60999;
	}
	(void)!getrandom(&r, sizeof(r), GRND_NONBLOCK);
	for (unsigned int i = 0, n = hi - lo + 1; i < n && rc == EAGAIN; i++) {
		c->port = (uint16_t)(lo + (r % n + i) % n);
		rc = claim_unused(p, c);
	}
	if (rc)
		c->port = 0;
	return rc == EAGAIN ? EADDRNOTAVAIL : rc;
}

static bool is_privileged_port(uint16_t port)
{
	unsigned int first = 1024, unused;

	(void)read_range("/proc/sys/net/ipv4/ip_unprivileged_port_start", &first, &unused);
	return port < first && !dpa_has_capability(CAP_NET_BIND_SERVICE);
}

static int room_for_one(struct dpa_cm_ports *p)
{
	uint32_t room = p->room ? 2 * p->room : 8;
	struct dpa_cm_claim *c;

	if (p->n < p->room)
		return 0;
	c = realloc(p->claims, room * sizeof(*c));
	if (!c)
		return ENOMEM;
	p->claims = c;
	p->room = room;
	return 0;
}

int dpa_cm_port_claim(struct dpa_cm_ports *p, struct dpa_cm_claim *c)
{
	int rc;

	if (ps_index(c->ps) < 0 || (!c->v6 && (!c->afonly || c->scope)))
		return EINVAL;
	c->listening = false;
	rc = room_for_one(p);
	if (rc)
		return rc;
	if (!c->port)
		return claim_any(p, c);
	rc = is_privileged_port(c->port) ? EACCES : claim_port(p, c);
	if (!rc)
		p->claims[p->n++] = *c;
	return rc;
}

int dpa_cm_port_listen(struct dpa_cm_ports *p, struct dpa_cm_claim *c)
{
	struct dpa_cm_claim alone = *c;
	uint32_t at = find_claim(p, c);
	int rc = 0;

	if (at == p->n)
		return ENOENT;
	if (p->claims[at].listening)
		return 0;
	alone.reuse = false;
	alone.listening = true;
	for (uint32_t i = 0; i < p->n && !rc; i++)
		if (i != at)
			rc = claims_conflict(&p->claims[i], &alone);
	if (!rc)
		rc = lock_ports(p, &alone, at);
	if (rc)
		return rc;
	p->claims[at] = alone;
	/* what only the claim that reuses needed */
	struct need need[MAX_BYTES];

	unlock_ports(p, need, locks_of_claim(c, need), p->n);
	*c = alone;
	return 0;
}

/*
 * Takes the bytes of the address before it weakens those of the wildcard, which no other open file
 * can hold at the same time: the reverse order of locks_of_claim().
 */
int dpa_cm_port_narrow(struct dpa_cm_ports *p, struct dpa_cm_claim *c, const uint8_t addr[16],
		       uint32_t scope)
{
	struct dpa_cm_claim one = *c;
	struct need need[MAX_BYTES];
	uint32_t at = find_claim(p, c);
	int rc = 0, n;

	if (at == p->n || !is_wildcard(c))
		return ENOENT;
	memcpy(one.addr, addr, sizeof(one.addr));
	one.scope = scope;
	n = locks_of_claim(&one, need);
	for (int i = n; i-- > 0 && !rc;)
		if (need[i].mode != F_UNLCK && mode_of(p, &need[i], at) != F_WRLCK)
			rc = set_lock(p->fd, need[i].at, need[i].mode);
	if (rc) {
		unlock_ports(p, need, n, p->n);
		return rc;
	}
	p->claims[at] = one;
	unlock_ports(p, need, locks_of_claim(c, need), p->n);
	*c = one;
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

/* In [from, to): the locks of all open files. A query returns any one of them, so split at it. */
static void each_lock(int fd, int64_t from, int64_t to, dpa_cm_port_fn *fn, void *arg)
{
	static const uint16_t spaces[] = {DPA_CM_PS_TCP, DPA_CM_PS_UDP, DPA_CM_PS_IPOIB,
					  DPA_CM_PS_IB};

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
		each_lock(fd, from, at, fn, arg);
		for (; at < end; at++) {
			uint64_t n = (uint64_t)(at - PORT_BYTES);

			if (n % 4 == BYTE_LISTEN)
				fn(arg, spaces[n >> 18 & 3], (uint16_t)(n >> 2));
		}
		from = end;
	}
}

int dpa_cm_port_each(dpa_cm_port_fn *fn, void *arg)
{
	char path[192];
	int fd, rc = dpa_cm_ports_path(path, sizeof(path));

	if (rc)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno;
	each_lock(fd, PORT_BYTES, PORT_BYTES + (8ll << 18), fn, arg);
	close(fd);
	return 0;
}

int dpa_cm_port_release(struct dpa_cm_ports *p, const struct dpa_cm_claim *c)
{
	struct need need[MAX_BYTES];
	uint32_t at = find_claim(p, c);
	int n;

	if (at == p->n)
		return ENOENT;
	n = locks_of_claim(&p->claims[at], need);
	unlock_ports(p, need, n, at);
	p->claims[at] = p->claims[--p->n];
	return 0;
}

/* ------------------------------------------------------------------ the file */

int dpa_cm_ports_path(char *path, size_t len)
{
	int n = snprintf(path, len, "/dev/shm/dpa-cm-%llu", (unsigned long long)dpa_board_netns());

	return n < 0 || (size_t)n >= len ? ENAMETOOLONG : 0;
}

/*
 * Creates the file with its final mode: it gets its name when it is complete. Another user who opens
 * it never finds the mode that the umask leaves. EAGAIN: another process was faster.
 */
static int make_ports_file(const char *path, int *fd)
{
	char dir[sizeof(((struct dpa_cm_ports *)0)->path)], link[40];
	char *slash;
	int rc;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash)
		return EINVAL;
	slash[slash == dir] = '\0';
	*fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	if (*fd < 0)
		return errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", *fd);
	if (!fchmod(*fd, 0666) && !linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW))
		return 0;
	rc = errno;
	close(*fd);
	*fd = -1;
	return rc == EEXIST ? EAGAIN : rc;
}

/* The same where the file system has no O_TMPFILE, or without /proc. */
static int make_named_file(const char *path, int *fd)
{
	int rc;

	*fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT | O_EXCL, 0666);
	if (*fd < 0)
		return errno == EEXIST ? EAGAIN : errno;
	if (!fchmod(*fd, 0666))
		return 0;
	rc = errno;
	(void)unlink(path);
	close(*fd);
	return rc;
}

/*
 * The file, made if need be. An existing one is opened without O_CREAT, which the kernel forbids
 * for another user's file in a sticky folder (fs.protected_regular).
 */
static int open_file(const char *path, int *fd)
{
	struct stat st;
	int rc;

	*fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (*fd < 0 && errno == ENOENT) {
		rc = make_ports_file(path, fd);
		return !rc || rc == EAGAIN ? rc : make_named_file(path, fd);
	}
	if (*fd < 0)
		return errno == ELOOP ? EPROTO : errno;
	if (fstat(*fd, &st) || !S_ISREG(st.st_mode)) {
		close(*fd);
		return EPROTO;
	}
	return 0;
}

/*
 * One try. EAGAIN: another process makes or removes the file at this moment, or removed it since it
 * was opened.
 */
static int try_open_ports(const char *path, int *fd)
{
	int rc = open_file(path, fd);

	if (rc)
		return rc;
	rc = set_lock(*fd, OPENED, F_RDLCK);
	if (!rc && !dpa_board_file_named(*fd, path))
		rc = EAGAIN;
	if (rc)
		close(*fd);
	return rc;
}

int dpa_cm_ports_open(const char *path, struct dpa_cm_ports **ports)
{
	const struct timespec nap = {.tv_nsec = RETRY_NS};
	struct dpa_cm_ports *p = calloc(1, sizeof(*p));
	int rc, tries = TRIES;

	if (!p)
		return ENOMEM;
	if (strlen(path) >= sizeof(p->path)) {
		free(p);
		return ENAMETOOLONG;
	}
	strcpy(p->path, path);
	while ((rc = try_open_ports(path, &p->fd)) == EAGAIN && tries-- > 0)
		nanosleep(&nap, NULL);
	if (rc)
		free(p);
	else
		*ports = p;
	return rc;
}

int dpa_cm_ports_fd(const struct dpa_cm_ports *p)
{
	return p->fd;
}

/* A new open file, so that a lock that a forked child still has counts as another's. */
static void remove_unused(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return;
	if (set_lock(fd, OPENED, F_WRLCK) == 0 && dpa_board_file_named(fd, path))
		unlink(path); /* another user's in a sticky folder: EPERM, and it stays */
	close(fd);
}

void dpa_cm_ports_close(struct dpa_cm_ports *p)
{
	close(p->fd);
	remove_unused(p->path);
	free(p->claims);
	free(p);
}

#define SWEEP_MAX 256 /* files that are looked at: to make a board stays cheap */

void dpa_cm_ports_sweep(const char *dir)
{
	char path[512];
	struct dirent *e;
	int n = 0;
	DIR *d = opendir(dir);

	while (d && n < SWEEP_MAX && (e = readdir(d))) {
		const char *number = e->d_name + 7;

		if (strncmp(e->d_name, "dpa-cm-", 7) || !*number ||
		    strspn(number, "0123456789") != strlen(number))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		remove_unused(path);
		n++;
	}
	if (d)
		closedir(d);
}
