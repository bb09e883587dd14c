// SPDX-License-Identifier: Apache-2.0
// Paths of the file system.
#include "dfs/wire/path.h"

#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  return {"/", "/a/b", "//a/./b/", "/a/../b", "a", std::string("/a\0b", 4), "/" + std::string(255, 'x')};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = dfs::CanonicalPath(fuzz::View(data, size));
  if (!path.ok()) {
    fuzz::Require(path.status().message().find('\n') == std::string::npos, "an error of two lines");
    return 0;
  }
  fuzz::Require(path->size() <= dfs::kMaxPathBytes && *dfs::CanonicalPath(*path) == *path,
                "canonical again is another");
  std::string joined;
  for (const std::string_view name : dfs::SplitPath(*path)) {
    fuzz::Require(!name.empty() && name != "." && name != ".." && name.size() <= dfs::kMaxNameBytes &&
                      name.find('\0') == name.npos,
                  "a name");
    (joined += '/') += name;
  }
  fuzz::Require((joined.empty() ? "/" : joined) == *path, "its names do not make the path");
  fuzz::Require(dfs::IsWithin(*path, dfs::ParentPath(*path)) && path->ends_with(dfs::BaseName(*path)),
                "parent and name");
  return 0;
}
