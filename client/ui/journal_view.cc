// SPDX-License-Identifier: Apache-2.0
#include "client/ui/journal_view.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/console/json_output.h"
#include "base/file.h"
#include "base/text.h"
#include "client/cli/documents.h"

namespace millrace::ui {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kLongestLine = std::size_t{1} << 28;  // a job of ten million maps has less

void SetNull(Json* object, std::initializer_list<const char*> fields) {
  for (const char* const field : fields) (*object)[field] = nullptr;
}

job::Node NodeOf(const JournalPlay::Node& node) {
  job::Node one;
  one.node = node.joined.node;
  one.rack = node.joined.rack;
  one.datacenter = node.joined.datacenter;
  one.map_slots = node.joined.slots.maps;
  one.reduce_slots = node.joined.slots.reduces;
  one.maps_running = node.used.maps;
  one.reduces_running = node.used.reduces;
  one.alive = node.alive;
  one.draining = node.alive && node.drained;
  one.avoided_for = node.alive && node.avoided ? 1 : 0;  // for how long is not told
  return one;
}

Json NodesDocument(const std::map<NodeId, job::Node>& nodes) {
  Json list = Json::array();
  for (const auto& [id, node] : nodes) {
    Json one = cli::NodeDocument(node);
    // Whether a drained node still has blocks to hand over is not told, so it has no other word for its state.
    if (node.draining) one["state"] = "drained";
    SetNull(&one, {"host",    "port",          "may_go",      "sandbox",        "blocks",       "used",
                   "free",    "capacity",      "trashed",     "unknown_blocks", "unknown_held", "name",
                   "version", "protocol",      "blocks_left", "leaving_in_s",   "outputs_left", "maintenance_left_s",
                   "reason",  "avoided_for_s", "avoided_by",  "ailing",         "sync_s",       "since_heartbeat_s"});
    list.push_back(std::move(one));
  }
  return list;
}

Json ClusterDocument(const Snapshot& snapshot, const std::string& scheduler) {
  cli::ClusterReport report;
  job::ClusterStatus& status = report.status;
  for (const auto& [id, node] : snapshot.node_list) {
    ++(node.alive ? status.live : status.lost);
    if (!node.alive) continue;
    status.draining += node.draining ? 1 : 0;
    status.avoided += node.avoided_for > 0 ? 1 : 0;
    status.map_slots += node.map_slots;
    status.reduce_slots += node.reduce_slots;
    status.maps_running += node.maps_running;
    status.reduces_running += node.reduces_running;
  }
  for (const JobStatus& job : snapshot.live) {
    ++(job.state == JobState::kWaiting ? status.jobs_waiting : status.jobs_running);
    status.jobs_held += job.held ? 1 : 0;
  }
  Json json = cli::ClusterDocument(report);
  json["scheduler"] = console::TextOrNull(scheduler);
  SetNull(&json, {"healthy", "state", "faults", "warnings", "out_of_use", "notes", "cluster", "master", "workers",
                  "up_s", "disks", "files", "blocks", "backup"});
  SetNull(&json["nodes"], {"full", "ailing", "maintenance", "awaited"});
  return json;
}

// The pools of all jobs, with what those that live use and could use.
Json SchedulerDocument(const std::map<JobId, JobStatus>& jobs, const std::string& scheduler) {
  std::map<std::string, job::SchedulerView::Group> groups;
  for (const auto& [id, job] : jobs) {
    job::SchedulerView::Group& group = groups[job.pool];
    group.name = job.pool;
    if (Ended(job.state)) continue;
    ++group.jobs;
    group.maps.running += job.maps.running;
    group.reduces.running += job.reduces.running;
    group.maps.demand += job.maps.total - std::min(job.maps.done, job.maps.total);
    group.reduces.demand += job.reduces.total - std::min(job.reduces.done, job.reduces.total);
  }
  constexpr std::size_t kMostGroups = 1000;
  job::SchedulerView view;
  view.group_noun = "pool";
  for (auto& [name, group] : groups) {
    if (view.groups.size() == kMostGroups) break;
    view.groups.push_back(std::move(group));
  }
  view.more_groups = static_cast<std::uint32_t>(groups.size() - view.groups.size());
  Json json = cli::SchedulerDocument(view);
  json["name"] = console::TextOrNull(scheduler);
  for (Json& group : json["groups"]) {
    SetNull(&group, {"weight"});
    for (const char* const kind : {"maps", "reduces"})
      SetNull(&group[kind], {"share", "minimum", "maximum", "preempts_at"});
  }
  SetNull(&json, {"facts", "waiting", "deadlines", "cost", "waiting_not_listed", "facts_not_listed"});
  return json;
}

}  // namespace

Result<std::unique_ptr<JournalView>> JournalView::Read(const std::string& path, const JournalPlay::Limits& limits) {
  std::unique_ptr<JournalView> view(new JournalView(path, limits));
  MILLRACE_TRY(view->ReadLines());
  view->jobs_ = view->play_.Jobs();
  view->MakeSnapshot();
  return view;
}

