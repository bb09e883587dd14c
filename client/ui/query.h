// SPDX-License-Identifier: Apache-2.0
// Query is the target of a request in parts: "/api/v1/files?path=%2Fa" (RFC 3986). Thread rule: a value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace::ui {

class Query {
 public:
  explicit Query(std::string_view target);

  [[nodiscard]] const std::string& path() const { return path_; }  // as it stands in the target
  [[nodiscard]] bool Has(const std::string& name) const { return values_.contains(name); }
  // Returns the value, decoded; of several, the first one; empty if there is none.
  [[nodiscard]] std::string Get(const std::string& name) const;
  // Returns the value as a number from 0 to `most`, or `otherwise` if there is none; kInvalid if it is anything else.
  [[nodiscard]] Result<std::uint64_t> Number(const std::string& name, std::uint64_t otherwise,
                                             std::uint64_t most) const;
  // Returns kInvalid, with those that are known, if there is a name that is not.
  [[nodiscard]] Status CheckNames(const std::vector<std::string>& known) const;

 private:
  std::string path_;
  std::map<std::string, std::string> values_;
};

}  // namespace millrace::ui
