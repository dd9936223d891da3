/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* herd_registry.h - names and values that processes exchange by TCP, as HERD does by memcached. */
#ifndef DPA_TESTS_HERD_REGISTRY_H
#define DPA_TESTS_HERD_REGISTRY_H

#include <stdint.h>

/* A process publishes this of a QP and its memory. There is no GID in it. */
struct herd_value {
	uint16_t lid;
	uint32_t qpn, rkey;
	uint64_t addr;
	int shm; /* SysV id of the request region, for workers */
};

/* Serve on that port of 127.0.0.1 until SIGTERM. Does not return. */
_Noreturn void herd_registry_serve(const char *port);

/*
 * Connect to it; then publish a value, or wait until one with that name is published. A name has at
 * most 31 bytes. One thread; an error ends the program.
 */
void herd_registry_connect(const char *port);
void herd_publish(const struct herd_value *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
struct herd_value herd_lookup(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
