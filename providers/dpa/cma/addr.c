/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* addr.c - socket addresses, GIDs, and the local address that leads to another address. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cma/cma.h"

size_t cma_addr_len(const union cma_addr *a)
{
	switch (a->family) {
	case AF_INET:
		return sizeof(a->in);
	case AF_INET6:
		return sizeof(a->in6);
	case CMA_AF_IB:
		return sizeof(a->ib);
	default:
		return 0;
	}
}

uint16_t cma_addr_port(const union cma_addr *a)
{
	switch (a->family) {
	case AF_INET:
		return ntohs(a->in.sin_port);
	case AF_INET6:
		return ntohs(a->in6.sin6_port);
	case CMA_AF_IB:
		return (uint16_t)(be64toh(a->ib.sid) & be64toh(a->ib.sid_mask));
	default:
		return 0;
	}
}

void cma_addr_set_port(union cma_addr *a, uint16_t port)
{
	switch (a->family) {
	case AF_INET:
		a->in.sin_port = htons(port);
		break;
	case AF_INET6:
		a->in6.sin6_port = htons(port);
		break;
	case CMA_AF_IB:
		a->ib.sid = htobe64((be64toh(a->ib.sid) & ~UINT64_C(0xffff)) | port);
		a->ib.sid_mask = htobe64(UINT64_MAX);
		break;
	}
}

static bool all_zero(const uint8_t *p, size_t n)
{
	while (n--)
		if (*p++)
			return false;
	return true;
}

bool cma_addr_is_loopback(const union cma_addr *a)
{
	if (a->family == AF_INET)
		return ntohl(a->in.sin_addr.s_addr) >> 24 == 127;
	return a->family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a->in6.sin6_addr);
}

bool cma_addr_is_any(const union cma_addr *a)
{
	switch (a->family) {
	case AF_INET:
		return !a->in.sin_addr.s_addr;
	case AF_INET6:
		return all_zero(a->in6.sin6_addr.s6_addr, 16);
	case CMA_AF_IB:
		return all_zero(a->ib.addr, 16);
	default:
		return true;
	}
}

bool cma_addr_is_multicast(const union cma_addr *a)
{
	return (a->family == AF_INET && IN_MULTICAST(ntohl(a->in.sin_addr.s_addr))) ||
	       (a->family == AF_INET6 && a->in6.sin6_addr.s6_addr[0] == 0xff);
}

void cma_addr_gid(const union cma_addr *a, uint8_t gid[16])
{
	memset(gid, 0, 16);
	if (a->family == AF_INET) {
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, &a->in.sin_addr, 4);
	} else if (a->family == AF_INET6) {
		memcpy(gid, a->in6.sin6_addr.s6_addr, 16);
	} else if (a->family == CMA_AF_IB) {
		memcpy(gid, a->ib.addr, 16);
	}
}

void cma_addr_of_gid(union cma_addr *a, const uint8_t gid[16], uint16_t port)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	memset(a, 0, sizeof(*a));
	if (!memcmp(gid, mapped, sizeof(mapped))) {
		a->in.sin_family = AF_INET;
		memcpy(&a->in.sin_addr, gid + 12, 4);
	} else {
		a->in6.sin6_family = AF_INET6;
		memcpy(a->in6.sin6_addr.s6_addr, gid, 16);
	}
	cma_addr_set_port(a, port);
}

/*
 * Uses a connected UDP socket; nothing is sent. By system call, because a library may have replaced
 * socket() of the process by one that makes rsockets.
 */
int cma_addr_source(const union cma_addr *dst, union cma_addr *src)
{
	union cma_addr to = *dst;
	socklen_t len = sizeof(src->ss);
	int fd, err = 0;

	if (dst->family != AF_INET && dst->family != AF_INET6)
		return EAFNOSUPPORT;
	if (!cma_addr_port(&to))
		cma_addr_set_port(&to, 4791);
	fd = (int)syscall(SYS_socket, dst->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	memset(src, 0, sizeof(*src));
	if (syscall(SYS_connect, fd, &to, cma_addr_len(&to)) ||
	    syscall(SYS_getsockname, fd, src, &len))
		err = errno;
	syscall(SYS_close, fd);
	cma_addr_set_port(src, 0);
	return err;
}

bool cma_is_own(const uint8_t gid[16])
{
	struct dpa_hw_route r;
	int err = dpa_hw_route(cma.ctx, gid, gid, &r);

	return !err || err == ENODEV; /* an address without an index */
}
