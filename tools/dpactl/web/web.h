/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* web.h - dpactl web: a page on the loopback address that shows what top shows. */
#ifndef DPACTL_WEB_H
#define DPACTL_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define WEB_SECRET 33 /* 32 hexadecimal digits, and a 0 */

/*
 * The token of the address that the command prints, good for one session; the secret of that
 * session, which each request for data has. One thread.
 */
struct web_keys {
	char token[WEB_SECRET], session[WEB_SECRET];
	bool used; /* the token was exchanged */
};

/* Returns 0 or an errno: no random numbers. */
int web_keys_make(struct web_keys *k);
/* True once: the token is right, and was not used before. header: "Token HEX", or NULL. */
bool web_keys_exchange(struct web_keys *k, const char *header);
/* True if header is "Bearer HEX" with the secret of the session, which has begun; or NULL. */
bool web_keys_allow(const struct web_keys *k, const char *header);
/*
 * True if a Host header is that of this server: another name would be a page that rebinds DNS; and
 * at localhost, which may be ::1, another user may listen.
 */
bool web_host_is_ours(const char *host, uint16_t port);

/*
 * True if the socket on this host's end of a connection to port `ours` is this user's, or root's, by
 * /proc/net/tcp. False also if it is closed.
 */
bool web_peer_is_ours(const struct sockaddr *peer, uint16_t ours);

/* A file of the page; NULL: there is none of that path. */
struct web_file {
	const char *path, *type;
	const unsigned char *bytes;
	size_t len;
};
const struct web_file *web_file(const char *path);

#endif
