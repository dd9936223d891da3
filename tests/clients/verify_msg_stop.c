/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* verify_msg_stop.c - a receiver that stops for a while: its thread, or all of its process. */
#include "verify_msg.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { LONGEST_MS = 90 }; /* sometimes longer than the device lets UC and UD wait */

static void nap(uint8_t ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000l}, NULL);
}

/* For each byte that the process writes: stop it for that number of ms. */
static _Noreturn void stopper(int fd)
{
	uint8_t ms;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, &ms, 1) == 1) {
		kill(getppid(), SIGSTOP);
		nap(ms);
		kill(getppid(), SIGCONT);
	}
	_exit(0);
}

/*
 * Call it before the device is opened; not for two sides in one process, of which it would stop
 * both.
 */
void msg_stopper_begin(struct msgs *m)
{
	int fd[2];

	m->stop_fd = -1;
	if (m->o.threads || (m->o.manner != MSG_STOPS && m->o.manner != MSG_TURNS))
		return;
	CHECK_EQ(pipe2(fd, O_CLOEXEC), 0);
	m->stopper = fork();
	CHECK(m->stopper >= 0, "fork: %s", strerror(errno));
	if (!m->stopper) {
		close(fd[1]);
		stopper(fd[0]);
	}
	close(fd[0]);
	m->stop_fd = fd[1];
}

void msg_stopper_end(struct msgs *m)
{
	int status;

	if (m->stop_fd < 0)
		return;
	close(m->stop_fd);
	CHECK_EQ(waitpid(m->stopper, &status, 0), m->stopper);
	CHECK(status == 0, "the process that stops this one ended with %#x", (unsigned int)status);
}

void msg_stop(struct msgs *m)
{
	uint8_t ms = (uint8_t)(1 + msg_draw(m, LONGEST_MS));

	if (m->stop_fd < 0 || msg_draw(m, 2))
		nap(ms);
	else
		CHECK_EQ(write(m->stop_fd, &ms, 1), 1);
}
