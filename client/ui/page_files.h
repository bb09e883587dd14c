// SPDX-License-Identifier: Apache-2.0
// The files of the page, which the build embeds (cmake/EmbedFiles.cmake). Thread rule: constants.
#pragma once

#include <span>
#include <string_view>

namespace millrace::ui {

struct PageFile {
  std::string_view path;  // as it is asked for: "/page.js"; "/" is the page itself
  std::string_view type;
  std::string_view content;
};

extern const std::span<const PageFile> kPageFiles;

}  // namespace millrace::ui
