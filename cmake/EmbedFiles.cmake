# SPDX-License-Identifier: Apache-2.0
# cmake -D "FILES=/=page.html;/page.js=page/page.js" -D OUTPUT=FILE -P EmbedFiles.cmake
# Writes the files, each behind the path under which a browser asks for it, as the C++ constant of client/ui/page_files.h.
cmake_minimum_required(VERSION 3.25)
set(types_html "text/html; charset=utf-8")
set(types_css "text/css; charset=utf-8")
set(types_js "text/javascript; charset=utf-8")
set(types_svg "image/svg+xml")
set(entries)
foreach(pair ${FILES})
  string(REGEX MATCH "^([^=]+)=(.+)$" pair "${pair}")
  set(path "${CMAKE_MATCH_1}")
  set(file "${CMAKE_MATCH_2}")
  file(READ "${file}" text)
  if(text MATCHES "\\)page\"")
    message(FATAL_ERROR "${file} holds the end of the C++ string that it is written into")
  endif()
  string(REGEX MATCH "[a-z]+$" ending "${file}")
  if(NOT DEFINED types_${ending})
    message(FATAL_ERROR "${file}: of which type are files with this name?")
  endif()
  string(APPEND entries "    {\"${path}\", \"${types_${ending}}\", R\"page(${text})page\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"client/ui/page_files.h\"\n\nnamespace millrace::ui {\nnamespace {\n\n"
     "constexpr PageFile kFiles[] = {\n${entries}};\n\n}  // namespace\n\n"
     "const std::span<const PageFile> kPageFiles = kFiles;\n\n}  // namespace millrace::ui\n")
