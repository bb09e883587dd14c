// SPDX-License-Identifier: Apache-2.0
// Client works with the cluster and remembers the operations that were acknowledged. One fiber works with files below a
// directory of its own, and one with jobs. After a lost answer, the operation may or may not have been done. To find
// out, the client waits for the acknowledgement of a later operation, and then looks. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/simulated/chaos/caller.h"
#include "tests/simulated/chaos/cluster.h"
#include "tests/simulated/chaos/files.h"

namespace millrace::simulated {

class Client {
 public:
  Client(Cluster& cluster, std::uint32_t number);
  // Begins. The client notifies the checker when it has completed its part of the plan.
  void Start();

 private:
  struct File {
    std::uint64_t id = 0;
    std::vector<std::uint64_t> blocks;
    std::vector<std::string> data;  // by block
    std::uint32_t replication = 1;
  };
  enum class Outcome { kDone, kNotDone, kUnknown };

  // ---- files ----
  void WorkWithFiles(kj::WaitScope& scope);
  [[nodiscard]] Outcome Put(kj::WaitScope& scope, const std::string& path, std::vector<std::string> data,
                            bool overwrite, bool may_go);
  void Stream(kj::WaitScope& scope, const std::string& path);
  void Remove(kj::WaitScope& scope, const std::string& path);
  [[nodiscard]] Status AskToRemove(kj::WaitScope& scope, const std::string& path);
  // Removes the file or directory at the path, if there is one, from the right master.
  void Discard(kj::WaitScope& scope, const std::string& path);
  void Rename(kj::WaitScope& scope, const std::string& from, const std::string& to);
  // Removes the file into the trash and brings it back. All the while its blocks must not be lost.
  void TrashAndUndelete(kj::WaitScope& scope, const std::string& path);
  void SetReplication(kj::WaitScope& scope, const std::string& path);
  void ReadAndCompare(kj::WaitScope& scope, const std::string& path);
  void ListAndCompare(kj::WaitScope& scope);
  // Called in the end: reads every file, and fails the run if one cannot be read or has the wrong bytes.
  void ReadAll(kj::WaitScope& scope);

  // ---- jobs ----
  void WorkWithJobs(kj::WaitScope& scope);
  void RunJob(kj::WaitScope& scope, std::uint32_t number);
  [[nodiscard]] std::optional<JobId> Submit(kj::WaitScope& scope, const std::string& token, const std::string& input,
                                            const std::string& output, std::uint32_t reduces);
  [[nodiscard]] bool MayFail(const std::string& reason);
  [[nodiscard]] bool WaitForEnd(kj::WaitScope& scope, JobId job);  // true: it has succeeded
  void CompareOutput(kj::WaitScope& scope, JobId job, const std::string& output,
                     const std::vector<std::string>& expected, bool reduces);

  // ---- shared by both ----
  // Returns the call's status, or kCancelled if the master ran on a wrong directory at any time since `misled`.
  [[nodiscard]] Status Trust(Status status, std::uint64_t misled) const;
  [[nodiscard]] std::uint64_t Misled() const;
  // A master that does not know that its database was set back removes a file for good when asked to, while the right
  // master still has the file (docs/inside/decisions/0013-one-cluster.md). MayBeForGood returns true if such a master
  // may have answered the call that was made at `asked`. Requires: MayBeForGood is called as soon as that call has
  // ended.
  struct Era {
    std::uint64_t set_backs = 0;
    bool doubts = false;
  };
  [[nodiscard]] Era Now() const;
  [[nodiscard]] bool MayBeForGood(const Era& asked) const;
  // Waits until every earlier call has been done or never will be, and everything that was done is on disk.
  void Fence(kj::WaitScope& scope);
  // The file at a path. Its id is 0 if there is none.
  struct FoundFile {
    std::uint64_t id = 0;
    std::uint32_t replication = 0;
  };
  [[nodiscard]] FoundFile FindFile(kj::WaitScope& scope, const std::string& path);
  [[nodiscard]] std::uint64_t FindFileId(kj::WaitScope& scope, const std::string& path) {
    return FindFile(scope, path).id;
  }
  void Keep(const std::string& path, File file);
  void Release(const File& file);
  [[nodiscard]] std::string RandomData();
  void Sleep(kj::WaitScope& scope, double seconds);

  Cluster& cluster_;
  World& world_;
  std::uint32_t number_;
  Random random_;
  HostId host_;
  Process process_;
  MasterCaller files_caller_, jobs_caller_;
  std::string home_;
  std::map<std::string, File> files_;
  std::set<std::string> uncertain_;  // paths where a file may still appear, since a sync may have succeeded
  std::uint32_t fences_ = 0, names_ = 0;
};

}  // namespace millrace::simulated
