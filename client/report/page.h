// The page of a report as the build has put it together from client/report/page: style, chart library and scripts are
// inlined, and where the document belongs stands @DOCUMENT@, once. cmake/AssemblePage.cmake makes the source of it.
// Thread rule: a constant.
#pragma once

#include <string_view>

namespace millrace::report {

extern const std::string_view kPage;

}  // namespace millrace::report
