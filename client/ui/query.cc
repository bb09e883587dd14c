// SPDX-License-Identifier: Apache-2.0
#include "client/ui/query.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace millrace::ui {
namespace {

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// A % that two digits do not follow stays as it is.
std::string Decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && DigitOf(text[i + 1]) >= 0 && DigitOf(text[i + 2]) >= 0) {
      decoded += static_cast<char>(DigitOf(text[i + 1]) * 16 + DigitOf(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

}  // namespace

Query::Query(std::string_view target) {
  const std::size_t question = std::min(target.find('?'), target.size());
  path_ = std::string(target.substr(0, question));
  target.remove_prefix(std::min(question + 1, target.size()));
  while (!target.empty()) {
    const std::size_t end = std::min(target.find('&'), target.size());
    const std::string_view pair = target.substr(0, end);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (!pair.empty())
      values_.emplace(Decode(pair.substr(0, equals)), Decode(pair.substr(std::min(equals + 1, pair.size()))));
    target.remove_prefix(std::min(end + 1, target.size()));
  }
}

std::string Query::Get(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? "" : found->second;
}

Result<std::uint64_t> Query::Number(const std::string& name, std::uint64_t otherwise, std::uint64_t most) const {
  if (!Has(name)) return otherwise;
  const std::string text = Get(name);
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, wrong] = std::from_chars(text.data(), end, value);
  if (wrong != std::errc() || rest != end || value > most)
    return Invalid(name + " " + Quote(text) + " is not a number from 0 to " + std::to_string(most));
  return value;
}

Status Query::CheckNames(const std::vector<std::string>& known) const {
  for (const auto& [name, value] : values_) {
    if (std::ranges::find(known, name) == known.end())
      return Invalid("there is no parameter " + Quote(name) +
                     " here; there are: " + (known.empty() ? "none" : Joined(known, ", ")));
  }
  return Status::Ok();
}

}  // namespace millrace::ui
