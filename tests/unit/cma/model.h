/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * model.h - a model of the kernel's rdma_cm behind cma_kernel_ops: it answers commands as Linux
 * 6.1's ucma.c and cma.c do. One real device, with the addresses MODEL_V4 and MODEL_V6; messages
 * sent from it arrive at its own listeners.
 */
#ifndef CMA_TEST_MODEL_H
#define CMA_TEST_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MODEL_V4   "10.77.0.2"
#define MODEL_V6   "fd77::2"
#define MODEL_GUID UINT64_C(0x0102030405060708) /* in the form of answers */

struct model {
	bool absent;	 /* the node or the device does not exist */
	int fail_listen; /* errno of the next LISTEN, CREATE_ID; 0: it succeeds */
	int fail_create;
	int fail_all;	       /* errno of each command; 0: none */
	int fail_destroy;      /* of each DESTROY_ID */
	uint16_t taken;	       /* port that another process has, 0: none */
	uint32_t refuse_ports; /* number of BINDs of a wildcard that find their port taken */
	_Atomic uint32_t files, ids, mcs; /* number that exist */
	_Atomic uint32_t commands, opens;
	uint32_t options; /* number of SET_OPTION that succeeded */
	dev_t dev;
	/* called in the middle of an open, a command, a close of the descriptor; NULL: not */
	void (*inside)(void);
};
extern struct model model;

/* Install the model in place of the kernel. */
void model_install(void);
/* Return how many of the descriptors this process has, also in a child. */
int model_open_files(void);
/* Return the kernel's number of the program's id `num`; UINT32_MAX: none. */
uint32_t model_id(uint32_t num);
/* Return the port that it is bound to, 0: none. */
uint16_t model_port(uint32_t id);
bool model_listens(uint16_t port);
/* Raise an event for the id without a cause, as when the device is removed. */
void model_event(uint32_t id, uint32_t type);

#endif
