// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/settings_keys.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "schedulers/policies/catalog.h"
#include "schedulers/settings/key_list.h"

namespace millrace::sched {
namespace {

// Makes a Field of each key that a section's struct declares.
class FieldKeys final : public KeyList {
 public:
  explicit FieldKeys(std::vector<SettingKey>* keys) : keys_(*keys) {}

  void Real(std::string name, double* field, NumberRange range, std::string one_line) override {
    keys_.push_back(
        {std::move(name), std::move(one_line), RealField(field, range.least, range.most, range.open_below)});
  }
  void Count(std::string name, std::uint32_t* field, NumberRange range, std::string one_line) override {
    keys_.push_back({std::move(name), std::move(one_line), IntegerField(field, Whole(range.least), Whole(range.most))});
  }
  void Count(std::string name, std::optional<std::uint32_t>* field, NumberRange range, std::string one_line) override {
    keys_.push_back({std::move(name), std::move(one_line), IntegerField(field, Whole(range.least), Whole(range.most))});
  }
  void Flag(std::string name, bool* field, std::string one_line) override {
    keys_.push_back({std::move(name), std::move(one_line), BoolField(field)});
  }
  void Flag(std::string name, std::optional<bool>* field, std::string one_line) override {
    keys_.push_back({std::move(name), std::move(one_line), BoolField(field)});
  }
  void Duration(std::string name, Micros* field, Micros most, std::string one_line) override {
    keys_.push_back({std::move(name), std::move(one_line), DurationField(field, 0, most)});
  }
  void Duration(std::string name, std::optional<Micros>* field, Micros most, std::string one_line) override {
    keys_.push_back({std::move(name), std::move(one_line), DurationField(field, 0, most)});
  }
  void Bandwidth(std::string name, double* field, std::string one_line) override {
    keys_.push_back({std::move(name), std::move(one_line), BandwidthField(field, 1)});
  }
  void Text(std::string name, std::string* field, std::string one_line) override {
    keys_.push_back({std::move(name), std::move(one_line), TextField(field)});
  }

 private:
  void AddChoice(std::string name, std::vector<std::string> names, std::function<void(std::size_t)> choose,
                 std::function<std::optional<std::size_t>()> chosen, std::string one_line) override {
    keys_.push_back(
        {std::move(name), std::move(one_line), ChoiceField(std::move(names), std::move(choose), std::move(chosen))});
  }
  static std::uint32_t Whole(double bound) { return static_cast<std::uint32_t>(bound); }

  std::vector<SettingKey>& keys_;
};

}  // namespace

std::optional<std::string> SettingKey::TomlValue() const {
  const bool quoted = field.type == OptionType::kText || field.type == OptionType::kDuration;
  auto text = field.get();
  return text && quoted ? TomlText(*text) : text;
}

std::string TomlText(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      (quoted += "\\u00") += {kHex[byte >> 4], kHex[byte & 15]};
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

SettingSection KeysOf(const Section& section, Settings* settings, const std::string& name) {
  SettingSection keys{std::string(section.name), std::string(section.one_line), {}};
  if (section.named) (keys.name += '.') += name;
  FieldKeys list(&keys.keys);
  section.declare(settings, name, list);
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
