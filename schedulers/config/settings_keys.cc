#include "schedulers/config/settings_keys.h"

#include "schedulers/config/key_table.h"
#include "schedulers/policies/catalog.h"

namespace millrace::sched {

std::optional<std::string> SettingKey::TomlValue() const {
  const bool quoted = field.type == OptionType::kText || field.type == OptionType::kDuration;
  auto text = field.get();
  return text && quoted ? '"' + *text + '"' : text;
}

SettingSection KeysOf(const Section& section, Settings* settings, const std::string& name) {
  SettingSection keys{std::string(section.name), std::string(section.one_line), {}};
  if (section.named) (keys.name += '.') += name;
  KeyTable table(&keys.keys);
  section.declare(settings, name, table);
  return keys;
}

std::vector<SettingSection> FixedSections(Settings* settings) {
  std::vector<SettingSection> sections;
  for (const Section& section : ListSections()) {
    if (!section.named) sections.push_back(KeysOf(section, settings));
  }
  return sections;
}

}  // namespace millrace::sched
