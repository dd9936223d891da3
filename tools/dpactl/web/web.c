/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * web.c - dpactl web: the server. It listens on 127.0.0.1 only, and takes connections of its user
 * and of root. The page itself has no data; data needs the secret of the session, which the first
 * bearer of the token gets. Nothing can be changed. Readings are taken when a page asks for one: without an open page
 * no process measures anything.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "../live/live.h"
#include "web.h"

#define MOST_QPS    512u /* in a reading: the busiest; of the rest only the slots */
#define CONNECTIONS 64u
#define IDLE_S	    30u			/* an idle connection is closed after this time */
#define FRESH_NS    UINT64_C(200000000) /* a reading serves all pages for this time */

struct web {
	struct live live;
	struct web_keys keys;
	_Atomic uint16_t port;	      /* 0 until the server runs: no connection is taken before */
	struct MHD_Response *reading; /* the last one; NULL: none */
	uint64_t read_at;	      /* ns */
};

/* ------------------------------------------------------------------- responses */

static void add_header(struct MHD_Response *r, const char *name, const char *value)
{
	if (MHD_add_response_header(r, name, value) != MHD_YES)
		die(EXIT_NONE, "no memory");
}

/* Sources of the page: this server only, and no other page may frame it. The caller releases it. */
static struct MHD_Response *response_of(const void *bytes, size_t len, const char *type,
					enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(len, (void *)(uintptr_t)bytes, mode);

	if (!r)
		die(EXIT_NONE, "no memory");
	add_header(r, "Content-Type", type);
	add_header(r, "Cache-Control", "no-store");
	add_header(r, "X-Content-Type-Options", "nosniff");
	add_header(r, "Referrer-Policy", "no-referrer");
	add_header(r, "X-Frame-Options", "DENY");
	add_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	add_header(r, "Content-Security-Policy",
		   "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
		   "img-src 'self' data:; base-uri 'none'; form-action 'none'");
	return r;
}

static enum MHD_Result answer_bytes(struct MHD_Connection *c, unsigned int status,
				    const void *bytes, size_t len, const char *type,
				    enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r = response_of(bytes, len, type, mode);
	enum MHD_Result ret = MHD_queue_response(c, status, r);

	MHD_destroy_response(r);
	return ret;
}

static enum MHD_Result refuse_web_request(struct MHD_Connection *c, unsigned int status,
					  const char *why)
{
	return answer_bytes(c, status, why, strlen(why), "text/plain; charset=utf-8",
			    MHD_RESPMEM_PERSISTENT);
}

/* --------------------------------------------------------------------- requests */

static const char *header_of(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static void take_reading(struct web *w)
{
	struct json_object *o;
	const char *text;
	size_t len;

	live_read(&w->live);
	o = live_json(&w->live, MOST_QPS);
	text = json_object_to_json_string_length(
		o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
	if (!text)
		die(EXIT_NONE, "no memory");
	if (w->reading)
		MHD_destroy_response(w->reading); /* freed when all have it */
	w->reading = response_of(text, len, "application/json", MHD_RESPMEM_MUST_COPY);
	json_object_put(o);
	w->read_at = w->live.now;
}

static enum MHD_Result send_reading(struct web *w, struct MHD_Connection *c)
{
	if (!web_keys_allow(&w->keys, header_of(c, "Authorization")))
		return refuse_web_request(c, MHD_HTTP_FORBIDDEN, "not your session\n");
	if (!w->reading || now_ns() - w->read_at > FRESH_NS)
		take_reading(w);
	return MHD_queue_response(c, MHD_HTTP_OK, w->reading);
}

static enum MHD_Result begin_session(struct web *w, struct MHD_Connection *c)
{
	if (!web_keys_exchange(&w->keys, header_of(c, "Authorization")))
		return refuse_web_request(c, MHD_HTTP_FORBIDDEN,
					  "a wrong token, or one that was used\n");
	return answer_bytes(c, MHD_HTTP_OK, w->keys.session, strlen(w->keys.session),
			    "text/plain; charset=utf-8", MHD_RESPMEM_MUST_COPY);
}

static enum MHD_Result answer_get(struct web *w, struct MHD_Connection *c, const char *path)
{
	const struct web_file *f = web_file(path);

	if (f)
		return answer_bytes(c, MHD_HTTP_OK, f->bytes, f->len, f->type,
				    MHD_RESPMEM_PERSISTENT);
	if (strcmp(path, "/data") == 0)
		return send_reading(w, c);
	return refuse_web_request(c, MHD_HTTP_NOT_FOUND, "no such page\n");
}

/* Called twice for a request: for its head, and when its body was read, which is not looked at. */
static enum MHD_Result on_web_request(void *arg, struct MHD_Connection *c, const char *path,
				      const char *method, const char *version, const char *body,
				      size_t *body_len, void **state)
{
	static char begun;
	struct web *w = arg;

	if (!*state) {
		*state = &begun;
		return MHD_YES;
	}
	if (*body_len) {
		*body_len = 0;
		return MHD_YES;
	}
	if (!web_host_is_ours(header_of(c, "Host"), w->port))
		return refuse_web_request(c, MHD_HTTP_FORBIDDEN, "not this host's name\n");
	if (strcmp(method, "GET") == 0)
		return answer_get(w, c, path);
	if (strcmp(method, "POST") == 0 && strcmp(path, "/session") == 0)
		return begin_session(w, c);
	return refuse_web_request(c, MHD_HTTP_METHOD_NOT_ALLOWED, "read only\n");
}

/* --------------------------------------------------------------------- command */

/* Another user's connection is closed at once: all places would be taken by that user otherwise. */
static enum MHD_Result on_connection(void *arg, const struct sockaddr *peer, socklen_t len)
{
	const struct web *w = arg;

	return web_peer_is_ours(peer, w->port) ? MHD_YES : MHD_NO;
}

static struct MHD_Daemon *start_server(struct web *w, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct MHD_Daemon *d;

	errno = 0;
	d = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, port, on_connection, w,
			     on_web_request, w, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&at,
			     MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
			     MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_END);
	if (!d)
		die(EXIT_NONE, "cannot listen on 127.0.0.1, port %u: %s", port,
		    strerror(errno ? errno : EIO));
	return d;
}

static void wait_for_signal(const sigset_t *set)
{
	int sig;

	while (sigwait(set, &sig))
		;
}

void cmd_web(struct ctl *c)
{
	static struct web w;
	struct MHD_Daemon *d;
	sigset_t set;
	int rc = web_keys_make(&w.keys);

	if (rc)
		die(EXIT_NONE, "no random numbers: %s", strerror(rc));
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL); /* also of the server's thread */
	live_begin(&w.live, c);
	d = start_server(&w, (uint16_t)c->port);
	w.port = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port;
	printf("http://127.0.0.1:%u/#%s\n", w.port, w.keys.token);
	if (fflush(stdout) || ferror(stdout))
		die(EXIT_NONE, "cannot write: %s", strerror(errno));
	wait_for_signal(&set);
	MHD_stop_daemon(d);
	if (w.reading)
		MHD_destroy_response(w.reading);
	live_end(&w.live);
}
