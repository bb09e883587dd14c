// The TOML reader of OptionSet; the only place that includes toml++ (linked as a library).
#include <toml++/toml.h>

#include <charconv>

#include "base/file.h"
#include "base/options.h"
#include "base/text.h"

namespace millrace {
namespace {

std::string Place(const std::string& path, const toml::source_region& region) {
  return path + ":" + std::to_string(region.begin.line);
}

// The value as --set would take it; none for what no option can hold (lists, dates).
std::optional<std::string> ScalarText(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* integer = node.as_integer()) return std::to_string(integer->get());
  if (const auto* real = node.as_floating_point()) {
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, real->get()).ptr);
  }
  return std::nullopt;
}

Status SetAll(OptionSet& options, const toml::table& table, const std::string& prefix, const std::string& path) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const auto* inner = node.as_table()) {
      MILLRACE_TRY(SetAll(options, *inner, name + ".", path));
      continue;
    }
    const auto text = ScalarText(node);
    if (!text) {
      return Invalid(Place(path, node.source()) + ": option " + Quote(name) +
                     ": a list or a date; give one text or number");
    }
    MILLRACE_TRY(options.Set(name, *text).Within(Place(path, node.source())));
  }
  return Status::Ok();
}

}  // namespace

Status OptionSet::LoadToml(const std::string& path) {
  MILLRACE_ASSIGN(const std::string text, ReadWholeFile(path));
  try {
    const toml::table table = toml::parse(text, path);
    return SetAll(*this, table, "", path);
  } catch (const toml::parse_error& error) {
    return Invalid(Place(path, error.source()) + ": not TOML: " + std::string(error.description()));
  }
}

}  // namespace millrace
