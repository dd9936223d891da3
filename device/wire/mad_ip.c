/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mad_ip.c - the IP CM header of a request's private data. */
#include "../include/dpa_mad.h"
#include <string.h>

static bool is_known_version(uint8_t version)
{
	return version == 4 || version == 6;
}

bool dpa_cm_ip_decode(const uint8_t p[DPA_CM_IP_BYTES], struct dpa_cm_ip *ip)
{
	memset(ip, 0, sizeof(*ip));
	if (p[0] || !is_known_version(p[1] >> 4))
		return false;
	ip->ip_version = p[1] >> 4;
	ip->sport = (uint16_t)(p[2] << 8 | p[3]);
	memcpy(ip->src, p + 4, sizeof(ip->src));
	memcpy(ip->dst, p + 20, sizeof(ip->dst));
	return true;
}

bool dpa_cm_ip_encode(const struct dpa_cm_ip *ip, uint8_t p[DPA_CM_IP_BYTES])
{
	memset(p, 0, DPA_CM_IP_BYTES);
	if (!is_known_version(ip->ip_version))
		return false;
	p[1] = (uint8_t)(ip->ip_version << 4);
	p[2] = (uint8_t)(ip->sport >> 8);
	p[3] = (uint8_t)ip->sport;
	memcpy(p + 4, ip->src, sizeof(ip->src));
	memcpy(p + 20, ip->dst, sizeof(ip->dst));
	return true;
}
