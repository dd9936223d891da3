/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "vt_peer.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { PEER_LIMIT_S = 60 };

uint64_t vt_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

pid_t vt_fork_peer(struct vt *t, void (*fn)(struct vt *t))
{
	pid_t pid;
	int sv[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (pid == 0) {
		struct vt p = {.side = 1, .sock = sv[1]};

		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a stopped one takes no alarm */
		alarm(PEER_LIMIT_S);
		close(sv[0]);
		fn(&p);
		fflush(stdout);
		_exit(0);
	}
	close(sv[1]);
	t->sock = sv[0];
	return pid;
}

void vt_wait_stopped(pid_t pid)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
	CHECK(WIFSTOPPED(status), "the peer ended: %#x", (unsigned int)status);
}

void vt_wait_ended(pid_t pid)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(status == 0, "the peer ended with %#x", (unsigned int)status);
}

void vt_kill_peer(pid_t pid)
{
	int status;

	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
}

/* Do vt_close() without the other side: its answer is already present. */
void vt_close_alone(struct vt *t)
{
	int sv[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	CHECK_EQ(write(sv[1], "s", 1), 1);
	close(t->sock);
	t->sock = sv[0];
	vt_close(t);
	close(sv[0]);
	close(sv[1]);
}

/* Both sides: the processes have met, on the ring of t->qp. */
void vt_first_message(struct vt *t)
{
	if (t->side == 1)
		CHECK_EQ(vt_recv(t, 0, 64, 1), 0);
	vt_sync(t);
	if (t->side == 0)
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 64, 1, IBV_SEND_SIGNALED), 0);
	vt_wc_is(t, 1, IBV_WC_SUCCESS);
}
