# SPDX-License-Identifier: Apache-2.0
# Packages of the system (deploy/packages.txt; docs/inside/dependencies.md says why each).
find_package(Threads REQUIRED)
# What is loaded by every command and every task process is linked statically: the loader would fill in thousands of
# places by name at each start. Not with sanitizers, for which a program must be all of one kind, and not OpenSSL, so that
# the system's updates of it reach every program and job that was built before.
if(NOT MILLRACE_SANITIZE)
  foreach(library kj kj-async capnp capnp-rpc)
    find_library(CapnProto_${library}_IMPORTED_LOCATION NAMES lib${library}.a)
  endforeach()
endif()
find_package(CapnProto REQUIRED)
# Debian's package files name the compiler at a place where it is not installed, so it is looked up.
find_program(CAPNP_PROGRAM capnp REQUIRED)
find_program(CAPNPC_CXX_PROGRAM capnpc-c++ REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(RocksDB REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(BZip2 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
# Not ZSTD: RocksDB's package files look for the library as ZSTD_LIBRARIES, and would take the bare name that is left there
# for its place when the build is configured again.
pkg_check_modules(LIBZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(JEMALLOC REQUIRED IMPORTED_TARGET jemalloc)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
# libbacktrace comes with g++, in a folder in which compilers look for libraries, but clang for no headers.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libbacktrace.a OUTPUT_VARIABLE backtrace_library
                OUTPUT_STRIP_TRAILING_WHITESPACE)
get_filename_component(backtrace_folder ${backtrace_library} DIRECTORY)
if(NOT EXISTS ${backtrace_folder}/include/backtrace.h)
  message(FATAL_ERROR "libbacktrace is missing, which comes with g++ (Debian's libgcc-12-dev or libgcc-14-dev)")
endif()
add_library(millrace::backtrace INTERFACE IMPORTED)
set_target_properties(millrace::backtrace PROPERTIES
  INTERFACE_COMPILE_OPTIONS "SHELL:-idirafter ${backtrace_folder}/include"
  INTERFACE_LINK_LIBRARIES backtrace)
if(MILLRACE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# Programs that run on systems other than Debian, and jobs that travel to them, need no library there but glibc's own and
# libgcc_s, which glibc itself needs. So the archive of a library is linked wherever there is one; those that Debian has
# as shared libraries only are in MILLRACE_ARCHIVES. Compiled is nothing else than otherwise: the same objects are linked.
set(MILLRACE_ARCHIVES "" CACHE PATH "Directory that deploy/static-libraries has made: link no library but glibc's own from the system")
if(MILLRACE_ARCHIVES)
  if(NOT EXISTS ${MILLRACE_ARCHIVES}/complete)
    message(FATAL_ERROR "MILLRACE_ARCHIVES (\"${MILLRACE_ARCHIVES}\") is not what deploy/static-libraries makes: run deploy/static-libraries DIRECTORY")
  endif()
  # millrace_archives(LIST): puts the archive in place of each shared library of the list that has one.
  function(millrace_archives list)
    set(items)
    foreach(item ${${list}})
      if(item MATCHES "^(.*)/(lib[^/]+)\\.so[.0-9]*$")
        foreach(archive ${MILLRACE_ARCHIVES}/${CMAKE_MATCH_2}.a ${CMAKE_MATCH_1}/${CMAKE_MATCH_2}_pic.a ${CMAKE_MATCH_1}/${CMAKE_MATCH_2}.a)
          if(EXISTS ${archive})
            set(item ${archive})
            break()
          endif()
        endforeach()
      endif()
      list(APPEND items ${item})
    endforeach()
    set(${list} "${items}" PARENT_SCOPE)
  endfunction()
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target ${targets})
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    set(properties IMPORTED_LOCATION INTERFACE_LINK_LIBRARIES)
    if(configurations)
      list(TRANSFORM configurations PREPEND IMPORTED_LOCATION_ OUTPUT_VARIABLE locations)
      list(APPEND properties ${locations})
    endif()
    foreach(property ${properties})
      get_target_property(value ${target} ${property})
      if(value)
        millrace_archives(value)
        set_target_properties(${target} PROPERTIES ${property} "${value}")
      endif()
    endforeach()
  endforeach()
  set(CMAKE_SKIP_RPATH ON)  # else the place of an archive is taken for one to look for shared libraries
  add_link_options(-static-libstdc++)
endif()
