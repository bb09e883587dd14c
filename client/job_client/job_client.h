// SPDX-License-Identifier: Apache-2.0
// JobClient asks the master about jobs, nodes and schedulers, and makes it change them. Its calls block and use the
// connection of a DfsClient, which outlives the JobClient; failures are those of DfsClient::Call or the master's own.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/protocol/master.capnp.h"
#include "base/status.h"
#include "client/job_client/job_types.h"
#include "dfs/client/dfs_client.h"

namespace millrace::job {

class JobClient {
 public:
  explicit JobClient(dfs::DfsClient& connection) : connection_(connection) {}

  // Returns the job's number once the master has it on disk. The request carries a token: the same request sent again
  // is the same job.
  Result<JobId> Submit(const JobRequest& request);
  Result<JobStatus> GetStatus(JobId job);
  // Returns the jobs after the job `after`, in the order of their submission.
  Result<std::vector<JobStatus>> List(bool live_only, JobId after = {});
  // Returns the last job that the master no longer remembers (0: none), and the time by which all of these had ended.
  Result<std::pair<JobId, Micros>> Forgotten();
  Status Kill(JobId job, const std::string& reason);
  Status SetPriority(JobId job, std::uint8_t priority);
  // Hold keeps a job that has not begun from starting, until Release.
  Status Hold(JobId job);
  Status Release(JobId job);
  Result<millrace::Counters> Counters(JobId job);
  Result<std::vector<AttemptStatus>> Attempts(JobId job);
  // Gives the attempt's log to `sink`, piece by piece, from byte `offset` of the log on. Returns the offset after the
  // last byte.
  Result<std::uint64_t> ReadLog(const AttemptId& attempt, LogStream stream, std::uint64_t offset,
                                const std::function<void(std::string_view)>& sink);
  // Returns the launch of a map attempt, so that it can be run again. Either its job is live or the map has failed. The
  // task process will look for the file system at `master`.
  Result<MapLaunch> GetMapLaunch(const AttemptId& attempt, const std::string& master);
  // Gives the journal's lines of the job to `sink`, in order, each with its number in the whole journal. Job 0 has the
  // events of nodes and schedulers. With `after`, gives only the lines after the one of this number.
  Status History(JobId job, const std::function<void(std::uint64_t, const std::string&)>& sink,
                 std::uint64_t after = 0);

  Result<ClusterStatus> GetClusterStatus();
  Result<CallerRights> WhoAmI();
  Result<std::vector<Node>> Nodes();
  // Asks whether these nodes may be taken away for good.
  [[nodiscard]] Result<MayGo> AskMayGo(const std::vector<NodeId>& nodes);
  // Drains the nodes: they get no new tasks, and their blocks are copied elsewhere. If `drained` is false, puts them
  // back into use. All or none of them change. `force` drains them even if no other node is left to take the blocks.
  // `reason` is shown by `node list`; at most 200 bytes.
  Status DrainNodes(const std::vector<NodeId>& nodes, bool drained, bool force, const std::string& reason = "");
  // Puts the nodes into maintenance for `time`, which is at most a day; 0 ends it. All or none of them change. Without
  // `force`, returns kInvalid, with their number, if blocks would be on these nodes only.
  Status MaintainNodes(const std::vector<NodeId>& nodes, Micros time, bool force, const std::string& reason);

  // Removes lost nodes from the list, all or none. `force` removes them even if blocks are missing that may be on them.
  Status ForgetNodes(const std::vector<NodeId>& nodes, bool force);

  // Backs up the master's database to a directory of the master's machine.
  // Keeps only the last `keep` backups of the cluster in the directory; 0: all.
  Result<MasterBackup> BackUpMaster(const std::string& directory, std::uint32_t keep = 0);
  // Tells the master that the backups in the directory were copied elsewhere, or, if `problem` is not empty, why not.
  Status NoteBackupCopy(const std::string& directory, const std::string& problem);
  // Gives `sink` the blocks on the node that no file has, by rising id.
  Status UnknownBlocks(NodeId node, const std::function<void(std::uint64_t id, std::uint64_t length)>& sink);
  // Allows the node's unknown blocks to go to its trash, however many they are. Returns their number.
  Result<std::uint64_t> DiscardUnknown(NodeId node);

  // Sets the scheduler; the change is on disk when this returns.
  // `fallback` decides where the program of the scheduler does not; empty: as the scheduler file says.
  Status SetScheduler(const std::string& name, const std::string& fallback = {});
  Result<SchedulerView> ShowScheduler();
  // Returns what has changed since an earlier answer, as much as an answer holds, or the beginning of everything; with
  // `live_only`, a job that has ended is told as gone. Nothing if the master is too old to know it.
  Result<std::optional<Changes>> AskChanges(const ChangeCursor& since, bool live_only);
  // Makes the master forget its records of how programs behaved in jobs; the change is on disk when this returns.
  // Returns the number of records.
  Result<std::uint32_t> ForgetPrograms();
  // Returns the reasons for which the job waits for further slots, an entry for each kind of slot that it could use;
  // empty if the master is too old to report them.
  Result<std::vector<SchedulerView::Wait>> ExplainWaits(JobId job);
  // Returns the waits of all jobs, or of as many as fit in an answer of the master.
  Result<std::vector<SchedulerView::Wait>> ExplainAllWaits();
  // Returns when these jobs, or all live jobs if none are named, will probably start and end, as far as an answer of
  // the master holds; nothing for jobs of which it does not know. *problem says why it says nothing of any job; it is
  // empty otherwise.
  Result<std::vector<Foretold>> Foretell(const std::vector<JobId>& jobs, std::string* problem);

  // Returns what is ahead of the job and what would help it, tried under these schedulers or, if none are named, under
  // some that the master chooses. A master that is too old for it is a problem of the answer.
  Result<job::Why> AskWhy(JobId job, const std::vector<std::string>& under);

 private:
  Result<std::vector<SchedulerView::Wait>> ExplainWaits(const std::vector<JobId>& jobs);
  struct HistoryPage {
    std::vector<std::pair<std::uint64_t, std::string>> lines;
    std::uint64_t next = 0;  // the number of the last line that is whole
    bool cut = false;        // the last line continues on the next page
    bool more = false;
  };
  Result<HistoryPage> GetHistory(JobId job, std::uint64_t after, std::uint64_t offset);
  using AskMaster = std::function<kj::Promise<void>(master::wire::Master::Client)>;
  using AskJobs = std::function<kj::Promise<void>(master::wire::JobService::Client)>;
  Status Ask(const std::string& what, const AskMaster& f);
  Status AskAboutJobs(const std::string& what, const AskJobs& f);

  dfs::DfsClient& connection_;
};

// Reads the journal of the cluster through its master. Returns the journal's lines of one job, or all lines, by number,
// which is the order of the events.
[[nodiscard]] Result<std::map<std::uint64_t, std::string>> ReadJournal(JobClient client, std::optional<JobId> only);

// Returns the whole journal as one text.
[[nodiscard]] Result<std::string> ReadWholeJournal(JobClient client);

}  // namespace millrace::job
