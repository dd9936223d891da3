# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The public headers: those of include/, and doca_build_config.h, which a setting decides. The build
# tree shows them all in one folder, as an installation does.
set(DPA_DOCA_ARCH HOST CACHE STRING "what doca_build_config.h defines: HOST or DPU (DOCA_ARCH_...)")
set_property(CACHE DPA_DOCA_ARCH PROPERTY STRINGS HOST DPU)
if(NOT DPA_DOCA_ARCH MATCHES "^(HOST|DPU)$")
  message(FATAL_ERROR "DPA_DOCA_ARCH is HOST or DPU, not '${DPA_DOCA_ARCH}'")
endif()
set(DPA_DOCA_API 2.10 CACHE STRING "the version of DOCA that the headers have: 2.10 or 3.3")
set_property(CACHE DPA_DOCA_API PROPERTY STRINGS 2.10 3.3)
if(NOT DPA_DOCA_API MATCHES "^(2[.]10|3[.]3)$")
  message(FATAL_ERROR "DPA_DOCA_API is 2.10 or 3.3, not '${DPA_DOCA_API}'")
endif()
string(REPLACE "3.3" "303" DPA_DOCA_API_NUMBER ${DPA_DOCA_API})
string(REPLACE "2.10" "210" DPA_DOCA_API_NUMBER ${DPA_DOCA_API_NUMBER})
set(DPA_BUILT_INCLUDE ${CMAKE_CURRENT_BINARY_DIR}/include)
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/doca_build_config.h.in
               ${DPA_BUILT_INCLUDE}/doca_build_config.h @ONLY)

set(all ${CMAKE_BINARY_DIR}/include)
if(IS_SYMLINK ${all}) # of an older build: links made below would land in the sources
  file(REMOVE ${all})
endif()
file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/include
     ${CMAKE_CURRENT_SOURCE_DIR}/include/*)
file(MAKE_DIRECTORY ${all})
foreach(h ${headers})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/include/${h} ${all}/${h} SYMBOLIC)
endforeach()
file(CREATE_LINK ${DPA_BUILT_INCLUDE}/doca_build_config.h ${all}/doca_build_config.h SYMBOLIC)

install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${DPA_BUILT_INCLUDE}/doca_build_config.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
