/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * file.c - the board's file: found, checked, created.
 *
 * Who creates, attaches, detaches or removes holds the admin lock, one byte of an open file
 * description lock, which the kernel drops at any death. After taking it, the file must still be
 * the one at its name: the last process out removes it, and somebody may have waited for the lock
 * meanwhile. Creation writes `magic` last: a file without it belongs to a creator that died, and
 * nobody has ever mapped it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "board_priv.h"

/* Each lap means that somebody else removed or replaced the file: a bound for the absurd case. */
#define OPEN_LAPS 10000

int dpa_board_fail(const struct dpa_board_err *e, int rc, const char *fmt, ...)
{
	va_list ap;

	if (e && e->text && e->len && !e->text[0]) {
		va_start(ap, fmt);
		vsnprintf(e->text, e->len, fmt, ap);
		va_end(ap);
	}
	return rc;
}

/* FNV-1a over the bytes before `check`: finds damage, not malice. */
uint64_t dpa_board_ident_check(const struct dpa_board_ident *id)
{
	const uint8_t *p = (const uint8_t *)id;
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < offsetof(struct dpa_board_ident, check); i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

static int admin(int fd, int cmd, short type)
{
	struct flock fl = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = DPA_BOARD_LOCK_ADMIN,
		.l_len = 1,
	};

	while (fcntl(fd, cmd, &fl))
		if (errno != EINTR)
			return errno;
	return 0;
}

int dpa_board_file_lock(int fd)
{
	return admin(fd, F_OFD_SETLKW, F_WRLCK);
}

int dpa_board_file_trylock(int fd)
{
	return admin(fd, F_OFD_SETLK, F_WRLCK);
}

void dpa_board_file_unlock(int fd)
{
	admin(fd, F_OFD_SETLK, F_UNLCK);
}

bool dpa_board_file_named(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstatat(AT_FDCWD, path, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* ------------------------------------------------------------------ checks */

static int check_stat(const char *path, const struct stat *st, const struct dpa_board_err *e)
{
	if (!S_ISREG(st->st_mode))
		return dpa_board_fail(e, EPROTO, "%s: not a board: not a regular file", path);
	if (st->st_uid != geteuid())
		return dpa_board_fail(e, EPROTO, "%s: not our board: it belongs to user %u", path,
				      (unsigned)st->st_uid);
	if (st->st_mode & 077)
		return dpa_board_fail(e, EPROTO, "%s: not our board: others may open it (mode %o)",
				      path, (unsigned)(st->st_mode & 07777));
	if (st->st_nlink > 1)
		return dpa_board_fail(e, EPROTO, "%s: not our board: it has further names", path);
	return 0;
}

/* Another version's: named; the text of its version is only trusted as far as it is printable. */
static int check_version(const struct dpa_board_cfg *cfg, const char *path,
			 const struct dpa_board_ident *id, const struct dpa_board_err *e)
{
	const char *ours = cfg->lib_version ? cfg->lib_version : "";

	if (id->layout == DPA_BOARD_LAYOUT && id->hw_version == DPA_HW_VERSION &&
	    id->mutex_size == sizeof(pthread_mutex_t) && strcmp(id->lib_version, ours) == 0)
		return 0;
	return dpa_board_fail(
		e, EPROTO,
		"%s: the board is in use by dpa %s (layout %u, interface %u); this is "
		"dpa %s (layout %u, interface %u)",
		path, id->lib_version, id->layout, id->hw_version, ours, DPA_BOARD_LAYOUT,
		DPA_HW_VERSION);
}

static bool printable(const char *s, size_t n)
{
	size_t len = strnlen(s, n);

	for (size_t i = 0; i < len; i++)
		if (s[i] < 0x20 || s[i] > 0x7e)
			return false;
	return len < n;
}

/* Whatever the version: is this a board, whole, and of this user and namespace? */
static int check_ident(const char *path, const struct dpa_board_ident *id, uint64_t size,
		       const struct dpa_board_err *e)
{
	uint64_t netns = dpa_board_netns();

	if (id->magic != DPA_BOARD_MAGIC)
		return dpa_board_fail(e, EPROTO, "%s: foreign file, not a board", path);
	if (id->check != dpa_board_ident_check(id) ||
	    !printable(id->lib_version, sizeof(id->lib_version)))
		return dpa_board_fail(e, EPROTO, "%s: corrupt board: its header is damaged", path);
	if (id->file_len != size)
		return dpa_board_fail(e, EPROTO, "%s: corrupt board: %llu bytes instead of %llu",
				      path, (unsigned long long)size,
				      (unsigned long long)id->file_len);
	if (id->uid != dpa_board_uid() || (id->netns && netns && id->netns != netns))
		return dpa_board_fail(e, EPROTO, "%s: board of another user or network namespace",
				      path);
	return 0;
}

/* With the layout known to be ours: are its numbers? */
static int check_numbers(const char *path, const struct dpa_board_ident *id,
			 const struct dpa_board_err *e)
{
	if (id->file_len == DPA_BOARD_FILE_LEN && id->procs == DPA_BOARD_PROCS &&
	    id->qpns == DPA_BOARD_QPNS && id->uar_pages >= 1 &&
	    id->uar_pages <= DPA_BOARD_UAR_PAGES && id->counters == DPA_BOARD_COUNTERS &&
	    id->board_num >= 1 && id->board_num <= 254)
		return 0;
	return dpa_board_fail(e, EPROTO, "%s: corrupt board: its header makes no sense", path);
}

/*
 * Without `magic`: its creator has not finished, or died before. Nobody is on such a file; if
 * somebody is, it was damaged, or (for who looks without the lock) it was finished just now.
 */
static int unfinished(int fd, const char *path, const struct dpa_board_err *e)
{
	uint64_t magic = 0;

	if (dpa_board_bytes_held(fd, 0, UINT16_MAX) &&
	    pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == 0)
		return dpa_board_fail(e, EPROTO, "%s: corrupt board: its header is damaged", path);
	return ENOENT;
}

/* First the word that is written last: once it is there the others are. */
static int read_words(int fd, const char *path, struct dpa_board_ident *id, uint64_t size,
		      const struct dpa_board_err *e)
{
	uint64_t magic = 0;
	ssize_t n = pread(fd, &magic, sizeof(magic), 0);

	if (n == sizeof(magic) && magic == 0 && size == DPA_BOARD_FILE_LEN)
		return unfinished(fd, path, e);
	n = pread(fd, id, sizeof(*id), 0);
	if (n < 0)
		return dpa_board_fail(e, errno, "%s: %m", path);
	if (n < (ssize_t)sizeof(*id))
		return dpa_board_fail(e, EPROTO, "%s: foreign file, not a board", path);
	return 0;
}

/* ENOENT: unfinished. */
static int read_ident(int fd, const char *path, struct dpa_board_ident *id, uint64_t *size,
		      const struct dpa_board_err *e)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st))
		return dpa_board_fail(e, errno, "%s: %m", path);
	rc = check_stat(path, &st, e);
	if (rc)
		return rc;
	*size = (uint64_t)st.st_size;
	if (*size == 0)
		return ENOENT;
	rc = read_words(fd, path, id, *size, e);
	return rc ? rc : check_ident(path, id, *size, e);
}

