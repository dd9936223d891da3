/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* file.c - the file that tools read: creation, lock, removal. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "file.h"
#include "stat.h"

#define SWEEP_MAX 256 /* most files checked: the start stays cheap even in a full folder */
#define DIGITS	  "0123456789"

static struct {
	pthread_mutex_t lock;
	_Atomic(struct dpa_stat_file *) map;
	int fd; /* holds the lock: no other code of the process may open and close the file */
	char path[512];
} file = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

struct dpa_stat_file *dpa_stat_file(void)
{
	return atomic_load_explicit(&file.map, memory_order_acquire);
}

bool dpa_stat_holds(const struct dpa_stat_task *t)
{
	struct dpa_stat_file *f = dpa_stat_file();

	return f && t >= f->tasks && t < f->tasks + DPA_STAT_TASKS;
}

void dpa_stat_lock(void)
{
	pthread_mutex_lock(&file.lock);
}

void dpa_stat_unlock(void)
{
	pthread_mutex_unlock(&file.lock);
}

static int first_byte(int fd, int cmd, struct flock *l)
{
	*l = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	return fcntl(fd, cmd, l);
}

static void remove_unlocked(const char *path)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct flock l;
	struct stat st;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    !first_byte(fd, F_GETLK, &l) && l.l_type == F_UNLCK)
		unlink(path);
	close(fd);
}

/*
 * Return the length of the prefix "dpa-UID-" of a default name of the adapter state; 0: it has
 * another name.
 */
static size_t prefix_of(const char *name)
{
	size_t n = 4, rest;

	if (strncmp(name, "dpa-", n) != 0)
		return 0;
	n += strspn(name + n, DIGITS);
	if (n == 4 || name[n++] != '-')
		return 0;
	rest = strspn(name + n, DIGITS);
	return rest && !name[n + rest] ? n : 0;
}

/*
 * Return whether it is a file like ours, of this adapter instance or, at the default place, of
 * another one of the user.
 */
static bool is_like_ours(const char *name, const char *of, size_t prefix)
{
	const char *end = name + strlen(of);

	if (prefix && strncmp(name, of, prefix) == 0)
		end = name + prefix + strspn(name + prefix, DIGITS);
	else if (strncmp(name, of, strlen(of)) != 0)
		return false;
	return strncmp(end, DPA_STAT_PATTERN, strlen(DPA_STAT_PATTERN)) == 0;
}

/*
 * Remove files of processes that were killed, but not our own: see `fd`. Remove those of the user's
 * other adapter instances too: no process comes to an instance whose network namespace is gone.
 */
static void remove_dead(const char *board)
{
	const char *name = strrchr(board, '/');
	char path[512];
	struct dirent *e;
	size_t prefix;
	int n = 0;
	DIR *d;

	if (!name)
		return;
	snprintf(path, sizeof(path), "%.*s/", (int)(name - board), board);
	prefix = prefix_of(++name);
	d = opendir(path);
	while (d && n < SWEEP_MAX && (e = readdir(d))) {
		if (!is_like_ours(e->d_name, name, prefix))
			continue;
		if (snprintf(path, sizeof(path), "%.*s%s", (int)(name - board), board, e->d_name) <
		    (int)sizeof(path))
			remove_unlocked(path);
		n++;
	}
	if (d)
		closedir(d);
}

/* Make the file, locked before it has its name. 0 or -1. */
static int make_stat_dir(const char *board)
{
	char tmp[sizeof(file.path)], *random;
	struct flock l;
	int fd;

	if (snprintf(tmp, sizeof(tmp), "%s.new-XXXXXX", board) >= (int)sizeof(tmp) - 32)
		return -1;
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return -1;
	random = strrchr(tmp, '-') + 1;
	snprintf(file.path, sizeof(file.path), "%s" DPA_STAT_PATTERN "%d-%s", board, (int)getpid(),
		 random);
	/* allocate its memory, too: a full file system must not cause SIGBUS later */
	if (first_byte(fd, F_SETLK, &l) || posix_fallocate(fd, 0, sizeof(struct dpa_stat_file)) ||
	    rename(tmp, file.path)) {
		close(fd);
		unlink(tmp);
		return -1;
	}
	file.fd = fd;
	return 0;
}

static void fill_head(struct dpa_stat_file *f, const char *device, uint32_t num_eus,
		      uint32_t max_run_time)
{
	struct dpa_stat_head *h = &f->head;
	struct timespec ts;
	FILE *c = fopen("/proc/self/comm", "re");

	if (c) {
		if (fgets(h->comm, sizeof(h->comm), c))
			h->comm[strcspn(h->comm, "\n")] = '\0';
		fclose(c);
	}
	clock_gettime(CLOCK_REALTIME, &ts);
	h->start_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	h->version = DPA_STAT_VERSION;
	h->num_eus = num_eus < DPA_STAT_EUS ? num_eus : DPA_STAT_EUS;
	h->pid = (uint32_t)getpid();
	h->uid = (uint32_t)geteuid();
	h->max_run_time = max_run_time;
	snprintf(h->device, sizeof(h->device), "%s", device);
	__atomic_store_n(&h->magic, DPA_STAT_MAGIC, __ATOMIC_RELEASE);
}

void dpa_stat_open(const char *board, const char *device, uint32_t num_eus, uint32_t max_run_time)
{
	struct dpa_stat_file *f;

	if (!board[0])
		return;
	remove_dead(board);
	if (make_stat_dir(board))
		return;
	f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
	if (f == MAP_FAILED) {
		unlink(file.path);
		close(file.fd);
		file.fd = -1;
		return;
	}
	fill_head(f, device, num_eus, max_run_time);
	atomic_store_explicit(&file.map, f, memory_order_release);
}

void dpa_stat_close(void)
{
	struct dpa_stat_file *f = dpa_stat_file();

	if (!f)
		return;
	atomic_store_explicit(&file.map, NULL, memory_order_release);
	unlink(file.path);
	munmap(f, sizeof(*f));
	close(file.fd);
	file.fd = -1;
}

/*
 * Handle the end of the process without a close; threads of EUs may still write into the mapping.
 */
__attribute__((destructor)) void dpa_stat_exit(void)
{
	const struct dpa_stat_file *f = dpa_stat_file();

	if (f && f->head.pid == (uint32_t)getpid())
		unlink(file.path);
}

/*
 * Forget the file in a child. Locks of fcntl are not inherited: closing the descriptor here does
 * not release the parent's lock.
 */
void dpa_stat_forget(void)
{
	struct dpa_stat_file *f = dpa_stat_file();

	pthread_mutex_init(&file.lock, NULL);
	if (!f)
		return;
	atomic_store_explicit(&file.map, NULL, memory_order_release);
	munmap(f, sizeof(*f));
	close(file.fd);
	file.fd = -1;
}
