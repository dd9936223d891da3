/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_gpu.h - formats that libdpa and the device functions of doca_gpunetio_dev_*.cuh share: the
 * objects of a kernel in memory, and the parts of the adapter's formats (dpa_hw.h) that kernels
 * write and read. Not for programs.
 *
 * Addresses are 64-bit numbers as a kernel uses them. "Host memory" below is registered with the
 * GPU: one address for both. The objects themselves lie in GPU memory: GPU atomics on them are
 * atomic among kernels. The host changes them by copies of the driver only.
 *
 * Words that the GPU and the adapter share have one writer each:
 *
 *   SQ, receive queue    kernel (before), adapter (behind the index)
 *   doorbell word        kernel: 64-bit store behind a system fence; adapter reads it (acquire)
 *   rq_pi                kernel: 32-bit store behind a system fence; adapter reads it (acquire)
 *   sq_ci, CQEs          adapter (release); kernel reads them, then a system fence
 */
#ifndef DPA_GPU_H_
#define DPA_GPU_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DPA_GPU_MAGIC	   0x44504147u /* of struct doca_gpu_dev_rdma */
#define DPA_GPU_SMALL	   64u	       /* bytes that each place of an SQ has for a payload */
#define DPA_GPU_STAGE	   4096u       /* bytes of a larger place for a payload */
#define DPA_GPU_INLINE_WR  28u	       /* of write_inline */
#define DPA_GPU_INLINE_SND 44u	       /* of send_inline */
#define DPA_GPU_MAX_LENGTH 0x80000000u /* bytes of an operation */

/* ------------------------------------------------------------- formats of the adapter */

enum dpa_gpu_wqe {
	DPA_GPU_OP_WRITE = 0,
	DPA_GPU_OP_WRITE_IMM = 1,
	DPA_GPU_OP_SEND = 2,
	DPA_GPU_OP_SEND_IMM = 3,
	DPA_GPU_OP_READ = 4,
	DPA_GPU_SIGNALED = 1, /* a flag */
	DPA_GPU_WQEBB = 64,   /* bytes; each WQE of a kernel is one block */
	DPA_GPU_SQ_CI = 64,   /* of sq_ci, in a doorbell record */
	DPA_GPU_RQ_PI = 4,    /* of rq_pi */
	DPA_GPU_RQ_CI = 68,   /* of rq_ci */
};

/* A CQE, as far as kernels read it. `last` has opcode, status, flags and owner, from its low byte on. */
enum dpa_gpu_cqe {
	DPA_GPU_CQE_SIZE = 64,
	DPA_GPU_CQE_USER_INDEX = 12,
	DPA_GPU_CQE_IMM = 20,
	DPA_GPU_CQE_LAST = 60,
	DPA_GPU_CQE_LAPS = 128,
};

/* ------------------------------------------------------------------- objects */

enum dpa_gpu_buf_flags {
	DPA_GPU_BUF_COPY =
		1 << 0, /* in GPU memory that the CPU does not reach: copied when it is posted */
};

/* 8 + 8 + 4 + 4 + 8 = 32 bytes */
struct doca_gpu_buf {
	uint64_t addr;
	uint64_t length; /* bytes from addr to the end of the map */
	uint32_t mkey;
	uint32_t flags; /* enum dpa_gpu_buf_flags */
	uint64_t rsvd;
};

/* 3 * 8 = 24 bytes, filled to 64; the bufs follow it. */
struct doca_gpu_buf_arr {
	uint64_t bufs; /* address of the first */
	uint64_t num;
	uint64_t elem_size;
	uint64_t rsvd[5];
};

enum dpa_gpu_state {
	DPA_GPU_NONE = 0, /* not connected yet */
	DPA_GPU_LIVE = 1,
	DPA_GPU_ENDED = 2, /* the host has ended it: nothing completes any more */
};

