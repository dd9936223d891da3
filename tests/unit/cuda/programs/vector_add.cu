// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The first program of each CUDA course; a template, a default argument and a launch on several lines.
#include "check.h"

template <class T> __global__ void __launch_bounds__(256) add(const T *a, const T *b, T *c, int n = 1000)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

template <class T> static void test_add(int n)
{
	T *a, *b, *c;
	T *host = new T[n];

	OK(cudaMalloc(&a, n * sizeof(T)));
	OK(cudaMalloc(&b, n * sizeof(T)));
	OK(cudaMalloc(&c, n * sizeof(T)));
	for (int i = 0; i < n; i++)
		host[i] = (T)i;
	OK(cudaMemcpy(a, host, n * sizeof(T), cudaMemcpyHostToDevice));
	OK(cudaMemcpy(b, host, n * sizeof(T), cudaMemcpyHostToDevice));
	OK(cudaMemset(c, 0, n * sizeof(T)));
	add<T><<<(n + 255) / 256, 256>>>(a, b, c, n);
	OK(cudaGetLastError());
	OK(cudaMemcpy(host, c, n * sizeof(T), cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		CHECK(host[i] == (T)(2 * i));
	OK(cudaMemset(c, 0, n * sizeof(T)));
	add<<<dim3((n + 127) / 128),
	      128,
	      0>>>(a, b,
		   c);
	OK(cudaDeviceSynchronize());
	OK(cudaMemcpy(host, c, n * sizeof(T), cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		CHECK(host[i] == (T)(i < 1000 ? 2 * i : 0));
	OK(cudaFree(a));
	OK(cudaFree(b));
	OK(cudaFree(c));
	delete[] host;
}

int main()
{
	test_add<float>(100000);
	test_add<int>(999);
	test_add<double>(1);
	return report();
}
