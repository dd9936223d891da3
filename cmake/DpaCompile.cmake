# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Warnings, sanitizers and hardening shared by all targets.
add_compile_options(-Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
                    -Wno-unused-parameter -fno-strict-aliasing -fno-common)
add_compile_definitions(_GNU_SOURCE)
# Programs are linked as what they are compiled as, whatever the compiler's default is.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
if(DPA_SANITIZE)
  # -O1 -g1: most of the time of these builds is the optimiser's, and reports need lines only. What
  # sanitizers add makes gcc see uninitialised variables that are none (its manual says so).
  add_compile_options(-fsanitize=${DPA_SANITIZE} -fno-omit-frame-pointer -O1 -g1
                      -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${DPA_SANITIZE})
else()
  add_link_options(-Wl,-z,relro,-z,now -Wl,-z,defs)
endif()