/* A connection: two lines of 128 bytes. */
struct dpa_gpu_conn {
	/* written by the host, `state` last */
	uint64_t sq;	  /* 1 << log_sq blocks, host memory */
	uint64_t cq;	  /* CQEs of the SQ, 1 << log_cq, host memory; each WQE has one */
	uint64_t word;	  /* the doorbell word, host memory */
	uint64_t dbrec;	  /* doorbell record of the QP, host memory; the kernel reads sq_ci */
	uint64_t small;	  /* for each block DPA_GPU_SMALL bytes, host memory */
	uint64_t stage;	  /* 1 << log_stage places of DPA_GPU_STAGE bytes, host memory */
	uint32_t mem_key; /* L_Key of both */
	uint32_t log_sq;  /* positions */
	uint32_t log_cq;  /* at least log_sq */
	uint32_t log_stage;
	uint32_t qpn;
	uint32_t state; /* enum dpa_gpu_state */
	uint64_t rsvd0[7];
	/* written by kernels. Positions count from 0 and wrap at 2^32 */
	uint32_t reserved; /* strong mode: the next position; atomic */
	uint32_t pi;	   /* committed */
	uint32_t ci;	   /* at least this number is finished: their places are free */
	uint32_t waited;   /* the outcome of these is known */
	uint32_t commits;  /* since the last wait */
	uint32_t failed;   /* an operation has ended in error: all later ones do as well */
	uint32_t rsvd1[26];
};

/* The receive queue of all connections: two lines. */
struct doca_gpu_dev_rdma_r {
	/* written by the host */
	uint64_t rq; /* 1 << log_rq receives of `stride` bytes, host memory */
	uint64_t dbrec;
	uint64_t cq; /* 1 << log_cq CQEs, host memory; each receive has one */
	uint32_t stride;
	uint32_t log_rq;
	uint32_t log_cq; /* at least log_rq */
	uint32_t state;	 /* enum dpa_gpu_state */
	uint64_t rsvd0[11];
	/* written by kernels */
	uint32_t reserved; /* as in struct dpa_gpu_conn */
	uint32_t pi;
	uint32_t ci; /* CQEs that were read */
	uint32_t rsvd1[29];
};

/* A context: a line, the receive queue, then the connections. */
struct doca_gpu_dev_rdma {
	uint32_t magic;
	uint32_t num_conns;
	uint64_t conns; /* address of the first struct dpa_gpu_conn */
	uint64_t rsvd[14];
	struct doca_gpu_dev_rdma_r recv;
};

/* An entry of a semaphore: 16 bytes. */
struct dpa_gpu_sem_item {
	uint32_t status; /* enum doca_gpu_semaphore_status */
	uint32_t num_packets;
	uint64_t buf_idx;
};

/* 64 bytes. */
struct doca_gpu_semaphore_gpu {
	uint64_t items;	 /* address of the first struct dpa_gpu_sem_item */
	uint64_t custom; /* address of the first custom info; 0: none */
	uint32_t num;
	uint32_t custom_bytes; /* of each */
	uint64_t rsvd[5];
};

/*
 * A buf that a kernel makes (doca_gpu_dev_buf_create()) has no memory: the pointer itself has bit
 * 63, the place of its key in a table, and the address.
 */
#define DPA_GPU_HANDLE	     0x8000000000000000ull
#define DPA_GPU_HANDLE_SHIFT 48
#define DPA_GPU_HANDLE_KEYS  0x8000u

#ifdef __cplusplus
}
#define DPA_GPU_ASSERT_(c) static_assert(c, #c)
#else
#define DPA_GPU_ASSERT_(c) _Static_assert(c, #c)
#endif
DPA_GPU_ASSERT_(sizeof(struct doca_gpu_buf) == 32);
DPA_GPU_ASSERT_(sizeof(struct doca_gpu_buf_arr) == 64);
DPA_GPU_ASSERT_(sizeof(struct dpa_gpu_conn) == 256);
DPA_GPU_ASSERT_(offsetof(struct dpa_gpu_conn, state) == 68);
DPA_GPU_ASSERT_(offsetof(struct dpa_gpu_conn, reserved) == 128);
DPA_GPU_ASSERT_(sizeof(struct doca_gpu_dev_rdma_r) == 256);
DPA_GPU_ASSERT_(offsetof(struct doca_gpu_dev_rdma_r, reserved) == 128);
DPA_GPU_ASSERT_(sizeof(struct doca_gpu_dev_rdma) == 384);
DPA_GPU_ASSERT_(offsetof(struct doca_gpu_dev_rdma, recv) == 128);
DPA_GPU_ASSERT_(sizeof(struct dpa_gpu_sem_item) == 16);
DPA_GPU_ASSERT_(sizeof(struct doca_gpu_semaphore_gpu) == 64);

#endif /* DPA_GPU_H_ */
