// SPDX-License-Identifier: Apache-2.0
#include "lab/tune/knob.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/settings_keys.h"

namespace millrace::tune {
namespace {

constexpr double kEqualFactorsFrom = 10;

struct Known {
  std::string_view word;  // a policy or a part
  std::string_view knob;
};
// Ranges go from "as good as none" to "longer than jobs of a small cluster take".
constexpr Known kKnown[] = {
    {"fair", "fair.order=fair|fifo|sjf|mlq"},
    {"integral", "fair.order=fair|fifo|sjf|mlq"},
    {"preempt", "fair.min_share_timeout=1s:5m"},
    {"preempt", "fair.fair_share_timeout=1s:30m"},
    {"delay", "delay.rack_wait=100ms:60s"},
    {"delay", "delay.datacenter_wait=100ms:60s"},
    {"ccs", "ccs.max_reducers=1:8"},
    {"memory", "memory.half_life=1m:7d"},
    {"memory", "memory.k=0.1:10"},
    {"mlq", "mlq.small_job_maps=1:1000"},
    {"mlq", "mlq.small_weight=0.1:10"},
    {"las", "las.quantum=1s:1h"},
    {"uwfq", "uwfq.grace=0s:60s"},
    {"karma", "karma.alpha=0:1"},
    {"karma", "karma.quantum=1s:1h"},
    {"fresh-static", "fresh.order=submit|johnson"},
    {"fresh-static", "fresh.k=0:16"},
    {"fresh-static", "fresh.tau_progress=0:1"},
    {"fresh-static", "fresh.tau_change=0:1"},
    {"fresh-dynamic", "fresh.order=submit|johnson"},
    {"fresh-dynamic", "fresh.k=0:16"},
    {"lsap", "lsap.batch_window=0s:2s"},
    {"lsap-uniform", "lsap.batch_window=0s:2s"},
    {"lsap-fair", "lsap.batch_window=0s:2s"},
    {"lsap-fair", "lsap.alpha=0.01:100"},
    {"lsap-fair", "lsap.ageing_half_life=1s:1h"},
    {"cp", "cp.objective=mix|paper"},
    {"edf", "edf.exclusive=true|false"},
};

// Returns the field of a key in these settings; nothing if there is none.
std::optional<Field> FieldOf(const std::string& key, sched::Settings* settings) {
  const std::size_t dot = key.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const std::string section = key.substr(0, dot), name = key.substr(dot + 1);
  const std::size_t first = section.find('.');
  for (const sched::Section& one : sched::ListSections()) {
    if (one.name != section.substr(0, first) || one.named != (first != std::string::npos)) continue;
    const sched::SettingSection keys =
        sched::KeysOf(one, settings, one.named ? section.substr(first + 1) : std::string());
    for (const sched::SettingKey& found : keys.keys) {
      if (found.name == name) return found.field;
    }
  }
  return std::nullopt;
}

std::vector<std::string> AllKeys() {
  sched::Settings settings;
  std::vector<std::string> keys;
  for (const sched::SettingSection& section : sched::FixedSections(&settings)) {
    for (const sched::SettingKey& key : section.keys) keys.push_back(section.name + "." + key.name);
  }
  return keys;
}

Result<double> ReadEnd(OptionType type, const std::string& text) {
  if (type == OptionType::kDuration) {
    MILLRACE_ASSIGN(const Micros time, ParseDuration(text));
    return static_cast<double>(time) / kMicrosPerSecond;
  }
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(number)) return Invalid(Quote(text) + " is not a number");
  return number;
}

// Returns the number with two digits that count.
double TwoDigits(double value) {
  if (value == 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 1);
  return std::round(value / unit) * unit;
}

std::string Written(OptionType type, double value) {
  if (type == OptionType::kInteger) return Formatted("%.0f", value);
  return Formatted("%.12g", value) + (type == OptionType::kDuration ? "s" : "");
}

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Status ReadRange(const std::string& text, const Field& field, Knob* knob) {
  const std::vector<std::string> ends = Split(text, ':');
  const bool ordered =
      knob->type == OptionType::kReal || knob->type == OptionType::kInteger || knob->type == OptionType::kDuration;
  if (!ordered) return Invalid("it has values, not a range: name some, as in A|B");
  if (ends.size() != 2) return Invalid("it takes a range LOW:HIGH, or values A|B|C");
  for (const std::string& end : ends) MILLRACE_TRY(field.set(end));
  MILLRACE_ASSIGN(knob->low, ReadEnd(knob->type, ends[0]));
  MILLRACE_ASSIGN(knob->high, ReadEnd(knob->type, ends[1]));
  if (knob->low >= knob->high) return Invalid(ends[0] + " is not below " + ends[1]);
  return Status::Ok();
}

}  // namespace

Result<Knob> ParseKnob(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return Invalid(Quote(text) + " is not SECTION.KEY=LOW:HIGH or SECTION.KEY=A|B|C");
  Knob knob{.key = text.substr(0, equals)};
  const std::string values = text.substr(equals + 1);
  sched::Settings scratch;
  const std::optional<Field> field = FieldOf(knob.key, &scratch);
  if (!field) {
    const std::optional<std::string> near = Nearest(knob.key, AllKeys());
    return Invalid("there is no setting " + Quote(knob.key) + (near ? "; did you mean " + *near + "?" : "") +
                   "; docs/schedulers/scheduler-settings.md lists them");
  }
  knob.type = field->type;
  Status read;
  if (values.find('|') == std::string::npos && values.find(':') != std::string::npos) {
    read = ReadRange(values, *field, &knob);
  } else {
    knob.values = Split(values, '|');
    if (knob.values.size() < 2) read = Invalid("one value leaves nothing to try: give a range LOW:HIGH, or A|B");
    for (const std::string& value : knob.values) {
      if (read.ok()) read = field->set(value);
    }
  }
  if (!read.ok()) return read.Within(Quote(text));
  return knob;
}

std::vector<Knob> KnobsOf(std::string_view scheduler) {
  std::vector<Knob> knobs;
  for (const std::string& word : Split(std::string(scheduler), '+')) {
    for (const Known& known : kKnown) {
      if (known.word != word) continue;
      Result<Knob> knob = ParseKnob(std::string(known.knob));
      MILLRACE_CHECK(knob.ok(), knob.status().message());
      knobs.push_back(*std::move(knob));
    }
  }
  return knobs;
}

std::string DrawValue(const Knob& knob, Random& random) {
  if (!knob.values.empty()) return knob.values[random.Below(knob.values.size())];
  const double at = random.Unit();
  const bool factors = knob.low > 0 && knob.high >= kEqualFactorsFrom * knob.low;
  const double value = factors ? knob.low * std::pow(knob.high / knob.low, at) : knob.low + at * (knob.high - knob.low);
  return Written(knob.type, std::clamp(TwoDigits(value), knob.low, knob.high));
}

Status SetByKey(const std::string& key, const std::string& value, sched::Settings* settings) {
  const std::optional<Field> field = FieldOf(key, settings);
  if (!field) return Invalid("there is no setting " + Quote(key));
  return field->set(value).Within(key);
}

}  // namespace millrace::tune
