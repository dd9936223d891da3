/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* keys.c - the right to read: see web.h. Comparisons take the same time wherever the texts differ. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include "web.h"

static int make_secret(char to[WEB_SECRET])
{
	unsigned char r[(WEB_SECRET - 1) / 2];

	if (getrandom(r, sizeof(r), 0) != (ssize_t)sizeof(r))
		return errno ? errno : EIO;
	for (size_t i = 0; i < sizeof(r); i++)
		snprintf(to + 2 * i, 3, "%02x", r[i]);
	return 0;
}

int web_keys_make(struct web_keys *k)
{
	int rc;

	*k = (struct web_keys){.used = false};
	rc = make_secret(k->token);
	return rc ? rc : make_secret(k->session);
}

static bool is_secret(const char *header, const char *scheme, const char secret[WEB_SECRET])
{
	const size_t n = strlen(scheme);
	unsigned int differs = 0;

	if (!header || strncmp(header, scheme, n) != 0 || strlen(header + n) != WEB_SECRET - 1)
		return false;
	for (size_t i = 0; i < WEB_SECRET - 1; i++)
		differs |= (unsigned int)(header[n + i] ^ secret[i]);
	return !differs;
}

bool web_keys_exchange(struct web_keys *k, const char *header)
{
	if (k->used || !is_secret(header, "Token ", k->token))
		return false;
	k->used = true;
	return true;
}

bool web_keys_allow(const struct web_keys *k, const char *header)
{
	return k->used && is_secret(header, "Bearer ", k->session);
}

bool web_host_is_ours(const char *host, uint16_t port)
{
	char ours[32];

	snprintf(ours, sizeof(ours), "127.0.0.1:%u", port);
	return host && strcmp(host, ours) == 0;
}
