/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpa-nvcc - nvcc's command line for machines without a GPU and without CUDA's toolkit. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvcc.h"

const char text_program[] = "dpa-nvcc";

void options_help(void)
{
	fputs("usage: dpa-nvcc [options] FILE...\n"
	      "Compiles CUDA C++ for the CPU: nvcc's options, no GPU, no CUDA toolkit. Sources: "
	      ".cu, .cpp, .c; objects\n"
	      "and libraries.\n"
	      "  -c, -dc, -E, -M, -lib, -dlink, -shared\n"
	      "                          what to make of them instead of a program\n"
	      "  -o FILE                 where to\n"
	      "  -x cu|c++|c             the language, whatever the names end with\n"
	      "  -I, -D, -U, -L, -l, -isystem, -include, -std, -O, -g, -w, -MD, -MF, -MT, -MP\n"
	      "                          as a C++ compiler has them\n"
	      "  -Xcompiler, -Xlinker, -Xarchive LIST\n"
	      "                          for the programs that do the work\n"
	      "  -ccbin PROGRAM          the C++ compiler: g++ (default) or clang++\n"
	      "  -rdc=true|false         whether files share variables of the device\n"
	      "  -cudart static|shared|none\n"
	      "                          which name of the library the program is linked by\n"
	      "  -arch, -gencode, -maxrregcount, -Xptxas, -lineinfo, ...\n"
	      "                          of code for a GPU: accepted, without meaning here\n"
	      "  -v, -dryrun, -keep, -keep-dir DIR, -run, -optf FILE\n"
	      "  --version, --help\n"
	      "  --print-toolkit         the folder that CUDA_PATH or CUDAToolkit_ROOT can name\n"
	      "See dpa-nvcc(1).\n",
	      stdout);
}

/*
 * Print the version. CMake and meson detect nvcc by the first line and by the text after the last
 * V.
 */
void options_version(void)
{
	fputs("dpa-nvcc " DPA_VERSION ", a stand-in without a GPU; in the place of\n"
	      "nvcc: NVIDIA (R) Cuda compiler driver\n"
	      "Cuda compilation tools, release 12.8, V12.8.0\n",
	      stdout);
}

static bool is_toolkit(const char *root)
{
	char *path = strf("%s/include/cuda_runtime.h", root);
	bool is = !access(path, R_OK);

	free(path);
	return is;
}

char *toolkit_root(void)
{
	static const char *const places[] = {"..", "../lib/dpa/cuda", "../" DPA_LIBDIR "/dpa/cuda"};
	char exe[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0) {
		error("/proc/self/exe cannot be read: the toolkit's folder is found by it");
		return NULL;
	}
	exe[n] = 0;
	slash = strrchr(exe, '/');
	*slash = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char *root = strf("%s/%s", exe, places[i]), *real;

		real = is_toolkit(root) ? realpath(root, NULL) : NULL;
		free(root);
		if (real)
			return real;
	}
	error("the headers are not where they should be: %s/../" DPA_LIBDIR "/dpa/cuda/include",
	      exe);
	return NULL;
}

static int print_toolkit(void)
{
	char *root = toolkit_root();

	if (root)
		puts(root);
	free(root);
	return !root;
}

int main(int argc, char **argv)
{
	struct options o = {0};
	int ret = 1;

	if (argc == 2 && !strcmp(argv[1], "--print-toolkit"))
		return print_toolkit();
	if (options_parse(&o, argc, argv)) {
		ret = 0;
		if (o.help)
			options_help();
		else if (o.version)
			options_version();
		else
			ret = build(&o);
	}
	options_free(&o);
	return ret;
}
