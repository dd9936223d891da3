/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_translate.c - the translation of preprocessed CUDA C++: text in, text out. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/dpa-nvcc/lex.h"
#include "tools/dpa-nvcc/translate.h"
#include "tools/text/text.h"

const char text_program[] = "test_translate";

static char messages[4096];

/* Translate, and remove blanks at the ends; NULL: there were messages. */
static char *run(const char *in, bool separate)
{
	struct translate_options options = {.separate = separate};
	FILE *f = fmemopen(messages, sizeof(messages), "w");
	size_t len = 0;
	char *out = translate(in, strlen(in), &options, f, &len);

	fclose(f);
	if (out)
		cr_assert_eq(strlen(out), len);
	return out;
}

/* Remove blanks: the translation leaves some in place of a word. */
static void squeeze(char *to, const char *from)
{
	for (; *from; from++)
		if (*from != ' ')
			*to++ = *from;
	*to = 0;
}

static void becomes(const char *in, const char *expected)
{
	char *out = run(in, false), a[4096], b[4096];

	cr_assert_not_null(out, "%s: %s", in, messages);
	squeeze(a, out);
	squeeze(b, expected);
	cr_expect_str_eq(a, b, "\n in: %s\nout: %s\nnot: %s", in, out, expected);
	free(out);
}

static void refuses(const char *in, const char *message)
{
	char *out = run(in, false);

	cr_expect_null(out, "%s: %s", in, out);
	cr_expect(strstr(messages, message), "%s: %s", in, messages);
	free(out);
}

#define LAUNCH "::dpa_cuda::launch([=]() mutable -> void {"

Test(translate, launches)
{
	becomes("k<<<1, 2>>>(a);", "(::dpa_cuda::config(1, 2), k (a));");
	becomes("if (x) k<<<g, b, 0, s>>>();", "if (x) (::dpa_cuda::config(g, b, 0, s), k ());");
	becomes("else k<<<1,1>>>();", "else (::dpa_cuda::config(1,1), k ());");
	becomes("a::b::k<<<1,1>>>(c);", "(::dpa_cuda::config(1,1), a::b::k (c));");
	becomes("x = 1; ::k<<<1,1>>>();", "x = 1; (::dpa_cuda::config(1,1), ::k ());");
	becomes("k<int><<<1,1>>>(p);", "(::dpa_cuda::config(1,1), k<int> (p));");
	becomes("k<A<B<int>>><<<1,1>>>(p);", "(::dpa_cuda::config(1,1), k<A<B<int>>> (p));");
	becomes("n::k<(4 > 3), N><<<f(1, 2), dim3(1, 1)>>>(p, g(1, 2));",
		"(::dpa_cuda::config(f(1, 2), dim3(1, 1)), n::k<(4 > 3), N> (p, g(1, 2)));");
	becomes("(*fp)<<<1,1>>>();", "(::dpa_cuda::config(1,1), (*fp) ());");
	becomes("t[3]<<<1,1>>>();", "(::dpa_cuda::config(1,1), t[3] ());");
	becomes("s.p->k<<<1,1>>>();", "(::dpa_cuda::config(1,1), s.p->k ());");
	becomes("get(1)<<<1,1>>>();", "(::dpa_cuda::config(1,1), get(1) ());");
	becomes("o.template k<3><<<1,1>>>();", "(::dpa_cuda::config(1,1), o.template k<3> ());");
	becomes("return f<T><<<1,1>>>(), 0;", "return (::dpa_cuda::config(1,1), f<T> ()), 0;");
}

/* Adjacent tokens stay adjacent: 1 << 20 had become 1 < < 20. */
Test(translate, shifts_in_a_configuration)
{
	char *out = run("k<<<1, 1, 1 << 20>>>(); k<<<a && b, c->d, e::f>>>();", false);

	cr_assert_not_null(out);
	cr_expect(strstr(out, "1 << 20"), "%s", out);
	cr_expect(strstr(out, "a && b, c->d, e::f"), "%s", out);
	free(out);
}

Test(translate, lines_stay)
{
	static const char in[] = "# 10 \"a.cu\"\nk<<<1,\n# 20 \"b.h\"\n2\n>>>\n(\na);\nint x;\n";
	char *out = run(in, false);
	size_t n = 0, m = 0;

	cr_assert_not_null(out);
	for (const char *p = in; *p; p++)
		n += *p == '\n';
	for (const char *p = out; *p; p++)
		m += *p == '\n';
	cr_expect_eq(n, m, "%s", out);
	cr_expect(strstr(out, "\n# 20 \"b.h\"\n"), "%s", out);
	free(out);
}

Test(translate, kernels)
{
	becomes("__global__ void k(int *a);", "void k(int *a);");
	becomes("template <class T> __global__ void k(T a) { f(); }",
		"template <class T> void k(T a) { " LAUNCH " f(); }); }");
	becomes("static __global__ void k(int *a, int n = f(1, 2)) { if (a) { return; } }",
		"static void k(int *a, int n = f(1, 2)) { " LAUNCH " if (a) { return; } }); } "
		"static ::dpa_cuda::entry dpa_cuda_entry_0(static_cast<void (*)(int *a, int "
		"n)>(k));");
	becomes("__global__ void __attribute__((aligned(4))) k() {}",
		"void __attribute__((aligned(4))) k() {" LAUNCH "}); } "
		"static ::dpa_cuda::entry dpa_cuda_entry_0(static_cast<void (*)()>(k));");
	becomes("template __global__ void k<int>(int);", "template void k<int>(int);");
	becomes("template <> __global__ void k<int>(int a) {}",
		"template <> void k<int>(int a) {" LAUNCH "}); }");
}

