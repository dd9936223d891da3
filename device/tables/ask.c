/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ask.c - requests of a tool to all processes of the board: a short text on the head page, with a
 * generation. Processes check the generation at their ticks; the tool wakes them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "board/board_priv.h"
#include "board/sock_name.h"
#include "tables/tables.h"
#include "util/sys.h"

static struct dpa_board_ask *ask_of(struct dpa_board_head *h, enum dpa_board_ask_what what)
{
	switch (what) {
	case DPA_ASK_LINK:
		return &h->ask_link;
	case DPA_ASK_PORT:
		return &h->ask_port;
	case DPA_ASK_TIMELINE:
		return &h->ask_timeline;
	default:
		return &h->ask[what];
	}
}

uint32_t dpa_board_ask_gen(struct dpa_board *b, enum dpa_board_ask_what what)
{
	return atomic_load_explicit(&ask_of(&b->shm->head, what)->gen, memory_order_acquire);
}

bool dpa_board_ask_get(struct dpa_board *b, enum dpa_board_ask_what what,
		       char text[DPA_BOARD_ASK_TEXT], uint32_t *gen)
{
	struct dpa_board_ask *a = ask_of(&b->shm->head, what);

	*gen = atomic_load_explicit(&a->gen, memory_order_acquire);
	if (*gen & 1)
		return false; /* being written */
	for (size_t i = 0; i < DPA_BOARD_ASK_TEXT; i++)
		text[i] =
			__atomic_load_n(&a->text[i], __ATOMIC_ACQUIRE); /* before the second read */
	text[DPA_BOARD_ASK_TEXT - 1] = '\0';
	return atomic_load_explicit(&a->gen, memory_order_relaxed) == *gen;
}

/*
 * If a writer died the generation is odd: the next writer continues from it. Context: the admin
 * lock.
 */
static uint32_t put_ask(struct dpa_board_ask *a, const char *text)
{
	uint32_t odd = atomic_load_explicit(&a->gen, memory_order_relaxed) | 1;

	atomic_store_explicit(&a->gen, odd, memory_order_relaxed);
	for (size_t i = 0; i < DPA_BOARD_ASK_TEXT; i++) {
		__atomic_store_n(&a->text[i], *text, __ATOMIC_RELEASE); /* after the odd number */
		text += *text != '\0';
	}
	odd = odd + 1 ? odd + 1 : 2; /* 0 means: no request ever */
	atomic_store_explicit(&a->gen, odd, memory_order_release);
	return odd;
}

int dpa_board_ask_put(struct dpa_board *b, enum dpa_board_ask_what what, const char *text,
		      uint32_t *gen)
{
	struct dpa_board_head *head;
	struct stat st;
	int fd, rc = 0;

	if (strlen(text) >= DPA_BOARD_ASK_TEXT)
		return EINVAL;
	fd = open(b->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno;
	if (fstat(fd, &st) || st.st_dev != b->dev || st.st_ino != b->ino)
		rc = ENOENT; /* that board is gone */
	if (!rc)
		rc = dpa_board_file_lock(fd);
	head = rc ? MAP_FAILED
		  : mmap(NULL, sizeof(*head), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!rc && head == MAP_FAILED)
		rc = errno;
	if (!rc) {
		*gen = put_ask(ask_of(head, what), text);
		munmap(head, sizeof(*head));
	}
	close(fd); /* and releases the lock */
	if (!rc)
		dpa_board_wake_all(b);
	return rc;
}

/* A connection to its socket wakes its progress thread, which finds that nothing is said there. */
void dpa_board_wake(const struct dpa_board *b, uint32_t slot, uint32_t gen)
{
	int fd = dpa_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un sa;
	socklen_t len = dpa_board_sock_name(&sa, b, slot, gen);

	if (fd < 0)
		return;
	(void)dpa_sys_connect(fd, (struct sockaddr *)&sa, len);
	close(fd);
}

void dpa_board_wake_all(struct dpa_board *b)
{
	for (uint32_t i = dpa_board_proc_next(b, 0); i < DPA_BOARD_PROCS;
	     i = dpa_board_proc_next(b, i + 1)) {
		const struct dpa_board_proc *p = dpa_board_proc(b, i);

		if (p && atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PROC_LIVE)
			dpa_board_wake(b, i, atomic_load_explicit(&p->gen, memory_order_acquire));
	}
}
