# SPDX-License-Identifier: Apache-2.0
# A target sees the headers of the folders that it links and of no others: every library exports an include directory
# that holds one link, to its own folder. So the link sets are the table of who may include whom, and a forbidden
# include does not build.

# millrace_folder(TARGET FOLDER): exports FOLDER (root-relative) as the include path of TARGET.
function(millrace_folder target folder)
  set(view ${PROJECT_BINARY_DIR}/view/${target})
  get_filename_component(parent ${folder} DIRECTORY)
  file(REMOVE_RECURSE ${view})  # the folder may have lain elsewhere; links are removed, not followed
  file(MAKE_DIRECTORY ${view}/${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${view}/${folder} SYMBOLIC)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_include_directories(${target} INTERFACE ${view})
  else()
    target_include_directories(${target} PUBLIC ${view})
  endif()
endfunction()

# millrace_units(OUT TARGET FILES FILE.cc ... [ALONE FILE.cc ...]): what the compiler is given for these files of TARGET.
# With MILLRACE_UNITY that is one unit for up to 24 files, which parses their headers and instantiates their templates
# once: a build from nothing takes less than half the time. The name of a helper in an unnamed namespace is then to be the
# only one of its unit; ALONE are files that cannot keep to that. A unit includes its files by paths that are relative to it, so that what ccache knows
# from one clone serves another. TARGET_files, which nothing builds, holds each file with the options of TARGET: for editors
# and tests/lint, which read compile_commands.json.
function(millrace_units out target)
  cmake_parse_arguments(ARG "" "" "FILES;ALONE" ${ARGN})
  set(together ${ARG_FILES})
  list(FILTER together INCLUDE REGEX "\\.cc$")
  list(FILTER together EXCLUDE REGEX "^${PROJECT_BINARY_DIR}/")  # what the build writes has to be there first
  list(LENGTH together count)
  if(NOT MILLRACE_UNITY OR count LESS 2)
    set(${out} ${ARG_FILES} ${ARG_ALONE} PARENT_SCOPE)
    return()
  endif()
  set(units ${ARG_FILES})
  list(REMOVE_ITEM units ${together})
  list(APPEND units ${ARG_ALONE})
  set(folder ${PROJECT_BINARY_DIR}/unity)
  math(EXPR number "(${count} + 23) / 24")
  foreach(index RANGE 1 ${number})
    math(EXPR begin "(${index} - 1) * ${count} / ${number}")
    math(EXPR length "${index} * ${count} / ${number} - ${begin}")
    list(SUBLIST together ${begin} ${length} files)
    set(text)
    foreach(file ${files})
      get_filename_component(path ${file} ABSOLUTE)
      file(RELATIVE_PATH path ${folder} ${path})
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    set(unit ${folder}/${target}_${index}.cc)
    file(GENERATE OUTPUT ${unit} CONTENT "${text}")
    # What an unnamed namespace holds may be part of a class of its file; the compiler believes each included file a header.
    set_source_files_properties(${unit} PROPERTIES COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    list(APPEND units ${unit})
  endforeach()
  add_library(${target}_files OBJECT EXCLUDE_FROM_ALL ${together})
  foreach(kind DEFINITIONS OPTIONS)
    set_property(TARGET ${target}_files PROPERTY COMPILE_${kind} $<TARGET_PROPERTY:${target},COMPILE_${kind}>)
  endforeach()
  target_include_directories(${target}_files PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  target_link_libraries(${target}_files PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
  set(${out} ${units} PARENT_SCOPE)
endfunction()

# millrace_library(TARGET [FACE] [HOT|COLD] FOLDER f SOURCES FILE.cc ... [ALONE FILE.cc ...] LINKS x y ... [PRIVATE_LINKS z ...])
# HOT: its loops pass over every byte or record, so it is optimised as far as it goes. COLD: it runs a few times a command
# or call (arguments, messages, tables), so the time of its compilation counts more.
# FACE: who links it may include its headers and none of what it links. Its headers need those, so the compiler finds
# them all the same; tests/docs/check_folders holds the includes of the folders that link a face to it.
function(millrace_library target)
  cmake_parse_arguments(ARG "FACE;HOT;COLD" "FOLDER" "SOURCES;ALONE;LINKS;PRIVATE_LINKS" ${ARGN})
  if(ARG_SOURCES)
    millrace_units(units ${target} FILES ${ARG_SOURCES} ALONE ${ARG_ALONE})
    add_library(${target} STATIC ${units})
    target_link_libraries(${target} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
    if(ARG_HOT)
      millrace_hot(${target})
    elseif(ARG_COLD)
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${ARG_LINKS})
  endif()
  millrace_folder(${target} ${ARG_FOLDER})
  if(ARG_FACE)
    set_property(GLOBAL APPEND_STRING PROPERTY MILLRACE_LINK_SETS "FACE ${ARG_FOLDER}\n")
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY MILLRACE_LINK_SETS
               "${target} ${ARG_FOLDER} ${ARG_LINKS} ${ARG_PRIVATE_LINKS}\n")
endfunction()

# millrace_hot(TARGET): as millrace_library has it.
function(millrace_hot target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3>)
endfunction()

# millrace_write_link_sets(FILE): a line for each library so far: its name, its folder, what it links; and a line "FACE
# FOLDER" for each face. The table in docs/inside/decisions/0001-folders.md is printed from it.
function(millrace_write_link_sets file)
  get_property(sets GLOBAL PROPERTY MILLRACE_LINK_SETS)
  string(REPLACE ";" " " sets "${sets}")
  file(WRITE ${file} "${sets}")
endfunction()

# millrace_allocator(PROGRAM): it allocates as base/allocator.cc says; as the sanitizer does where there is one.
function(millrace_allocator program)
  if(MILLRACE_SANITIZE)
    return()
  endif()
  if(NOT TARGET millrace_allocator)
    add_library(millrace_allocator OBJECT ${PROJECT_SOURCE_DIR}/base/allocator.cc)
    target_link_libraries(millrace_allocator PRIVATE PkgConfig::JEMALLOC)
  endif()
  target_sources(${program} PRIVATE $<TARGET_OBJECTS:millrace_allocator>)
  target_link_libraries(${program} PRIVATE PkgConfig::JEMALLOC)
endfunction()

# millrace_schema(TARGET FILES FILE.capnp ... LINKS other_schema ... [RPC]): Cap'n Proto code of root-relative schema
# files. Include it as "FOLDER/FILE.capnp.h". RPC: the schema holds interfaces, so users link the RPC library.
# What a call may say of itself depends on the version of Cap'n Proto, so the folder of that version is searched, too.
function(millrace_schema target)
  cmake_parse_arguments(ARG "RPC" "" "FILES;LINKS" ${ARGN})
  set(out ${PROJECT_BINARY_DIR}/schema/${target})
  set(marks base/protocol/capnp-1)
  if(CapnProto_VERSION VERSION_LESS 1)
    set(marks base/protocol/capnp-0)
  endif()
  file(MAKE_DIRECTORY ${out})
  set(generated)
  foreach(file ${ARG_FILES})
    add_custom_command(
      OUTPUT ${out}/${file}.c++ ${out}/${file}.h
      COMMAND ${CAPNP_PROGRAM} compile -o ${CAPNPC_CXX_PROGRAM}:${out} --src-prefix=${PROJECT_SOURCE_DIR}
              -I ${PROJECT_SOURCE_DIR} -I ${PROJECT_SOURCE_DIR}/${marks}
              ${PROJECT_SOURCE_DIR}/${file}
      DEPENDS ${PROJECT_SOURCE_DIR}/${file} ${PROJECT_SOURCE_DIR}/${marks}/cancellation.capnp VERBATIM)
    list(APPEND generated ${out}/${file}.c++ ${out}/${file}.h)
  endforeach()
  add_library(${target} STATIC ${generated})
  list(GET ARG_FILES 0 first)
  get_filename_component(folder ${first} DIRECTORY)
  set_property(GLOBAL APPEND_STRING PROPERTY MILLRACE_LINK_SETS "${target} ${folder} ${ARG_LINKS}\n")
  target_compile_options(${target} PRIVATE -w $<$<CONFIG:Release>:-O1>)
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  if(ARG_RPC)
    target_link_libraries(${target} PUBLIC ${ARG_LINKS} CapnProto::capnp-rpc)
  else()
    target_link_libraries(${target} PUBLIC ${ARG_LINKS} CapnProto::capnp)
  endif()
endfunction()

# millrace_test(NAME SOURCES FILE.cc ... [ALONE FILE.cc ...] LINKS x y ... [LABELS unit]): one GoogleTest program, its cases known to CTest.
# LABELS defaults to "unit"; programs that start daemons are labelled "cluster" and run serially with each other.
# It sees the headers of tests/, by their paths from the root (tests/CMakeLists.txt).
function(millrace_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ALONE;LINKS;LABELS" ${ARGN})
  if(NOT MILLRACE_TESTS)
    return()
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  millrace_units(units ${name} FILES ${ARG_SOURCES} ALONE ${ARG_ALONE})
  add_executable(${name} ${units})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} millrace_tests_folder GTest::gmock_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${ARG_LABELS} TIMEOUT 300)
  if(ARG_LABELS STREQUAL "unit")
    millrace_unit_test(${name} ${PROJECT_BINARY_DIR}/test/${name})
  endif()
endfunction()

# millrace_unit_test(NAME PROGRAM [ARGUMENT ...]): lists a target with the command that runs it, for tests/sanitize.
function(millrace_unit_test name)
  string(REPLACE ";" " " command "${ARGN}")
  set_property(GLOBAL APPEND_STRING PROPERTY MILLRACE_UNIT_TESTS "${name} ${command}\n")
endfunction()

# millrace_write_unit_tests(FILE): a line for each of these.
function(millrace_write_unit_tests file)
  get_property(lines GLOBAL PROPERTY MILLRACE_UNIT_TESTS)
  file(WRITE ${file} "${lines}")
endfunction()
