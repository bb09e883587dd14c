// SPDX-License-Identifier: Apache-2.0
#include "lab/advise/history_runs.h"

#include "base/console/interrupt.h"
#include "base/crc32c.h"
#include "base/version.h"
#include "lab/command/forms.h"
#include "lab/command/runs_progress.h"
#include "lab/run/make_runs.h"

namespace millrace::compare {

Conditions ConditionsOf(const std::string& purpose, const History& history, const Subject& subject,
                        const Design& design) {
  Conditions conditions{{"the version", kVersion},
                        {"what it is for", purpose},
                        {"the seed", std::to_string(design.seed)},
                        {"the history", std::to_string(history.text.size()) + " bytes with checksum " +
                                            std::to_string(Crc32c(history.text))}};
  for (const sched::Variant& variant : subject.schedulers) {
    conditions.emplace_back("the scheduler " + variant.label, variant.scheduler);
    conditions.emplace_back("the scheduler file of " + variant.label, variant.settings_text);
  }
  return conditions;
}

Result<std::optional<Material>> MakeMaterial(const cli::Invocation& invocation, const Subject& subject,
                                             const Design& design, Arena& arena, RunStore& store) {
  RunsProgress progress(invocation.console, LabelsOf(subject.schedulers), SteadyMicros);
  progress.Start(design, store);
  // A live arena sees to signals itself.
  const auto interrupt = arena.Kind() == "sim" ? std::make_unique<console::Interrupt>() : nullptr;
  RunsWatch watch;
  watch.stop = [&] { return interrupt != nullptr && interrupt->Seen(); };
  watch.begun = [&](const PlannedRun& run, bool warm_up) { progress.Begun(run, warm_up); };
  watch.ended = [&](const RunRecord& record) { progress.Ended(record); };
  const Result<Making> made = MakeRuns(arena, design, subject.schedulers, store, watch);
  progress.Clear();
  MILLRACE_TRY(made.status());
  if (*made == Making::kStopped) return std::optional<Material>{};
  Material material{&subject, design, store.Counting(design.blocks), {}};
  material.judged = Judge(material.design, material.counting, subject.headline, subject.options);
  return std::optional<Material>(std::move(material));
}

Status WriteReport(const std::string& directory, Arena& arena, Material* material) {
  MILLRACE_TRY(AddDetails(arena, material));
  return WriteAllForms(directory, *material);
}

}  // namespace millrace::compare
