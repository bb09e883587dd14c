// SPDX-License-Identifier: Apache-2.0
#include "lab/advise/settings_change.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "schedulers/policies/settings_file.h"

namespace millrace::compare {
namespace {

struct Section {
  std::string head;  // "[fair]"
  std::vector<std::string> lines;
};

std::vector<Section> SectionsOf(const std::string& text) {
  std::vector<Section> sections;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with('[')) {
      sections.push_back({std::move(line), {}});
    } else if (!sections.empty()) {
      sections.back().lines.push_back(std::move(line));
    }
  }
  return sections;
}

const Section* Find(const std::vector<Section>& sections, const std::string& head) {
  const auto at = std::ranges::find(sections, head, &Section::head);
  return at == sections.end() ? nullptr : &*at;
}

bool Has(const Section* section, const std::string& line) {
  return section != nullptr && std::ranges::find(section->lines, line) != section->lines.end();
}

bool HasKeyOf(const Section* section, const std::string& line) {
  const std::string key = line.substr(0, line.find(" = ") + 3);
  return section != nullptr &&
         std::ranges::any_of(section->lines, [&](const std::string& l) { return l.starts_with(key); });
}

}  // namespace

std::string SettingsChange(const sched::Settings& before, const sched::Settings& after) {
  const std::vector<Section> old = SectionsOf(sched::FormatSettings(before));
  const std::vector<Section> now = SectionsOf(sched::FormatSettings(after));
  std::string text;
  for (const Section& section : now) {
    const Section* const was = Find(old, section.head);
    std::string lines;
    for (const std::string& line : section.lines) {
      if (!Has(was, line)) lines += line + "\n";
    }
    for (const std::string& line : was != nullptr ? was->lines : std::vector<std::string>{}) {
      if (!HasKeyOf(&section, line)) lines += "# without " + line + "\n";
    }
    if (!lines.empty() || was == nullptr) text += section.head + "\n" + lines;
  }
  for (const Section& section : old) {
    if (Find(now, section.head) == nullptr) text += "# without " + section.head + "\n";
  }
  return text;
}

}  // namespace millrace::compare