Test(translate, qualifiers)
{
	becomes("__device__ int x; __host__ __device__ int f();", "int x; int f();");
	becomes("__constant__ int c[2] = {1, 2};", "static int c[2] = {1, 2};");
	becomes("extern __constant__ int c;", "extern int c;");
	becomes("__shared__ int s[4];", "thread_local int s[4];");
	becomes("extern __shared__ float s[];",
		"static thread_local float (&s)[] = ::dpa_cuda::dynamic_shared();");
	becomes("__device__ void f() { extern __shared__ int a[]; }",
		"void f() { int (&a)[] = ::dpa_cuda::dynamic_shared(); }");
	becomes("__noinline__ int f(); __attribute__((__noinline__)) int g();",
		"__attribute__((noinline)) int f(); __attribute__((__noinline__)) int g();");
	free(run("__constant__ int c;", true));
	cr_expect_eq(messages[0], 0);
}

Test(translate, constants_of_several_files)
{
	char *out = run("__constant__ int c;", true);

	cr_expect(!strstr(out, "static"), "%s", out);
	free(out);
}

Test(translate, printf_of_the_device)
{
	becomes("__device__ void f() { printf(\"a\"); std::printf(\"b\"); ::printf(\"c\"); "
		"o.printf(\"d\"); n::printf(\"e\"); }"
		"void g() { printf(\"h\"); }",
		"void f() { ::dpa_cuda_printf(\"a\"); ::dpa_cuda_printf(\"b\"); "
		"::dpa_cuda_printf(\"c\"); o.printf(\"d\"); "
		"n::printf(\"e\"); }void g() { printf(\"h\"); }");
}

/* Text in a string, a character, a comment or a raw string is not CUDA. */
Test(translate, text_is_left_alone)
{
	static const char in[] = "a = \"__global__ k<<<1>>>() \\\" \"; b = '<'; c = "
				 "R\"x(__device__ )\" <<< )x\"; d = 1'000; "
				 "/* <<< */ // __shared__ <<<\n#pragma unroll <<<\ne = "
				 "u8R\"(\n<<<)\"; x = a < b >> 3;";
	char *out = run(in, false);

	cr_assert_not_null(out, "%s", messages);
	cr_expect_str_eq(out, in);
	free(out);
}

Test(translate, refused)
{
	refuses("# 7 \"x.cu\"\n__device__ void f() { asm volatile(\"bar.sync 0;\"); }",
		"x.cu:7: error: inline PTX");
	becomes("__device__ void f() { asm volatile(\"\" ::: \"memory\"); }",
		"void f() { asm volatile(\"\" ::: \"memory\"); }");
	becomes("void f() { asm volatile(\"nop\"); }", "void f() { asm volatile(\"nop\"); }");
	refuses("__global__ void k() { float x = tex2D(t, 1, 2); }", "textures are not supported");
	refuses("__device__ void f() { throw 1; }", "exceptions are not supported");
	refuses("__global__ void __cluster_dims__(2) k() {}",
		"clusters of blocks are not supported");
	refuses("k<<<1, 2;", "<<< without >>>");
	refuses("k<<<1, 2>>>;", "no arguments follow >>>");
	refuses("= <<<1, 2>>>(a);", "no kernel is named");
	refuses("__global__ void k() { if (1) {", "has no end");
	refuses("extern __shared__ int x;", "not supported");
}

/* Operators that begin like a launch. */
Test(translate, operators)
{
	becomes("a = operator<<<int>(x);", "a = operator<<<int>(x);");
	becomes("struct s { __device__ s &operator=(const s &o) { printf(\"x\"); } };",
		"struct s { s &operator=(const s &o) { ::dpa_cuda_printf(\"x\"); } };");
	becomes("struct s { __device__ int operator()(int x) const { printf(\"x\"); } };",
		"struct s { int operator()(int x) const { ::dpa_cuda_printf(\"x\"); } };");
}

/* Truncated input, and bytes in any order, end; the fuzz target continues from here. */
Test(translate, any_text_ends)
{
	static const char in[] =
		"template <class T> __global__ void k(T a = f(1)) { extern __shared__ T s[]; "
		"printf(\"x\"); }\n"
		"# 3 \"x\"\nvoid g() { n::k<A<B>><<<1, (2), {3}>>>(a[1], R\"(x)\"); asm(\"x\"); }";
	static const char *const pieces[] = {
		"<<<",	       ">>>",	  "(",		 ")",	     "{",    "}",
		"[",	       "]",	  "<",		 ">",	     "::",   "k",
		";",	       "=",	  "\"",		 "'",	     "R\"(", "__global__ ",
		"__device__ ", "extern ", "__shared__ ", "operator", ",",    "\n#",
		".",	       "->",	  "template ",	 "\\",	     "//",   "/*",
		"printf"};
	unsigned int seed = 1;
	char text[256];

	for (size_t n = 0; n < sizeof(in); n++) {
		memcpy(text, in, n);
		text[n] = 0;
		free(run(text, n & 1));
	}
	for (int i = 0; i < 20000; i++) {
		text[0] = 0;
		for (int k = 0; k < 24; k++) {
			seed = seed * 1103515245 + 12345;
			strcat(text, pieces[(seed >> 16) % (sizeof(pieces) / sizeof(*pieces))]);
		}
		free(run(text, i & 1));
	}
}
