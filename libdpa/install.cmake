# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The tree as the original SDK lays it out, below any prefix: tools/dpacc, include/,
# lib/<machine>/ with pkgconfig/ in it, applications/VERSION. The build tree shows the same names
# in lib/ and lib/static/. Build files that know only the SDK's prefix find everything in it.
set(DPA_DOCA_VERSION ${DPA_DOCA_API}.0) # the API that the headers follow (headers.cmake)

# One library has all host calls. Build files ask for it by these names; one or the other asks for
# FlexIO, whose place is taken, or for a static library of a name.
set(DPA_HOST_NAMES doca_common doca_dpa doca_rdma doca_argp doca_dma doca_gpunetio doca_pcc doca_telemetry_pcc flexio)
# Device libraries: what dpacc is told to link by all the names that scripts have used.
set(DPA_DEVICE_NAMES doca_dpa_dev_comm doca_dpa_comm_dev doca_dpa_dev_verbs dpa)

# dpa_alias(TARGET LINK TO): LINK beside the target's file, in the build and after installation
function(dpa_alias target link to)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink ${to} $<TARGET_FILE_DIR:${target}>/${link}
    VERBATIM)
  install(FILES $<TARGET_FILE_DIR:${target}>/${link} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

foreach(name ${DPA_DEVICE_NAMES})
  dpa_alias(doca_dpa_dev lib${name}.a libdoca_dpa_dev.a)
endforeach()
install(TARGETS doca_dpa_dev ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

if(NOT TARGET dpa)
  return()
endif()

foreach(name ${DPA_HOST_NAMES})
  dpa_alias(dpa lib${name}.so libdpa.so.1)
endforeach()
add_library(flexio_static STATIC dev/flexio.c)
set_target_properties(flexio_static PROPERTIES OUTPUT_NAME flexio)
install(TARGETS dpa LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
add_library(doca_gpunetio_device STATIC gpu/device.c)
# Build files of GPUNetIO programs look for it in the libdir of doca-gpunetio.pc.
set_target_properties(doca_gpunetio_device PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
install(TARGETS flexio_static doca_gpunetio_device ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

# dpa_pc(FILE LIB REQUIRES DESCRIPTION)
function(dpa_pc name lib requires description)
  set(DPA_PC_NAME ${name})
  set(DPA_PC_LIB ${lib})
  set(DPA_PC_REQUIRES ${requires})
  set(DPA_PC_DESCRIPTION ${description})
  set(DPA_PC_UP ../..)
  set(DPA_PC_LIBDIR lib)
  set(DPA_PC_INCLUDEDIR include)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/doca.pc.in
                 ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/pkgconfig/${name}.pc @ONLY)
  file(RELATIVE_PATH DPA_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" DPA_PC_UP ${DPA_PC_UP})
  set(DPA_PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
  set(DPA_PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
  configure_file(${CMAKE_SOURCE_DIR}/cmake/doca.pc.in
                 ${CMAKE_CURRENT_BINARY_DIR}/pkgconfig/${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pkgconfig/${name}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

dpa_pc(doca-common doca_common "" "DOCA common objects on the software adapter dpa0")
dpa_pc(doca-dpa doca_dpa doca-common "DOCA DPA on the software adapter dpa0")
dpa_pc(doca-rdma doca_rdma doca-common "DOCA RDMA on the software adapter dpa0")
dpa_pc(doca-dma doca_dma doca-common "DOCA DMA: copies of memory")
dpa_pc(doca-gpunetio doca_gpunetio doca-common "DOCA GPUNetIO: kernels of a GPU on the RDMA of dpa0")
dpa_pc(doca-pcc doca_pcc doca-common "DOCA PCC: congestion control programs on the software adapter dpa0")
dpa_pc(doca-telemetry doca_telemetry_pcc doca-common "DOCA telemetry: congestion control of the port")
dpa_pc(doca-argp doca_argp doca-common "DOCA command line options")
dpa_pc(libflexio flexio "" "FlexIO: the EUs of an application; nothing else of it")

# Where the original's build files read the version of the SDK.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/VERSION "${DPA_DOCA_VERSION}\n")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/VERSION DESTINATION applications)
