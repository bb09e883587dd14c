// SPDX-License-Identifier: Apache-2.0
#include "client/process/place.h"

#include <array>
#include <charconv>
#include <string_view>

namespace millrace {
namespace {

constexpr std::size_t kLongestPlace = 1024;

// Appends the text to out[0, *size), without what could break a line.
void Append(std::string_view text, std::span<char> out, std::size_t* size) {
  for (const char c : text.substr(0, out.size() - *size))
    out[(*size)++] = static_cast<unsigned char>(c) < ' ' ? '?' : c;
}

}  // namespace

MapPlace::MapPlace(const MapAttempt& attempt, SplitBy split_by)
    : Place(attempt.context),
      attempt_(attempt),
      split_by_(split_by),
      records_(attempt.context.counter("millrace", "map_input_records")) {}

// An input has its source until all of it is mapped, and the number is that of the last one that was begun.
std::size_t MapPlace::Write(std::span<char> out) const {
  std::size_t size = 0;
  const std::uint64_t number = attempt_.context.input_number();
  const bool any = number < attempt_.inputs.size();
  if (any && attempt_.inputs[number].source == nullptr) {
    Append("; after its last record", out, &size);
    return size;
  }
  if (!any || records_.value() == 0) {
    Append("; before its first record", out, &size);
    return size;
  }
  if (attempt_.watch != nullptr || split_by_ == SplitBy::kNumbers) return 0;
  std::array<char, 20> digits{};
  const char* const end = std::to_chars(digits.begin(), digits.end(), attempt_.context.input_offset()).ptr;
  Append("; at ", out, &size);
  Append(attempt_.inputs[number].split.name, out, &size);
  Append(", byte ", out, &size);
  Append({digits.begin(), end}, out, &size);
  return size;
}

std::size_t ReducePlace::Write(std::span<char> out) const {
  std::size_t size = 0;
  if (hook() == Hook::kFinishReduce) {
    Append("; after its last key", out, &size);
  } else if (hook() == Hook::kReduce) {
    Append("; at the key ", out, &size);
    size += attempt_.place.Write(out.subspan(size));
  } else {
    Append("; before its first key", out, &size);
  }
  return size;
}

std::string Place::Text() const {
  std::string text(kLongestPlace, '\0');
  text.resize(Write(text));
  return text;
}

}  // namespace millrace
