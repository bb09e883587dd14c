// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/streaming.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "client/api/bind_job.h"
#include "client/process/run.h"
#include "client/streaming/attempt_child.h"
#include "client/streaming/frame_attempts.h"
#include "client/streaming/inputs.h"
#include "client/streaming/options.h"
#include "client/streaming/pack.h"
#include "client/streaming/settings.h"
#include "client/streaming/stream_attempts.h"

namespace millrace::streaming {
namespace {

Result<InputForms> FormsOf(const Pack& pack) {
  static const std::map<std::string, InputForm, std::less<>> kForms = {{"lines", InputForm::kLines},
                                                                       {"records", InputForm::kRecords},
                                                                       {"files", InputForm::kFiles},
                                                                       {"tables", InputForm::kTables}};
  InputForms forms;
  for (const auto& [name, value] : pack.options) {
    if (name != kInputForm) continue;
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(',', begin), value.size());
      const auto form = kForms.find(std::string_view(value).substr(begin, end - begin));
      if (form == kForms.end())
        return Invalid(std::string(kInputForm) + " is " + Quote(value) +
                       ", which is not lines, records, files or tables, or one of these for each input");
      forms.push_back(form->second);
      begin = end + 1;
    }
    return forms;
  }
  return InputForms{InputForm::kLines};
}

InputRules RulesOf(InputForm form) {
  switch (form) {
    case InputForm::kRecords:
      return internal::RulesOf<RecordFiles>();
    case InputForm::kFiles:
      return internal::RulesOf<FilePieces>();
    case InputForm::kTables:
      return internal::RulesOf<AskedParts>();
    case InputForm::kLines:
      break;
  }
  return internal::RulesOf<TextChunks>();
}

// Declares the settings; those of the pack stand unless -D gives others.
void Declare(const Pack& pack, JobOptions& options) {
  DeclareSettings(options);
  for (const auto& [name, value] : pack.options) {
    if (name == kInputForm) continue;
    const Status set = options.Set(name, value);
    if (!set.ok())
      options.Check([set](const JobOptions&) { return set.Within("a setting that is packed with the job"); });
  }
}

bool ByFrames(const TaskContext& context) { return SettingsOf(context.options()).io == Io::kFrames; }

}  // namespace

JobBinding BindStreaming(const ProcessFacts& facts, const InputForms& forms, FrameHost& host) {
  JobBinding binding;
  binding.input = RulesOf(forms.front());
  if (forms.size() > 1) {
    for (const InputForm form : forms) binding.mappers.push_back(RulesOf(form));
  }
  binding.has_reduce = true;
  binding.not_in_lines = "its map and reduce are programs: give these to `mapred streaming` themselves";
  binding.declare = [&facts](JobOptions& options) { Declare(facts.pack, options); };
  binding.map = [&facts, forms, &host](MapAttempt& attempt) {
    return ByFrames(attempt.context) ? FrameMap(host, facts, forms, attempt) : StreamMap(facts, forms, attempt);
  };
  binding.reduce = [&facts, &host](ReduceAttempt& attempt) {
    return ByFrames(attempt.context) ? FrameReduce(host, facts, attempt) : StreamReduce(facts, attempt);
  };
  return binding;
}

int RunStreaming(int argc, char** argv) {
  constexpr int kWrongUsage = 2;
  ProcessFacts facts{internal::OwnPath(argv[0]), {}};
  Result<Pack> pack = ReadPack(facts.executable);
  const Result<InputForms> forms = pack.ok() ? FormsOf(*pack) : Result<InputForms>(pack.status());
  if (!forms.ok()) {
    std::fprintf(stderr, "%s: %s\n", internal::BaseName(argv[0]).c_str(), forms.status().message().c_str());
    return kWrongUsage;
  }
  facts.pack = std::move(pack).value();
  FrameHost host;
  return internal::RunJob(BindStreaming(facts, *forms, host), argc, argv);
}

}  // namespace millrace::streaming
