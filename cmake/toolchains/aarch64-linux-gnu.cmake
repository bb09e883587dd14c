# SPDX-License-Identifier: Apache-2.0
# Builds for arm64 with Debian's cross compiler (g++-aarch64-linux-gnu), for Millrace and for projects of jobs. MILLRACE_SYSROOT,
# as a cache variable or in the environment, is the root that deploy/arm64-sysroot has made. Programs of the build, such as the
# compiler of schemas, are this machine's; libraries and headers are the root's; CTest and the discovery of tests run what
# was built under qemu-aarch64-static.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# CMake reads this file again for each of its checks of the compiler, which have variables of their own.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MILLRACE_SYSROOT)
if(NOT MILLRACE_SYSROOT)
  set(MILLRACE_SYSROOT "$ENV{MILLRACE_SYSROOT}")
endif()
if(NOT IS_DIRECTORY "${MILLRACE_SYSROOT}/usr/lib/aarch64-linux-gnu")
  message(FATAL_ERROR "MILLRACE_SYSROOT (\"${MILLRACE_SYSROOT}\") is no arm64 root: make one with deploy/arm64-sysroot DIRECTORY")
endif()
set(MILLRACE_SYSROOT "${MILLRACE_SYSROOT}" CACHE PATH "Root of arm64 libraries, as deploy/arm64-sysroot makes it")
set(CMAKE_SYSROOT "${MILLRACE_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")

find_program(MILLRACE_EMULATOR NAMES qemu-aarch64-static qemu-aarch64)
if(MILLRACE_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${MILLRACE_EMULATOR} -L ${CMAKE_SYSROOT})
endif()
