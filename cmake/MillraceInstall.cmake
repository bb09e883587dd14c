# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, as two components:
#   runtime   bin/millrace and the tools; the program, its minder and launcher and the bundled jobs in libexec/millrace, so that jobs
#             called grep or sleep shadow nothing; workload files in share/millrace/workloads; alerts and a dashboard in share/millrace/monitoring
#   dev       include/millrace, lib/libmillrace.a and the package for find_package(millrace)
# bin/millrace is a link: the program finds what lies beside the file that it is.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(jobs GLOBAL PROPERTY MILLRACE_BUNDLED_JOBS)
install(TARGETS millrace millrace-minder millrace-launch ${jobs}
        COMPONENT runtime RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/millrace)
install(PROGRAMS examples/load/dfsio COMPONENT runtime
        DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/millrace)
install(TARGETS millrace-generate millrace-experiments COMPONENT runtime RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
foreach(old millrace-minder millrace-launch ${jobs})
  file(REMOVE ${PROJECT_BINARY_DIR}/bin/${old})  # of a build from when the jobs were there
endforeach()
foreach(name millrace millrace-generate millrace-experiments dfsio)
  file(CREATE_LINK ../libexec/${name} ${PROJECT_BINARY_DIR}/bin/${name} SYMBOLIC)
endforeach()
file(RELATIVE_PATH program ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBEXECDIR}/millrace/millrace)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/install)
file(CREATE_LINK ${program} ${PROJECT_BINARY_DIR}/install/millrace SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/install/millrace COMPONENT runtime DESTINATION ${CMAKE_INSTALL_BINDIR})
# The program runs it, too, and looks for it beside itself.
file(RELATIVE_PATH generate ${CMAKE_INSTALL_FULL_LIBEXECDIR}/millrace ${CMAKE_INSTALL_FULL_BINDIR}/millrace-generate)
file(CREATE_LINK ${generate} ${PROJECT_BINARY_DIR}/install/millrace-generate SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/install/millrace-generate COMPONENT runtime
        DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/millrace)
install(FILES deploy/monitoring/alerts.yml deploy/monitoring/dashboard.json COMPONENT runtime
        DESTINATION ${CMAKE_INSTALL_DATADIR}/millrace/monitoring)
install(DIRECTORY examples/workloads/ COMPONENT runtime DESTINATION ${CMAKE_INSTALL_DATADIR}/millrace/workloads
        FILES_MATCHING PATTERN "*.toml")

# Puts the static libraries that a target stands on into the list, each once, and the others that are linked.
function(millrace_collect_libraries target into_own into_others)
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  foreach(link ${links})
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" link "${link}")
    if(NOT link OR link IN_LIST ${into_own} OR link IN_LIST ${into_others})
      continue()
    endif()
    if(link MATCHES "^millrace_")
      list(APPEND ${into_own} ${link})
      millrace_collect_libraries(${link} ${into_own} ${into_others})
    else()
      list(APPEND ${into_others} ${link})
    endif()
  endforeach()
  set(${into_own} ${${into_own}} PARENT_SCOPE)
  set(${into_others} ${${into_others}} PARENT_SCOPE)
endfunction()

