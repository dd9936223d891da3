/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * translate.c - translation of CUDA C++ into C++, by changes at a few places of the text.
 *
 * The first pass finds the functions of the device. The second one changes qualifiers, kernels and
 * launches, and constructs that differ or are not supported in device code.
 * cuda/include/dpa_cuda/launch.h shows the result.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "edit.h"
#include "lex.h"
#include "nvcc.h"
#include "translate.h"

struct range {
	size_t first, last; /* tokens: the braces of a device function */
};

struct state {
	struct lexed l;
	struct edits edits;
	const struct translate_options *options;
	FILE *messages;
	bool failed;
	struct range *device;
	size_t num_device, room_device;
	unsigned int kernels;
};

static __attribute__((format(printf, 3, 4))) void fail_at(struct state *s, size_t token,
							  const char *fmt, ...)
{
	const char *file;
	unsigned long line;
	int file_len;
	va_list ap;

	s->failed = true;
	lex_place(&s->l, token < s->l.num ? s->l.token[token].at : s->l.len, &file, &file_len,
		  &line);
	fprintf(s->messages, "%.*s:%lu: error: ", file_len, file, line);
	va_start(ap, fmt);
	vfprintf(s->messages, fmt, ap);
	va_end(ap);
	fputc('\n', s->messages);
}

static void replace_token(struct state *s, size_t i, const char *by)
{
	edit_replace(&s->edits, s->l.token[i].at, s->l.token[i].len, by);
}

static void insert_before(struct state *s, size_t i, const char *what)
{
	edit_replace(&s->edits, s->l.token[i].at, 0, what);
}

static void insert_behind(struct state *s, size_t i, const char *what)
{
	edit_replace(&s->edits, s->l.token[i].at + s->l.token[i].len, 0, what);
}

/*
 * Add token i, separated from the previous one only where the text separates them: << is two tokens
 * here.
 */
static void add_token_text(const struct state *s, struct text *out, size_t i)
{
	const struct token *t = &s->l.token[i];

	if (i && t[-1].at + t[-1].len != t->at)
		text_add(out, " ", 1);
	text_add(out, s->l.text + t->at, t->len);
}

/* Return the tokens [from, to) on one line. */
static char *joined_tokens(const struct state *s, size_t from, size_t to)
{
	struct text out = {0};

	for (size_t i = from; i < to; i++)
		add_token_text(s, &out, i);
	return text_take(&out);
}

/* Find the { of a function's body, from a qualifier on; num: a declaration, or a variable. */
static size_t find_body(const struct state *s, size_t i)
{
	for (i++; i < s->l.num; i++) {
		if (token_is(&s->l, i,
			     /* the name extends to its parameters: operator==, operator() */
			     "operator"))
			while (i + 1 < s->l.num && !token_is(&s->l, i + 1, "("))
				i++;
		else if (token_is(&s->l, i, "(") || token_is(&s->l, i, "["))
			i = token_close(&s->l, i);
		else if (token_is(&s->l, i, "{"))
			return i;
		else if (token_is(&s->l, i, ";") || token_is(&s->l, i, "=") ||
			 token_is(&s->l, i, "}") || token_is(&s->l, i, ")"))
			break;
	}
	return s->l.num;
}

static void find_device_code(struct state *s)
{
	size_t end = 0;

	for (size_t i = 0; i < s->l.num; i++) {
		size_t body;

		if (i < end ||
		    (!token_is(&s->l, i, "__global__") && !token_is(&s->l, i, "__device__")))
			continue;
		body = find_body(s, i);
		if (body == s->l.num)
			continue;
		end = token_close(&s->l, body);
		if (s->num_device == s->room_device) {
			s->room_device = s->room_device ? 2 * s->room_device : 64;
			s->device = must(realloc(s->device, s->room_device * sizeof(*s->device)));
		}
		s->device[s->num_device++] = (struct range){body, end};
	}
}

static bool is_in_device_code(const struct state *s, size_t i)
{
	size_t low = 0, high = s->num_device;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (s->device[mid].last < i)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->num_device && s->device[low].first < i;
}

/* Return the first token of the declaration that contains token i. */
static size_t declaration_begin(const struct state *s, size_t i)
{
	while (i && !token_is(&s->l, i - 1, ";") && !token_is(&s->l, i - 1, "{") &&
	       !token_is(&s->l, i - 1, "}"))
		i--;
	return i;
}

static bool has_word(const struct state *s, size_t from, size_t to, const char *word, size_t *where)
{
	for (size_t i = from; i < to; i++)
		if (token_is(&s->l, i, word)) {
			if (where)
				*where = i;
			return true;
		}
	return false;
}

