# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
file(GLOB DPA_MAN CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/man/*.[1357])
foreach(page ${DPA_MAN})
  string(REGEX MATCH "[1357]$" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