int dpa_board_file_check(const struct dpa_board_cfg *cfg, const char *path, int fd,
			 struct dpa_board_ident *id, const struct dpa_board_err *e)
{
	uint64_t size;
	int rc = read_ident(fd, path, id, &size, e);

	if (!rc)
		rc = check_version(cfg, path, id, e);
	if (!rc)
		rc = check_numbers(path, id, e);
	return rc;
}

/* ---------------------------------------------------------------- creation */

static void fill_ident(const struct dpa_board_cfg *cfg, struct dpa_board_ident *id, uint32_t num)
{
	struct timespec ts;

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
		.uid = dpa_board_uid(),
		.board_num = num,
		.netns = dpa_board_netns(),
		.created_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec,
		.mutex_size = sizeof(pthread_mutex_t),
	};
	snprintf(id->lib_version, sizeof(id->lib_version), "%s",
		 cfg->lib_version ? cfg->lib_version : "");
}

/* The fixed part exists from the start, so that nobody needs to ask for it. */
static int reserve_fixed(int fd)
{
	static const struct {
		off_t off, len;
	} part[] = {
		{0, DPA_BOARD_UNIT},
		{DPA_BOARD_OFF_PROCS, DPA_BOARD_PROCS * sizeof(struct dpa_board_proc)},
		{DPA_BOARD_OFF_LINKS, DPA_BOARD_UAR_PAGES * sizeof(struct dpa_board_link)},
	};
	struct rlimit lim;

	/* Growing past the limit would raise SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY &&
	    lim.rlim_cur < DPA_BOARD_FILE_LEN)
		return EFBIG;
	if (ftruncate(fd, 0) || ftruncate(fd, DPA_BOARD_FILE_LEN))
		return errno;
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		while (fallocate(fd, 0, part[i].off, part[i].len))
			if (errno != EINTR)
				return errno == ENOSPC ? ENOMEM : errno;
	return 0;
}

/* Under the admin lock, on a file that nobody has mapped. */
static int initialise(int fd, const struct dpa_board_ident *id)
{
	struct dpa_board_shm *shm;
	int rc = reserve_fixed(fd);

	if (rc)
		return rc;
	DPA_BOARD_STEP("create-sized");
	shm = mmap(NULL, DPA_BOARD_FILE_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shm == MAP_FAILED)
		return errno;
	rc = dpa_board_lock_init(shm);
	if (!rc) {
		dpa_board_uar_init(shm, id->uar_pages);
		DPA_BOARD_STEP("create-lists");
		memcpy((uint8_t *)&shm->head.ident + 8, (const uint8_t *)id + 8, sizeof(*id) - 8);
		DPA_BOARD_STEP("create-ident");
		__atomic_store_n(&shm->head.ident.magic, id->magic, __ATOMIC_RELEASE);
	}
	munmap(shm, DPA_BOARD_FILE_LEN);
	return rc;
}

static int create(const struct dpa_board_cfg *cfg, const char *path, int fd,
		  struct dpa_board_ident *id, int *num_fd, const struct dpa_board_err *e)
{
	uint32_t num;
	int rc;

	if (cfg->lib_version && (strlen(cfg->lib_version) >= sizeof(id->lib_version) ||
				 !printable(cfg->lib_version, sizeof(id->lib_version))))
		return dpa_board_fail(e, EINVAL, "%s: bad library version", path);
	if (cfg->uar_pages > DPA_BOARD_UAR_PAGES)
		return dpa_board_fail(e, EINVAL, "%s: a board has at most %u UAR pages", path,
				      DPA_BOARD_UAR_PAGES);
	rc = dpa_board_num_new(&num, num_fd);
	if (rc)
		return dpa_board_fail(e, rc, "%s: no board number to be had in this namespace: %s",
				      path, strerror(rc));
	fill_ident(cfg, id, num);
	if (getrandom(id->id, sizeof(id->id), 0) != sizeof(id->id))
		rc = EIO;
	id->check = dpa_board_ident_check(id);
	if (!rc)
		rc = initialise(fd, id);
	if (rc) {
		close(*num_fd);
		*num_fd = -1;
		dpa_board_fail(e, rc, "%s: cannot make a board: %s%s", path, strerror(rc),
			       rc == ENOMEM  ? " (is the file system full?)"
			       : rc == EFBIG ? " (see ulimit -f)"
					     : "");
	}
	return rc;
}

/* -------------------------------------------------------------------- open */

/* EAGAIN: somebody removed it meanwhile. */
static int open_locked(const char *path, int *fd, const struct dpa_board_err *e)
{
	int rc;

	*fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (*fd < 0) {
		rc = errno;
		if (rc == ELOOP || rc == EISDIR || rc == ENXIO)
			return dpa_board_fail(e, EPROTO, "%s: not a board: not a regular file",
					      path);
		return dpa_board_fail(e, rc, "%s: cannot open the board: %s", path, strerror(rc));
	}
	rc = dpa_board_file_lock(*fd);
	if (rc)
		dpa_board_fail(e, rc, "%s: cannot lock the board: %s", path, strerror(rc));
	else if (!dpa_board_file_named(*fd, path))
		rc = EAGAIN;
	if (rc)
		close(*fd);
	return rc;
}

/*
 * Under the admin lock. A sound board that nobody is on any more (everybody on it was killed) is
 * removed, so that the next process starts clean; this one then comes back for a new file.
 */
static int settle(const struct dpa_board_cfg *cfg, const char *path, int fd,
		  struct dpa_board_ident *id, int *num_fd, const struct dpa_board_err *e)
{
	uint64_t size;
	int rc = read_ident(fd, path, id, &size, e);

	if (rc == ENOENT) {
		rc = create(cfg, path, fd, id, num_fd, e);
		if (rc)
			unlink(path);
		else
			dpa_board_sweep_stale(path);
		return rc;
	}
	if (rc)
		return rc;
	if (id->layout == DPA_BOARD_LAYOUT) {
		rc = check_numbers(path, id, e);
		if (rc)
			return rc;
	}
	if (!dpa_board_bytes_held(fd, 0, UINT16_MAX)) {
		DPA_BOARD_STEP("stale-unlink");
		return unlink(path) ? errno : EAGAIN;
	}
	return check_version(cfg, path, id, e);
}

int dpa_board_file_open(const struct dpa_board_cfg *cfg, const char *path, int *fd,
			struct dpa_board_ident *id, int *num_fd, const struct dpa_board_err *e)
{
	*num_fd = -1;
	for (int lap = 0; lap < OPEN_LAPS; lap++) {
		int rc = open_locked(path, fd, e);

		if (rc == EAGAIN)
			continue;
		if (rc)
			return rc;
		rc = settle(cfg, path, *fd, id, num_fd, e);
		if (!rc)
			return 0;
		close(*fd);
		*fd = -1;
		if (rc != EAGAIN)
			return dpa_board_fail(e, rc, "%s: %s", path, strerror(rc));
	}
	return dpa_board_fail(e, EBUSY, "%s: the board comes and goes", path);
}
