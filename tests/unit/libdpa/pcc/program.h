/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* program.h - numbers shared by the test and its congestion control program. */
#ifndef TEST_PCC_PROGRAM_H
#define TEST_PCC_PROGRAM_H

#define PROGRAM_SLOT	1      /* enabled; 3 has the same algorithm and is not */
#define PROGRAM_FAULT	0xdead /* as a serial number, or in the mailbox */
#define PROGRAM_LOOP	0x100
#define PROGRAM_COUNT	0xc0 /* the rate is the number of such events of the flow */
/* The rate is 1, or 2 where the call failed; 3: the wrong calls did not fail. */
#define PROGRAM_HEADER	0xc1 /* sets a header of 3 words */
#define PROGRAM_PRIO	0xc2 /* sets DSCP 46 */
#define PROGRAM_NO_PRIO 0xc3 /* and none again */
#define PROGRAM_WRONG	0xc4

/* First byte of a probe's payload, for the program of the notification point. */
#define NP_PROGRAM_FAULT    0xde
#define NP_PROGRAM_REFUSE   0xdf
#define NP_PROGRAM_LOOP	    0xe0
#define NP_PROGRAM_DESCRIBE 0xe1

#endif
