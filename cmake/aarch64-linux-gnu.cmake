# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Debian's cross compiler: cmake -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake, with the :arm64 -dev packages installed.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
find_program(DPA_QEMU qemu-aarch64)
if(DPA_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${DPA_QEMU})
endif()
