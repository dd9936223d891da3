/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernels.c - device code of the tests of libdpa/common. */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_buf.h>

/* Add up the contents of the elements, and write i to the first byte of each. */
__dpa_rpc__ uint64_t walk(uint64_t arr, uint64_t num)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < num; i++) {
		doca_dpa_dev_buf_t b = doca_dpa_dev_buf_array_get_buf(arr, i);
		char *p = (char *)(uintptr_t)doca_dpa_dev_buf_get_external_ptr(b);

		sum += doca_dpa_dev_buf_get_len(b) + doca_dpa_dev_buf_get_mmap(b);
		*p = (char)i;
		if ((uintptr_t)p != doca_dpa_dev_buf_get_addr(b))
			return 0;
	}
	return sum;
}

/* Set new bounds of element 0, and read its new first byte. */
__dpa_rpc__ uint64_t recut(uint64_t arr, uint64_t addr, uint64_t len, uint32_t mmap)
{
	doca_dpa_dev_buf_t b = doca_dpa_dev_buf_array_get_buf(arr, 0);

	doca_dpa_dev_buf_set_addr(b, addr);
	doca_dpa_dev_buf_set_len(b, len);
	doca_dpa_dev_buf_set_mmap(b, mmap);
	return *(unsigned char *)(uintptr_t)doca_dpa_dev_buf_get_external_ptr(b);
}

__dpa_rpc__ uint64_t look(uint32_t mmap, uint64_t addr)
{
	return doca_dpa_dev_mmap_get_external_ptr(mmap, addr);
}
