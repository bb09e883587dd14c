// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/settings_file.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "base/toml_file.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/settings_keys.h"

namespace millrace::sched {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

class Reader {
 public:
  // If `of_a_file`, unknown names are errors, and pools inherit from [pool_defaults]. A journal has neither rule.
  Reader(std::string file_name, bool of_a_file) : file_name_(std::move(file_name)), of_a_file_(of_a_file) {}

  Result<Settings> Read(std::string_view text) {
    MILLRACE_ASSIGN(const std::vector<TomlEntry> entries, ReadToml(text, file_name_));
    // [pool_defaults] is read before the pools that inherit from it.
    for (const bool named : {false, true}) {
      for (const TomlEntry& entry : entries) {
        const Section* section = Find(entry.path.front());
        if (section != nullptr && section->named == named) MILLRACE_TRY(ReadEntry(*section, entry));
      }
    }
    for (const TomlEntry& entry : entries) {
      const std::string& name = entry.path.front();
      if (Find(name) == nullptr) MILLRACE_TRY(Unknown(entry, Quote(name), name, SectionNames()));
    }
    MILLRACE_TRY(Check());
    return std::move(settings_);
  }

 private:
  Status Fail(std::size_t line, const std::string& why) const {
    return Invalid(file_name_ + ":" + std::to_string(line) + ": " + why);
  }
  // Returns a failure at the line of the key if the file has it, else at the line of its section.
  Status FailAt(const std::string& section, const std::string& key, const std::string& why) const {
    const auto at = lines_.find(section + "." + key);
    const auto above = lines_.find(section);
    const std::size_t line = at != lines_.end() ? at->second : above != lines_.end() ? above->second : 1;
    return Fail(line, section + "." + key + ": " + why);
  }

  static const Section* Find(const std::string& name) {
    const auto sections = ListSections();
    const auto at = std::find_if(sections.begin(), sections.end(), [&](const auto& s) { return s.name == name; });
    return at == sections.end() ? nullptr : &*at;
  }

  // Reads one entry, which is [pools], [fair] or [pools.NAME], or a key of one of the latter two.
  Status ReadEntry(const Section& section, const TomlEntry& entry) {
    const std::size_t depth = section.named ? 2 : 1;
    std::string header(section.name), name;
    if (entry.path.size() < depth) {
      if (entry.kind == TomlEntry::Kind::kTable) return Status::Ok();
      return Fail(entry.line, header + " is not a section; write [" + header + ".NAME]");
    }
    if (section.named) name = entry.path[1], header += "." + name;
    if (entry.path.size() > depth) return ReadKey(KeysOf(section, &settings_, name), entry, entry.path[depth]);
    if (entry.kind != TomlEntry::Kind::kTable) {
      return Fail(entry.line, header + " is not a section; write [" + header + "]");
    }
    lines_[header] = entry.line;
    if (section.named) section.add(&settings_, name, of_a_file_);
    return Status::Ok();
  }

  Status ReadKey(const SettingSection& section, const TomlEntry& entry, const std::string& name) {
    const std::string whole = section.name + "." + name;
    const auto key =
        std::find_if(section.keys.begin(), section.keys.end(), [&](const auto& k) { return k.name == name; });
    if (key == section.keys.end()) {
      std::vector<std::string> names;
      for (const SettingKey& known : section.keys) names.push_back(known.name);
      return Unknown(entry, whole, name, names);
    }
    lines_[whole] = entry.line;
    const Status set = entry.kind == TomlEntry::Kind::kValue
                           ? key->field.set(entry.text)
                           : Invalid("a list, a date or a section; give one text or number");
    return set.ok() ? set : Fail(entry.line, whole + ": " + set.message());
  }

  Status Unknown(const TomlEntry& entry, const std::string& what, const std::string& name,
                 const std::vector<std::string>& known) const {
    if (!of_a_file_) return Status::Ok();
    const auto nearest = Nearest(name, known);
    return Fail(entry.line,
                what + ": no such setting; " +
                    (nearest ? "did you mean " + *nearest + "?" : "docs/schedulers/scheduler-settings.md lists them"));
  }

  // Sections with names of their own come first: if two are equally near to a wrong word, the first is suggested.
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
  std::map<std::string, std::size_t> lines_;  // the lines of sections and keys
};

// Returns the name as a TOML key, in quotes unless it may stand bare.
std::string KeyText(std::string_view name) {
  constexpr std::string_view kBare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  if (!name.empty() && name.find_first_not_of(kBare) == std::string_view::npos) return std::string(name);
  return TomlText(name);
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

Result<Settings> ParseSettings(std::string_view text, const std::string& file_name) {
  if (text.size() > kMostBytes) return Invalid(file_name + ":1: a scheduler file has at most 1 MiB");
  return Reader(file_name, true).Read(text);
}

Result<Settings> LoadSettings(const std::string& path) {
  MILLRACE_ASSIGN(const std::string text, ReadWholeFile(path));
  return ParseSettings(text, path);
}

Result<Settings> ReadSettings(std::string_view text) { return Reader("settings", false).Read(text); }

}  // namespace millrace::sched
