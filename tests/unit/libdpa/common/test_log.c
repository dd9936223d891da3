/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_log.c - messages: lines, levels, backends. */
#define DOCA_ALLOW_EXPERIMENTAL_API
#include <criterion/criterion.h>
#include <pthread.h>
#include <regex.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>
#include <doca_log.h>
#include "libdpa/common/log/log.h"

#define OK(call)       cr_assert_eq((call), DOCA_SUCCESS)
#define IS(call, code) cr_assert_eq((call), DOCA_ERROR_##code)

TestSuite(log, .timeout = 60);

DOCA_LOG_REGISTER(TEST::LOG);

static FILE *file;
static char *text;
static size_t text_size, seen;

/* Return the lines that were logged to `file` since the last call. */
static const char *lines(void)
{
	static char copy[4096];

	fflush(file);
	snprintf(copy, sizeof(copy), "%.*s", (int)(text_size - seen), text + seen);
	seen = text_size;
	return copy;
}

static void open_file(void)
{
	file = open_memstream(&text, &text_size);
	cr_assert(file);
}

static bool matches(const char *line, const char *pattern)
{
	regex_t re;
	int ret;

	cr_assert_eq(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
	ret = regexec(&re, line, 0, NULL, 0);
	regfree(&re);
	return !ret;
}

Test(log, line)
{
	struct doca_log_backend *b;

	open_file();
	OK(doca_log_backend_create_with_file(file, &b));
	DOCA_LOG_INFO("the answer is %d", 42);
	cr_assert(matches(
		lines(), "^\\[[0-9]{2}:[0-9]{2}:[0-9]{2}:[0-9]{6}\\]\\[[0-9]+\\]\\[DOCA\\]\\[INF\\]"
			 "\\[test_log.c:[0-9]+\\]\\[[a-z_]+\\] the answer is 42\n$"));
	DOCA_LOG_ERR("no arguments");
	cr_assert(matches(lines(), "\\[ERR\\].* no arguments\n$"));
}

Test(log, a_long_message_is_whole)
{
	static char big[20000];
	static char got[30000];
	struct doca_log_backend *b;
	int p[2];

	memset(big, 'x', sizeof(big) - 1);
	cr_assert_eq(pipe(p), 0);
	OK(doca_log_backend_create_with_fd(p[1], &b));
	DOCA_LOG_WARN("%s", big);
	cr_assert_gt(read(p[0], got, sizeof(got)), (ssize_t)sizeof(big));
	cr_assert(strstr(got, big));
}

Test(log, levels_and_their_tags)
{
	static const char *const tags[] = {"CRT", "ERR", "WRN", "INF", "DBG", "TRC"};
	struct doca_log_backend *b;

	open_file();
	OK(doca_log_level_set_global_lower_limit(DOCA_LOG_LEVEL_TRACE));
	OK(doca_log_backend_create_with_file(file, &b));
	for (uint32_t i = 0; i < 6; i++) {
		char pattern[16];

		OK(doca_log(20 + 10 * i, log_source, __FILE__, __LINE__, __func__, "."));
		snprintf(pattern, sizeof(pattern), "\\[%s\\]", tags[i]);
		cr_assert(matches(lines(), pattern));
	}
	DOCA_LOG_CRIT("a");
	DOCA_LOG_WARN("b");
	DOCA_LOG_DBG("c");
	DOCA_LOG_TRC("d");
	cr_assert(matches(lines(), "CRT.* a\n.*WRN.* b\n.*DBG.* c\n$"));
}

Test(log, bad_arguments)
{
	struct doca_log_backend *b;
	int n;

	open_file();
	OK(doca_log_backend_create_with_file(file, &b));
	IS(doca_log(DOCA_LOG_LEVEL_ERROR, log_source, NULL, 1, "f", "x"), INVALID_VALUE);
	IS(doca_log(DOCA_LOG_LEVEL_ERROR, log_source, "f", 1, NULL, "x"), INVALID_VALUE);
	IS(doca_log(DOCA_LOG_LEVEL_DISABLE, log_source, "f", 1, "f", "x"), INVALID_VALUE);
	IS(doca_log(35, log_source, "f", 1, "f", "x"), INVALID_VALUE);
	IS(doca_log(80, log_source, "f", 1, "f", "x"), INVALID_VALUE);
	IS(doca_log(DOCA_LOG_LEVEL_ERROR, 1000, "f", 1, "f", "x"), INVALID_VALUE);
	IS(doca_log_register_source(NULL, &n), INVALID_VALUE);
	IS(doca_log_register_source("x", NULL), INVALID_VALUE);
	OK(doca_log_register_source("x", &n));
	cr_assert_neq(n, log_source);
	OK(doca_log(DOCA_LOG_LEVEL_ERROR, n, "f", 1, "f", "x"));
	OK(doca_log_unregister_source(n));
	IS(doca_log_unregister_source(n), INVALID_VALUE);
	IS(doca_log_unregister_source(-1), INVALID_VALUE);
	IS(doca_log(DOCA_LOG_LEVEL_ERROR, n, "f", 1, "f", "x"), INVALID_VALUE);
}

Test(log, limits_of_a_backend)
{
	struct doca_log_backend *b, *sdk;

	open_file();
	OK(doca_log_backend_create_with_file(file, &b));
	OK(doca_log_backend_create_with_file_sdk(file, &sdk));
	IS(doca_log_backend_set_level_lower_limit(NULL, 50), INVALID_VALUE);
	IS(doca_log_backend_set_level_lower_limit((void *)1, 50), INVALID_VALUE);
	IS(doca_log_backend_set_level_lower_limit(b, 51), INVALID_VALUE);
	IS(doca_log_backend_set_level_lower_limit(sdk, 50), INVALID_VALUE);
	IS(doca_log_backend_set_level_upper_limit(NULL, 50), INVALID_VALUE);
	IS(doca_log_backend_set_level_upper_limit(b, 0), INVALID_VALUE);
	IS(doca_log_backend_set_level_lower_limit_strict(NULL), INVALID_VALUE);
	IS(doca_log_backend_set_level_upper_limit_strict(NULL), INVALID_VALUE);
	IS(doca_log_backend_set_sdk_level(NULL, 50), INVALID_VALUE);
	IS(doca_log_backend_set_sdk_level(b, 50), INVALID_VALUE);
	IS(doca_log_backend_set_sdk_level(sdk, 55), INVALID_VALUE);
	OK(doca_log_backend_set_level_lower_limit(b, DOCA_LOG_LEVEL_WARNING));
	OK(doca_log_backend_set_level_upper_limit(b, DOCA_LOG_LEVEL_ERROR));
	DOCA_LOG_CRIT("crit");
	DOCA_LOG_ERR("err");
	DOCA_LOG_WARN("warn");
	DOCA_LOG_INFO("info");
	cr_assert(matches(lines(), "^[^\n]* err\n[^\n]* warn\n$"));
	OK(doca_log_backend_set_level_lower_limit(b, DOCA_LOG_LEVEL_DISABLE));
	DOCA_LOG_ERR("err");
	cr_assert_str_eq(lines(), "");
}

Test(log, global_limits)
{
	struct doca_log_backend *b, *later;

	cr_assert_eq(doca_log_level_get_global_lower_limit(), (uint32_t)DOCA_LOG_LEVEL_INFO);
	cr_assert_eq(doca_log_level_get_global_upper_limit(), (uint32_t)DOCA_LOG_LEVEL_CRIT);
	cr_assert_eq(doca_log_level_get_global_sdk_limit(), (uint32_t)DOCA_LOG_LEVEL_INFO);
	open_file();
	OK(doca_log_backend_create_with_file(file, &b));
	DOCA_LOG_DBG("not yet");
	IS(doca_log_level_set_global_lower_limit(61), INVALID_VALUE);
	IS(doca_log_level_set_global_upper_limit(19), INVALID_VALUE);
	OK(doca_log_level_set_global_lower_limit(DOCA_LOG_LEVEL_DEBUG));
	OK(doca_log_level_set_global_upper_limit(DOCA_LOG_LEVEL_INFO));
	cr_assert_eq(doca_log_level_get_global_lower_limit(), (uint32_t)DOCA_LOG_LEVEL_DEBUG);
	cr_assert_eq(doca_log_level_get_global_upper_limit(), (uint32_t)DOCA_LOG_LEVEL_INFO);
	OK(doca_log_backend_create_with_file(file, &later));
	DOCA_LOG_WARN("no more");
	DOCA_LOG_DBG("twice");
	cr_assert(matches(lines(), "^[^\n]* twice\n[^\n]* twice\n$"));
}

/* A strict limit can be narrowed, not widened. */
Test(log, strict_limits)
{
	struct doca_log_backend *b;

	open_file();
	OK(doca_log_backend_create_with_file(file, &b));
	OK(doca_log_backend_set_level_lower_limit(b, DOCA_LOG_LEVEL_WARNING));
	OK(doca_log_backend_set_level_upper_limit(b, DOCA_LOG_LEVEL_ERROR));
	OK(doca_log_backend_set_level_lower_limit_strict(b));
	OK(doca_log_backend_set_level_upper_limit_strict(b));
	OK(doca_log_level_set_global_lower_limit(DOCA_LOG_LEVEL_TRACE));
	OK(doca_log_backend_set_level_upper_limit(b, DOCA_LOG_LEVEL_CRIT));
	DOCA_LOG_CRIT("crit");
	DOCA_LOG_ERR("err");
	DOCA_LOG_WARN("warn");
	DOCA_LOG_INFO("info");
	cr_assert(matches(lines(), "^[^\n]* err\n[^\n]* warn\n$"));
	OK(doca_log_level_set_global_lower_limit(DOCA_LOG_LEVEL_ERROR));
	DOCA_LOG_WARN("warn");
	DOCA_LOG_ERR("err");
	cr_assert(matches(lines(), "^[^\n]* err\n$"));
}

Test(log, messages_of_the_library)
{
	struct doca_log_backend *app, *sdk;

	open_file();
	OK(doca_log_backend_create_with_file(file, &app));
	DPA_LOG(DOCA_LOG_LEVEL_ERROR, "nobody asked");
	cr_assert_str_eq(lines(), "");
	OK(doca_log_backend_create_with_file_sdk(file, &sdk));
	OK(doca_log_backend_set_level_lower_limit(app, DOCA_LOG_LEVEL_DISABLE));
	DPA_LOG(DOCA_LOG_LEVEL_INFO, "%d", 1);
	DPA_LOG(DOCA_LOG_LEVEL_DEBUG, "%d", 2);
	DOCA_LOG_ERR("the program's");
	cr_assert(matches(lines(), "^[^\n]*\\[INF\\]\\[test_log.c[^\n]* 1\n$"));
	OK(doca_log_backend_set_sdk_level(sdk, DOCA_LOG_LEVEL_ERROR));
	DPA_LOG(DOCA_LOG_LEVEL_WARNING, "no");
	cr_assert_str_eq(lines(), "");
	IS(doca_log_level_set_global_sdk_limit(1), INVALID_VALUE);
	OK(doca_log_level_set_global_sdk_limit(DOCA_LOG_LEVEL_TRACE));
	cr_assert_eq(doca_log_level_get_global_sdk_limit(), (uint32_t)DOCA_LOG_LEVEL_TRACE);
	DPA_LOG(DOCA_LOG_LEVEL_TRACE, "yes");
	cr_assert(matches(lines(), "\\[TRC\\].* yes\n$"));
}

static char flushed[10][64];
static int flushes;
static void on_flush(char *buf)
{
	snprintf(flushed[flushes++], sizeof(flushed[0]), "%s", buf);
}

Test(log, buffer)
{
	struct doca_log_backend *b, *sdk;
	char buf[400], small[40];

	IS(doca_log_backend_create_with_buf(NULL, 10, on_flush, &b), INVALID_VALUE);
	IS(doca_log_backend_create_with_buf(buf, 1, on_flush, &b), INVALID_VALUE);
	IS(doca_log_backend_create_with_buf(buf, 10, NULL, &b), INVALID_VALUE);
	IS(doca_log_backend_create_with_buf(buf, 10, on_flush, NULL), INVALID_VALUE);
	OK(doca_log_backend_create_with_buf(buf, sizeof(buf), on_flush, &b));
	cr_assert_str_eq(buf, "");
	DOCA_LOG_INFO("one");
	DOCA_LOG_INFO("two");
	cr_assert(matches(buf, "^[^\n]* one\n[^\n]* two\n$"));
	cr_assert_eq(flushes, 0);
	for (int i = 0; !flushes; i++)
		DOCA_LOG_INFO("line %d", i);
	cr_assert(strstr(flushed[0], "["));
	cr_assert(matches(buf, "^[^\n]* line [0-9]+\n$"), "the buffer begins anew");
	flushes = 0;
	OK(doca_log_backend_create_with_buf_sdk(small, sizeof(small), on_flush, &sdk));
	DPA_LOG(DOCA_LOG_LEVEL_ERROR, "longer than the buffer");
	cr_assert_eq(strlen(small), sizeof(small) - 1);
	DPA_LOG(DOCA_LOG_LEVEL_ERROR, "again");
	cr_assert_eq(flushes, 1);
	cr_assert_eq(strlen(flushed[0]), sizeof(small) - 1);
}

Test(log, descriptor)
{
	struct doca_log_backend *b, *sdk;
	char got[300] = "";
	int p[2];

	IS(doca_log_backend_create_with_fd(-1, &b), INVALID_VALUE);
	IS(doca_log_backend_create_with_fd(1, NULL), INVALID_VALUE);
	IS(doca_log_backend_create_with_fd_sdk(-1, &b), INVALID_VALUE);
	cr_assert_eq(pipe(p), 0);
	OK(doca_log_backend_create_with_fd(p[1], &b));
	OK(doca_log_backend_create_with_fd_sdk(p[1], &sdk));
	DOCA_LOG_INFO("mine");
	DPA_LOG(DOCA_LOG_LEVEL_INFO, "its");
	cr_assert_gt(read(p[0], got, sizeof(got) - 1), 0);
	cr_assert(matches(got, " mine\n.* its\n$"));
	close(p[1]);
	IS(doca_log(DOCA_LOG_LEVEL_ERROR, log_source, "f", 1, "f", "x"), IO_FAILED);
}

Test(log, streams)
{
	struct doca_log_backend *b;

	IS(doca_log_backend_create_with_file(NULL, &b), INVALID_VALUE);
	IS(doca_log_backend_create_with_file(stdout, NULL), INVALID_VALUE);
	IS(doca_log_backend_create_with_file_sdk(NULL, &b), INVALID_VALUE);
	file = fopen("/dev/full", "w");
	cr_assert(file);
	OK(doca_log_backend_create_with_file(file, &b));
	IS(doca_log(DOCA_LOG_LEVEL_ERROR, log_source, "f", 1, "f", "x"), IO_FAILED);
}

/* Replaces libc's: the text for the daemon. */
static char sys_line[300];
static const char *sys_name;
static int sys_priority;

void openlog(const char *name, int option, int facility)
{
	sys_name = name;
}

static void keep(int priority, const char *format, va_list ap)
{
	sys_priority = priority;
	vsnprintf(sys_line, sizeof(sys_line), format, ap);
}

void syslog(int priority, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	keep(priority, format, ap);
	va_end(ap);
}

void __syslog_chk(int priority, int flag, const char *format, ...);
void __syslog_chk(int priority, int flag, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	keep(priority, format, ap);
	va_end(ap);
}

Test(log, to_syslog)
{
	char name[] = "tag", sdk_name[] = "sdk";
	struct doca_log_backend *b, *sdk;

	IS(doca_log_backend_create_with_syslog(NULL, &b), INVALID_VALUE);
	IS(doca_log_backend_create_with_syslog(name, NULL), INVALID_VALUE);
	IS(doca_log_backend_create_with_syslog_sdk(NULL, &b), INVALID_VALUE);
	OK(doca_log_backend_create_with_syslog(name, &b));
	OK(doca_log_backend_create_with_syslog_sdk(sdk_name, &sdk));
	memset(name, 'x', 3);
	DOCA_LOG_WARN("100%%");
	cr_assert_str_eq(sys_name, "tag");
	cr_assert_eq(sys_priority, LOG_WARNING);
	cr_assert(matches(sys_line, "^\\[DOCA\\]\\[WRN\\].* 100%\n$"));
	DPA_LOG(DOCA_LOG_LEVEL_CRIT, "x");
	cr_assert_str_eq(sys_name, "sdk");
	cr_assert_eq(sys_priority, LOG_CRIT);
}

static void read_all(int fd, char *to, size_t size)
{
	size_t n = 0;
	ssize_t k;

	while ((k = read(fd, to + n, size - 1 - n)) > 0)
		n += (size_t)k;
	to[n] = 0;
}

/* In a separate process, whose outputs are pipes. */
Test(log, standard)
{
	char out_text[1000], err_text[1000];
	int out[2], err[2], status;
	pid_t pid;

	cr_assert(!pipe(out) && !pipe(err));
	pid = fork();
	if (!pid) {
		bool ok;

		dup2(out[1], 1);
		dup2(err[1], 2);
		ok = !doca_log_level_set_global_lower_limit(DOCA_LOG_LEVEL_DEBUG) &&
		     !doca_log_backend_create_standard() &&
		     doca_log_backend_create_standard() == DOCA_ERROR_ALREADY_EXIST;
		DOCA_LOG_ERR("err");
		DOCA_LOG_WARN("warn");
		DOCA_LOG_INFO("info");
		DOCA_LOG_DBG("dbg");
		doca_log_level_set_global_lower_limit(DOCA_LOG_LEVEL_ERROR);
		DOCA_LOG_WARN("less");
		DOCA_LOG_INFO("less");
		_exit(!ok);
	}
	close(out[1]);
	close(err[1]);
	read_all(out[0], out_text, sizeof(out_text));
	read_all(err[0], err_text, sizeof(err_text));
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	cr_assert(matches(out_text, "^[^\n]* info\n[^\n]* dbg\n$"), "%s", out_text);
	cr_assert(matches(err_text, "^[^\n]* err\n[^\n]* warn\n$"), "%s", err_text);
}

static void *logger(void *arg)
{
	for (int i = 0; i < 500; i++)
		DOCA_LOG_INFO("%s", (const char *)arg);
	return NULL;
}

/* Lines of several threads do not mix. */
Test(log, threads)
{
	static char msg[2][80];
	struct doca_log_backend *b;
	pthread_t t[2];
	char line[512];
	int n = 0;

	file = tmpfile();
	cr_assert(file);
	OK(doca_log_backend_create_with_file(file, &b));
	for (int i = 0; i < 2; i++) {
		memset(msg[i], 'a' + i, sizeof(msg[i]) - 1);
		cr_assert_eq(pthread_create(&t[i], NULL, logger, msg[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		cr_assert(matches(line, "\\[logger\\] (a{79}|b{79})\n$"));
		n++;
	}
	cr_assert_eq(n, 1000);
}
