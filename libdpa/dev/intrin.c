/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* intrin.c - the functions that the macros of dpaintrin.h call. */
#include <dpaintrin.h>
#include <dpa/dpa_image.h>

extern const struct dpa_dev_ops *__dpa_ops;

uint64_t dpa_dev_inst_ret(void)
{
	return __dpa_ops->thread_instructions();
}

uint64_t dpa_dev_time(void)
{
	return __dpa_ops->thread_time();
}

/*
 * Compute 2^48 / x, which keeps 16 more bits than 16.16 has; round to the nearest value, saturated.
 */
int dpa_dev_fxp_rcp(int x)
{
	int64_t one = (int64_t)1 << 32, half = x < 0 ? -(int64_t)x / 2 : x / 2, r;

	if (!x)
		return INT32_MAX;
	r = (one + half) / x;
	return r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : (int)r;
}

/*
 * 2^(2^-i) for i = 1 to 16, with 32 fraction bits: the power of a fraction is the product over its
 * bits.
 */
static const uint64_t roots[16] = {
	0x16a09e668, 0x1306fe0a3, 0x1172b83c8, 0x10b5586d0, 0x1059b0d31, 0x102c9a3e7,
	0x10163daa0, 0x100b1afa6, 0x10058c86e, 0x1002c605e, 0x100162f39, 0x1000b175f,
	0x100058ba0, 0x10002c5cc, 0x1000162e5, 0x10000b172,
};

int dpa_dev_fxp_pow2(int x)
{
	int whole = x >> 16; /* rounds down, so that the fraction is positive */
	uint64_t r = (uint64_t)1 << 32;

	if (whole >= 15)
		return INT32_MAX;
	if (whole < -17)
		return 0;
	for (int i = 0; i < 16; i++)
		if (x & (0x8000 >> i))
			r = (uint64_t)(((unsigned __int128)r * roots[i]) >> 32);
	/* Round 32 fraction bits to 16. */
	return (int)(((r >> (14 - whole)) + 2) >> 2);
}

/* The whole part is the position of the highest bit; each squaring yields one more bit. */
int dpa_dev_fxp_log2(unsigned int x)
{
	int whole, fraction = 0;
	uint64_t m;

	if (!x)
		return INT32_MIN;
	whole = 31 - __builtin_clz(x);
	m = (uint64_t)x << (31 - whole); /* from 1 to 2, with 31 fraction bits */
	for (int i = 0; i < 17; i++) {
		m = (m * m) >> 31;
		fraction <<= 1;
		if (m >> 32) {
			m >>= 1;
			fraction |= 1;
		}
	}
	return (whole - 16) * 65536 + ((fraction + 1) >> 1);
}
