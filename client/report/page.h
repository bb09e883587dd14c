// The page of a report as the build has put it together from client/report/page: style, chart library and scripts are
// inlined, where the document belongs stands @DOCUMENT@, once, and @NONCE@ where the word belongs by which the page's
// own scripts and style are told from anything that came with the document. cmake/AssemblePage.cmake makes the source
// of it. Thread rule: a constant.
#pragma once

#include <string_view>

namespace millrace::report {

extern const std::string_view kPage;

}  // namespace millrace::report
