# SPDX-License-Identifier: Apache-2.0
# cmake -D PAGE=page.html -D STYLE=style.css -D "SCRIPTS=a.js;b.js" -D OUTPUT=page.cc -P AssemblePage.cmake
# Puts the style in place of @STYLE@ and the scripts, each in an element of its own, in place of @SCRIPTS@, and writes the
# page as the C++ constant of lab/report/page.h.
cmake_minimum_required(VERSION 3.25)
file(READ ${PAGE} page)
file(READ ${STYLE} style)
string(STRIP "${style}" style)
set(elements)
foreach(script ${SCRIPTS})
  file(READ ${script} text)
  if(text MATCHES "</script" OR text MATCHES "<!--")
    message(FATAL_ERROR "${script} holds </script or <!--, which would end it within the page")
  endif()
  string(STRIP "${text}" text)
  string(APPEND elements "<script nonce=\"@NONCE@\">\n${text}\n</script>\n")
endforeach()
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPTS@" "${elements}" page "${page}")
if(page MATCHES "\\)page\"")
  message(FATAL_ERROR "the page holds the end of the C++ string that it is written into")
endif()
file(WRITE ${OUTPUT} "#include \"lab/report/page.h\"\n\nnamespace millrace::report {\n\n"
     "const std::string_view kPage = R\"page(${page})page\";\n\n}  // namespace millrace::report\n")
