// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/streaming.h"

#include <algorithm>
#include <cstdio>
#include <string>
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

Result<InputForm> FormOf(const Pack& pack) {
  for (const auto& [name, value] : pack.options) {
    if (name != kInputForm || value == "lines") continue;
    if (value == "records") return InputForm::kRecords;
    if (value == "files") return InputForm::kFiles;
    return Invalid(std::string(kInputForm) + " is " + Quote(value) + ", which is not lines, records or files");
  }
  return InputForm::kLines;
}

InputRules RulesOf(InputForm form) {
  switch (form) {
    case InputForm::kRecords:
      return internal::RulesOf<RecordFiles>();
    case InputForm::kFiles:
      return internal::RulesOf<FilePieces>();
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

JobBinding BindStreaming(const ProcessFacts& facts, InputForm form, FrameHost& host) {
  JobBinding binding;
  binding.input = RulesOf(form);
  binding.has_reduce = true;
  binding.not_in_lines = "its map and reduce are programs: give these to `mapred streaming` themselves";
  binding.declare = [&facts](JobOptions& options) { Declare(facts.pack, options); };
  binding.map = [&facts, form, &host](MapAttempt& attempt) {
    return ByFrames(attempt.context) ? FrameMap(host, facts, form, attempt) : StreamMap(facts, form, attempt);
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
  const Result<InputForm> form = pack.ok() ? FormOf(*pack) : Result<InputForm>(pack.status());
  if (!form.ok()) {
    std::fprintf(stderr, "%s: %s\n", internal::BaseName(argv[0]).c_str(), form.status().message().c_str());
    return kWrongUsage;
  }
  facts.pack = std::move(pack).value();
  FrameHost host;
  return internal::RunJob(BindStreaming(facts, *form, host), argc, argv);
}

}  // namespace millrace::streaming
