/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcap.h - packet files. Reading: pcap (both byte orders, microseconds and nanoseconds) and pcapng
 * (both byte orders; section, interface, enhanced and simple packet blocks, entries of a systemd
 * journal), Ethernet with VLAN tags, raw IP, Linux "cooked" v1 and v2, BSD loopback. Writing: pcapng
 * of raw IP. Works on bytes in memory: no allocation, no system call; reads nothing beyond the given
 * length.
 */
#ifndef DPA_PCAP_H
#define DPA_PCAP_H

#include "roce.h"

/* ---- Reading */

#define DPA_PCAP_IFS 64 /* interfaces of a section */

struct dpa_pcap {
	const uint8_t *p; /* the file; not owned */
	size_t n, at;	  /* its length; position of the next record, or of the error */
	const char *why;  /* after -1 */
	bool ng, swap;
	bool nano; /* pcap only */
	uint32_t nifs;
	struct dpa_pcap_if {
		uint16_t link; /* LINKTYPE_ of the registry; pcap has one interface */
		uint8_t res;   /* if_tsresol */
		uint32_t snap;
		int64_t offset; /* if_tsoffset, s */
	} ifs[DPA_PCAP_IFS];
};

struct dpa_pcap_rec {
	size_t at;	  /* offset of the record in the file */
	uint64_t ns;	  /* since 1970; 0: a simple packet block, which has no time */
	bool journal;	  /* no frame, but the text of an entry of a journal */
	uint16_t link;	  /* LINKTYPE_ of the frame; 0 of an entry */
	const uint8_t *p; /* the frame, as far as it was captured; the text */
	uint32_t n, len;  /* bytes captured; bytes that it had */
};

/* False: the file is of neither format (f->why, f->at). */
bool dpa_pcap_open(struct dpa_pcap *f, const uint8_t *p, size_t n);
/* 1: a packet or an entry; 0: the end; -1: the file is damaged or cut off at f->at, f->why has the reason. */
int dpa_pcap_next(struct dpa_pcap *f, struct dpa_pcap_rec *r);

/*
 * Return the value of a field of an entry (r->journal) by its name ("MESSAGE"), and its length in
 * *n; NULL: it has none. The bytes may be any but a line's end.
 */
const char *dpa_pcap_journal(const struct dpa_pcap_rec *r, const char *field, size_t *n);

enum dpa_pcap_kind {
	DPA_PCAP_ROCE,	/* net, *udp and *n are filled */
	DPA_PCAP_OTHER, /* not UDP to port 4791, a fragment, or an unknown link type */
	DPA_PCAP_BAD,	/* UDP to 4791, but cut off or with wrong lengths: *why */
};

/* Parse the headers of a frame; the UDP payload is not copied. */
enum dpa_pcap_kind dpa_pcap_udp(const struct dpa_pcap_rec *r, struct dpa_roce_net *net,
				const uint8_t **udp, size_t *n, const char **why);

/*
 * ---- Writing: a file is dpa_pcapng_begin(), then dpa_pcapng_packet() for each packet. Each
 * returns the bytes written to buf, or 0 if there is too little room.
 */

#define DPA_PCAPNG_BEGIN_MAX	 512
/* Room that is always sufficient for a packet of n bytes (n: UDP payload). */
#define DPA_PCAPNG_PACKET_MAX(n) ((n) + 256)
#define DPA_RAW_MAX_HDR		 48 /* IPv6 and UDP */

enum dpa_pcapng_dir { DPA_PCAPNG_UNKNOWN, DPA_PCAPNG_IN, DPA_PCAPNG_OUT };

/*
 * Write the section header and one interface: LINKTYPE_RAW, nanoseconds, name ifname. app: name of
 * the writing program. Longer names are cut.
 */
uint32_t dpa_pcapng_begin(uint8_t *buf, uint32_t room, const char *ifname, const char *app);
/*
 * Write the block of a packet: IP and UDP headers from net, then n bytes at p. ns: since 1970.
 * comment: shown beside it, 99 characters at most; NULL: none.
 */
uint32_t dpa_pcapng_packet(uint8_t *buf, uint32_t room, uint64_t ns, enum dpa_pcapng_dir dir,
			   const char *comment, const struct dpa_roce_net *net, const uint8_t *p,
			   uint32_t n);
#define DPA_PCAPNG_ENTRY_MAX 512
/*
 * Write an entry of a systemd journal (block type 9): Wireshark shows it as a row among the packets,
 * other readers skip it. ns: since 1970. program, message: longer ones are cut; control characters
 * become blanks.
 */
uint32_t dpa_pcapng_entry(uint8_t *buf, uint32_t room, uint64_t ns, const char *program,
			  uint32_t pid, const char *message);
/*
 * Write the IP and UDP headers of n bytes of UDP payload as on the wire: IPv4 checksum valid, UDP
 * checksum 0 (RoCEv2 has the ICRC). Returns 28 or 48, the bytes written to hdr (DPA_RAW_MAX_HDR).
 */
uint32_t dpa_raw_headers(const struct dpa_roce_net *net, uint32_t n, uint8_t *hdr);

#endif
