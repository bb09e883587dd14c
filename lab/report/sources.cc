// SPDX-License-Identifier: Apache-2.0
#include "lab/report/sources.h"

#include <map>

namespace millrace::compare {
namespace {

// Adds what each class contributes to the mean turnaround of the run, times `sign`.
void AddGroups(const RunRecord& record, double sign, std::map<std::string, GroupSource>* groups) {
  double ended = 0;
  for (const sim::JobRow& job : record.outcome.result.jobs) ended += job.Ended() ? 1 : 0;
  for (const sim::JobRow& job : record.outcome.result.jobs) {
    if (!job.Ended()) continue;
    GroupSource& group = (*groups)[job.group];
    group.difference += sign * static_cast<double>(job.Turnaround()) / kMicrosPerSecond / ended;
    if (sign < 0) ++group.jobs;
  }
}

}  // namespace

Sources SourcesOf(std::uint32_t scheduler, const Design& design, const std::vector<const RunRecord*>& counting) {
  std::map<std::string, GroupSource> groups;
  Phases sums;
  bool phases = true;
  double blocks = 0;
  for (const RunRecord* record : counting) {
    const bool own = record->run.scheduler == scheduler, base = record->run.scheduler == design.baseline;
    if (record->run.second || (!own && !base)) continue;
    const double sign = own ? 1 : -1;
    blocks += own ? 1 : 0;
    AddGroups(*record, sign, &groups);
    phases = phases && record->phases;
    if (!record->phases) continue;
    sums.wait += sign * record->phases->wait, sums.map += sign * record->phases->map;
    sums.copy += sign * record->phases->copy, sums.permit += sign * record->phases->permit;
    sums.compute += sign * record->phases->compute;
  }
  Sources sources;
  for (auto& [name, group] : groups) {
    sources.groups.push_back({name.empty() ? "without a class" : name, group.jobs / blocks, group.difference / blocks});
  }
  if (!phases) return sources;
  sources.phases = {{"wait", sums.wait / blocks},
                    {"map", sums.map / blocks},
                    {"copy", sums.copy / blocks},
                    {"permit", sums.permit / blocks},
                    {"compute", sums.compute / blocks}};
  return sources;
}

}  // namespace millrace::compare
