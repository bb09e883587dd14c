#include "schedulers/config/settings_text.h"

#include <algorithm>

#include "schedulers/config/settings_keys.h"
#include "schedulers/policies/catalog.h"

namespace millrace::sched {
namespace {

// Returns the name as a TOML key, in quotes unless it may stand bare.
std::string KeyText(std::string_view name) {
  constexpr std::string_view kBare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  if (!name.empty() && name.find_first_not_of(kBare) == std::string_view::npos) return std::string(name);
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      (text += "\\u00") += {kHex[byte >> 4], kHex[byte & 15]};
    } else {
      text += c;
    }
  }
  return text + '"';
}

void Append(const std::string& header, const SettingSection& section, std::string* text) {
  *text += "[" + header + "]\n";
  for (const SettingKey& key : section.keys) {
    if (const std::optional<std::string> value = key.TomlValue()) *text += key.name + " = " + *value + "\n";
  }
}

}  // namespace

std::string FormatSettings(const Settings& settings) {
  Settings copy = settings;  // the keys need something that they could change
  std::string text;
  for (const Section& section : ListSections()) {
    const std::string header(section.name);
    if (!section.named) {
      Append(header, KeysOf(section, &copy), &text);
      continue;
    }
    for (const std::string& name : section.names(copy)) {
      Append(header + "." + KeyText(name), KeysOf(section, &copy, name), &text);
    }
  }
  return text;
}

}  // namespace millrace::sched
