/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "lock.h"

uint32_t dpa_spin_pauses = 200;
