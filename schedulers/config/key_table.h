// KeyTable: the keys that a section's struct declares (schedulers/settings/key_list.h), as fields that are read from
// text and written to it (base/field.h). Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/config/settings_keys.h"
#include "schedulers/settings/key_list.h"

namespace millrace::sched {

class KeyTable : public KeyList {
 public:
  // Appends to *keys. Requires: `keys` outlives the table.
  explicit KeyTable(std::vector<SettingKey>* keys) : keys_(keys) {}

  void Real(std::string name, double* field, NumberRange range, std::string one_line) override;
  void Count(std::string name, std::uint32_t* field, NumberRange range, std::string one_line) override;
  void Count(std::string name, std::optional<std::uint32_t>* field, NumberRange range, std::string one_line) override;
  void Flag(std::string name, bool* field, std::string one_line) override;
  void Flag(std::string name, std::optional<bool>* field, std::string one_line) override;
  void Duration(std::string name, Micros* field, Micros most, std::string one_line) override;
  void Duration(std::string name, std::optional<Micros>* field, Micros most, std::string one_line) override;
  void Bandwidth(std::string name, double* field, std::string one_line) override;

 private:
  void AddChoice(std::string name, std::vector<std::string> names, std::function<void(std::size_t)> choose,
                 std::function<std::optional<std::size_t>()> chosen, std::string one_line) override;
  void Add(std::string name, Field field, std::string one_line) {
    keys_->push_back({std::move(name), std::move(one_line), std::move(field)});
  }

  std::vector<SettingKey>* keys_;
};

}  // namespace millrace::sched
