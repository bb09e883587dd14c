// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <cstdint>

namespace millrace {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

struct Character {
  std::size_t size = 1;
  bool printable = false;  // if not, its bytes are escaped
};

// Returns the UTF-8 character (RFC 3629) at the front of `text`. Requires: `text` is not empty.
Character FrontCharacter(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, lead >= 0x20 && lead != 0x7f};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  std::uint32_t point = lead & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (!IsContinuation(text[i])) return {};
    point = point << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kLeast[size] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return {};
  const bool control = point < 0xa0 || point == 0x2028 || point == 0x2029;  // C1, line and paragraph separators
  const bool turns = point == 0x200e || point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
                     (point >= 0x2066 && point <= 0x2069);  // marks that change the direction of text
  return {size, !control && !turns};
}

void AppendEscaped(std::string& out, std::string_view bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
}

// `quoted` says that the text stands between double quotes, so that a quote in it is escaped.
void AppendPrintable(std::string& out, std::string_view text, bool quoted) {
  while (!text.empty()) {
    const Character front = FrontCharacter(text);
    const std::string_view bytes = text.substr(0, front.size);
    if (!front.printable) {
      AppendEscaped(out, bytes);
    } else {
      if (quoted && (text[0] == '"' || text[0] == '\\')) out += '\\';
      out += bytes;
    }
    text.remove_prefix(front.size);
  }
}

std::size_t Distance(std::string_view a, std::string_view b) {
  using Row = std::vector<std::size_t>;
  Row before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);  // for the first i - 2, i - 1 and i bytes of a
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  AppendPrintable(out, text, false);
  return out;
}

std::string Joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += between;
    text += parts[i];
  }
  return text;
}

Status CheckLength(std::string_view what, std::string_view text, std::size_t most) {
  if (text.size() <= most) return Status::Ok();
  return Invalid(std::string(what) + " has " + std::to_string(text.size()) + " bytes; at most " + std::to_string(most) +
                 " are allowed");
}

// After Printable only these two need an escape.
std::string JsonString(std::string_view text) {
  std::string json = "\"";
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + "\"";
}

std::string Quote(std::string_view name, std::size_t longest) {
  std::string out = "\"";
  if (name.size() <= longest) {
    AppendPrintable(out, name, true);
    return out + '"';
  }
  const std::size_t end = (longest - 3) / 2;  // what is kept at either end
  std::size_t head = end;
  std::size_t tail = name.size() - end;
  for (int i = 0; i < 3 && IsContinuation(name[head]); ++i) --head;
  for (int i = 0; i < 3 && IsContinuation(name[tail]); ++i) ++tail;
  AppendPrintable(out, name.substr(0, head), true);
  out += "...";
  AppendPrintable(out, name.substr(tail), true);
  return out + "\" (" + std::to_string(name.size()) + " bytes)";
}

std::optional<std::string> Nearest(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > 200) return std::nullopt;  // too long to be a typing error, and the distance takes quadratic time
  const std::string* best = nullptr;
  std::size_t least = std::max<std::size_t>(name.size() / 3, 1) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = Distance(name, candidate);
    if (distance < least) {
      least = distance;
      best = &candidate;
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string_view LastLines(std::string_view text, std::uint64_t lines) {
  if (lines == 0) return {};
  std::size_t end = text.ends_with('\n') ? text.size() - 1 : text.size();
  while (true) {
    const std::size_t before = end == 0 ? text.npos : text.rfind('\n', end - 1);
    if (before == text.npos) return text;
    if (--lines == 0) return text.substr(before + 1);
    end = before;
  }
}

}  // namespace millrace
