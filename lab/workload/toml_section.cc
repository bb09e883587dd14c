// SPDX-License-Identifier: Apache-2.0
#include "lab/workload/toml_section.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/toml_value.h"
#include "base/units.h"

namespace millrace::sim {
namespace {

constexpr std::int64_t kMost =
    9'000'000'000'000'000;           // the largest number in a file; a double holds all whole numbers up to it
constexpr double kMostOfZipf = 1e7;  // the most values, since each has a weight in memory

}  // namespace

TomlSection::TomlSection(const toml::table& table, std::string name, const std::string& file_name, Status* failure)
    : table_(table), name_(std::move(name)), file_name_(file_name), failure_(failure) {}

const toml::node* TomlSection::Ask(std::string_view key) {
  asked_.emplace_back(key);
  return failure_->ok() ? table_.get(key) : nullptr;
}

std::string TomlSection::Where(std::string_view key) const {
  const toml::node* node = table_.get(key);
  const auto line = node != nullptr ? node->source().begin.line : table_.source().begin.line;
  const std::string path = name_.empty() ? std::string(key) : name_ + (key.empty() ? "" : ".") + std::string(key);
  return file_name_ + ":" + std::to_string(line) + ": " + path;
}

void TomlSection::Fail(std::string_view key, const std::string& why) {
  if (failure_->ok()) *failure_ = Invalid(Where(key) + ": " + why);
}

void TomlSection::Finish() {
  for (const auto& [key, value] : table_) {
    if (!failure_->ok()) return;
    const std::string name(key.str());
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    const auto nearest = Nearest(name, asked_);
    Fail(name, "there is no such key" + (nearest ? "; did you mean " + *nearest + "?" : std::string()));
  }
}

std::optional<double> TomlSection::Value(const toml::node& node, Unit unit, std::string* why) {
  std::optional<double> value;
  if (const auto* text = node.as_string(); text != nullptr && unit == Unit::kBytes) {
    const Result<std::uint64_t> bytes = ParseBytes(text->get());
    if (bytes.ok()) value = static_cast<double>(*bytes);
  } else if (text != nullptr && unit == Unit::kDuration) {
    const Result<Micros> duration = ParseDuration(text->get());
    if (duration.ok()) value = static_cast<double>(*duration);
  } else if (node.is_number()) {
    value = *node.value<double>() * (unit == Unit::kDuration ? kMicrosPerSecond : 1);
  }
  if (value && std::isfinite(*value) && std::abs(*value) <= static_cast<double>(kMost)) return value;
  constexpr std::array<const char*, 3> kWants{"a number", "a size, as 512 or \"64M\"", "a duration, as 9 or \"9s\""};
  *why = std::string("not ") + kWants[static_cast<std::size_t>(unit)];
  return std::nullopt;
}

void TomlSection::Set(std::string_view key, const Field& field) {
  const toml::node* node = Ask(key);
  if (node == nullptr) return;
  const auto text = TomlValueText(*node);
  const Status set = text ? field.set(*text) : Invalid("a list, a date or a table; give one text or number");
  if (!set.ok()) Fail(key, set.message());
}

void TomlSection::Real(std::string_view key, double* field, double least, double most) {
  Set(key, RealField(field, least, most));
}

void TomlSection::Integer(std::string_view key, std::uint32_t* field, std::uint32_t least, std::uint32_t most) {
  Set(key, IntegerField(field, least, most));
}

void TomlSection::Seed(std::string_view key, std::uint64_t* field) { Set(key, IntegerField(field, 0, kMost)); }

void TomlSection::Bytes(std::string_view key, std::uint64_t* field, std::uint64_t least) {
  Set(key, BytesField(field, least, kMost));
}

void TomlSection::Rate(std::string_view key, double* field) { Set(key, BandwidthField(field, 0)); }

void TomlSection::Duration(std::string_view key, Micros* field) { Set(key, DurationField(field, 0, kMost)); }

void TomlSection::Durations(std::string_view key, std::vector<Micros>* field) {
  const toml::node* node = Ask(key);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr) return Fail(key, "not a list of durations");
  for (const toml::node& element : *array) {
    std::string why;
    const auto value = Value(element, Unit::kDuration, &why);
    if (!value || *value < 0) return Fail(key, value ? "a duration is below 0" : why);
    field->push_back(static_cast<Micros>(*value));
  }
}

void TomlSection::Bool(std::string_view key, bool* field) { Set(key, BoolField(field)); }

void TomlSection::Text(std::string_view key, std::string* field) { Set(key, TextField(field)); }

