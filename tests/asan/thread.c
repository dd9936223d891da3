/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * thread.c - in every unit test built with AddressSanitizer that tests/tsan/threads does not name.
 * A test that starts a thread must also run under ThreadSanitizer: it fails here until it is listed
 * there.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	fprintf(stderr, "%s starts a thread: add its name to tests/tsan/threads\n",
		program_invocation_short_name);
	abort();
}
