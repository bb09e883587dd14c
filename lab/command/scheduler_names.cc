// SPDX-License-Identifier: Apache-2.0
#include "lab/command/scheduler_names.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/external/external_settings.h"
#include "schedulers/policies/make_scheduler.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::cli {
namespace {

using sched::Variant;

constexpr std::size_t kLongestLabel = 40;

struct SettingsFile {
  std::string text;
  sched::Settings settings;
};

Result<SettingsFile> ReadFile(const std::string& path) {
  SettingsFile file;
  MILLRACE_ASSIGN(file.text, ReadWholeFile(path));
  MILLRACE_ASSIGN(file.settings, sched::ParseSettings(file.text, path));
  return file;
}

// Settings files by label; the one for all under "".
Result<std::map<std::string, SettingsFile>> ReadFiles(const std::vector<std::string>& words) {
  std::map<std::string, SettingsFile> files;
  for (const std::string& word : words) {
    const bool labelled = HasLabel(word);
    const std::size_t equals = word.find('=');
    const std::string label = labelled ? word.substr(0, equals) : "";
    if (labelled && label.empty()) return Invalid("--settings " + Quote(word) + " has no label before \"=\"");
    if (files.contains(label)) {
      return Invalid(label.empty() ? "--settings names two files for all schedulers; LABEL=FILE is for one of them"
                                   : "--settings names two files for " + label);
    }
    MILLRACE_ASSIGN(files[label], ReadFile(labelled ? word.substr(equals + 1) : word));
  }
  return files;
}

// Labels become names of directories and words of tables.
Status CheckLabel(const std::string& label, const std::string& scheduler) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+";
  if (label.empty() || label.size() > kLongestLabel || label.front() == '.' ||
      label.find_first_not_of(kAllowed) != std::string::npos) {
    return Invalid("the label " + Quote(label) + " is not made of at most " + std::to_string(kLongestLabel) +
                   " letters, digits and the signs - _ + . (not first)");
  }
  std::string why;
  const std::unique_ptr<sched::Policy> named = sched::MakePolicy(label, {}, &why);
  if (label == "all" || (named != nullptr && named->name() != scheduler))
    return Invalid("the label " + label + " of " + scheduler + " is the name of another scheduler; give another label");
  return Status::Ok();
}

using sched::kExternal;

// Returns a label for the program: the name of its file, or external-NAME if that is the name of a scheduler.
std::string LabelOf(const sched::Spec& spec) {
  const std::string name =
      std::filesystem::path(spec.program).stem().string() + spec.expression.substr(kExternal.size());
  std::string why;
  return sched::MakePolicy(name, {}, &why) == nullptr ? name : std::string(kExternal) + "-" + name;
}

// Returns the variant that a word of --scheduler names: SPEC or LABEL=SPEC.
Result<Variant> ParseVariant(const std::string& word, const std::map<std::string, SettingsFile>& files,
                             const outside::Launch& launch) {
  const std::size_t equals = word.starts_with(std::string(kExternal) + ":") ? std::string::npos : word.find('=');
  const sched::Spec spec = sched::CutSpec(equals == std::string::npos ? word : word.substr(equals + 1));
  std::string why;
  const auto make = [&](const sched::Settings& settings) { return sched::MakePolicy(spec.expression, settings, &why); };
  const std::unique_ptr<sched::Policy> plain = make({});
  if (plain == nullptr) return Invalid(why + sched::NearestScheduler(spec.expression));
  Variant variant;
  variant.scheduler = plain->name();
  variant.label = equals != std::string::npos ? word.substr(0, equals)
                  : spec.program.empty()      ? variant.scheduler
                                              : LabelOf(spec);
  if (variant.label != variant.scheduler) MILLRACE_TRY(CheckLabel(variant.label, variant.scheduler));
  auto file = files.find(variant.label);
  if (file == files.end()) file = files.find("");
  if (file != files.end()) variant.settings_text = file->second.text, variant.settings = file->second.settings;
  if (!spec.program.empty()) {
    auto& external = variant.settings.Of<sched::ExternalSettings>();
    external.program = spec.program;
    MILLRACE_ASSIGN(const auto adviser, outside::Start(launch, spec.program, "simulated"));
    external.kind = adviser->kind();
    variant.settings_text = sched::FormatSettings(variant.settings);
  }
  if (make(variant.settings) == nullptr) return Invalid(why);
  if (spec.expression.starts_with(kExternal) && variant.settings.Of<sched::ExternalSettings>().program.empty())
    return Invalid(spec.expression + " names no program; write external:PATH (docs/schedulers/external.md)");
  return variant;
}

