/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ident.c - identity: the first 128 bytes of a board's file. They are read by pread before anything
 * is mapped, so a file that is not a board is never touched. Their place and meaning are the same
 * in all layouts, so that an error message can name a board of another version.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "util/openers.h"
#include "board_priv.h"

/* FNV-1a. */
uint64_t dpa_board_hash(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

/* Detects damage, not intent. */
uint64_t dpa_board_ident_check(const struct dpa_board_ident *id)
{
	return dpa_board_hash(id, offsetof(struct dpa_board_ident, check));
}

static int check_stat(const struct dpa_board *b, const struct stat *st,
		      const struct dpa_board_err *e)
{
	if (!S_ISREG(st->st_mode))
		return dpa_board_fail(e, EPROTO, "%s: not an adapter state: not a regular file",
				      b->path);
	if (st->st_uid != geteuid())
		return dpa_board_fail(e, EPROTO, "%s: not our adapter state: it belongs to user %u",
				      b->path, (unsigned)st->st_uid);
	if (st->st_mode & 077)
		return dpa_board_fail(e, EPROTO,
				      "%s: not our adapter state: others may open it (mode %o)",
				      b->path, (unsigned)(st->st_mode & 07777));
	if (st->st_nlink > 1)
		return dpa_board_fail(
			e, EPROTO, "%s: not our adapter state: it has other hard links", b->path);
	return 0;
}

struct file {
	const char *name;
	struct stat st;
};

/* By name first: a stat of a file of a dead server would block. */
static bool is_file(void *arg, int dir, const char *name)
{
	const struct file *f = arg;
	char link[PATH_MAX];
	ssize_t n = readlinkat(dir, name, link, sizeof(link) - 1);
	struct stat st;

	link[n > 0 ? n : 0] = '\0';
	return strstr(link, f->name) && !fstatat(dir, name, &st, 0) && st.st_dev == f->st.st_dev &&
	       st.st_ino == f->st.st_ino;
}

/* Writes which processes use the file, and the fix. */
static void describe_users(const struct dpa_board *b, char *text, size_t len)
{
	const char *slash = strrchr(b->path, '/');
	struct file f = {.name = slash ? slash + 1 : b->path};
	char first[64], others[32] = "";
	uint32_t n;

	if (b->fd < 0 || fstat(b->fd, &f.st))
		return;
	if (!dpa_board_bytes_held(b->fd, 0, UINT16_MAX)) {
		snprintf(text, len,
			 ". No process uses it: the next one of this version replaces it");
		return;
	}
	n = dpa_openers(is_file, &f, (uint32_t)getpid(), UINT32_MAX, first, sizeof(first));
	if (n > 1)
		snprintf(others, sizeof(others), " and %u more", n - 1);
	snprintf(text, len, ". It is used by %s%s: end %s, or set DPA_BOARD to another path",
		 n ? first : "processes that /proc does not show here", others,
		 n == 1 ? "it" : "them");
}

/*
 * Compares versions; the message names both, and the processes of the other one. The version text of
 * the file is only copied as far as it is printable.
 */
int dpa_board_ident_version(const struct dpa_board *b, const char *ours,
			    const struct dpa_board_ident *id, const struct dpa_board_err *e)
{
	char users[192] = "";

	if (id->layout == DPA_BOARD_LAYOUT && id->hw_version == DPA_HW_VERSION &&
	    id->mutex_size == sizeof(pthread_mutex_t) && strcmp(id->lib_version, ours) == 0)
		return 0;
	if (e->text)
		describe_users(b, users, sizeof(users));
	return dpa_board_fail(
		e, EPROTO,
		"%s: the adapter instance is in use by dpa %s (layout %u, interface %u); this is "
		"dpa %s (layout %u, interface %u)%s",
		b->path, id->lib_version, id->layout, id->hw_version, ours, DPA_BOARD_LAYOUT,
		DPA_HW_VERSION, users);
}

static bool is_printable(const char *s, size_t n)
{
	size_t len = strnlen(s, n);

	for (size_t i = 0; i < len; i++)
		if (s[i] < 0x20 || s[i] > 0x7e)
			return false;
	return len < n;
}

/* Checks, for any version: the file is a board, complete, and of this user and namespace. */
static int check_ident(const struct dpa_board *b, const struct dpa_board_ident *id, uint64_t size,
		       const struct dpa_board_err *e)
{
	if (id->magic != DPA_BOARD_MAGIC)
		return dpa_board_fail(e, EPROTO, "%s: foreign file, not an adapter state", b->path);
	if (id->check != dpa_board_ident_check(id) ||
	    !is_printable(id->lib_version, sizeof(id->lib_version)))
		return dpa_board_fail(e, EPROTO, "%s: corrupt adapter state: its header is damaged",
				      b->path);
	if (id->file_len != size)
		return dpa_board_fail(
			e, EPROTO, "%s: corrupt adapter state: %llu bytes instead of %llu", b->path,
			(unsigned long long)size, (unsigned long long)id->file_len);
	if (id->uid != b->uid || (id->netns && b->netns && id->netns != b->netns))
		return dpa_board_fail(e, EPROTO,
				      "%s: adapter state of another user or network namespace",
				      b->path);
	return 0;
}

/* Checks the numbers of a file that has our layout. */
int dpa_board_ident_numbers(const struct dpa_board *b, const struct dpa_board_ident *id,
			    const struct dpa_board_err *e)
{
	if (id->file_len == DPA_BOARD_FILE_LEN && id->procs == DPA_BOARD_PROCS &&
	    id->qpns == DPA_BOARD_QPNS && id->uar_pages >= 1 &&
	    id->uar_pages <= DPA_BOARD_UAR_PAGES && id->counters == DPA_BOARD_COUNTERS &&
	    id->board_num >= 1 && id->board_num <= 254)
		return 0;
	return dpa_board_fail(
		e, EPROTO, "%s: corrupt adapter state: its header has impossible values", b->path);
}

/*
 * A file without `magic`: its creator has not finished, or died. No process is attached to such a
 * file. If one is, the file was damaged, or was finished just now (if the caller does not hold the
 * lock).
 */
static int refuse_unfinished(const struct dpa_board *b, int fd, const struct dpa_board_err *e)
{
	uint64_t magic = 0;

	if (dpa_board_bytes_held(fd, 0, UINT16_MAX) &&
	    pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == 0)
		return dpa_board_fail(e, EPROTO, "%s: corrupt adapter state: its header is damaged",
				      b->path);
	return ENOENT;
}

/* Reads `magic` first, which is written last: if it is set, the others are complete. */
static int read_words(const struct dpa_board *b, int fd, struct dpa_board_ident *id, uint64_t size,
		      const struct dpa_board_err *e)
{
	uint64_t magic = 0;
	ssize_t n = pread(fd, &magic, sizeof(magic), 0);

	if (n == sizeof(magic) && magic == 0 && size == DPA_BOARD_FILE_LEN)
		return refuse_unfinished(b, fd, e);
	n = pread(fd, id, sizeof(*id), 0);
	if (n < 0)
		return dpa_board_fail(e, errno, "%s: %m", b->path);
	if (n < (ssize_t)sizeof(*id))
		return dpa_board_fail(e, EPROTO, "%s: foreign file, not an adapter state", b->path);
	return 0;
}

/* ENOENT: unfinished. */
int dpa_board_ident_read(const struct dpa_board *b, int fd, struct dpa_board_ident *id,
			 const struct dpa_board_err *e)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st))
		return dpa_board_fail(e, errno, "%s: %m", b->path);
	rc = check_stat(b, &st, e);
	if (rc)
		return rc;
	if (st.st_size == 0)
		return ENOENT;
	rc = read_words(b, fd, id, (uint64_t)st.st_size, e);
	return rc ? rc : check_ident(b, id, (uint64_t)st.st_size, e);
}

