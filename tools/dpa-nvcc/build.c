/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* build.c - the steps: preprocess, translate, compile, link. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "edit.h"
#include "nvcc.h"
#include "translate.h"

extern char **environ;

struct job {
	const struct options *o;
	char *root; /* of the toolkit */
	char *tmp;  /* folder for intermediate files */
	unsigned int num;
};

/*
 * Print a word as nvcc does, for CMake: paths in double quotes, so that a shell accepts it again.
 */
static void show_nvcc_word(const char *w)
{
	bool quote = !*w || strpbrk(w, "/ \t\"'$`\\();<>|&*?") != NULL;

	if (quote)
		fputc('"', stderr);
	for (; *w; w++) {
		if (strchr("\"$`\\", *w))
			fputc('\\', stderr);
		fputc(*w, stderr);
	}
	if (quote)
		fputc('"', stderr);
}

static void show_nvcc_argv(const struct list *argv)
{
	fputs("#$ ", stderr);
	for (size_t i = 0; i < argv->n; i++) {
		if (i)
			fputc(' ', stderr);
		if (i)
			show_nvcc_word(argv->v[i]);
		else
			fputs(argv->v[i], stderr);
	}
	fputc('\n', stderr);
}

/* Run a command and return its exit status; 1 if it cannot be run. */
static int run_argv(const struct job *j, const struct list *argv)
{
	int ret, status;
	pid_t pid;

	if (j->o->verbose || j->o->dry)
		show_nvcc_argv(argv);
	if (j->o->dry)
		return 0;
	ret = posix_spawnp(&pid, argv->v[0], NULL, NULL, argv->v, environ);
	if (ret) {
		error("cannot run %s: %s", argv->v[0], strerror(ret));
		return 1;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Do the same as `run_argv`, and free the list. */
static int run_and_free(const struct job *j, struct list *argv)
{
	int ret = run_argv(j, argv);

	list_free(argv);
	return ret;
}

/* Return the C++ compiler: -ccbin names it, or its folder. */
static char *host_compiler(const struct options *o)
{
	struct stat st;

	if (!o->ccbin)
		return must(strdup("g++"));
	if (!stat(o->ccbin, &st) && S_ISDIR(st.st_mode))
		return strf("%s/g++", o->ccbin);
	if (ends_with(o->ccbin, "gcc")) /* nvcc replaces the C compiler by its C++ sibling */
		return strf("%.*sg++", (int)strlen(o->ccbin) - 3, o->ccbin);
	if (ends_with(o->ccbin, "clang"))
		return strf("%s++", o->ccbin);
	if (ends_with(o->ccbin, "/cc") || !strcmp(o->ccbin, "cc"))
		return strf("%.*sc++", (int)strlen(o->ccbin) - 2, o->ccbin);
	return must(strdup(o->ccbin));
}

static void add_compiler(const struct options *o, struct list *argv)
{
	char *cc = host_compiler(o);

	list_add(argv, cc);
	free(cc);
}

/* Recognise lib.so, lib.so.1, lib.so.1.2 by the name alone, not by their folders. */
static bool is_shared_library(const char *path)
{
	const char *slash = strrchr(path, '/'), *at = slash ? slash + 1 : path;

	while ((at = strstr(at, ".so"))) {
		at += 3;
		if (!*at || (*at == '.' && at[1] && !at[1 + strspn(at + 1, "0123456789.")]))
			return true;
	}
	return false;
}

/* Return the kind of a source: 0 no source, 1 CUDA, 2 C++, 3 C, 4 assembler. */
static int source_kind(const struct options *o, const char *path)
{
	static const char *const cxx[] = {".cc", ".cpp", ".cxx", ".C", ".c++"};

	if (ends_with(path, ".o") || ends_with(path, ".a") || ends_with(path, ".lo") ||
	    is_shared_library(path))
		return 0;
	if (o->language)
		return !strcmp(o->language, "cu") ? 1 : !strcmp(o->language, "c") ? 3 : 2;
	if (ends_with(path, ".cu"))
		return 1;
	for (size_t i = 0; i < sizeof(cxx) / sizeof(*cxx); i++)
		if (ends_with(path, cxx[i]))
			return 2;
	if (ends_with(path, ".c"))
		return 3;
	return ends_with(path, ".s") || ends_with(path, ".S") ? 4 : 0;
}

static bool has_std(const struct options *o)
{
	for (size_t i = 0; i < o->compiler.n; i++)
		if (!strncmp(o->compiler.v[i], "-std=", 5))
			return true;
	return false;
}

static void add_definitions(const struct job *j, struct list *argv)
{
	static const char *const names[] = {
		"-D__CUDACC__=1",
		"-D__NVCC__=1",
		"-D__DPA_NVCC__=1",
		"-D__CUDACC_VER_MAJOR__=12",
		"-D__CUDACC_VER_MINOR__=8",
		"-D__CUDACC_VER_BUILD__=0",
		"-D__CUDA_API_VER_MAJOR__=12",
		"-D__CUDA_API_VER_MINOR__=8",
		"-D__assert_fail=dpa_cuda_assert_fail",
	};
	char *list =
		strf("-D__CUDA_ARCH_LIST__=%s0", j->o->architecture ? j->o->architecture : "70");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		list_add(argv, names[i]);
	list_add(argv, list);
	if (j->o->separate)
		list_add(argv, "-D__CUDACC_RDC__=1");
	free(list);
}

static void add_includes(const struct job *j, struct list *argv)
{
	char *folder = strf("%s/include", j->root);

	list_add(argv, "-isystem");
	list_add(argv, folder);
	free(folder);
}

static char *source_stem(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
		   *dot = strrchr(name, '.');

	return strf("%.*s", (int)(dot && dot != name ? (size_t)(dot - name) : strlen(name)), name);
}

static char *temporary_path(struct job *j, const char *source, const char *end)
{
	char *base = source_stem(source), *path = strf("%s/%u_%s%s", j->tmp, j->num++, base, end);

	free(base);
	return path;
}

/*
 * Add the options of -MD: target and file must be those of the object, not of the intermediate
 * text.
 */
static void add_dependences(const struct job *j, const char *object, struct list *argv)
{
	const struct list *d = &j->o->dependences;
	bool make = false, file = false, target = false;

	for (size_t i = 0; i < d->n; i++) {
		make |= !strcmp(d->v[i], "-MD") || !strcmp(d->v[i], "-MMD");
		file |= !strcmp(d->v[i], "-MF");
		target |= !strcmp(d->v[i], "-MT") || !strcmp(d->v[i], "-MQ");
	}
	list_cat(argv, d);
	if (make && !target) {
		list_add(argv, "-MT");
		list_add(argv, object);
	}
	if (make && !file) {
		char *base = ends_with(object, ".o")
				     ? strf("%.*s.d", (int)strlen(object) - 2, object)
				     : strf("%s.d", object);

		list_add(argv, "-MF");
		list_add(argv, base);
		free(base);
	}
}

static int preprocess_source(struct job *j, const char *source, const char *output,
			     const char *object)
{
	struct list argv = {0};

	add_compiler(j->o, &argv);
	list_add(&argv, "-E");
	list_add(&argv, "-x");
	list_add(&argv, "c++");
	if (!has_std(j->o))
		list_add(&argv, "-std=gnu++17");
	add_definitions(j, &argv);
	list_cat(&argv, &j->o->compiler);
	list_cat(&argv, &j->o->preprocessor);
	add_includes(j, &argv);
	list_add(&argv, "-include");
	list_add(&argv, "cuda_runtime.h");
	if (object)
		add_dependences(j, object, &argv);
	else
		list_cat(&argv, &j->o->dependences);
	list_add(&argv, source);
	if (output) {
		list_add(&argv, "-o");
		list_add(&argv, output);
	}
	return run_and_free(j, &argv);
}

static char *read_source_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	struct text t = {0};
	char buf[65536];
	size_t n;

	if (!f) {
		error("%s: %s", path, strerror(errno));
		return NULL;
	}
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		text_add(&t, buf, n);
	fclose(f);
	*len = t.len;
	return text_take(&t);
}

static bool write_file(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");
	bool ok = f && fwrite(text, 1, len, f) == len;

	if (f)
		ok &= !fclose(f);
	return ok || error("%s: %s", path, strerror(errno));
}

static int translate_file(const struct job *j, const char *from, const char *to)
{
	struct translate_options options = {.separate = j->o->separate};
	size_t len, out_len;
	char *text, *out;
	bool ok;

	if (j->o->verbose || j->o->dry)
		fprintf(stderr, "#$ cudafe++ -arch compute_%s %s -o %s\n",
			j->o->architecture ? j->o->architecture : "70", from, to);
	if (j->o->dry)
		return 0;
	text = read_source_file(from, &len);
	if (!text)
		return 1;
	out = translate(text, len, &options, stderr, &out_len);
	ok = out && write_file(to, out, out_len);
	free(text);
	free(out);
	return !ok;
}

static int compile_translated(const struct job *j, const char *source, const char *object)
{
	struct list argv = {0};

	add_compiler(j->o, &argv);
	list_add(&argv, "-c");
	list_add(&argv, "-x");
	list_add(&argv, "c++-cpp-output");
	if (!has_std(j->o))
		list_add(&argv, "-std=gnu++17");
	/* A call at each edge: a point where CUDA threads may switch. */
	list_add(&argv, "-fsanitize-coverage=trace-pc");
	list_add(&argv, "-Wno-unknown-pragmas");
	list_cat(&argv, &j->o->compiler);
	list_add(&argv, source);
	list_add(&argv, "-o");
	list_add(&argv, object);
	return run_and_free(j, &argv);
}

static int compile_cuda(struct job *j, const char *source, const char *object)
{
	char *pre = temporary_path(j, source, ".cpp4.ii"),
	     *out = temporary_path(j, source, ".cudafe1.ii");
	int ret = preprocess_source(j, source, pre, object);

	if (!ret)
		ret = translate_file(j, pre, out);
	if (!ret)
		ret = compile_translated(j, out, object);
	if (!j->o->keep) {
		unlink(pre);
		unlink(out);
	}
	free(pre);
	free(out);
	return ret;
}

/* Compile a source of another language unchanged, with the headers on the include path. */
static int compile_host(struct job *j, const char *source, int kind, const char *object)
{
	static const char *const languages[] = {[2] = "c++", [3] = "c", [4] = "assembler-with-cpp"};
	struct list argv = {0};

	add_compiler(j->o, &argv);
	list_add(&argv, "-c");
	list_add(&argv, "-x");
	list_add(&argv, languages[kind]);
	if (kind == 2 && !has_std(j->o))
		list_add(&argv, "-std=gnu++17");
	list_cat(&argv, &j->o->compiler);
	list_cat(&argv, &j->o->preprocessor);
	add_includes(j, &argv);
	add_dependences(j, object, &argv);
	list_add(&argv, source);
	list_add(&argv, "-o");
	list_add(&argv, object);
	return run_and_free(j, &argv);
}

static int compile_any_source(struct job *j, const char *source, const char *object)
{
	int kind = source_kind(j->o, source);

	return kind == 1 ? compile_cuda(j, source, object) : compile_host(j, source, kind, object);
}

/* Record the libraries' folder in the program: it finds the stand-in without LD_LIBRARY_PATH. */
static void add_runtime(const struct job *j, struct list *argv)
{
	char *folder = strf("-L%s/lib64", j->root), *path;

	list_add(argv, folder);
	if (!j->o->cudart || strcmp(j->o->cudart, "none")) {
		list_add(argv, "-lcudadevrt");
		list_add(argv, j->o->cudart && !strcmp(j->o->cudart, "shared") ? "-lcudart"
									       : "-lcudart_static");
	}
	for (size_t i = 0; i < 3; i++) {
		static const char *const libs[] = {"-lrt", "-lpthread", "-ldl"};

		list_add(argv, libs[i]);
	}
	path = strf("%s/../../libdpacuda.so.1", j->root);
	if (!access(path, F_OK) && strncmp(j->root, "/usr/lib/", 9)) {
		char *real = must(realpath(path, NULL)), *slash = strrchr(real, '/'), *rpath;

		*slash = 0;
		rpath = strf("-Wl,-rpath,%s", real);
		list_add(argv, rpath);
		free(rpath);
		free(real);
	}
	free(path);
	free(folder);
}

/* Compile the sources; their objects replace them in the list. */
static int compile_objects(struct job *j, struct list *out)
{
	int ret = 0;

	for (size_t i = 0; i < j->o->linker.n && !ret; i++) {
		const char *word = j->o->linker.v[i];
		bool value = i && !strcmp(j->o->linker.v[i - 1], "-Xlinker");
		char *object;

		if (word[0] == '-' || value || !source_kind(j->o, word)) {
			list_add(out, word);
			continue;
		}
		object = temporary_path(j, word, ".o");
		ret = compile_any_source(j, word, object);
		list_add(out, object);
		free(object);
	}
	return ret;
}

static int run_linked_program(struct job *j, const char *program)
{
	char *path = strchr(program, '/') ? must(strdup(program)) : strf("./%s", program);
	struct list argv = {0};

	list_add(&argv, path);
	free(path);
	return run_and_free(j, &argv);
}

/* Return whether -run has one input that is a program already: then nothing is linked. */
static bool is_program(const struct options *o)
{
	return o->run && o->inputs.n == 1 && !source_kind(o, o->inputs.v[0]) &&
	       !ends_with(o->inputs.v[0], ".o") && !access(o->inputs.v[0], X_OK);
}

static int link_program(struct job *j)
{
	const char *output = j->o->output ? j->o->output : "a.out";
	struct list argv = {0}, parts = {0};
	int ret;

	if (is_program(j->o))
		return run_linked_program(j, j->o->inputs.v[0]);
	ret = compile_objects(j, &parts);

	if (!ret) {
		add_compiler(j->o, &argv);
		list_cat(&argv, &j->o->compiler);
		if (j->o->shared)
			list_add(&argv, "-shared");
		list_add(&argv, "-Wl,--start-group");
		list_cat(&argv, &parts);
		add_runtime(j, &argv);
		list_add(&argv, "-Wl,--end-group");
		list_add(&argv, "-o");
		list_add(&argv, output);
		ret = run_argv(j, &argv);
	}
	list_free(&argv);
	list_free(&parts);
	return !ret && j->o->run ? run_linked_program(j, output) : ret;
}

static int make_archive(struct job *j)
{
	struct list argv = {0}, parts = {0};
	int ret = compile_objects(j, &parts);

	list_add(&argv, "ar");
	list_add(&argv, "qcs");
	list_cat(&argv, &j->o->archiver);
	list_add(&argv, j->o->output ? j->o->output : "a.a");
	for (size_t i = 0; i < parts.n; i++)
		if (parts.v[i][0] != '-')
			list_add(&argv, parts.v[i]);
	if (!ret && !j->o->dry)
		unlink(j->o->output ? j->o->output : "a.a");
	if (!ret)
		ret = run_argv(j, &argv);
	list_free(&argv);
	list_free(&parts);
	return ret;
}

/* Link device code: it is linked with the program, so the object is empty. */
static int device_link(struct job *j)
{
	char *empty = temporary_path(j, "dlink", ".cpp");
	struct list argv = {0};
	int ret = 1;

	if (j->o->dry || write_file(empty, "", 0)) {
		add_compiler(j->o, &argv);
		list_add(&argv, "-c");
		list_cat(&argv, &j->o->compiler);
		list_add(&argv, empty);
		list_add(&argv, "-o");
		list_add(&argv, j->o->output ? j->o->output : "a_dlink.o");
		ret = run_and_free(j, &argv);
	}
	unlink(empty);
	free(empty);
	return ret;
}

static int for_each_source(struct job *j)
{
	size_t sources = 0;

	for (size_t i = 0; i < j->o->inputs.n; i++)
		sources += source_kind(j->o, j->o->inputs.v[i]) != 0;
	if (!sources)
		return !error("no source file");
	if (j->o->output && sources > 1 && j->o->phase == PHASE_COMPILE)
		return !error("-o with -c takes one source file");
	for (size_t i = 0; i < j->o->inputs.n; i++) {
		const char *source = j->o->inputs.v[i];
		char *base = source_stem(source),
		     *object = j->o->output ? must(strdup(j->o->output)) : strf("%s.o", base);
		int ret = 0;

		if (source_kind(j->o, source))
			ret = j->o->phase == PHASE_COMPILE
				      ? compile_any_source(j, source, object)
				      : preprocess_source(j, source, j->o->output, NULL);
		free(object);
		free(base);
		if (ret)
			return ret;
	}
	return 0;
}

/* Print the lines that CMake reads from a compiler at its first use. */
static void show_settings(const struct job *j)
{
	fprintf(stderr,
		"#$ _NVVM_BRANCH_=nvvm\n#$ _SPACE_= \n#$ _CUDART_=cudart\n#$ _HERE_=%s/bin\n#$ "
		"_THERE_=%s/bin\n"
		"#$ TOP=%s\n#$ NVVMIR_LIBRARY_DIR=%s/nvvm/libdevice\n#$ INCLUDES=\"-I%s/include\"  "
		"\n"
		"#$ LIBRARIES=  \"-L%s/lib64\"\n",
		j->root, j->root, j->root, j->root, j->root, j->root);
}

static int run_phase(struct job *j)
{
	switch (j->o->phase) {
	case PHASE_LINK:
		return link_program(j);
	case PHASE_ARCHIVE:
		return make_archive(j);
	case PHASE_DEVICE_LINK:
		return device_link(j);
	default:
		return for_each_source(j);
	}
}

static void remove_temp_folder(const char *path)
{
	struct list argv = {0};
	pid_t pid;

	list_add(&argv, "rm");
	list_add(&argv, "-rf");
	list_add(&argv, path);
	if (!posix_spawnp(&pid, "rm", NULL, NULL, argv.v, environ))
		waitpid(pid, NULL, 0);
	list_free(&argv);
}

int build(const struct options *o)
{
	const char *dir = getenv("TMPDIR");
	struct job j = {.o = o, .root = toolkit_root()};
	int ret = 1;

	if (!j.root)
		return 1;
	if (o->verbose || o->dry)
		show_settings(&j);
	if (!o->inputs.n) {
		error("no input file");
		free(j.root);
		return 1;
	}
	j.tmp = o->keep ? must(strdup(o->keep_dir ? o->keep_dir : "."))
			: strf("%s/dpa-nvcc.XXXXXX", dir && *dir ? dir : "/tmp");
	if (!o->keep && !mkdtemp(j.tmp))
		error("%s: %s", j.tmp, strerror(errno));
	else
		ret = run_phase(&j);
	if (!o->keep)
		remove_temp_folder(j.tmp);
	free(j.tmp);
	free(j.root);
	return ret;
}