Status CheckLabels(const std::vector<Variant>& variants, const std::map<std::string, SettingsFile>& files) {
  const std::vector<std::string> labels = LabelsOf(variants);
  for (auto one = variants.begin(); one != variants.end(); ++one) {
    const auto clashes = [&](const Variant& other) {
      return other.label == one->label && (other.label != other.scheduler || other.scheduler != one->scheduler);
    };
    if (std::any_of(variants.begin(), one, clashes))
      return Invalid("--scheduler has two variants with the label " + one->label);
  }
  for (const auto& [label, file] : files) {
    if (label.empty() || std::find(labels.begin(), labels.end(), label) != labels.end()) continue;
    const std::optional<std::string> near = Nearest(label, labels);
    return Invalid("--settings has a file for " + Quote(label) + ", which --scheduler does not name" +
                   (near ? "; did you mean " + *near + "?" : ""));
  }
  return Status::Ok();
}

}  // namespace

std::vector<std::string> SplitAtCommas(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    word.remove_prefix(std::min(word.find_first_not_of(kBlanks), word.size()));
    word = word.substr(0, word.find_last_not_of(kBlanks) + 1);
    words.emplace_back(word);
    begin = end + 1;
  }
  return words;
}

bool HasLabel(std::string_view settings) {
  const std::size_t equals = settings.find('=');
  return equals != std::string_view::npos && settings.find('/') > equals;
}

void DeclareSchedulers(console::Arguments& arguments, SchedulerWords* words, const std::string& more) {
  arguments.Text("--scheduler", &words->schedulers,
                 "schedulers, separated by commas, each NAME or LABEL=NAME; \"all\" stands for every policy without "
                 "additions" +
                     more);
  arguments.List("--settings", &words->settings,
                 "scheduler file, like the master's, for all schedulers; LABEL=FILE: for one of them instead");
}

Status CheckNoPrograms(const std::vector<Variant>& variants, const std::string& instead) {
  for (const Variant& variant : variants) {
    if (variant.scheduler.starts_with(kExternal))
      return Invalid(variant.label + " asks a program, which is asked in simulations alone here; " + instead);
  }
  return Status::Ok();
}

Result<Schedulers> ReadSchedulers(const SchedulerWords& words, const outside::Launch& launch) {
  Schedulers schedulers;
  MILLRACE_ASSIGN(auto files, ReadFiles(words.settings));
  if (const auto common = files.find(""); common != files.end())
    schedulers.settings_text = common->second.text, schedulers.settings = common->second.settings;
  const std::vector<std::string> names = SplitAtCommas(words.schedulers);
  for (const std::string& name : names) {
    if (name != "all") {
      MILLRACE_ASSIGN(Variant variant, ParseVariant(name, files, launch));
      schedulers.variants.push_back(std::move(variant));
      continue;
    }
    for (const sched::PolicyInfo& policy : sched::ListPolicies()) {
      if (policy.name == kExternal) continue;  // nothing without a program
      if (std::find(names.begin(), names.end(), policy.name) != names.end()) continue;
      MILLRACE_ASSIGN(Variant variant, ParseVariant(policy.name, files, launch));
      schedulers.variants.push_back(std::move(variant));
    }
  }
  MILLRACE_TRY(CheckLabels(schedulers.variants, files));
  return schedulers;
}

Result<sched::Settings> ReadSettings(const SchedulerWords& words) {
  MILLRACE_ASSIGN(auto files, ReadFiles(words.settings));
  for (const auto& [label, file] : files) {
    if (!label.empty()) return Invalid("--settings " + label + "=FILE is of no use with one scheduler only");
  }
  return files.empty() ? sched::Settings{} : files.begin()->second.settings;
}

}  // namespace millrace::cli
