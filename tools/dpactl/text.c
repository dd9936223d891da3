/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* text.c - output, names and forms. Text of other processes is copied once and made printable. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "dpactl.h"

void die(int status, const char *fmt, ...)
{
	va_list ap;

	fputs("dpactl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(status);
}

void *need_memory(void *p)
{
	if (!p)
		die(EXIT_NONE, "no memory");
	return p;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

bool pid_is_named(const struct ctl *c, uint32_t pid)
{
	for (int i = 0; i < c->npids; i++)
		if (c->pids[i] == pid)
			return true;
	return c->npids == 0;
}

struct json_object **json_taken;

void print_json(struct json_object *o)
{
	if (json_taken) {
		*json_taken = o;
		return;
	}
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
						       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

void printable(char *text, size_t len)
{
	text[len - 1] = '\0';
	for (; *text; text++)
		if (!isprint((unsigned char)*text))
			*text = '?';
}

static void copy_proc_text(char *to, const char *from, size_t len)
{
	memcpy(to, from, len);
	printable(to, len);
}

bool proc_read(struct ctl *c, uint32_t slot, struct proc *p)
{
	struct dpa_board_proc *from = dpa_board_proc(c->b, slot);

	if (!from || atomic_load_explicit(&from->state, memory_order_acquire) == DPA_PROC_FREE)
		return false;
	*p = (struct proc){
		.slot = slot,
		.gen = atomic_load_explicit(&from->gen, memory_order_acquire),
		.pid = from->pid,
		.uid = from->uid,
		.start_ns = from->start_ns,
		.placement = from->placement,
		.nqp = from->nqp,
		.ncq = from->ncq,
		.nmr = from->nmr,
	};
	p->alive = dpa_board_alive(c->b, slot, p->gen);
	copy_proc_text(p->comm, from->comm, sizeof(p->comm));
	copy_proc_text(p->version, from->lib_version, sizeof(p->version));
	return true;
}

static const char *name_of_value(const char *const *names, size_t n, uint32_t i)
{
	return i < n && names[i] ? names[i] : "?";
}

#define NAME_OF(names, i) name_of_value(names, sizeof(names) / sizeof((names)[0]), i)

const char *qp_type_name(uint32_t type)
{
	static const char *const names[] = {[DPA_QP_GSI] = "GSI",
					    [DPA_QP_RC] = "RC",
					    [DPA_QP_UC] = "UC",
					    [DPA_QP_UD] = "UD",
					    [DPA_QP_RAW] = "RAW",
					    [DPA_QP_XRC_SEND] = "XRC_SEND",
					    [DPA_QP_XRC_RECV] = "XRC_RECV"};

	return NAME_OF(names, type);
}

const char *qp_state_name(uint32_t state)
{
	static const char *const names[] = {
		[DPA_QPS_RESET] = "RESET", [DPA_QPS_INIT] = "INIT", [DPA_QPS_RTR] = "RTR",
		[DPA_QPS_RTS] = "RTS",	   [DPA_QPS_SQD] = "SQD",   [DPA_QPS_SQE] = "SQE",
		[DPA_QPS_ERR] = "ERR"};

	return NAME_OF(names, state);
}

const char *placement_name(uint32_t placement)
{
	static const char *const names[] = {[DPA_PLACE_INLINE] = "inline", [DPA_PLACE_EU] = "eu"};

	return NAME_OF(names, placement);
}

/* Values of dpa_board_qpinfo.link. */
const char *link_name(uint32_t link)
{
	static const char *const names[] = {"none", "loopback", "shm", "rocev2"};

	return NAME_OF(names, link & ~DPA_BOARD_NO_COPY);
}

const char *gid_text(const uint8_t gid[16], char *buf, size_t len)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t none[16];

	if (memcmp(gid, none, 16) == 0)
		snprintf(buf, len, "-");
	else if (memcmp(gid, v4, 12) == 0)
		inet_ntop(AF_INET, gid + 12, buf, (socklen_t)len);
	else
		inet_ntop(AF_INET6, gid, buf, (socklen_t)len);
	return buf;
}

const char *time_text(uint64_t ns, char *buf, size_t len)
{
	time_t t = (time_t)(ns / 1000000000u);
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(buf, len, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(buf, len, "?");
	return buf;
}

void json_add(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, json_object_new_string(text));
}

void json_add_num(struct json_object *o, const char *key, uint64_t n)
{
	json_object_object_add(o, key, json_object_new_uint64(n));
}

void json_add_bool(struct json_object *o, const char *key, bool b)
{
	json_object_object_add(o, key, json_object_new_boolean(b));
}