/* Find the parenthesis of the function's parameters between token `from` and its body. */
static size_t find_parameters(const struct state *s, size_t from, size_t body)
{
	for (size_t i = from; i < body; i++) {
		if (!token_is(&s->l, i, "("))
			continue;
		if (token_is_word(&s->l, i - 1) && !token_is(&s->l, i - 1, "__attribute__") &&
		    !token_is(&s->l, i - 1, "alignas") && !token_is(&s->l, i - 1, "decltype"))
			return i;
		i = token_close(&s->l, i);
	}
	return s->l.num;
}

/* Return the parameters without their default arguments, as for the type of a pointer. */
static char *parameter_types(const struct state *s, size_t open, size_t close)
{
	struct text out = {0};
	bool skip = false;

	for (size_t i = open + 1; i < close; i++) {
		size_t end = token_is(&s->l, i, "(") || token_is(&s->l, i, "{") ||
					     token_is(&s->l, i, "[")
				     ? token_close(&s->l, i)
				     : i;

		if (token_is(&s->l, i, ","))
			skip = false;
		else if (token_is(&s->l, i, "="))
			skip = true;
		for (; i <= end && i < close; i++)
			if (!skip)
				add_token_text(s, &out, i);
		i--;
	}
	return text_take(&out);
}

/*
 * Register a kernel, so that cudaLaunchKernel() finds it by its address. A template has no address
 * yet.
 */
static void register_kernel(struct state *s, size_t qualifier, size_t body, size_t end)
{
	size_t open = find_parameters(s, qualifier + 1, body), close;
	char *types, *text;

	if (open == s->l.num ||
	    has_word(s, declaration_begin(s, qualifier), qualifier, "template", NULL) ||
	    has_word(s, qualifier, open, "template", NULL))
		return;
	close = token_close(&s->l, open);
	if (close >= body)
		return;
	types = parameter_types(s, open, close);
	text = strf(" static ::dpa_cuda::entry dpa_cuda_entry_%u(static_cast<void (*)(%s)>(%.*s));",
		    s->kernels++, types, (int)s->l.token[open - 1].len,
		    s->l.text + s->l.token[open - 1].at);
	insert_behind(s, end, text);
	free(text);
	free(types);
}

static void translate_kernel(struct state *s, size_t i)
{
	size_t body = find_body(s, i), end;

	replace_token(s, i, "");
	if (body == s->l.num)
		return;
	end = token_close(&s->l, body);
	if (end == s->l.num) {
		fail_at(s, body, "the kernel that begins here has no end");
		return;
	}
	insert_behind(s, body, " ::dpa_cuda::launch([=]() mutable -> void {");
	insert_before(s, end, "}); ");
	register_kernel(s, i, body, end);
}

/* Find the < of the template arguments that end before token i. */
static size_t template_open(const struct state *s, size_t i)
{
	int depth = 0;

	for (; i < s->l.num; i--) {
		if (token_is(&s->l, i, ">"))
			depth++;
		else if (token_is(&s->l, i, ">>>"))
			depth += 3;
		else if (token_is(&s->l, i, "<"))
			depth--;
		else if (token_is(&s->l, i, ")") || token_is(&s->l, i, "]"))
			i = token_open(&s->l, i); /* num if no token opens it */
		else if (token_is(&s->l, i, ";") || token_is(&s->l, i, "{") ||
			 token_is(&s->l, i, "}"))
			break;
		if (!depth || i == s->l.num)
			return i;
	}
	return s->l.num;
}

static bool is_statement_word(const struct state *s, size_t i)
{
	return token_is(&s->l, i, "return") || token_is(&s->l, i, "else") ||
	       token_is(&s->l, i, "do");
}

/*
 * Return the first token of the expression that names the kernel and ends before token i. num:
 * none.
 */
static size_t callee_begin(const struct state *s, size_t i)
{
	size_t p = i - 1;

	for (;;) {
		if (token_is(&s->l, p, ">") || token_is(&s->l, p, ">>>")) {
			p = template_open(s, p);
			if (p >= s->l.num || !token_is_word(&s->l, p - 1))
				return s->l.num;
			p--;
		}
		if (token_is(&s->l, p, ")") || token_is(&s->l, p, "]")) {
			p = token_open(&s->l, p);
			if (p >= s->l.num)
				return s->l.num;
			if (p && token_is_word(&s->l, p - 1) && !is_statement_word(s, p - 1)) {
				p--;
				continue;
			}
			if (p && token_is(&s->l, p, "[")) {
				p--;
				continue;
			}
			return p;
		}
		if (!token_is_word(&s->l, p))
			return s->l.num;
		if (token_is(&s->l, p - 1, "template"))
			p--;
		if (token_is(&s->l, p - 1, ".") || token_is(&s->l, p - 1, "->"))
			p -= 2;
		else if (!token_is(&s->l, p - 1, "::"))
			return p;
		else if (!(token_is_word(&s->l, p - 2) && !is_statement_word(s, p - 2)) &&
			 !token_is(&s->l, p - 2, ">"))
			return p - 1;
		else
			p -= 2;
	}
}

