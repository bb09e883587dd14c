// SPDX-License-Identifier: Apache-2.0
// TomlSection: reads one table of a workload file, key by key, into checked values. lab/study reads a
// paper's file with it, too.
//
// The first error is kept, as `FILE:LINE: SECTION.KEY: WHY`; fields read after it keep their defaults. Finish() refuses
// keys that were never read. Thread rule: one thread.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/field.h"
#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/status.h"
#include "lab/workload/distribution.h"

namespace millrace::sim {

// Names that jobs take in turns, or draw.
struct NameList {
  std::vector<std::string> names;  // at least one
  bool drawn = false;
};

class TomlSection {
 public:
  enum class Unit : std::uint8_t { kNumber, kBytes, kDuration };  // durations: seconds, or "9s"; read as us

  // Requires: the arguments outlive the section.
  TomlSection(const toml::table& table, std::string name, const std::string& file_name, Status* failure);

  [[nodiscard]] bool Has(std::string_view key) const { return table_.contains(key); }
  // These calls read the key into *field, which keeps its value if the key is absent. Ranges are inclusive.
  void Real(std::string_view key, double* field, double least, double most);
  void Integer(std::string_view key, std::uint32_t* field, std::uint32_t least, std::uint32_t most);
  void Seed(std::string_view key, std::uint64_t* field);
  void Bytes(std::string_view key, std::uint64_t* field, std::uint64_t least);
  // Reads a rate in bytes a second, written like a number of bytes; at least 0.
  void Rate(std::string_view key, double* field);
  void Duration(std::string_view key, Micros* field);
  void Durations(std::string_view key, std::vector<Micros>* field);
  void Bool(std::string_view key, bool* field);
  void Text(std::string_view key, std::string* field);
  // Reads one text, or a list of at least one text.
  void Texts(std::string_view key, std::vector<std::string>* field);
  // Reads the same, of which jobs take turns, or { choice = [...] }, of which each job draws one.
  void Names(std::string_view key, NameList* field);
  // Reads a list of lists of node numbers.
  void Nodes(std::string_view key, std::vector<std::vector<NodeId>>* field);
  // Read a number with its unit, or one of
  //   { uniform = [least, most] }, { exponential = mean }, { normal = [mean, deviation] }, { gamma = [mean, deviation]
  //   }, { lognormal = [median, sigma] }, { zipf = [exponent, least, most] }, { choice = [...] }
  // A list of parameters may also be a table with their names: { gamma = { mean = 30, deviation = 40 } }.
  void Draws(std::string_view key, Unit unit, Distribution* field);
  void Draws(std::string_view key, Unit unit, std::optional<Distribution>* field);

  // Returns the node of this key, for values that no other call reads; null if it is absent.
  [[nodiscard]] const toml::node* Node(std::string_view key) { return Ask(key); }
  [[nodiscard]] const toml::table& table() const { return table_; }

  // Returns the value if it is a text that begins like a name, with a letter or "_". (A size begins with a digit.)
  [[nodiscard]] std::optional<std::string> Name(std::string_view key);
  // Reads a table whose values are texts, numbers and booleans, as pairs of a name and the text of its value.
  void Pairs(std::string_view key, std::vector<std::pair<std::string, std::string>>* field);

  // Returns the tables within the table of this key, with their names.
  [[nodiscard]] std::vector<std::pair<std::string, TomlSection>> Named(std::string_view key);
  // Return the table of this key, or the tables of [[key]].
  [[nodiscard]] std::optional<TomlSection> Table(std::string_view key);
  [[nodiscard]] std::vector<TomlSection> Tables(std::string_view key);

  void Fail(std::string_view key, const std::string& why);
  void Finish();
  // Returns "FILE:LINE: SECTION" for the start of the section, or "FILE:LINE: SECTION.KEY" for the key.
  [[nodiscard]] std::string Where(std::string_view key = {}) const;
  [[nodiscard]] bool ok() const { return failure_->ok(); }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  // Marks the key as read. Returns null if it is absent, or if there was an error before.
  const toml::node* Ask(std::string_view key);
  void Set(std::string_view key, const Field& field);
  [[nodiscard]] static std::optional<std::vector<std::string>> TextsOf(const toml::node& node);
  [[nodiscard]] static std::optional<double> Value(const toml::node& node, Unit unit, std::string* why);
  // Returns one value or a list of values, none below 0.
  [[nodiscard]] static std::optional<std::vector<double>> Values(const toml::node& node, Unit unit, unsigned plain,
                                                                 std::string* why);
  [[nodiscard]] static std::optional<Distribution> ReadDraws(const toml::node& node, Unit unit, std::string* why);

  const toml::table& table_;
  std::string name_;
  const std::string& file_name_;
  Status* failure_;
  std::vector<std::string> asked_;
};

}  // namespace millrace::sim
