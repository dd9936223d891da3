/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* thread.h - the start of the library's own threads. */
#ifndef DPA_THREAD_H
#define DPA_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Start a thread of this name. It blocks all signals: the program handles them. */
static inline int dpa_start_thread(pthread_t *thread, const char *name, void *(*body)(void *),
				   void *arg)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(thread, NULL, body, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!ret)
		pthread_setname_np(*thread, name);
	return ret;
}

#endif
