# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# DPA_TRANSPORT_SOURCES: the transport with the core below it and the commands above, for programs
# that have a board, a port and a link of their own around it (tests/unit/transport, tests/fuzz).
file(GLOB DPA_TRANSPORT_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/device/transport/*.c
     ${CMAKE_SOURCE_DIR}/device/pcc/*.c ${CMAKE_SOURCE_DIR}/device/raw/*.c
     ${CMAKE_SOURCE_DIR}/device/direct/*.c ${CMAKE_SOURCE_DIR}/device/payload/*.c
     ${CMAKE_SOURCE_DIR}/device/order/*.c ${CMAKE_SOURCE_DIR}/device/recv/*.c ${CMAKE_SOURCE_DIR}/device/send/*.c
     ${CMAKE_SOURCE_DIR}/device/failure/*.c
     ${CMAKE_SOURCE_DIR}/device/foreign/*.c ${CMAKE_SOURCE_DIR}/device/cc/*.c)
foreach(f copy cq log moderate mr qmem qp qp_mem range schedule srq stage thread xrc)
  list(APPEND DPA_TRANSPORT_SOURCES ${CMAKE_SOURCE_DIR}/device/ctx/${f}.c)
endforeach()
foreach(f dm leave mcast mr mw ops qp qp_modify srq xrc)
  list(APPEND DPA_TRANSPORT_SOURCES ${CMAKE_SOURCE_DIR}/device/cmd/${f}.c)
endforeach()
foreach(f eu/drain eu/progress eu/region eu/ring eu/sched eu/wait eu/watch link/frame link/hot link/taken errors/text tables/meaning trace/trace util/buddy util/cap util/fork util/rest)
  list(APPEND DPA_TRANSPORT_SOURCES ${CMAKE_SOURCE_DIR}/device/${f}.c)
endforeach()
