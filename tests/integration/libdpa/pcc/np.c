/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * np.c - a notification point that answers with data of the probe. The layout of IFA 2.0: four
 * bytes of metadata header behind UDP's, the last with the words of the entries behind, 8 each.
 * With -DFAULT it faults at the tenth probe.
 */
#include <doca_pcc_np_dev.h>
#include "answer.h"

#define WORDS_OF_A_HOP 8
#define MAD_DATA       64 /* bytes in front of the custom header */

static uint32_t count;
#ifdef FAULT
static volatile int *volatile nowhere = (volatile int *)8;
#endif

static uint32_t word(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

doca_pcc_dev_error_t
doca_pcc_dev_np_user_packet_handler(struct doca_pcc_np_dev_request_packet *in,
				    struct doca_pcc_np_dev_response_packet *out)
{
	const uint8_t *ip = doca_pcc_np_dev_get_raw_packet(in) + 14;
	const uint8_t *l4 = doca_pcc_np_dev_get_l4_header(in);
	struct answer a = {.magic = ANSWER_MAGIC};
	uint32_t header[2];

	a.count = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
#ifdef FAULT
	if (a.count == 10)
		*nowhere = 1;
#endif
	if (ip[9] == 253) { /* IFA 2.0, of IPv4 */
		a.hops = l4[8 + 3] / WORDS_OF_A_HOP;
		if (a.hops)
			a.queued = word(l4 + 12 + 8) << 16 | (word(l4 + 12 + 20) & 0xffff);
	}
	if (doca_pcc_np_dev_get_payload_size(in) == MAD_DATA + sizeof(header)) {
		__builtin_memcpy(header, doca_pcc_np_dev_get_payload(in) + MAD_DATA,
				 sizeof(header));
		a.hops = header[0] == HEADER_MAGIC;
		a.queued = header[1];
		doca_pcc_np_dev_set_response_prio(out, 46);
	}
	__builtin_memcpy(out->data, &a, sizeof(a));
	return DOCA_PCC_DEV_STATUS_OK;
}
