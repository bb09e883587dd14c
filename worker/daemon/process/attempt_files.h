// SPDX-License-Identifier: Apache-2.0
// AttemptFiles knows the places of the files of attempts, and makes and removes them.
//
//   <directory>/jobs/<job>/map/<stem>.run       the sorted output of a map attempt
//   <directory>/jobs/<job>/reduce/<stem>.copy   the segments that a reduce attempt copied
//   <directory>/jobs/<job>/reduce/<stem>.run    the output of a map attempt that ran on another worker
//   <directory>/jobs/<job>/scratch/<stem>/      the scratch directory of an attempt
//   <directory>/jobs/<job>/shared/              files that all attempts map (client/job/side_files.h)
//   <directory>/logs/<job>/<stem>.{out,err}     standard output and error, kept after the job
//   <directory>/logs/<job>.archived             an empty file: those are in the archive; it goes as the logs do
// Thread rule: any thread; everything but Paths blocks on the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/machine_size.h"
#include "base/protocol/attempt_wire.h"
#include "base/sandbox/sandbox.h"
#include "base/status.h"
#include "worker/daemon/process/removals.h"
#include "worker/sandbox/task_directories.h"
#include "worker/task/channel/record_note.h"

namespace millrace::worker {

struct AttemptPaths {
  std::string run_file;
  std::string copy_file;
  std::string scratch;
  std::string stdout_file;
  std::string stderr_file;
  std::string record_note = {};  // of a map (worker/task/channel/record_note.h)
  std::string moved_file = {};   // of a map that ran elsewhere
};

struct LogPiece {
  std::string data;
  std::uint64_t size = 0;  // of the whole log
};

inline constexpr std::uint32_t kLogPieceBytes = std::uint32_t{256} << 10;

class AttemptFiles {
 public:
  virtual ~AttemptFiles() = default;
  [[nodiscard]] virtual AttemptPaths Paths(const AttemptId& attempt) const = 0;
  [[nodiscard]] virtual std::string SharedDirectory(JobId job) const = 0;  // the caller that wants it makes it
  // Makes the directories of Paths. Returns kNoSpace if the disk has fewer than the reserved bytes free.
  virtual Status Prepare(const AttemptId& attempt) = 0;
  // Returns false if the disk has too little space for Prepare, and from then on until it has a further sixteenth of
  // the reserved bytes free. Thread rule: the control thread.
  [[nodiscard]] virtual bool HasRoom() { return true; }
  // FindShortage returns the free and the reserved bytes if attempts have left fewer bytes free than are reserved.
  struct Shortage {
    std::uint64_t free = 0, reserved = 0;
  };
  [[nodiscard]] virtual std::optional<Shortage> FindShortage() const { return std::nullopt; }
  // Returns the bytes that the attempt's files take on the disk. Files in its scratch directory count as far as they
  // can be looked at in a moment.
  [[nodiscard]] virtual std::uint64_t BytesOf(const AttemptId&) const { return 0; }
  // Measure returns the bytes of the attempt that its worker limits (task.scratch_bytes, task.stream_bytes). `whole` is
  // false if the scratch directory has more files than are looked at.
  struct Limited {
    std::uint64_t scratch = 0, standard_output = 0, standard_error = 0;
    bool whole = true;
  };
  [[nodiscard]] virtual Limited Measure(const AttemptId&) const { return {}; }
  // TakenBy returns the bytes that all files of the job take, including those that belong to no attempt. It looks for
  // longer than BytesOf. `whole` is false if it did not get to all files, or cannot look at some.
  struct Taken {
    std::uint64_t bytes = 0;
    bool whole = true;
  };
  [[nodiscard]] virtual Taken TakenBy(JobId) const { return {}; }
  // Returns true while files that are to be removed still take room.
  [[nodiscard]] virtual bool IsRemoving() const { return false; }
  virtual void RemoveScratch(const AttemptId& attempt) = 0;  // and the copy
  virtual void RemoveRun(const AttemptId& attempt) = 0;      // wherever the attempt ran
  virtual void RemoveJob(JobId job) = 0;                     // all but the logs
  // Removes all files of the job except these map outputs and its logs; logs that take much go too. Requires: none of
  // the job's attempts or processes is here.
  virtual void RemoveAllBut(JobId job, const std::set<AttemptId>& outputs) = 0;
  // Returns at most min(limit, kLogPieceBytes) bytes from `offset`; kNotFound if there is no such log.
  [[nodiscard]] virtual Result<LogPiece> ReadLog(const AttemptId& attempt, bool standard_error, std::uint64_t offset,
                                                 std::uint32_t limit) const = 0;
  // ---- for the archive of the logs of jobs that have ended (worker/daemon/agent/log_archiver.h) ----
  // Returns the jobs that have logs here and are not noted as archived.
  [[nodiscard]] virtual std::vector<JobId> ListUnarchived() const { return {}; }
  // Notes on the disk that nothing more is to be archived of the job.
  virtual Status NoteArchived(JobId /*job*/) { return Status::Ok(); }
  struct StreamFile {
    AttemptId attempt;
    bool standard_error = false;
    std::uint64_t bytes = 0;
  };
  // Returns the streams of the job's attempts that are not empty, in order.
  [[nodiscard]] virtual Result<std::vector<StreamFile>> ListLogs(JobId /*job*/) const {
    return std::vector<StreamFile>();
  }
  // Returns the record on which a map works, if it has noted one.
  [[nodiscard]] virtual std::optional<task::RecordPlace> ReadNote(const AttemptId& /*attempt*/) const {
    return std::nullopt;
  }
};

// DiskAttemptFiles keeps the files on disk. If jobs have users, a job's user owns the directories that its tasks write
// to (map outputs, scratch, shared files and logs) and can read the worker's copies. The worker owns every directory
// above those, so that no task can put something else in its place. Nobody else can read these files. All access goes
// through TaskDirectories, since tasks may have put anything there. Files to be removed lose their name at once and are
// removed on a thread of their own (removals.h). So are files that an earlier incarnation left in jobs/.
class DiskAttemptFiles final : public AttemptFiles {
 public:
  static Result<std::unique_ptr<DiskAttemptFiles>> Open(std::string directory, std::uint64_t reserved_bytes,
                                                        std::optional<sandbox::UserRange> users = std::nullopt,
                                                        Log log = MakeSilentLog(), RoomProbe free = FreeBytes);

