// SPDX-License-Identifier: Apache-2.0
// MemoryInput is InputFiles over strings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "client/job/input_files.h"
#include "tests/client/api/memory_source.h"

namespace millrace {

class MemoryInput final : public InputFiles {
 public:
  // An input is a file, or all files whose paths begin with it and a slash.
  [[nodiscard]] Result<std::vector<InputFile>> List(const std::string& input) override {
    std::vector<InputFile> found;
    for (const auto& [path, bytes] : files) {
      if (path == input) found.push_back({path, path.substr(path.rfind('/') + 1), bytes.size(), bytes.size()});
      if (path.starts_with(input + "/"))
        found.push_back({path, path.substr(input.size() + 1), bytes.size(), bytes.size()});
    }
    if (found.empty() && !empty) return NotFound("no input " + Quote(input));
    return found;
  }
  [[nodiscard]] Result<std::unique_ptr<ByteSource>> Open(const InputFile& file) override {
    ++opened;
    return std::unique_ptr<ByteSource>(std::make_unique<Noting>(files.at(file.path), most_asked));
  }
  [[nodiscard]] Result<MappedFile> Map(const InputFile& file) override { return NotFound(file.path); }

  std::map<std::string, std::string> files;
  bool empty = false;  // whether an input without files counts as existing, like an empty directory
  int opened = 0;
  std::uint64_t most_asked = 0;  // the most bytes asked for in one stream

 private:
  class Noting final : public ByteSource {
   public:
    Noting(const std::string& bytes, std::uint64_t& most) : source_(bytes, 1 << 20), most_(most) {}
    Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) override {
      most_ = std::max(most_, size);
      return source_.Stream(offset, size, sink);
    }
    Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override {
      return source_.ReadAt(offset, size, out);
    }

   private:
    MemorySource source_;
    std::uint64_t& most_;
  };
};

}  // namespace millrace