/* Fills the identity of a new board. EINVAL: cfg is out of range. */
int dpa_board_ident_fill(const struct dpa_board *b, const struct dpa_board_cfg *cfg,
			 struct dpa_board_ident *id, const struct dpa_board_err *e)
{
	struct timespec ts;

	if (strlen(cfg->lib_version) >= sizeof(id->lib_version) ||
	    !is_printable(cfg->lib_version, sizeof(id->lib_version)))
		return dpa_board_fail(e, EINVAL, "%s: bad library version", b->path);
	if (cfg->uar_pages > DPA_BOARD_UAR_PAGES)
		return dpa_board_fail(e, EINVAL, "%s: an adapter instance has at most %u UAR pages",
				      b->path, DPA_BOARD_UAR_PAGES);
	clock_gettime(CLOCK_REALTIME, &ts);
	*id = (struct dpa_board_ident){
		.magic = DPA_BOARD_MAGIC,
		.layout = DPA_BOARD_LAYOUT,
		.hw_version = DPA_HW_VERSION,
		.file_len = DPA_BOARD_FILE_LEN,
		.procs = DPA_BOARD_PROCS,
		.qpns = DPA_BOARD_QPNS,
		.uar_pages = cfg->uar_pages ? cfg->uar_pages : DPA_BOARD_UAR_PAGES,
		.counters = DPA_BOARD_COUNTERS,
		.uid = b->uid,
		.board_num = b->board_num,
		.netns = b->netns,
		.created_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec,
		.mutex_size = sizeof(pthread_mutex_t),
	};
	snprintf(id->lib_version, sizeof(id->lib_version), "%s", cfg->lib_version);
	if (getrandom(id->id, sizeof(id->id), 0) != sizeof(id->id))
		return dpa_board_fail(e, EIO, "%s: no random numbers from the kernel", b->path);
	id->check = dpa_board_ident_check(id);
	return 0;
}
