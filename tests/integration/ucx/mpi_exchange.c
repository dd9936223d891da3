/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mpi_exchange.c - ranks exchange messages of 4 B to 4 MiB, all to all, and check every word; then
 * windows.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4 };

static int rank, ranks;

static void check(int is, int must, const char *what, int words)
{
	if (is == must)
		return;
	printf("rank %d: %s, %d words: %d, not %d\n", rank, what, words, is, must);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void exchange(int words)
{
	size_t n = (size_t)words * (size_t)ranks;
	int *out = malloc(n * sizeof(*out)), *in = malloc(n * sizeof(*in));

	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < n; i++)
			out[i] = rank * 10000 + round * 1000 + (int)(i % 997);
		MPI_Alltoall(out, words, MPI_INT, in, words, MPI_INT, MPI_COMM_WORLD);
		for (int from = 0; from < ranks; from++)
			for (int i = 0; i < words; i++)
				check(in[from * words + i],
				      from * 10000 + round * 1000 + (rank * words + i) % 997,
				      "MPI_Alltoall", words);
		MPI_Allreduce(out, in, words, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < words; i++)
			check(in[i],
			      ranks * (ranks - 1) / 2 * 10000 + ranks * (round * 1000 + i % 997),
			      "MPI_Allreduce", words);
	}
	free(out);
	free(in);
}

static void windows(void)
{
	int *w, one = 1, got;
	MPI_Win win;

	MPI_Win_allocate(4096, sizeof(*w), MPI_INFO_NULL, MPI_COMM_WORLD, &w, &win);
	memset(w, 0, 4096);
	MPI_Win_fence(0, win);
	for (int i = 0; i < 100; i++)
		MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
	MPI_Put(&rank, 1, MPI_INT, (rank + 1) % ranks, 16, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	check(w[0], rank ? 0 : 100 * ranks, "MPI_Accumulate", 1);
	check(w[16], (rank + ranks - 1) % ranks, "MPI_Put", 1);
	MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	check(got, 100 * ranks, "MPI_Get", 1);
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int words = 1; words <= 1 << 20; words *= 32)
		exchange(words);
	windows();
	if (!rank)
		printf("%d ranks\n", ranks);
	MPI_Finalize();
	return 0;
}
