// SPDX-License-Identifier: Apache-2.0
#include "dfs/wire/blocks.h"

#include <charconv>

namespace millrace::dfs {
namespace {

constexpr std::size_t kDigits = 16;

}  // namespace

std::string BlockText(std::uint64_t id) {
  char digits[kDigits];
  const auto end = std::to_chars(digits, digits + kDigits, id, 16).ptr;
  const auto size = static_cast<std::size_t>(end - digits);
  return std::string(kDigits - size, '0') + std::string(digits, size);
}

std::string BlockName(std::uint64_t id) { return "block " + BlockText(id); }

std::optional<std::uint64_t> ParseBlockText(std::string_view text) {
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, 16);
  if (error != std::errc() || end != text.data() + text.size() || BlockText(id) != text) return std::nullopt;
  return id;
}

}  // namespace millrace::dfs
