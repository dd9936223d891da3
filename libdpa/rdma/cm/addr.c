/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* addr.c - addresses to connect to. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include "../rdma.h"
#include "cm.h"

/*
 * Parse a numeric address, never a name: no resolver is used. A GID that holds an IPv4 address
 * counts as that address.
 */
static bool parse_addr(struct doca_rdma_addr *a)
{
	struct addrinfo want = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				.ai_family =
					a->type == DOCA_RDMA_ADDR_TYPE_IPv4 ? AF_INET : AF_INET6,
				.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a->where;
	char port[8];

	snprintf(port, sizeof(port), "%u", a->port);
	if (getaddrinfo(a->text, port, &want, &found))
		return false;
	memcpy(&a->where, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	if (in6->sin6_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = in6->sin6_port};

		memcpy(&in.sin_addr, in6->sin6_addr.s6_addr + 12, sizeof(in.sin_addr));
		memcpy(&a->where, &in, sizeof(in));
	}
	return true;
}

doca_error_t doca_rdma_addr_create(enum doca_rdma_addr_type addr_type, const char *address,
				   uint16_t port, struct doca_rdma_addr **addr)
{
	struct doca_rdma_addr *a;

	if (!address || !addr || !port || (uint32_t)addr_type > DOCA_RDMA_ADDR_TYPE_GID ||
	    strlen(address) >= sizeof(a->text))
		return DOCA_ERROR_INVALID_VALUE;
	a = dpa_obj_new(DPA_T_ADDR, sizeof(*a));
	if (!a)
		return DOCA_ERROR_NO_MEMORY;
	a->type = addr_type;
	a->port = port;
	strcpy(a->text, address);
	if (!parse_addr(a)) {
		dpa_obj_free(a);
		return DOCA_ERROR_INVALID_VALUE;
	}
	*addr = a;
	return DOCA_SUCCESS;
}

doca_error_t doca_rdma_addr_destroy(struct doca_rdma_addr *addr)
{
	if (!dpa_live(addr))
		return DOCA_ERROR_INVALID_VALUE;
	if (addr->users)
		return DOCA_ERROR_BAD_STATE;
	dpa_obj_free(addr);
	return DOCA_SUCCESS;
}

doca_error_t doca_rdma_addr_get_params(struct doca_rdma_addr *addr,
				       enum doca_rdma_addr_type *addr_type, const char **address,
				       uint16_t *port)
{
	if (!dpa_live(addr) || !addr_type || !address || !port)
		return DOCA_ERROR_INVALID_VALUE;
	*addr_type = addr->type;
	*address = addr->text;
	*port = addr->port;
	return DOCA_SUCCESS;
}

struct doca_rdma_addr *dpa_addr_of_peer(const struct sockaddr *peer)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;
	const struct sockaddr_in *in = (const struct sockaddr_in *)peer;
	struct doca_rdma_addr *a = dpa_obj_new(DPA_T_ADDR, sizeof(*a));

	if (!a)
		return NULL;
	memcpy(&a->where, peer, peer->sa_family == AF_INET ? sizeof(*in) : sizeof(*in6));
	a->own = true;
	a->type = DOCA_RDMA_ADDR_TYPE_IPv4;
	a->port = ntohs(in->sin_port); /* at the same offset in both */
	if (in->sin_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, a->text, sizeof(a->text));
	} else if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		inet_ntop(AF_INET, in6->sin6_addr.s6_addr + 12, a->text, sizeof(a->text));
	} else {
		a->type = DOCA_RDMA_ADDR_TYPE_IPv6;
		inet_ntop(AF_INET6, &in6->sin6_addr, a->text, sizeof(a->text));
	}
	return a;
}

struct doca_rdma_addr *dpa_addr_leave(struct doca_rdma_addr *addr)
{
	struct doca_rdma_addr *copy = addr->own ? NULL : dpa_obj_new(DPA_T_ADDR, sizeof(*copy));

	if (!copy)
		return addr;
	*copy = *addr;
	copy->own = true;
	copy->users = 1;
	dpa_addr_release(addr);
	return copy;
}

void dpa_addr_hold(struct doca_rdma_addr *addr)
{
	addr->users++;
}

void dpa_addr_release(struct doca_rdma_addr *addr)
{
	if (--addr->users == 0 && addr->own)
		dpa_obj_free(addr);
}
