/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* alone_priv.h - between the files of replay/alone. */
#ifndef DPA_REPLAY_ALONE_PRIV_H
#define DPA_REPLAY_ALONE_PRIV_H

#include "alone/alone.h"

extern struct alone *alone_it; /* the one that is open; the only thread uses it */

#endif
