// SPDX-License-Identifier: Apache-2.0
// FindQuery: what `millrace fs find` looks for, with the meanings that find(1) gives to its tests. All tests that are
// given have to hold. Pure. Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "dfs/wire/file_status.h"

namespace millrace::dfs {

// The tests as they stand on the command line; empty ones are not made.
struct FindWords {
  std::string name = {}, iname = {}, path = {}, type = {}, size = {}, mtime = {}, mmin = {}, user = {}, group = {};
  bool empty = false;
};

class FindQuery {
 public:
  // Returns kInvalid, naming the test, for a word that it does not take.
  [[nodiscard]] static Result<FindQuery> Parse(const FindWords& words);
  // Returns true if all tests hold. A directory counts as empty here: who asks for empty ones has to look into it.
  [[nodiscard]] bool Matches(const FileStatus& info, Micros now) const;
  [[nodiscard]] bool asks_for_age() const { return days_.has_value() || minutes_.has_value(); }
  [[nodiscard]] bool asks_for_empty() const { return words_.empty; }

 private:
  // "+3", "-3" and "3": more than, less than and exactly 3.
  struct Amount {
    char sign = '=';
    std::uint64_t number = 0, unit = 1;
    [[nodiscard]] bool Fits(std::uint64_t value) const;
  };
  [[nodiscard]] static Result<std::optional<Amount>> ParseAmount(std::string_view test, std::string_view word,
                                                                 bool of_bytes);

  FindWords words_;
  std::optional<Amount> size_, days_, minutes_;
};

}  // namespace millrace::dfs
