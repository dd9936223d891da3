# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# DPA_TRANSPORT_SOURCES: the transport with the contexts that it works on, for programs that have a
# board, a port and a link of their own around it (tests/unit/transport, tests/fuzz).
file(GLOB DPA_TRANSPORT_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/device/transport/*.c
     ${CMAKE_SOURCE_DIR}/device/pcc/*.c ${CMAKE_SOURCE_DIR}/device/raw/*.c)
foreach(f buddy cq dm leave limit mcast moderate mr mw pages qmem qp qp_modify range schedule share srq xrc xrc_branch)
  list(APPEND DPA_TRANSPORT_SOURCES ${CMAKE_SOURCE_DIR}/device/ctx/${f}.c)
endforeach()
foreach(f board/cap eu/drain eu/progress eu/rest eu/wait link/area link/copy link/direct link/frame link/guard link/stage)
  list(APPEND DPA_TRANSPORT_SOURCES ${CMAKE_SOURCE_DIR}/device/${f}.c)
endforeach()
