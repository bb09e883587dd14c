// SPDX-License-Identifier: Apache-2.0
#include "lab/study/paper_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "base/toml_value.h"

namespace millrace::sim::experiments {
namespace {

Status CheckNode(const toml::node& node, const std::string& path, const std::string& file_name) {
  if (const toml::array* list = node.as_array()) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      const toml::node& one = *list->get(i);
      MILLRACE_TRY(CheckNode(one, one.is_table() ? path + '[' + std::to_string(i) + ']' : path, file_name));
    }
  } else if (const toml::table* table = node.as_table()) {
    for (const auto& [key, value] : *table) {
      const std::string_view name = key.str();
      if (name == "values" || name == "set" || name == "settings") continue;
      MILLRACE_TRY(CheckNode(value, path + '.' + std::string(name), file_name));
    }
  } else if (const std::optional<std::string> text = node.value<std::string>()) {
    if (const auto why = NotForPage(*text))
      return Invalid(file_name + ':' + std::to_string(node.source().begin.line) + ": " + path + ": " + *why);
  }
  return Status::Ok();
}

}  // namespace

bool IsPlain(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("._+-=").find(c) != std::string_view::npos;
  };
  return !name.empty() && name[0] != '.' && name[0] != '-' && std::all_of(name.begin(), name.end(), plain);
}

std::string NotPlain(const std::string& name) {
  return Quote(name) +
         " is not made of letters, digits, \".\", \"_\", \"+\", \"-\" and \"=\", or begins with \".\" or \"-\"";
}

std::optional<std::string> NotForPage(const std::string& text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (std::any_of(text.begin(), text.end(), is_control)) return Quote(text) + " has a control character or newline";
  for (const char* mark : {"<!--", "-->"}) {
    if (text.find(mark) != std::string::npos) return Quote(text) + " has " + mark + ", which is of the page's marks";
  }
  return std::nullopt;
}

Status CheckTexts(const toml::table& file, const std::string& file_name) {
  for (const char* key : {"name", "paper", "schedulers", "sweep", "tables", "claims"}) {
    if (const toml::node* node = file.get(key)) MILLRACE_TRY(CheckNode(*node, key, file_name));
  }
  // The names of classes are parts of names of jobs and of keys.
  const toml::array* classes = file["jobs"].as_array();
  for (std::size_t i = 0; classes != nullptr && i < classes->size(); ++i) {
    const toml::table* one = classes->get(i)->as_table();
    const toml::node* name = one != nullptr ? one->get("name") : nullptr;
    const auto text = name != nullptr ? name->value_exact<std::string>() : std::nullopt;
    if (text && !IsPlain(*text))
      return Invalid(file_name + ':' + std::to_string(name->source().begin.line) + ": jobs[" + std::to_string(i) +
                     "].name: " + NotPlain(*text));
  }
  return Status::Ok();
}

bool IsInRange(double number) { return std::isfinite(number) && std::abs(number) <= kMostNumber; }

std::optional<std::string> WordOf(const toml::node& node) {
  const std::optional<std::string> text = TomlValueText(node);
  return node.is_boolean() ? std::nullopt : text;
}

void Unknown(TomlSection& section, std::string_view key, const std::string& what, const std::string& name,
             const std::vector<std::string>& known) {
  const std::optional<std::string> near = Nearest(name, known);
  section.Fail(key, "there is no " + what + ' ' + Quote(name) + (near ? "; did you mean " + *near + "?" : ""));
}

}  // namespace millrace::sim::experiments
