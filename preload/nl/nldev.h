/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * nldev.h - numbers of the kernel's RDMA netlink interface (rdma/rdma_netlink.h) that this folder
 * uses. They are an ABI; the headers of older distributions lack some of them.
 */
#ifndef DPA_PRELOAD_NLDEV_H
#define DPA_PRELOAD_NLDEV_H

/* nlmsg_type is client << 10 | command. */
#define NLDEV_CLIENT	  5
#define NLDEV_TYPE(cmd)	  ((uint16_t)(NLDEV_CLIENT << 10 | (cmd)))
#define NLDEV_CMD(type)	  ((type)&0x3ffu)
#define NLDEV_OWNER(type) ((type) >> 10 & 0x3fu)

enum nldev_cmd {
	NLDEV_GET = 1, /* dump or one */
	NLDEV_SET = 2,
	NLDEV_NEWLINK = 3,
	NLDEV_DELLINK = 4,
	NLDEV_PORT_GET = 5, /* dump or one */
	NLDEV_SYS_GET = 6,
	NLDEV_SYS_SET = 7,
	NLDEV_RES_GET = 9,     /* dump or one */
	NLDEV_RES_QP_GET = 10, /* dump or one, as the next four */
	NLDEV_RES_CM_ID_GET = 11,
	NLDEV_RES_CQ_GET = 12,
	NLDEV_RES_MR_GET = 13,
	NLDEV_RES_PD_GET = 14,
	NLDEV_GET_CHARDEV = 15,
	NLDEV_STAT_SET = 16,
	NLDEV_STAT_GET = 17, /* dump or one */
	NLDEV_STAT_DEL = 18,
	NLDEV_RES_QP_GET_RAW = 19,
	NLDEV_RES_CQ_GET_RAW = 20,
	NLDEV_RES_MR_GET_RAW = 21,
	NLDEV_RES_CTX_GET = 22,
	NLDEV_RES_SRQ_GET = 23,
	NLDEV_STAT_GET_STATUS = 24,
	NLDEV_RES_SRQ_GET_RAW = 25,
};

enum nldev_attr {
	NLDEV_A_DEV_INDEX = 1,	/* u32 */
	NLDEV_A_DEV_NAME = 2,	/* string */
	NLDEV_A_PORT_INDEX = 3, /* u32; for a device: its number of ports */
	NLDEV_A_CAP_FLAGS = 4,	/* u64 */
	NLDEV_A_FW_VERSION = 5, /* string */
	NLDEV_A_NODE_GUID = 6,	/* u64, host order */
	NLDEV_A_SYS_IMAGE_GUID = 7,
	NLDEV_A_SUBNET_PREFIX = 8,    /* u64, host order */
	NLDEV_A_LID = 9,	      /* u32 */
	NLDEV_A_SM_LID = 10,	      /* u32 */
	NLDEV_A_LMC = 11,	      /* u8 */
	NLDEV_A_PORT_STATE = 12,      /* u8 */
	NLDEV_A_PHYS_STATE = 13,      /* u8 */
	NLDEV_A_NODE_TYPE = 14,	      /* u8 */
	NLDEV_A_RES_SUMMARY = 15,     /* nested, of entries */
	NLDEV_A_RES_ENTRY = 16,	      /* nested */
	NLDEV_A_RES_NAME = 17,	      /* string */
	NLDEV_A_RES_CURR = 18,	      /* u64 */
	NLDEV_A_RES_QP = 19,	      /* nested, of entries */
	NLDEV_A_RES_QP_ENTRY = 20,    /* nested */
	NLDEV_A_RES_LQPN = 21,	      /* u32 */
	NLDEV_A_RES_RQPN = 22,	      /* u32 */
	NLDEV_A_RES_SQ_PSN = 24,      /* u32 */
	NLDEV_A_RES_TYPE = 26,	      /* u8 */
	NLDEV_A_RES_STATE = 27,	      /* u8 */
	NLDEV_A_RES_PID = 28,	      /* u32 */
	NLDEV_A_RES_CM_ID = 30,	      /* nested, of entries */
	NLDEV_A_RES_CM_ID_ENTRY = 31, /* nested */
	NLDEV_A_RES_PS = 32,	      /* u32 */
	NLDEV_A_RES_SRC_ADDR = 33,    /* struct __kernel_sockaddr_storage */
	NLDEV_A_RES_DST_ADDR = 34,
	NLDEV_A_NDEV_INDEX = 50,   /* u32 */
	NLDEV_A_NDEV_NAME = 51,	   /* string */
	NLDEV_A_RES_CM_IDN = 63,   /* u32 */
	NLDEV_A_NETNS_MODE = 66,   /* u8; 1: shared */
	NLDEV_A_PROTOCOL = 67,	   /* string: "roce", "ib" */
	NLDEV_A_CHARDEV_TYPE = 69, /* string */
	NLDEV_A_CHARDEV_NAME = 70, /* string */
	NLDEV_A_CHARDEV_ABI = 71,  /* u64 */
	NLDEV_A_CHARDEV = 72,	   /* u64: huge_encode_dev() of the number */
	NLDEV_A_STAT_RES = 75,	   /* u32: kind of objects; not for the port */
	NLDEV_A_HWCOUNTERS = 80,   /* nested, of entries */
	NLDEV_A_HWCOUNTER = 81,	   /* nested */
	NLDEV_A_HWCOUNTER_NAME = 82,
	NLDEV_A_HWCOUNTER_VALUE = 83, /* u64 */
	NLDEV_A_DIM = 84,	      /* u8 */
	NLDEV_A_COPY_ON_FORK = 93,    /* u8 */
	NLDEV_A_MAX = 94,	      /* highest one above plus one */
};

#endif
