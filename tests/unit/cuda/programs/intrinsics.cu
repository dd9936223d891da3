// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Integer and conversion intrinsics, loads with hints, clocks; vector types.
#include "check.h"

__device__ __noinline__ int twice(int x)
{
	return 2 * x;
}

__host__ __device__ __forceinline__ int both(int x)
{
	return x + 1;
}

__global__ void bits(int *out, const int *in)
{
	int i = 0;

	out[i++] = __popc(0xf0f0u) == 8;
	out[i++] = __popcll(~0ull) == 64;
	out[i++] = __clz(1) == 31 && __clz(0) == 32 && __clzll(1) == 63 && __clzll(0) == 64;
	out[i++] = __ffs(0) == 0 && __ffs(8) == 4 && __ffsll(1ll << 40) == 41;
	out[i++] = __brev(1u) == 0x80000000u && __brevll(1ull) == 1ull << 63;
	out[i++] = __byte_perm(0x33221100, 0x77665544, 0x7531) == 0x77553311;
	out[i++] = __umulhi(0x80000000u, 6u) == 3 && __mulhi(-1, 1) == -1;
	out[i++] = __umul64hi(1ull << 63, 4ull) == 2;
	out[i++] = __float_as_int(1.0f) == 0x3f800000 && __int_as_float(0x40000000) == 2.0f;
	out[i++] = __double_as_longlong(1.0) == 0x3ff0000000000000ll;
	out[i++] = __funnelshift_l(0x80000000u, 1u, 1) == 3 && __funnelshift_r(2u, 1u, 1) == 0x80000001u;
	out[i++] = __ldg(in) == 42 && __ldcg(in) == 42 && __ldcv(in) == 42;
	out[i++] = min(3, 5) == 3 && max(3u, 5u) == 5u && min(1.5f, 2.0f) == 1.5f && max(-1ll, 1ll) == 1ll;
	out[i++] = fabsf(rsqrtf(4.0f) - 0.5f) < 1e-6f && __saturatef(2.0f) == 1.0f;
	out[i++] = twice(both(20)) == 42;
	long long before = clock64();
	__nanosleep(1000);
	out[i++] = clock64() > before;
}

__global__ void vectors(float4 *out, int2 a, uchar4 b)
{
	float4 v = make_float4(a.x, a.y, b.z, b.w);

	v.x += 1;
	*out = v;
}

// The parameters of a kernel are each thread's own.
__global__ void parameters(int n, int *out)
{
	for (unsigned int i = 0; i < threadIdx.x; i++)
		n++;
	out[threadIdx.x] = n;
}

struct point {
	int x, y;
	__host__ __device__ int sum() const
	{
		return x + y;
	}
};

namespace geometry
{
template <class T, int N = 2> __global__ void scale(T *out, point p, T factor = 3)
{
	out[threadIdx.x] = p.sum() * factor * N;
}
} // namespace geometry

template <class F> __global__ void apply(F f, int *out)
{
	out[threadIdx.x] = f(threadIdx.x);
}

struct square {
	__device__ int operator()(int x) const
	{
		return x * x;
	}
};

__global__ void overloaded(int *out, int)
{
	*out = 1;
}

__global__ void overloaded(int *out, double)
{
	*out = 2;
}

#define LAUNCH(kernel, n, ...) kernel<<<1, n>>>(__VA_ARGS__)

static void test_launches(int *out)
{
	void (*pointer)(int, int *) = parameters;
	int n = 5;
	void *arguments[] = {&n, &out};

	parameters<<<1, 4>>>(10, out);
	OK(cudaDeviceSynchronize());
	CHECK(out[0] == 10 && out[3] == 13);
	geometry::scale<int><<<1, 1>>>(out, point{1, 2});
	OK(cudaDeviceSynchronize());
	CHECK(out[0] == 18);
	geometry::scale<int, (4 > 3 ? 5 : 1)><<<1, 1>>>(out, point{1, 2}, 1);
	OK(cudaDeviceSynchronize());
	CHECK(out[0] == 15);
	::apply<square><<<1, 3>>>(square(), out);
	OK(cudaDeviceSynchronize());
	CHECK(out[2] == 4);
	LAUNCH(apply, 3, square(), out);
	overloaded<<<1, 1>>>(out + 8, 0.0);
	if (n)
		overloaded<<<dim3(1, 1), dim3(1)>>>(out + 9, 0);
	pointer<<<1, 2>>>(7, out + 10);
	OK(cudaDeviceSynchronize());
	CHECK(out[8] == 2 && out[9] == 1 && out[10] == 7 && out[11] == 8);
	OK(cudaLaunchKernel((const void *)parameters, dim3(1), dim3(2), arguments, 0, 0));
	OK(cudaDeviceSynchronize());
	CHECK(out[0] == 5 && out[1] == 6);
	OK(cudaLaunchKernel(apply<square>, dim3(1), dim3(1), arguments, 0, 0));
	OK(cudaDeviceSynchronize());
}

int main()
{
	int *out, *in;
	float4 *vector;

	OK(cudaMallocManaged(&out, 64 * sizeof(int)));
	OK(cudaMallocManaged(&in, sizeof(int)));
	OK(cudaMallocManaged(&vector, sizeof(float4)));
	*in = 42;
	bits<<<1, 1>>>(out, in);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 16; i++)
		if (!out[i]) {
			printf("bits %d\n", i);
			check_failures++;
		}
	vectors<<<1, 1>>>(vector, make_int2(1, 2), make_uchar4(3, 4, 5, 6));
	OK(cudaDeviceSynchronize());
	CHECK(vector->x == 2 && vector->y == 2 && vector->z == 5 && vector->w == 6);
	static_assert(sizeof(float3) == 12 && alignof(float4) == 16 && alignof(int2) == 8 && sizeof(double2) == 16, "");
	test_launches(out);
	OK(cudaFree(out));
	OK(cudaFree(in));
	OK(cudaFree(vector));
	return report();
}
