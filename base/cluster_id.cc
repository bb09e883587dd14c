// SPDX-License-Identifier: Apache-2.0
#include "base/cluster_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace millrace {
namespace {

constexpr std::size_t kDigits = 16;

bool ParseDigits(std::string_view text, std::uint64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, 16);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string FormatClusterId(std::uint64_t high, std::uint64_t low) { return fmt::format("{:016x}{:016x}", high, low); }

bool IsClusterId(std::string_view text) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  return text.size() == 32 &&
         std::all_of(text.begin(), text.end(), [&](char c) { return kHexDigits.find(c) != std::string_view::npos; });
}

std::string FormatMoment(const Moment& moment) { return fmt::format("{:016x} {:016x}", moment.life, moment.number); }

std::optional<Moment> ParseMoment(std::string_view text) {
  Moment moment;
  const bool shaped = text.size() == 2 * kDigits + 1 && text[kDigits] == ' ';
  if (!shaped || !ParseDigits(text.substr(0, kDigits), &moment.life) ||
      !ParseDigits(text.substr(kDigits + 1), &moment.number) || FormatMoment(moment) != text)
    return std::nullopt;
  return moment;
}

}  // namespace millrace
