// Reading settings: the only place of the schedulers that includes toml++.
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "schedulers/config/settings_file.h"
#include "schedulers/config/settings_keys.h"
#include "schedulers/config/settings_text.h"
#include "schedulers/policies/catalog.h"

namespace millrace::sched {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

// The value without quotes; none for what no key takes (lists, dates, tables).
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

class Reader {
 public:
  // Of a file: strict, and pools inherit. Of the journal: neither.
  Reader(std::string file_name, bool of_a_file) : file_name_(std::move(file_name)), of_a_file_(of_a_file) {}

  Result<Settings> Read(std::string_view text) {
    try {
      const toml::table table = toml::parse(text, file_name_);
      MILLRACE_TRY(ReadAll(table));
    } catch (const toml::parse_error& error) {
      return Fail(error.source().begin.line, "not TOML: " + std::string(error.description()));
    }
    MILLRACE_TRY(Check());
    return std::move(settings_);
  }

 private:
  Status Fail(std::size_t line, const std::string& why) const {
    return Invalid(file_name_ + ":" + std::to_string(line) + ": " + why);
  }
  // At the key if the file has it, else at its section.
  Status FailAt(const std::string& section, const std::string& key, const std::string& why) const {
    const auto at = lines_.find(section + "." + key);
    const auto above = lines_.find(section);
    const std::size_t line = at != lines_.end() ? at->second : above != lines_.end() ? above->second : 1;
    return Fail(line, section + "." + key + ": " + why);
  }

  Status ReadAll(const toml::table& table) {
    // [pool_defaults] before the pools that inherit from it.
    for (const Section& section : ListSections()) {
      const toml::node* node = section.named ? nullptr : table.get(section.name);
      if (node != nullptr) MILLRACE_TRY(ReadSection(KeysOf(section, &settings_), *node));
    }
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      const auto sections = ListSections();
      const auto section =
          std::find_if(sections.begin(), sections.end(), [&](const auto& s) { return s.name == name; });
      if (section == sections.end()) {
        MILLRACE_TRY(Unknown(node, Quote(name), name, SectionNames()));
      } else if (section->named) {
        MILLRACE_TRY(ReadNamed(*section, node));
      }
    }
    return Status::Ok();
  }

  Status ReadNamed(const Section& section, const toml::node& node) {
    const toml::table* table = node.as_table();
    const std::string group(section.name);
    if (table == nullptr)
      return Fail(node.source().begin.line, group + " is not a section; write [" + group + ".NAME]");
    for (const auto& [key, inner] : *table) {
      const std::string name(key.str());
      section.add(&settings_, name, of_a_file_);
      MILLRACE_TRY(ReadSection(KeysOf(section, &settings_, name), inner));
    }
    return Status::Ok();
  }

  Status ReadSection(const SettingSection& section, const toml::node& node) {
    const toml::table* table = node.as_table();
    const std::size_t line = node.source().begin.line;
    if (table == nullptr) return Fail(line, section.name + " is not a section; write [" + section.name + "]");
    lines_[section.name] = line;
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      const auto found =
          std::find_if(section.keys.begin(), section.keys.end(), [&](const auto& k) { return k.name == name; });
      if (found == section.keys.end()) {
        std::vector<std::string> names;
        for (const SettingKey& known : section.keys) names.push_back(known.name);
        MILLRACE_TRY(Unknown(value, section.name + "." + name, name, names));
        continue;
      }
      const std::size_t at = value.source().begin.line;
      lines_[section.name + "." + name] = at;
      const std::optional<std::string> text = ScalarText(value);
      const Status set = text ? found->set(*text) : Invalid("a list, a date or a section; give one text or number");
      if (!set.ok()) return Fail(at, section.name + "." + name + ": " + set.message());
    }
    return Status::Ok();
  }

  Status Unknown(const toml::node& node, const std::string& what, const std::string& name,
                 const std::vector<std::string>& known) const {
    if (!of_a_file_) return Status::Ok();
    const auto nearest = Nearest(name, known);
    return Fail(node.source().begin.line,
                what + ": no such setting; " +
                    (nearest ? "did you mean " + *nearest + "?" : "docs/scheduler-settings.md lists them"));
  }

  // Those that have a name each come first: of two that are as near to a wrong word, the first is suggested.
  static std::vector<std::string> SectionNames() {
    std::vector<std::string> names;
    for (const bool named : {true, false}) {
      for (const Section& section : ListSections()) {
        if (section.named == named) names.emplace_back(section.name);
      }
    }
    return names;
  }

  Status Check() const {
    for (const Section& section : ListSections()) {
      if (section.check == nullptr) continue;
      if (const auto wrong = section.check(settings_)) return FailAt(wrong->section, wrong->key, wrong->why);
    }
    return Status::Ok();
  }

  std::string file_name_;
  bool of_a_file_;
  Settings settings_;
  std::map<std::string, std::size_t> lines_;  // of sections and keys
};

}  // namespace

Result<Settings> ParseSettings(std::string_view text, const std::string& file_name) {
  if (text.size() > kMostBytes) return Invalid(file_name + ":1: more than 1 MiB is no scheduler file");
  return Reader(file_name, true).Read(text);
}

Result<Settings> LoadSettings(const std::string& path) {
  MILLRACE_ASSIGN(const std::string text, ReadWholeFile(path));
  return ParseSettings(text, path);
}

Result<Settings> ReadSettings(std::string_view text) { return Reader("settings", false).Read(text); }

}  // namespace millrace::sched
