/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* peer.c - whose socket a connection comes from: the kernel lists it with its user. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "web.h"

/* proc(5): "sl: local:port remote:port state queues timer retransmits uid ..." */
#define FORM "%*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %u"

/* Addresses as the file has them, also mapped into IPv6: their last 8 digits. */
static bool is_address(const char *text, const char *address)
{
	const size_t n = strlen(text);

	return n >= 8 && strcmp(text + n - 8, address) == 0;
}

/* True if the list has a socket from port `from` to port `to` of 127.0.0.1, of an allowed user. */
static bool has_allowed_socket(const char *path, const char *address, uint16_t from, uint16_t to)
{
	FILE *f = fopen(path, "re");
	char line[512], local[33], remote[33];
	unsigned int lport, rport, uid;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, FORM, local, &lport, remote, &rport, &uid) == 5 &&
			lport == from && rport == to && is_address(local, address) &&
			is_address(remote, address) && (!uid || uid == geteuid());
	if (f)
		fclose(f);
	return found;
}

bool web_peer_is_ours(const struct sockaddr *peer, uint16_t ours)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)peer;
	char address[9];

	if (peer->sa_family != AF_INET || in->sin_addr.s_addr != htonl(INADDR_LOOPBACK))
		return false;
	snprintf(address, sizeof(address), "%08X", in->sin_addr.s_addr);
	return has_allowed_socket("/proc/net/tcp", address, ntohs(in->sin_port), ours) ||
	       has_allowed_socket("/proc/net/tcp6", address, ntohs(in->sin_port), ours);
}
