#include "base/toml_file.h"

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

}  // namespace

Result<std::vector<TomlEntry>> ReadToml(std::string_view text, const std::string& file_name) {
  try {
    std::vector<TomlEntry> entries;
    Append(toml::parse(text, file_name), {}, &entries);
    return entries;
  } catch (const toml::parse_error& error) {
    return Invalid(file_name + ":" + std::to_string(error.source().begin.line) +
                   ": not TOML: " + std::string(error.description()));
  }
}

Result<std::vector<TomlEntry>> ReadTomlFile(const std::string& path) {
  MILLRACE_ASSIGN(const std::string text, ReadWholeFile(path));
  return ReadToml(text, path);
}

}  // namespace millrace