Status JournalView::ReadLines() {
  MILLRACE_ASSIGN(const Fd file, OpenFile(path_, O_RDONLY));
  std::string text;  // from the begin of a line
  std::uint64_t number = 0;
  const auto take = [&](std::string_view line) {
    ++number;
    const Status taken = play_.Take(number, line);
    return taken.ok() ? taken : Status(taken.code(), path_ + ":" + std::to_string(number) + ": " + taken.message());
  };
  for (bool more = true; more;) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    ssize_t n = 0;
    do n = ::read(file.get(), text.data() + before, kPiece);
    while (n < 0 && errno == EINTR);
    if (n < 0) return FromErrno(errno, "read " + path_);
    text.resize(before + static_cast<std::size_t>(n));
    more = n > 0;
    std::size_t begin = 0;
    // What came before has no end of a line in it.
    for (std::size_t end = text.find('\n', before); end != std::string::npos; end = text.find('\n', begin)) {
      MILLRACE_TRY(take(std::string_view(text).substr(begin, end - begin)));
      begin = end + 1;
    }
    text.erase(0, begin);
    if (text.size() > kLongestLine)
      return Unsupported(path_ + ":" + std::to_string(number + 1) + ": the line is longer than 256 MiB");
  }
  if (!text.empty()) MILLRACE_TRY(take(text));
  if (play_.lines() == 0) return Invalid(path_ + " is no journal: it has no event");
  return Status::Ok();
}

void JournalView::MakeSnapshot() {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->master_now = play_.end();
  snapshot->unknown_of_jobs = {"output", "after",    "waits_for",        "even_if_failed", "queued_at",
                               "waits",  "left_out", "left_out_records", "bytes_shuffled", "bytes_written"};
  snapshot->unknown_of_attempts = {"host"};
  for (const auto& [id, job] : jobs_) {
    if (!Ended(job.state)) snapshot->live.push_back(job);
  }
  for (const JournalPlay::Node& node : play_.Nodes()) snapshot->node_list[node.joined.node] = NodeOf(node);
  snapshot->nodes = console::Dump(NodesDocument(snapshot->node_list));
  snapshot->cluster = console::Dump(ClusterDocument(*snapshot, play_.scheduler()));
  snapshot->scheduler = console::Dump(SchedulerDocument(jobs_, play_.scheduler()));
  Json live = Json::array();
  for (const JobStatus& job : snapshot->live) live.push_back(snapshot->DocumentOf(job));
  snapshot->live_jobs = console::Dump(live);
  snapshot_ = std::move(snapshot);
}

Json JournalView::Source() const {
  Json journal = Json::object();
  console::SetBytes(journal, "file", path_);
  journal["lines"] = play_.lines();
  journal["from_at"] = console::Seconds(play_.begin());
  journal["to_at"] = console::Seconds(play_.end());
  journal["refused_lines"] = play_.refused();
  journal["first_refused_line"] = play_.refused() == 0 ? Json() : Json(play_.first_refused());
  journal["jobs_without_attempts"] = play_.forgotten();
  return {{"journal", std::move(journal)}};
}

Result<JobStatus> JournalView::Job(JobId job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return NotFound("the journal has no " + ToText(job));
  return found->second;
}

Result<std::shared_ptr<const std::vector<AttemptStatus>>> JournalView::Attempts(JobId job) {
  MILLRACE_TRY(Job(job).status());
  MILLRACE_ASSIGN(std::vector<AttemptStatus> attempts, play_.Attempts(job));
  return std::make_shared<const std::vector<AttemptStatus>>(std::move(attempts));
}

Status JournalView::WithTimeline(std::optional<JobId> job,
                                 const std::function<void(const Timeline& timeline, std::size_t left_out)>& use) {
  if (job) MILLRACE_TRY(Job(*job).status());
  use(play_.timeline(), 0);
  return Status::Ok();
}

Status JournalView::Nothing(std::string_view of) const {
  return NotFound("a journal has nothing of " + std::string(of) + "; this page comes from " + Quote(path_) + " alone");
}

Result<job::CallerRights> JournalView::WhoAmI() { return Nothing("rights"); }
Result<Counters> JournalView::Counters(JobId) { return Nothing("counters"); }
Status JournalView::History(JobId job, std::uint64_t, const std::function<void(std::uint64_t, const std::string&)>&) {
  return NotFound("the lines of " + ToText(job) + " stand in the journal itself, " + Quote(path_));
}
Status JournalView::ReadLog(const AttemptId&, job::LogStream, const std::function<void(std::string_view)>&) {
  return Nothing("logs");
}
Result<dfs::FileStatus> JournalView::Stat(const std::string&) { return Nothing("the file system"); }
Status JournalView::List(const std::string&, const std::function<bool(const dfs::FileStatus&)>&) {
  return Nothing("the file system");
}

}  // namespace millrace::ui
