# SPDX-License-Identifier: Apache-2.0
# Language level, warnings, optimisation and the tools that make builds quick.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# As in an installation, bin has links to the programs that people run (MillraceInstall.cmake): it may stand on a PATH, where
# jobs called grep or sleep would shadow those of the system.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/libexec)
if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Dev CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")  # MillraceTargets.cmake: HOT and COLD

# What the code of Millrace and of jobs is compiled with on each kind of machine. x86: the hash of the map side and the
# scanners of words and literals have forms for this level (any server since 2013), and plain ones for other machines.
# arm64: a char has a sign as on x86, so that keys that are chars have one order, and jobs give one output, on both.
set(MILLRACE_MACHINE_OPTIONS)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(MILLRACE_MACHINE_OPTIONS -march=x86-64-v3)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(MILLRACE_MACHINE_OPTIONS -fsigned-char)
endif()
add_compile_options(${MILLRACE_MACHINE_OPTIONS})
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
# Messages name a source file by its place in the tree. Where the tree lies is no part of a program, so that two builds of one
# commit are the same byte for byte (deploy/compare-builds).
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.")
endif()
# A warning is an error for whoever works on Millrace, and not for whoever builds it with a compiler of another year.
if(CMAKE_BUILD_TYPE STREQUAL "Dev")
  add_compile_options(-Werror)
endif()

# False alarms of g++ 12: "literal" + std::string under -O3, and members of std::optional.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized)
else()
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/clang_kj.h>")
endif()

find_program(CCACHE_PROGRAM ccache)
# Paths below the source directory are relative in what ccache compares, so that a second clone finds what the first built.
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM AND NOT CMAKE_CROSSCOMPILING)  # a cross compiler looks for one of its own
  add_link_options(-fuse-ld=mold)
endif()
if(MILLRACE_SANITIZE)
  add_compile_options(-fsanitize=${MILLRACE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${MILLRACE_SANITIZE})
endif()
if(MILLRACE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
