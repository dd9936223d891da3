/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * guid.c - the node GUID. Also compiled into the discovery preload, which uses it for the node_guid
 * file: so it may use libc only.
 */
#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port/port.h"

/* FNV-1a, then a final mix that spreads short texts over all bits. */
static uint64_t hash_bytes(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	h ^= h >> 32;
	h *= UINT64_C(0xff51afd7ed558ccd);
	return h ^ h >> 29;
}

uint64_t dpa_port_node_guid(uint32_t function)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	char boot[64];
	struct stat st;
	uint64_t guid;
	ssize_t len;
	int fd;

	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, boot, sizeof(boot));
		h = hash_bytes(h, boot, len > 0 ? (size_t)len : 0);
		close(fd);
	}
	if (stat("/proc/self/ns/net", &st) == 0)
		h = hash_bytes(h, &st.st_ino, sizeof(st.st_ino));
	h &= UINT64_C(0xffffffffff) & ~(uint64_t)(DPA_MAX_FUNCTIONS - 1);
	guid = (uint64_t)DPA_VENDOR_ID << 40 | h | function;
	return htobe64(guid);
}

void dpa_port_derive_gid(uint64_t node_guid, uint8_t gid[16])
{
	memset(gid, 0, 8);
	gid[0] = 0xfe;
	gid[1] = 0x80;
	memcpy(gid + 8, &node_guid, 8);
	gid[8] ^= 2; /* the modified EUI-64 of RFC 4291 */
}