/*
 * Return the newlines and line markers between two offsets: a change of the text there must keep
 * them.
 */
static char *kept_lines(const struct state *s, size_t from, size_t to)
{
	struct text out = {0};

	for (size_t at = from; at < to; at++) {
		if (s->l.text[at] == '#' && at && s->l.text[at - 1] == '\n') {
			const char *nl = memchr(s->l.text + at, '\n', to - at);
			size_t len = nl ? (size_t)(nl - s->l.text) - at : to - at;

			text_add(&out, s->l.text + at, len);
			at += len - 1;
		} else if (s->l.text[at] == '\n') {
			text_add(&out, "\n", 1);
		}
	}
	return text_take(&out);
}

static size_t launch_end(const struct state *s, size_t i)
{
	for (i++; i < s->l.num; i++) {
		if (token_is(&s->l, i, ">>>"))
			return i;
		if (token_is(&s->l, i, "(") || token_is(&s->l, i, "[") || token_is(&s->l, i, "{"))
			i = token_close(&s->l, i);
		else if (token_is(&s->l, i, ";") || token_is(&s->l, i, "}"))
			break;
	}
	return s->l.num;
}

/*
 * Translate a launch. Returns the last token of its configuration: all tokens up to it are handled.
 */
static size_t translate_launch(struct state *s, size_t i)
{
	size_t end = launch_end(s, i), begin, close, from;
	char *config, *text, *lines;

	if (token_is(&s->l, i - 1, "operator"))
		return i;
	if (end == s->l.num) {
		fail_at(s, i, "<<< without >>>");
		return i;
	}
	begin = callee_begin(s, i);
	close = token_is(&s->l, end + 1, "(") ? token_close(&s->l, end + 1) : s->l.num;
	if (begin >= s->l.num || close == s->l.num) {
		fail_at(s, i,
			begin >= s->l.num ? "no kernel is named before <<<"
					  : "no arguments follow >>>");
		return end;
	}
	config = joined_tokens(s, i + 1, end);
	text = strf("(::dpa_cuda::config(%s), ", config);
	insert_before(s, begin, text);
	from = s->l.token[i].at;
	lines = kept_lines(s, from, s->l.token[end].at + 3);
	edit_replace(&s->edits, from, s->l.token[end].at + 3 - from, lines);
	insert_behind(s, close, ")");
	free(lines);
	free(text);
	free(config);
	return end;
}

/* Translate extern __shared__ T name[]: references to the block's dynamic shared memory. */
static void translate_dynamic(struct state *s, size_t i, size_t word)
{
	bool found = false;

	replace_token(s, word, is_in_device_code(s, i) ? "" : "static thread_local");
	replace_token(s, i, "");
	for (size_t p = i + 1; p < s->l.num && !token_is(&s->l, p, ";"); p++) {
		if (token_is(&s->l, p, "(")) {
			p = token_close(&s->l, p);
		} else if (token_is(&s->l, p, "[") && token_is(&s->l, p + 1, "]") &&
			   token_is_word(&s->l, p - 1)) {
			insert_before(s, p - 1, "(&");
			insert_behind(s, p - 1, ")");
			insert_behind(s, p + 1, " = ::dpa_cuda::dynamic_shared()");
			found = true;
		}
	}
	if (!found)
		fail_at(s, i,
			"an extern __shared__ variable that is no array without bounds is not "
			"supported");
}

static void translate_shared(struct state *s, size_t i)
{
	size_t begin = declaration_begin(s, i), end = i, word;

	while (end < s->l.num && !token_is(&s->l, end, ";") && !token_is(&s->l, end, "{"))
		end++;
	if (has_word(s, begin, end, "extern", &word))
		translate_dynamic(s, i, word);
	else
		replace_token(s, i, "thread_local");
}

