// SPDX-License-Identifier: Apache-2.0
// The page of a report, which the build assembles from lab/report/page. Style, chart library and scripts are
// inlined. @DOCUMENT@ stands, once, in the place of the document. @NONCE@ stands in the place of the nonce of the
// page's content security policy, by which a browser tells the page's own scripts and style from any in the document.
// cmake/AssemblePage.cmake makes the page's source file. Thread rule: a constant.
#pragma once

#include <string_view>

namespace millrace::report {

extern const std::string_view kPage;

}  // namespace millrace::report