# One library of all that a job links.
set(own millrace_job)
set(others)
millrace_collect_libraries(millrace_job own others)
add_library(millrace_installed STATIC)
foreach(library ${own})
  get_target_property(type ${library} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_sources(millrace_installed PRIVATE $<TARGET_OBJECTS:${library}>)
  endif()
endforeach()
set_target_properties(millrace_installed PROPERTIES OUTPUT_NAME millrace LINKER_LANGUAGE CXX)
install(TARGETS millrace_installed COMPONENT dev ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

# The libraries of others that it stands on, by the names that a linker knows, in the order of linking. A library that
# is linked as a target must have its names here, so that no job is found to lack one after it was installed.
set(MILLRACE_STATIC_NAMES capnp-rpc capnp kj-async kj)
set(MILLRACE_SHARED_NAMES)
foreach(library ${others})
  if(library MATCHES "^(Threads::Threads|CapnProto::.*|nlohmann_json::nlohmann_json|millrace::backtrace)$")
    continue()  # threads are found as a package, Cap'n Proto is above, then headers, and what every g++ has
  elseif(library STREQUAL "spdlog::spdlog")
    list(APPEND MILLRACE_SHARED_NAMES spdlog fmt)
  elseif(library STREQUAL "PkgConfig::ISAL")
    list(APPEND MILLRACE_SHARED_NAMES isal)
  elseif(library STREQUAL "PkgConfig::LIBZSTD")
    list(APPEND MILLRACE_SHARED_NAMES zstd)
  elseif(library STREQUAL "OpenSSL::SSL")
    list(APPEND MILLRACE_SHARED_NAMES ssl)
  elseif(library STREQUAL "OpenSSL::Crypto")
    list(APPEND MILLRACE_SHARED_NAMES crypto)
  elseif(library STREQUAL "BZip2::BZip2")
    list(APPEND MILLRACE_SHARED_NAMES bz2)
  elseif(library STREQUAL "tomlplusplus::tomlplusplus")
    list(APPEND MILLRACE_SHARED_NAMES tomlplusplus)
  else()
    message(FATAL_ERROR "cmake/MillraceInstall.cmake does not know by which name a job links ${library}")
  endif()
endforeach()
get_target_property(MILLRACE_COMPILE_OPTIONS millrace_job INTERFACE_COMPILE_OPTIONS)
if(NOT MILLRACE_COMPILE_OPTIONS)
  set(MILLRACE_COMPILE_OPTIONS)
endif()

# The headers of client/api and those that they include.
install(FILES client/process/run.h client/process/pipeline.h client/process/run_pipeline.h COMPONENT dev
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/millrace/client/process)
install(FILES worker/task/channel/record_note.h COMPONENT dev
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/millrace/worker/task/channel)
foreach(folder base base/ids client/policy client/api client/format client/job worker/task/collect worker/task/run)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.h)
  install(FILES ${headers} COMPONENT dev DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/millrace/${folder})
endforeach()

configure_package_config_file(cmake/millraceConfig.cmake.in ${PROJECT_BINARY_DIR}/install/millraceConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/millrace
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
# Before version 1 any version may change what a job sees (CONTRIBUTING.md).
write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/millraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/install/millraceConfig.cmake ${PROJECT_BINARY_DIR}/install/millraceConfigVersion.cmake
              cmake/MillraceAddJob.cmake
        COMPONENT dev DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/millrace)

# Debian packages, one a component; deploy/build-packages makes them.
install(FILES deploy/debian/copyright COMPONENT runtime DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES deploy/debian/copyright COMPONENT dev DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/millrace-dev)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR Millrace)
set(CPACK_COMPONENTS_ALL runtime dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME millrace)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
# CPack would take the architecture of the machine that it runs on, and look for libraries there.
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}
                                                  ${CMAKE_SYSROOT}/lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "MapReduce runtime and scheduler laboratory
One master and many workers with a block-replicated file system, jobs in C++,
and the schedulers of five papers deciding over real tasks.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME millrace-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "millrace (= ${PROJECT_VERSION}), g++ (>= 4:12), cmake (>= 3.25), make | ninja-build, libcapnp-dev, libspdlog-dev, libisal-dev, libssl-dev, libzstd-dev, libtomlplusplus-dev")
if(bz2 IN_LIST MILLRACE_SHARED_NAMES)
  string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", libbz2-dev")
endif()
set(CPACK_COMPONENT_DEV_DESCRIPTION "headers and library for jobs of Millrace
What a job in C++ includes and links, and a package for CMake.")
set(CPACK_STRIP_FILES ON)
include(${CMAKE_CURRENT_LIST_DIR}/MillraceService.cmake)
include(CPack)
