// SPDX-License-Identifier: Apache-2.0
#include "base/release.h"

#include <algorithm>

#include "base/text.h"
#include "base/version.h"

namespace millrace {

Release ThisRelease() { return {kVersion, kProtocolLevel}; }

std::string ToText(const Release& release) {
  constexpr std::size_t kLongestVersion = 64;  // it may come from anybody
  const std::string version =
      release.version.empty() ? "of before 0.1.0" : Printable(release.version.substr(0, kLongestVersion));
  return version + " (protocol " + std::to_string(release.protocol) + ")";
}

Status CheckReleases(std::string_view one, const Release& of_one, std::string_view other, const Release& of_other) {
  const auto [low, high] = std::minmax(of_one.protocol, of_other.protocol);
  if (high - low <= 1) return Status::Ok();
  const std::string_view older = of_one.protocol < of_other.protocol ? one : other;
  return Invalid(std::string(one) + " has version " + ToText(of_one) + " and " + std::string(other) + " has " +
                 ToText(of_other) + ": they must be at most one protocol level apart; upgrade " + std::string(older));
}

}  // namespace millrace
