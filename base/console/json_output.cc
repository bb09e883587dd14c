// SPDX-License-Identifier: Apache-2.0
#include "base/console/json_output.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace millrace::console {
namespace {

using Json = nlohmann::ordered_json;

bool IsUtf8(std::string_view bytes) {
  try {
    (void)Json(std::string(bytes)).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

std::string PercentEncode(std::string_view bytes) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : bytes) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '.' || c == '_' || c == '-';
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

// JSON escapes only the control characters of ASCII below 32. Terminals obey others, too: DEL, those from 128 on (a CSI
// is one of them), and marks that change the direction of text.
std::string EscapeOtherControls(std::string json) {
  const auto suspect = [](char c) { return static_cast<unsigned char>(c) >= 0x7f; };
  if (std::ranges::none_of(json, suspect)) return json;
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const auto lead = static_cast<unsigned char>(json[at]);
    const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    const std::string_view letter = std::string_view(json).substr(at, bytes);
    at += bytes;
    if (lead < 0x7f || Printable(letter) == letter) {
      out += letter;
      continue;
    }
    std::uint32_t point = bytes == 1 ? lead : lead & (0x7fU >> bytes);
    for (const char c : letter.substr(1)) point = point << 6 | (static_cast<unsigned char>(c) & 0x3fU);
    out += Formatted("\\u%04x", point);  // none of them is above 0xffff
  }
  return out;
}

}  // namespace

void SetBytes(Json& object, const std::string& key, std::string_view bytes) {
  const bool utf8 = IsUtf8(bytes);
  object[key] = utf8 ? std::string(bytes) : PercentEncode(bytes);
  if (!utf8) object[key + "_encoding"] = "percent";
}

Json Seconds(Micros time) { return static_cast<double>(time) / 1e6; }

Json Seconds(const std::optional<Micros>& time) { return time ? Seconds(*time) : Json(); }

Json InstantOrNull(Micros time) { return time == 0 ? Json() : Seconds(time); }

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string Dump(const Json& value) {
  return EscapeOtherControls(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void JsonList::Add(const Json& element) {
  out_ << (begun_ ? ",\n" : "[\n") << Dump(element);
  begun_ = true;
}

void JsonList::Close() { out_ << (begun_ ? "\n]\n" : "[]\n"); }

}  // namespace millrace::console