/* Without -rdc=true each file has its own variables. */
static void translate_constant(struct state *s, size_t i)
{
	size_t begin = declaration_begin(s, i), end = i;

	while (end < s->l.num && !token_is(&s->l, end, ";") && !token_is(&s->l, end, "=") &&
	       !token_is(&s->l, end, "{"))
		end++;
	if (s->options->separate || has_word(s, begin, end, "extern", NULL) ||
	    has_word(s, begin, end, "static", NULL))
		replace_token(s, i, "");
	else
		replace_token(s, i, "static");
}

/* Translate printf, std::printf and ::printf in device code, but no member of that name. */
static void translate_printf(struct state *s, size_t i)
{
	size_t from = i;

	if (!token_is(&s->l, i + 1, "(") || token_is(&s->l, i - 1, ".") ||
	    token_is(&s->l, i - 1, "->"))
		return;
	if (token_is(&s->l, i - 1, "::")) {
		from = token_is(&s->l, i - 2, "std") ? i - 2 : i - 1;
		if (from == i - 1 && token_is_word(&s->l, i - 2) && !is_statement_word(s, i - 2))
			return;
	}
	for (size_t p = from; p < i; p++)
		replace_token(s, p, "");
	replace_token(s, i, "::dpa_cuda_printf");
}

/*
 * Return whether it is asm volatile("" ::: "memory"): a barrier for the compiler only, on any
 * machine.
 */
static bool asm_is_empty(const struct state *s, size_t i)
{
	for (i++; i < s->l.num && !token_is(&s->l, i, ";"); i++)
		if (token_is(&s->l, i, "("))
			return i + 1 < s->l.num && s->l.token[i + 1].kind == TOKEN_STRING &&
			       s->l.token[i + 1].len == 2 &&
			       (token_is(&s->l, i + 2, ":") || token_is(&s->l, i + 2, "::") ||
				token_is(&s->l, i + 2, ")"));
	return false;
}

static const struct {
	const char *word, *what;
} refused[] = {
	{"tex1D", "textures are"},	 {"tex2D", "textures are"},
	{"tex3D", "textures are"},	 {"tex1Dfetch", "textures are"},
	{"surf1Dread", "surfaces are"},	 {"surf2Dread", "surfaces are"},
	{"surf1Dwrite", "surfaces are"}, {"surf2Dwrite", "surfaces are"},
	{"throw", "exceptions are"},	 {"try", "exceptions are"},
};

static void check_device_word(struct state *s, size_t i)
{
	if (token_is(&s->l, i, "printf")) {
		translate_printf(s, i);
	} else if (token_is(&s->l, i, "asm") || token_is(&s->l, i, "__asm__") ||
		   token_is(&s->l, i, "__asm")) {
		if (!asm_is_empty(s, i))
			fail_at(s, i, "inline PTX is not supported: the kernel runs on the CPU");
	} else {
		for (size_t k = 0; k < sizeof(refused) / sizeof(*refused); k++)
			if (token_is(&s->l, i, refused[k].word) && !token_is(&s->l, i - 1, "."))
				fail_at(s, i, "%s: %s not supported in code of the device",
					refused[k].word, refused[k].what);
	}
}

static void translate_word(struct state *s, size_t i)
{
	if (token_is(&s->l, i, "__global__"))
		translate_kernel(s, i);
	else if (token_is(&s->l, i, "__shared__"))
		translate_shared(s, i);
	else if (token_is(&s->l, i, "__constant__"))
		translate_constant(s, i);
	else if (token_is(&s->l, i, "__device__") || token_is(&s->l, i, "__host__") ||
		 token_is(&s->l, i, "__managed__"))
		replace_token(s, i, "");
	else if (token_is(&s->l, i, "__noinline__") && !token_is(&s->l, i - 1, "(") &&
		 !token_is(&s->l, i - 1, ","))
		replace_token(s, i, "__attribute__((noinline))");
	else if (token_is(&s->l, i, "__cluster_dims__"))
		fail_at(s, i, "clusters of blocks are not supported");
	else if (is_in_device_code(s, i))
		check_device_word(s, i);
}

char *translate(const char *text, size_t len, const struct translate_options *options,
		FILE *messages, size_t *out_len)
{
	struct state s = {.options = options, .messages = messages};
	char *out = NULL;

	lex(&s.l, text, len);
	find_device_code(&s);
	for (size_t i = 0; i < s.l.num; i++) {
		if (token_is_word(&s.l, i))
			translate_word(&s, i);
		else if (token_is(&s.l, i, "<<<"))
			i = translate_launch(&s, i);
	}
	if (!s.failed)
		out = edit_apply(&s.edits, text, len, out_len);
	edit_free(&s.edits);
	free(s.device);
	lex_free(&s.l);
	return out;
}
