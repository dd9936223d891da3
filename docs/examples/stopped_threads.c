/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stopped_threads.c - shows why a device does not exchange pages beside running threads. It stops
 * threads by PTRACE_SEIZE and PTRACE_INTERRUPT: some calls end with EINTR. Then it protects a page by
 * userfaultfd(2): a call of the kernel that stores there fails. ../direct-path.md, "Beside other
 * threads".
 *
 *	cc -o stopped_threads stopped_threads.c -pthread && ./stopped_threads
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 2

static int by_epoll(void)
{
	struct epoll_event ev;

	return epoll_wait(epoll_create1(0), &ev, 1, SECONDS * 1000);
}

static int by_sem(void)
{
	int id = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf op = {.sem_op = -1};
	struct timespec ts = {.tv_sec = SECONDS};
	int ret = semtimedop(id, &op, 1, &ts), err = errno;

	semctl(id, 0, IPC_RMID);
	errno = err;
	return ret;
}

static int by_recv(void)
{
	struct timeval tv = {.tv_sec = SECONDS};
	int pair[2];
	char c;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return (int)recv(pair[0], &c, 1, 0);
}

static int by_signal(void)
{
	struct timespec ts = {.tv_sec = SECONDS};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &ts);
}

static int by_poll(void)
{
	return poll(NULL, 0, SECONDS * 1000);
}

static int by_nanosleep(void)
{
	struct timespec ts = {.tv_sec = SECONDS};

	return nanosleep(&ts, NULL);
}

static int by_futex(void)
{
	struct timespec ts = {.tv_sec = SECONDS};
	int word = 0;

	return (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0);
}

static const struct {
	const char *name;
	int (*wait)(void);
} calls[] = {{"epoll_wait()", by_epoll}, {"recv() with SO_RCVTIMEO", by_recv},
	     {"semtimedop()", by_sem},	 {"sigtimedwait()", by_signal},
	     {"poll()", by_poll},	 {"nanosleep()", by_nanosleep},
	     {"futex()", by_futex}};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static struct {
	pid_t tid;
	int ret, err;
} thread[CALLS];

static void *waits(void *arg)
{
	size_t i = (size_t)arg;

	__atomic_store_n(&thread[i].tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	thread[i].ret = calls[i].wait();
	thread[i].err = errno;
	return NULL;
}

static bool is_asleep(pid_t tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S';
}

/* In a child, which may trace as soon as the pipe has a byte: stop each thread for a moment. */
static void helper(const int may[2])
{
	char c;

	close(may[1]);
	if (read(may[0], &c, 1) != 1)
		_exit(1);
	for (int i = 0; i < CALLS; i++)
		if (ptrace(PTRACE_SEIZE, thread[i].tid, NULL, NULL)) {
			dprintf(1, "PTRACE_SEIZE: %s\n", strerror(errno));
			_exit(1);
		}
	for (int i = 0; i < CALLS; i++)
		ptrace(PTRACE_INTERRUPT, thread[i].tid, NULL, NULL);
	for (int i = 0; i < CALLS; i++) {
		waitpid(thread[i].tid, NULL, __WALL);
		ptrace(PTRACE_DETACH, thread[i].tid, NULL, NULL);
	}
	_exit(0);
}

static void stop_threads(void)
{
	pthread_t t[CALLS];
	int status = 0, may[2];
	pid_t pid;

	for (size_t i = 0; i < CALLS; i++) {
		pthread_create(&t[i], NULL, waits, (void *)i);
		while (!__atomic_load_n(&thread[i].tid, __ATOMIC_ACQUIRE) ||
		       !is_asleep(thread[i].tid))
			sched_yield();
	}
	if (pipe2(may, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid)
		helper(may);
	prctl(PR_SET_PTRACER, pid, 0, 0, 0); /* Yama lets only ancestors trace otherwise */
	if (write(may[1], "", 1) != 1)
		perror("write");
	close(may[1]);
	waitpid(pid, &status, 0);
	close(may[0]);
	for (int i = 0; i < CALLS; i++) {
		pthread_join(t[i], NULL);
		if (status)
			continue;
		printf("stopped in %-24s %s\n", calls[i].name,
		       thread[i].ret < 0 && thread[i].err == EINTR ? "EINTR" : "goes on");
	}
}

/* A page that is write-protected while it is exchanged: read(2) into it. */
static void protect_page(int flags, const char *what)
{
	const size_t n = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP};
	struct uffdio_register reg = {.range = {(unsigned long)p, n},
				      .mode = UFFDIO_REGISTER_MODE_WP};
	struct uffdio_writeprotect wp = {.range = {(unsigned long)p, n},
					 .mode = UFFDIO_WRITEPROTECT_MODE_WP};
	int fd = (int)syscall(SYS_userfaultfd, flags | O_CLOEXEC), zero;

	if (fd < 0) {
		printf("%-35s %s\n", what, strerror(errno));
		return;
	}
	*p = 1;
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg) ||
	    ioctl(fd, UFFDIO_WRITEPROTECT, &wp))
		printf("%-35s %s\n", what, strerror(errno));
	else if (flags)
		printf("%-35s read() into a protected page: %s\n", what,
		       read(zero, p, n) < 0 ? strerror(errno) : "done");
	else
		printf("%-35s permitted\n", what);
	close(zero);
	close(fd);
}

int main(void)
{
	stop_threads();
	protect_page(UFFD_USER_MODE_ONLY, "userfaultfd() without privilege:");
	protect_page(0, "full userfaultfd():");
	return 0;
}
