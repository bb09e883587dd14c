// SPDX-License-Identifier: Apache-2.0
// Makes the candidates of the apriori algorithm: from associations of k fields, each a line "e1,...,ek", it makes those
// of k + 1 fields. For two lines that agree in all fields but the last, it writes a line "e1,...,ek-1,a,b" with their
// last fields, a before b in order of bytes. So the output can be input again. Repeats in the input count once. A line
// without a comma has one field.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/api/job.h"

namespace millrace::examples {

struct SelfJoin {
  using Key = std::string_view;    // all fields but the last, with the comma after them
  using Value = std::string_view;  // the last field

  void Map(std::string_view line, auto& emit) {
    if (line.empty()) return;
    const std::size_t last = line.rfind(',') + 1;  // 0 if there is no comma
    emit(line.substr(0, last), line.substr(last));
  }

  void Reduce(std::string_view beginning, auto& values, auto& emit) {
    last_.clear();
    for (const std::string_view value : values) last_.emplace_back(value);
    std::ranges::sort(last_);
    last_.erase(std::unique(last_.begin(), last_.end()), last_.end());
    for (std::size_t a = 0; a < last_.size(); ++a) {
      line_.assign(beginning).append(last_[a]).push_back(',');
      const std::size_t common = line_.size();
      for (std::size_t b = a + 1; b < last_.size(); ++b) {
        line_.resize(common);
        line_ += last_[b];
        emit(line_);
      }
    }
  }

 private:
  std::vector<std::string> last_;
  std::string line_;
};

}  // namespace millrace::examples