  [[nodiscard]] AttemptPaths Paths(const AttemptId& attempt) const override;
  [[nodiscard]] std::string SharedDirectory(JobId job) const override { return JobDirectory(job) + "/shared"; }
  Status Prepare(const AttemptId& attempt) override;
  [[nodiscard]] bool HasRoom() override;
  [[nodiscard]] std::optional<Shortage> FindShortage() const override;
  [[nodiscard]] std::uint64_t BytesOf(const AttemptId& attempt) const override;
  [[nodiscard]] Limited Measure(const AttemptId& attempt) const override;
  [[nodiscard]] Taken TakenBy(JobId job) const override;
  [[nodiscard]] bool IsRemoving() const override { return removals_.IsBusy(); }
  void RemoveScratch(const AttemptId& attempt) override;
  void RemoveRun(const AttemptId& attempt) override;
  void RemoveJob(JobId job) override;
  void RemoveAllBut(JobId job, const std::set<AttemptId>& outputs) override;
  [[nodiscard]] Result<LogPiece> ReadLog(const AttemptId& attempt, bool standard_error, std::uint64_t offset,
                                         std::uint32_t limit) const override;
  [[nodiscard]] std::vector<JobId> ListUnarchived() const override;
  Status NoteArchived(JobId job) override;
  [[nodiscard]] Result<std::vector<StreamFile>> ListLogs(JobId job) const override;
  [[nodiscard]] std::optional<task::RecordPlace> ReadNote(const AttemptId& attempt) const override;

  // Deletes a job's logs if nothing was written to them since `oldest`. Then, until the remaining logs take at most
  // `limit` bytes of the disk, it deletes the logs of the job whose logs take the most; of two jobs whose logs take as
  // much as each other's, the one whose logs were written to less recently. A job with very many files counts as the
  // one with the most. Anything beside the logs that is not a log (a directory, a link, a pipe) is deleted too. The
  // logs of the jobs `here`, which may still be written to, stay and do not count; such a job answers for its logs when
  // the disk fills up.
  void SweepLogs(Micros oldest, std::uint64_t limit, const std::set<JobId>& here = {});
  [[nodiscard]] std::string jobs_directory() const { return directory_ + "/jobs"; }
  [[nodiscard]] std::string logs_directory() const { return directory_ + "/logs"; }
  // Returns the directories through which other code opens these files.
  [[nodiscard]] const sandbox::TaskDirectories& directories() const { return directories_; }
  // Waits until all files to be removed have been removed, or their removal has failed.
  void AwaitRemovals() { removals_.Await(); }

 private:
  DiskAttemptFiles(std::string directory, sandbox::TaskDirectories directories, std::uint64_t reserved_bytes,
                   std::optional<sandbox::UserRange> users, Log log, RoomProbe free);
  [[nodiscard]] Result<std::uint64_t> Free() const;  // bytes
  [[nodiscard]] std::string JobDirectory(JobId job) const;
  [[nodiscard]] std::string LogDirectory(JobId job) const;
  // Removes everything in a directory of the job except the names in `known`.
  void RemoveStrangers(const std::string& directory, const std::set<std::string>& known);

  // These make a directory that the job's tasks may write to, or only read. Requires: the parent directory exists.
  Status MakeWritable(const std::string& path, JobId job) const;
  Status MakeReadable(const std::string& path, JobId job) const;
  struct JobLogs {
    Micros written = 0;       // when the latest of its files was written
    std::uint64_t bytes = 0;  // on the disk
    bool crowded = false;     // it has more files than MeasureLogs looks at
    std::string path;
  };
  // Looks at the logs of a job, and removes anything that is not a log.
  JobLogs MeasureLogs(const std::string& path);

  std::string directory_;
  sandbox::TaskDirectories directories_;
  std::uint64_t reserved_bytes_;
  RoomProbe free_;
  bool had_room_ = true;  // the last result of HasRoom
  std::optional<sandbox::UserRange> users_;
  Removals removals_;  // last: it uses the directories
};

// Returns the last lines of a text file, at most `limit` bytes. If the file is longer, returns only whole lines.
// Returns an empty text if the file cannot be read.
[[nodiscard]] std::string TailOfFile(const sandbox::TaskDirectories& directories, const std::string& path,
                                     std::size_t limit);

}  // namespace millrace::worker
