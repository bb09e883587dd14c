// SPDX-License-Identifier: Apache-2.0
// Checks of the names, texts and numbers of a paper's file, which become marks and cells of a page, names of files and
// words of a command. Private to lab/study. Thread rule: free functions, any thread.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "lab/workload/toml_section.h"

namespace millrace::sim::experiments {

inline constexpr double kMostNumber = 1e12;  // of a figure that a file gives

// Returns whether the name is made of letters, digits and some signs, so that it is one word of a command and one name
// of a file.
[[nodiscard]] bool IsPlain(const std::string& name);
// Returns the reason why IsPlain does not hold.
[[nodiscard]] std::string NotPlain(const std::string& name);

// Returns the reason why a page cannot have the text; none if it can.
[[nodiscard]] std::optional<std::string> NotForPage(const std::string& text);

// Returns the failure, with its line, of the first text of the file that a page cannot have, or of the first class of
// jobs whose name is not plain. The values of a sweep and
// of `set` are for the workload, and `settings` for the scheduler: they are no texts of a page.
[[nodiscard]] Status CheckTexts(const toml::table& file, const std::string& file_name);

[[nodiscard]] bool IsInRange(double number);

// Returns a text, or the text of a number; none for anything else.
[[nodiscard]] std::optional<std::string> WordOf(const toml::node& node);

template <class Value>
struct NamedValue {
  std::string_view name;
  Value value;
};

// Returns the value of this name. Fails the section if there is none.
template <class Value, std::size_t kCount>
Value OneOf(TomlSection& section, std::string_view key, const std::string& text,
            const NamedValue<Value> (&values)[kCount]) {
  std::string names;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (values[i].name == text) return values[i].value;
    names += std::string(i == 0 ? "" : i + 1 < kCount ? ", " : " or ") + std::string(values[i].name);
  }
  section.Fail(key, '"' + text + "\" is not " + names);
  return values[0].value;
}

// Fails the section: there is nothing of this name among those that are known.
void Unknown(TomlSection& section, std::string_view key, const std::string& what, const std::string& name,
             const std::vector<std::string>& known);

}  // namespace millrace::sim::experiments