std::optional<std::vector<std::string>> TomlSection::TextsOf(const toml::node& node) {
  std::vector<std::string> texts;
  const toml::array* array = node.as_array();
  for (std::size_t i = 0; i < (array != nullptr ? array->size() : 1); ++i) {
    const auto text = (array != nullptr ? *array->get(i) : node).value_exact<std::string>();
    if (!text) return std::nullopt;
    texts.push_back(*text);
  }
  return texts.empty() ? std::nullopt : std::optional(std::move(texts));
}

void TomlSection::Texts(std::string_view key, std::vector<std::string>* field) {
  const toml::node* node = Ask(key);
  if (node == nullptr) return;
  auto texts = TextsOf(*node);
  if (!texts) return Fail(key, "not a text or a list of texts");
  *field = std::move(*texts);
}

void TomlSection::Names(std::string_view key, NameList* field) {
  const toml::node* node = Ask(key);
  if (node == nullptr) return;
  const toml::table* table = node->as_table();
  const toml::node* choice = table != nullptr && table->size() == 1 ? table->get("choice") : nullptr;
  auto names = table == nullptr ? TextsOf(*node) : choice != nullptr ? TextsOf(*choice) : std::nullopt;
  if (!names) return Fail(key, "not a text, a list of texts to take turns, or { choice = [...] } to draw one");
  *field = {std::move(*names), table != nullptr};
}

void TomlSection::Nodes(std::string_view key, std::vector<std::vector<NodeId>>* field) {
  const toml::node* node = Ask(key);
  if (node == nullptr) return;
  const toml::array* lists = node->as_array();
  bool ok = lists != nullptr;
  for (std::size_t i = 0; ok && i < lists->size(); ++i) {
    const toml::array* numbers = lists->get(i)->as_array();
    ok = numbers != nullptr;
    std::vector<NodeId>& read = field->emplace_back();
    for (std::size_t k = 0; ok && k < numbers->size(); ++k) {
      const std::optional<std::int64_t> number = numbers->get(k)->value_exact<std::int64_t>();
      ok = number && *number >= 0 && *number <= std::numeric_limits<std::uint32_t>::max();
      if (ok) read.push_back(NodeId{static_cast<std::uint32_t>(*number)});
    }
  }
  if (!ok) Fail(key, "not a list with the numbers of nodes for each map, as [[0, 2], [1, 2]]");
}

std::optional<std::vector<double>> TomlSection::Values(const toml::node& node, Unit unit, unsigned plain,
                                                       std::string* why) {
  std::vector<double> values;
  const toml::array* array = node.as_array();
  for (std::size_t i = 0; i < (array != nullptr ? array->size() : 1); ++i) {
    const Unit of_value = (plain >> std::min<std::size_t>(i, 31) & 1) != 0 ? Unit::kNumber : unit;
    const auto value = Value(array != nullptr ? *array->get(i) : node, of_value, why);
    if (!value) return std::nullopt;
    values.push_back(*value);
    if (*value >= 0) continue;
    *why = "below 0";
    return std::nullopt;
  }
  return values;
}

std::optional<Distribution> TomlSection::ReadDraws(const toml::node& node, Unit unit, std::string* why) {
  using Kind = Distribution::Kind;
  struct Form {
    std::string_view name;
    Kind kind;
    std::array<std::string_view, 3> parameters;  // the last ones are empty; of a choice all
    unsigned plain;                              // a bit for each value that has no unit
  };
  constexpr std::size_t kMany = 1'000'000;
  constexpr Form kConstant{"", Kind::kConstant, {"value"}, 0};
  constexpr Form kForms[] = {{"uniform", Kind::kUniform, {"least", "most"}, 0},
                             {"exponential", Kind::kExponential, {"mean"}, 0},
                             {"normal", Kind::kNormal, {"mean", "deviation"}, 0},
                             {"gamma", Kind::kGamma, {"mean", "deviation"}, 0},
                             {"lognormal", Kind::kLogNormal, {"median", "sigma"}, 2},
                             {"zipf", Kind::kZipf, {"exponent", "least", "most"}, 1},
                             {"choice", Kind::kChoice, {}, 0}};
  const toml::table* table = node.as_table();
  const Form* form = table == nullptr ? &kConstant : nullptr;
  const toml::node* content = &node;
  for (const Form& one : kForms) {
    if (table == nullptr || table->size() != 1 || !table->contains(one.name)) continue;
    form = &one;
    content = table->get(one.name);
  }
  *why = "not a distribution: uniform, exponential, normal, gamma, lognormal, zipf or choice, with its numbers";
  if (form == nullptr) return std::nullopt;
  const std::string wrong =
      "a distribution with the wrong numbers: uniform = [least, most], exponential = mean, normal = [mean, "
      "deviation], gamma = [mean, deviation], lognormal = [median, sigma], zipf = [exponent, least of 1 or more, "
      "most], "
      "choice = [...]; or with their names, as gamma = { mean = 30, deviation = 40 }";
  const auto count = static_cast<std::size_t>(
      std::count_if(form->parameters.begin(), form->parameters.end(), [](auto name) { return !name.empty(); }));
  toml::array listed;
  if (const toml::table* named = content->as_table(); named != nullptr && form != &kConstant) {
    *why = wrong;
    if (named->size() != count || count == 0) return std::nullopt;
    for (std::size_t i = 0; i < count; ++i) {
      const toml::node* value = named->get(form->parameters[i]);
      if (value == nullptr) return std::nullopt;
      listed.push_back(*value);
    }
    content = &listed;
  }
  auto values = Values(*content, unit, form->plain, why);
  if (!values) return std::nullopt;
  *why = wrong;
  const std::size_t most = form->kind == Kind::kChoice ? kMany : count;
  if (values->size() < std::max<std::size_t>(count, 1) || values->size() > most) return std::nullopt;
  if (form->kind == Kind::kChoice) return Distribution{form->kind, 0, 0, 0, std::move(*values)};
  values->resize(3);
  const auto& [a, b, c] = std::tie((*values)[0], (*values)[1], (*values)[2]);
  if (form->kind == Kind::kUniform && a > b) return std::nullopt;
  if (form->kind != Kind::kZipf) return Distribution{form->kind, a, b, 0, {}};
  if (b < 1 || c < b || c - b > kMostOfZipf) return std::nullopt;
  return Distribution::Zipf(a, b, c);
}

