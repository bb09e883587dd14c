// SPDX-License-Identifier: Apache-2.0
#include "base/toml_file.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/file.h"
#include "base/toml_value.h"

namespace millrace {
std::optional<std::string> TomlValueText(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* integer = node.as_integer()) return std::to_string(integer->get());
  if (const auto* real = node.as_floating_point()) {
    char text[512];  // a double has at most 309 digits before the point, or 324 after it
    const auto end = std::to_chars(text, text + sizeof text, real->get(), std::chars_format::fixed).ptr;
    return std::string(text, end);
  }
  return std::nullopt;
}

namespace {

std::optional<std::vector<std::string>> ItemsOf(const toml::node& node) {
  const auto* list = node.as_array();
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> items;
  for (const toml::node& item : *list) {
    auto text = TomlValueText(item);
    if (!text) return std::nullopt;
    items.push_back(std::move(*text));
  }
  return items;
}

void Append(const toml::table& table, const std::vector<std::string>& path, std::vector<TomlEntry>* entries) {
  for (const auto& [key, node] : table) {
    TomlEntry entry{path, TomlEntry::Kind::kOther, {}, {}, node.source().begin.line};
    entry.path.emplace_back(key.str());
    if (const auto* inner = node.as_table()) {
      entry.kind = TomlEntry::Kind::kTable;
      entries->push_back(entry);
      Append(*inner, entry.path, entries);
      continue;
    }
    if (auto text = TomlValueText(node)) {
      entry.kind = TomlEntry::Kind::kValue;
      entry.text = std::move(*text);
    } else if (auto items = ItemsOf(node)) {
      entry.kind = TomlEntry::Kind::kList;
      entry.items = std::move(*items);
    }
    entries->push_back(std::move(entry));
  }
}

// Walks a text once and bounds how deeply it is nested, without knowing whether it is TOML.
class DepthCheck {
 public:
  explicit DepthCheck(std::string_view text) : text_(text) {}

  // Returns the first line that is nested too deeply; 0 if there is none.
  std::size_t TooDeep() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        SkipTo('\n');
      } else if (c == '"' || c == '\'') {
        SkipString(c);
      }
      if (at_ >= text_.size()) break;
      Count(text_[at_]);
      if (parts_ > kMostTomlKeyParts || nesting_ > kMostTomlNesting) return line_;
    }
    return 0;
  }

 private:
  void Count(char c) {
    if (c == '.') ++parts_;
    if (c == '=' || c == ',' || c == '\n' || c == '{' || c == '[') parts_ = 1;
    if (c == '{' || c == '[') ++nesting_;
    if ((c == '}' || c == ']') && nesting_ > 0) --nesting_;
    if (c == '\n') ++line_;
  }

  // Stops before the character.
  void SkipTo(char c) { at_ = std::min(text_.find(c, at_), text_.size()); }

  // Stops at the last quotation mark. A string of one line that is not ended ends with it: the parser refuses it.
  void SkipString(char quote) {
    const std::string three(3, quote);
    const bool many = text_.substr(at_, 3) == three;
    at_ += many ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\' && quote == '"') {
        ++at_;
        if (at_ < text_.size() && text_[at_] == '\n') ++line_;
      } else if (many && c == '\n') {
        ++line_;
      } else if (many && text_.substr(at_, 3) == three) {
        at_ += 2;
        return;
      } else if (!many && (c == quote || c == '\n')) {
        return;
      }
    }
  }

  const std::string_view text_;
  std::size_t at_ = 0, line_ = 1, parts_ = 1, nesting_ = 0;
};

// Returns the first line that is longer than any that a person or a program writes; 0 if there is none.
std::size_t TooLong(std::string_view text) {
  constexpr std::size_t kMost = std::size_t{64} << 10;
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end - at > kMost) return line;
    at = end + 1;
  }
  return 0;
}

}  // namespace

Result<toml::table> ParseToml(std::string_view text, const std::string& file_name) {
  if (const std::size_t line = DepthCheck(text).TooDeep(); line != 0) {
    return Invalid(file_name + ":" + std::to_string(line) + ": nested too deeply: a key has at most " +
                   std::to_string(kMostTomlKeyParts) + " parts, and at most " + std::to_string(kMostTomlNesting) +
                   " brackets are open at a time");
  }
  try {
    return toml::parse(text, file_name);
  } catch (const toml::parse_error& error) {
    return Invalid(file_name + ":" + std::to_string(error.source().begin.line) +
                   ": not TOML: " + std::string(error.description()));
  }
}

Result<std::vector<TomlEntry>> ReadToml(std::string_view text, const std::string& file_name) {
  if (const std::size_t line = TooLong(text); line != 0)
    return Invalid(file_name + ":" + std::to_string(line) + ": not TOML: a line has more than 64 KiB");
  MILLRACE_ASSIGN(const toml::table table, ParseToml(text, file_name));
  std::vector<TomlEntry> entries;
  Append(table, {}, &entries);
  return entries;
}

Result<std::vector<TomlEntry>> ReadTomlFile(const std::string& path) {
  MILLRACE_ASSIGN(const std::string text, ReadWholeFile(path));
  return ReadToml(text, path);
}

}  // namespace millrace
