#include "base/moment.h"

#include <fmt/format.h>

#include <charconv>

namespace millrace {
namespace {

constexpr std::size_t kDigits = 16;

bool ParseDigits(std::string_view text, std::uint64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, 16);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

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