void TomlSection::Draws(std::string_view key, Unit unit, std::optional<Distribution>* field) {
  const toml::node* node = Ask(key);
  if (node == nullptr) return;
  std::string why;
  std::optional<Distribution> read = ReadDraws(*node, unit, &why);
  if (!read) return Fail(key, why);
  *field = std::move(read);
}

void TomlSection::Draws(std::string_view key, Unit unit, Distribution* field) {
  std::optional<Distribution> read;
  Draws(key, unit, &read);
  if (read) *field = std::move(*read);
}

std::optional<std::string> TomlSection::Name(std::string_view key) {
  const toml::node* node = Ask(key);
  const auto text = node != nullptr ? node->value_exact<std::string>() : std::nullopt;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return text && !text->empty() && letter(text->front()) ? text : std::nullopt;
}

void TomlSection::Pairs(std::string_view key, std::vector<std::pair<std::string, std::string>>* field) {
  const toml::node* node = Ask(key);
  if (node == nullptr) return;
  if (!node->is_table()) return Fail(key, "not a table, as { \"NAME\" = \"VALUE\" }");
  for (const auto& [name, value] : *node->as_table()) {
    const auto text = TomlValueText(value);
    if (!text) return Fail(key, Quote(name.str()) + " is a list, a date or a table; give one text or number");
    field->emplace_back(name.str(), *text);
  }
}

std::vector<std::pair<std::string, TomlSection>> TomlSection::Named(std::string_view key) {
  std::vector<std::pair<std::string, TomlSection>> sections;
  const toml::node* node = Ask(key);
  if (node == nullptr) return sections;
  if (!node->is_table()) {
    Fail(key, "not a table of tables, as [" + std::string(key) + ".NAME] makes one");
    return sections;
  }
  for (const auto& [name, value] : *node->as_table()) {
    const std::string path = (name_.empty() ? "" : name_ + ".") + std::string(key) + "." + std::string(name.str());
    if (!value.is_table()) {
      Fail(key, Quote(name.str()) + " is not a table; [" + path + "] makes one");
      return sections;
    }
    sections.emplace_back(std::string(name.str()), TomlSection(*value.as_table(), path, file_name_, failure_));
  }
  return sections;
}

std::optional<TomlSection> TomlSection::Table(std::string_view key) {
  const toml::node* node = Ask(key);
  if (node == nullptr) return std::nullopt;
  const std::string path = name_.empty() ? std::string(key) : name_ + "." + std::string(key);
  if (node->is_table()) return TomlSection(*node->as_table(), path, file_name_, failure_);
  Fail(key, "not a table");
  return std::nullopt;
}

std::vector<TomlSection> TomlSection::Tables(std::string_view key) {
  std::vector<TomlSection> sections;
  const toml::node* node = Ask(key);
  if (node == nullptr) return sections;
  const toml::array* array = node->as_array();
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    if (!array->get(i)->is_table()) break;
    const std::string path = (name_.empty() ? "" : name_ + ".") + std::string(key) + "[" + std::to_string(i) + "]";
    sections.emplace_back(*array->get(i)->as_table(), path, file_name_, failure_);
  }
  if (array == nullptr || sections.size() != array->size())
    Fail(key, "not a list of tables, as [[" + std::string(key) + "]] makes one");
  return sections;
}

}  // namespace millrace::sim
