// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/ids/counted.h"
#include "base/notice.h"
#include "base/text.h"
#include "base/tls/credentials.h"
#include "base/units.h"
#include "client/cli/cluster_notes.h"
#include "client/cli/commands.h"
#include "client/cli/documents.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {
namespace {

using console::Printer;
using Json = nlohmann::ordered_json;

Json ToJson(const Release& release) { return {{"version", release.version}, {"protocol", release.protocol}}; }

Json ToJson(const std::vector<job::ClusterStatus::Notice>& notices) {
  Json list = Json::array();
  for (const auto& notice : notices)
    list.push_back({{"code", notice.code}, {"level", notice.level}, {"text", notice.line}});
  return list;
}

std::size_t RisksOf(const job::ClusterStatus& status) {
  return static_cast<std::size_t>(std::ranges::count_if(
      status.warnings, [](const auto& notice) { return notice.level == NameOf(NoticeLevel::kRisk); }));
}

// "healthy", "at risk", "not healthy"
const char* StateOf(const job::ClusterStatus& status) {
  return !status.faults.empty() ? "not healthy" : RisksOf(status) > 0 ? "at risk" : "healthy";
}

// The master does not see the end of the certificate that this command shows to it.
void AddOwnCertificate(job::ClusterStatus* status) {
  const auto credentials = tls::CredentialsOfUser();
  if (!credentials.ok() || *credentials == nullptr) return;
  const tls::CertificateEnds ends = (*credentials)->Ends();
  const std::string own = "yours (" + ToText((*credentials)->self()) + ")";
  for (const Notice& notice :
       tls::ExpiryNotices({{own, ends.own}, {"the authority's that you know", ends.authority}}, SystemClock().Now()))
    status->warnings.push_back({std::string(notice.name()), std::string(NameOf(notice.level())), notice.line});
}

// null if the master knows of no backup.
Json BackupToJson(const job::ClusterStatus& status) {
  if (!status.backup) return nullptr;
  const job::ClusterStatus::Backup& backup = *status.backup;
  Json copy = nullptr;
  if (backup.copied != 0) {
    copy = {{"at", console::InstantOrNull(backup.copied)},
            {"ok", backup.copy_problem.empty()},
            {"problem", backup.copy_problem}};
  }
  return {{"made_at", console::InstantOrNull(backup.made)},
          {"age_s", console::Seconds(backup.age)},
          {"directory", backup.directory},
          {"operations", backup.operations},
          {"bytes", backup.bytes},
          {"copy", copy}};
}

std::string BackupText(const job::ClusterStatus& status) {
  if (!status.backup) return "none is known";
  const job::ClusterStatus::Backup& backup = *status.backup;
  return FormatDuration(backup.age / kSecond * kSecond) + " ago, in " + Printable(backup.directory) + ", " +
         FormatBytes(backup.bytes) +
         (backup.copied == 0            ? ", not copied elsewhere by `master backup`"
          : backup.copy_problem.empty() ? ", copied"
                                        : ", NOT copied");
}

bool IsOutOfUse(const job::Node& node) { return node.draining || node.maintenance_for > 0; }

Json OutOfUse(const std::vector<job::Node>& nodes) {
  Json list = Json::array();
  for (const job::Node& node : nodes) {
    if (!IsOutOfUse(node)) continue;
    list.push_back({{"node", node.node.value},
                    {"state", NodeStateWord(node)},
                    {"reason", node.reason.empty() ? Json() : Json(node.reason)},
                    {"maintenance_left_s", console::Seconds(node.maintenance_for)}});
  }
  return list;
}

Json ToJson(const job::ClusterStatus& status) {
  Json workers = Json::array();
  for (const auto& worker : status.workers) {
    Json one = ToJson(worker.release);
    one["nodes"] = worker.nodes;
    workers.push_back(one);
  }
  return {{"healthy", status.faults.empty() && RisksOf(status) == 0},
          {"state", StateOf(status)},
          {"faults", ToJson(status.faults)},
          {"warnings", ToJson(status.warnings)},
          {"cluster", status.cluster},
          {"master", ToJson(status.master)},
          {"workers", workers},
          {"up_s", console::Seconds(status.up)},
          {"scheduler", status.scheduler},
          {"nodes",
           {{"live", status.live},
            {"draining", status.draining},
            {"avoided", status.avoided},
            {"full", status.full},
            {"ailing", status.ailing},
            {"maintenance", status.maintained},
            {"lost", status.lost},
            {"awaited", status.awaited}}},
          {"slots",
           {{"maps", status.map_slots},
            {"maps_running", status.maps_running},
            {"reduces", status.reduce_slots},
            {"reduces_running", status.reduces_running}}},
          {"disks", {{"capacity", status.capacity}, {"used", status.used}, {"free", status.free}}},
          {"files", {{"files", status.files}, {"directories", status.directories}, {"bytes", status.bytes}}},
          {"blocks",
           {{"blocks", status.blocks},
            {"missing", status.missing},
            {"under_replicated", status.under_replicated},
            {"short_of_nodes", status.short_of_nodes},
            {"single_replica", status.single_replica},
            {"only_in_maintenance", status.only_in_maintenance},
            {"corrupt_replicas", status.corrupt_replicas}}},
          {"jobs",
           {{"running", status.jobs_running},
            {"waiting", status.jobs_waiting},
            {"held", status.jobs_held},
            {"after", status.jobs_after}}},
          {"backup", BackupToJson(status)}};
}

std::string NodesText(const job::ClusterStatus& status) {
  std::string text = std::to_string(status.live) + " live";
  const auto add = [&text](std::uint32_t count, const char* what) {
    if (count > 0) text += ", " + std::to_string(count) + " " + what;
  };
  add(status.draining, "of them being decommissioned or decommissioned");
  add(status.avoided, "of them avoided");
  add(status.full, "of them full");
  add(status.ailing, "of them ailing");
  add(status.maintained, "in maintenance");
  add(status.lost, "lost");
  add(status.awaited, "awaited");
  return text;
}

std::string WorkersText(const job::ClusterStatus& status) {
  std::string text;
  for (const auto& worker : status.workers) {
    text += (text.empty() ? "" : "; ") + std::to_string(worker.nodes) + " of version " + ToText(worker.release);
  }
  return text.empty() ? "none" : text;
}

// Returns no notes of what the master does not tell: one of an earlier release, or to this user.
std::vector<ClusterNote> AskForNotes(dfs::DfsClient& files) {
  const Result<dfs::Health> health = files.GetHealth();
  const Result<std::vector<dfs::QuotaState>> quotas = files.GetQuotas("", "");
  return NotesOf(health.ok() ? health->trash : dfs::Use(), quotas.ok() ? *quotas : std::vector<dfs::QuotaState>());
}

Json ToJson(const std::vector<ClusterNote>& notes) {
  Json list = Json::array();
  for (const ClusterNote& note : notes) list.push_back({{"code", note.code}, {"text", note.text}});
  return list;
}

void Show(const job::ClusterStatus& status, const std::vector<ClusterNote>& notes, Printer& out) {
  const auto line = [&out](const char* name, const std::string& text) {
    out << console::Left(name, 11) << text << "\n";
  };
  const std::string state = StateOf(status);
  line("cluster", status.cluster + ", " +
                      (state == "not healthy" ? "NOT healthy"
                       : state == "at risk"   ? "AT RISK"
                                              : state));
  line("master", "version " + ToText(status.master) + ", up " + FormatDuration(status.up) + ", scheduler " +
                     Printable(status.scheduler));
  line("workers", WorkersText(status));
  line("nodes", NodesText(status));
  line("slots", std::to_string(status.maps_running) + " of " + std::to_string(status.map_slots) + " for maps and " +
                    std::to_string(status.reduces_running) + " of " + std::to_string(status.reduce_slots) +
                    " for reduces in use");
  line("disks", FormatBytes(status.used) + " used by blocks, " + FormatBytes(status.free) + " free of " +
                    FormatBytes(status.capacity));
  line("files", Counted(status.files, "file") + " of " + FormatBytes(status.bytes) + " in " +
                    Counted(status.directories, "directory", "directories"));
  line("blocks", std::to_string(status.blocks) + ": " + std::to_string(status.missing) + " missing, " +
                     std::to_string(status.under_replicated) + " under-replicated, " +
                     std::to_string(status.short_of_nodes) + " short of nodes, " +
                     std::to_string(status.single_replica) + " with a single replica; " +
                     Counted(status.corrupt_replicas, "corrupt replica"));
  line("jobs", std::to_string(status.jobs_running) + " running, " + std::to_string(status.jobs_waiting) + " waiting" +
                   AmongWaiting(status));
  line("backup", BackupText(status));
  const auto show = [&line](const job::ClusterStatus::Notice& notice) {
    const bool risk = notice.level == NameOf(NoticeLevel::kRisk), fault = notice.level == NameOf(NoticeLevel::kFault);
    line(fault  ? "FAULT"
         : risk ? "RISK"
                : "warning",
         (notice.code.empty() ? "" : Printable(notice.code) + ": ") + Printable(notice.line));
  };
  for (const auto& fault : status.faults) show(fault);
  for (const auto& warning : status.warnings) show(warning);
  for (const ClusterNote& note : notes) line("note", note.code + ": " + note.text);
}

// Says on standard error the first reason of an exit status that is not 0.
int Conclude(const Invocation& invocation, const job::ClusterStatus& status) {
  const auto fail = [&invocation](const std::string& first, std::size_t count, int exit_status) {
    const std::string more = count == 1 ? "" : "; and " + std::to_string(count - 1) + " more";
    return invocation.Fail("cluster status", Unavailable(first + more), exit_status);
  };
  if (!status.faults.empty()) return fail(status.faults[0].line, status.faults.size(), kFailed);
  const auto risk = std::ranges::find(status.warnings, NameOf(NoticeLevel::kRisk), &job::ClusterStatus::Notice::level);
  return risk == status.warnings.end() ? kDone : fail(risk->line, RisksOf(status), console::kAtRisk);
}

int ShowClusterStatus(const Invocation& invocation, const Words& args) {
  console::Arguments arguments(
      "cluster status", "",
      "Shows the state of the cluster: nodes, slots, disks, files, blocks, jobs and versions. The "
      "exit status is 1 if data is missing or the cluster does not work, else 4 if one more failure would break "
      "something, such as a block with a single replica.");
  arguments.Example("");
  arguments.Example("--json | jq .blocks.missing");
  arguments.Example("--json | jq -r '(.faults + .warnings)[].code'");
  bool json = false;
  arguments.Flag("--json", &json, "print one JSON object");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("cluster status", files.status(), kUnreachable);
  const Result<ClusterReport> report = AskForCluster(**files);
  if (!report.ok()) return invocation.Fail("cluster status", report.status());
  Printer out(invocation.console);
  if (json) {
    out << console::Dump(ClusterDocument(*report)) << "\n";
  } else {
    Show(report->status, report->notes, out);
    for (const job::Node& node : report->nodes) {
      if (IsOutOfUse(node)) out << console::Left("out of use", 11) << OutOfUseLine(node) << "\n";
    }
  }
  if (const Status written = out.Flush(); !written.ok()) return invocation.Fail("cluster status", written);
  return Conclude(invocation, report->status);
}

}  // namespace

Result<ClusterReport> AskForCluster(dfs::DfsClient& files) {
  ClusterReport report;
  MILLRACE_ASSIGN(report.status, job::JobClient(files).GetClusterStatus());
  AddOwnCertificate(&report.status);
  if (report.status.draining + report.status.maintained > 0) {
    MILLRACE_ASSIGN(report.nodes, job::JobClient(files).Nodes());
  }
  report.notes = AskForNotes(files);
  return report;
}

Json ClusterDocument(const ClusterReport& report) {
  Json json = ToJson(report.status);
  json["out_of_use"] = OutOfUse(report.nodes);
  json["notes"] = ToJson(report.notes);
  return json;
}

std::string AmongWaiting(const job::ClusterStatus& status) {
  std::vector<std::string> parts;
  if (status.jobs_held > 0) parts.push_back(std::to_string(status.jobs_held) + " held");
  if (status.jobs_after > 0) parts.push_back(std::to_string(status.jobs_after) + " for other jobs");
  return parts.empty() ? "" : " (" + Joined(parts, ", ") + ")";
}

std::vector<Verb> ClusterVerbs() {
  return {{"status", "the state of the cluster, and what is wrong", ShowClusterStatus, {}}};
}

}  // namespace millrace::cli
