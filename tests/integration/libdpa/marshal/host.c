/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * host.c - packs arguments as a launch or an RPC does, opens the image as libdpa does, and calls
 * the entries with the packed arguments. Also compiles as C++.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <dpa/dpa_image.h>
#include "shapes.h"

#ifdef __cplusplus
extern "C" {
#endif
extern struct doca_dpa_app *marshal_app;
typedef void(func_t)(void);
#define DECLARE(type, name, ...) func_t rpc_##name, mid_##name, end_##name;
SHAPES(DECLARE)
func_t all_none, all_signs, all_unsigned, all_enums, all_floats, all_text, kernel_thirteen,
	kernel_none, kernel_pointer, kernel_float, kernel_two;
#ifdef __cplusplus
}
#endif

static const struct dpa_image *image;
static int failures;

static int open_image(void)
{
	int fd = memfd_create("image", 0);
	char path[64];
	void *dl;

	if (fd < 0 || write(fd, marshal_app->image, marshal_app->image_size) !=
			      (ssize_t)marshal_app->image_size)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!dl) {
		puts(dlerror());
		return -1;
	}
	image = (const struct dpa_image *)dlsym(dl, "__dpa_image");
	return image ? 0 : -1;
}

static const struct dpa_app_entry *app_entry(func_t *f)
{
	for (uint64_t i = 0; i < marshal_app->num_entries; i++)
		if (marshal_app->entries[i].stub == f)
			return &marshal_app->entries[i];
	return NULL;
}

/* Call like doca_dpa_rpc(): the variable arguments come fourth. */
static uint64_t call(const char *what, int kind, func_t *f, ...)
{
	struct {
		unsigned char bytes[1024];
	} __attribute__((aligned(64))) buf;
	const struct dpa_app_entry *e = app_entry(f);
	uint64_t n;
	va_list ap;

	if (!e || (int)e->kind != kind || e->args_size > 1000) {
		printf("%s: kind or size\n", what);
		failures++;
		return 0;
	}
	memset(&buf, 0xee, sizeof(buf));
	va_start(ap, f);
	n = e->pack(buf.bytes, &ap);
	va_end(ap);
	if (n != e->args_size || buf.bytes[n] != 0xee) {
		printf("%s: %d bytes\n", what, (int)n);
		failures++;
	}
	for (uint64_t i = 0; i < image->num_entries; i++)
		if (!strcmp(image->entries[i].name, e->name))
			return image->entries[i].call(buf.bytes);
	return 0;
}

static void expect(const char *what, uint64_t got, uint64_t want)
{
	if (got == want)
		return;
	printf("%s: not what was passed\n", what);
	failures++;
}

/* Make each byte differ from its neighbours. */
static void fill(void *p, size_t n, int seed)
{
	unsigned char *b = (unsigned char *)p;

	for (size_t i = 0; i < n; i++)
		b[i] = (unsigned char)(seed + i * 37);
}

static uint64_t five(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	const uint64_t v[] = {a, b, c, d, e};

	return mix(v, 5);
}

#define TEST(type, name, ...)                                                                      \
	static void test_##name(void)                                                              \
	{                                                                                          \
		type s, t;                                                                         \
		fill(&s, sizeof(s), 3);                                                            \
		fill(&t, sizeof(t), 11);                                                           \
		const uint64_t v[] = {                                                             \
			~0ull,	       2, 3, 4, 5, sum_##name(s), V(2.5 * 8), sum_##name(t),       \
			V((int64_t)-7)};                                                           \
		expect("rpc_" #name, call("rpc_" #name, DPA_ENTRY_RPC, &rpc_##name, s),            \
		       sum_##name(s));                                                             \
		expect("mid_" #name,                                                               \
		       call("mid_" #name, DPA_ENTRY_RPC, &mid_##name, 200, s, 1.5, t,              \
			    (uint64_t)77),                                                         \
		       five(200, sum_##name(s), V(1.5 * 8), sum_##name(t), 77));                   \
		expect("end_" #name,                                                               \
		       call("end_" #name, DPA_ENTRY_RPC, &end_##name, ~(uint64_t)0, (uint64_t)2,   \
			    (uint64_t)3, (uint64_t)4, (uint64_t)5, s, 2.5, t, -7),                 \
		       mix(v, 9));                                                                 \
	}
SHAPES(TEST)

static void test_scalars(void)
{
	const uint64_t s[] = {V((int64_t)-1), V((int64_t)-300), V((int64_t)-70000),
			      V((int64_t)-5000000000), V((int64_t)-128)};
	const uint64_t u[] = {255, 65535, 4294967295u, ~0ull, 1, 'x'};
	const uint64_t e[] = {BLUE, V((int64_t)MINUS), TINY};
	const uint64_t f[] = {8, 16, 24, 32, 40, 48, 56, 64, 72, 80};
	char text[16] = "hello";

	expect("none", call("none", DPA_ENTRY_RPC, &all_none), 4711);
	expect("signs",
	       call("signs", DPA_ENTRY_RPC, &all_signs, -1, -300, -70000, (int64_t)-5000000000,
		    -128),
	       mix(s, 5));
	expect("unsigned",
	       call("unsigned", DPA_ENTRY_RPC, &all_unsigned, 255, 65535, 4294967295u, ~(uint64_t)0,
		    true, 'x'),
	       mix(u, 6));
	expect("enums", call("enums", DPA_ENTRY_RPC, &all_enums, BLUE, MINUS, TINY), mix(e, 3));
	expect("floats",
	       call("floats", DPA_ENTRY_RPC, &all_floats, 1.f, 2., 3.f, 4., 5.f, 6., 7.f, 8., 9.f,
		    10.),
	       mix(f, 10));
	expect("text", call("text", DPA_ENTRY_RPC, &all_text, "abc", text, (void *)0),
	       V('a') + V('e'));
}

static void test_thirteen(void)
{
	struct thirteen t;

	memset(&t, 0, sizeof(t));
	call("thirteen", DPA_ENTRY_GLOBAL, &kernel_thirteen, (uint64_t)(uintptr_t)&t, (uint64_t)2,
	     3u, (uint64_t)4, 5u, ~(uint64_t)5, 7u, (uint64_t)8, 0xfffffff0u, (uint64_t)10, 11u,
	     (uint64_t)12, 13u);
	expect("calls", t.calls, 1);
	expect("argument 1", t.a[0], V((uintptr_t)&t));
	expect("argument 6", t.a[5], ~(uint64_t)5);
	expect("argument 9", t.a[8], 0xfffffff0u);
	expect("argument 12", t.a[11], 12);
	expect("argument 13", t.a[12], 13);
	expect("nothing", call("kernel_none", DPA_ENTRY_THREAD, &kernel_none), 0);
	expect("pointer", call("kernel_pointer", DPA_ENTRY_THREAD, &kernel_pointer, &t), 0);
	expect("pointer's", t.calls, 2);
	expect("float", call("kernel_float", DPA_ENTRY_GLOBAL, &kernel_float, 1.5), 0);
	expect("two", call("kernel_two", DPA_ENTRY_GLOBAL, &kernel_two, (uint64_t)1, (uint64_t)2),
	       0);
}

int main(void)
{
	if (open_image())
		return 2;
#define RUN(type, name, ...) test_##name();
	SHAPES(RUN)
	test_scalars();
	test_thirteen();
	printf("%llu entries, %d failures\n", (unsigned long long)marshal_app->num_entries,
	       failures);
	return failures != 0;
}
