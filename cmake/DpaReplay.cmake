# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# DPA_REPLAY_SOURCES: what gives a capture to the device's transport: the transport itself, the way of
# a datagram to it and from it, stand-ins for the rest, and the replay (replay/README.md).
include(DpaTransport)
file(GLOB DPA_REPLAY_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/replay/*.c ${CMAKE_SOURCE_DIR}/replay/alone/*.c
     ${CMAKE_SOURCE_DIR}/device/wire/*.c)
list(APPEND DPA_REPLAY_SOURCES ${DPA_TRANSPORT_SOURCES} ${CMAKE_SOURCE_DIR}/device/link/udp/rx.c
     ${CMAKE_SOURCE_DIR}/device/link/udp/tx.c ${CMAKE_SOURCE_DIR}/device/tables/pcc_builtin.c)
# the rules of injected failures, of which there are none here
list(APPEND DPA_REPLAY_SOURCES ${CMAKE_SOURCE_DIR}/device/inject/inject.c ${CMAKE_SOURCE_DIR}/device/inject/wc.c
     ${CMAKE_SOURCE_DIR}/device/util/lock.c)
