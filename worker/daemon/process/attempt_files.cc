// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/process/attempt_files.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/units.h"

namespace millrace::worker {
namespace {

// The most files that are examined below a directory of a job. A job of 100,000 maps has fewer.
constexpr std::size_t kMostNames = 250'000;

constexpr std::string_view kArchivedSuffix = ".archived";

// A task may set when its file was written, but not when that was last changed.
Micros WrittenAt(const struct stat& info) {
  const auto micros = [](const timespec& time) { return Micros{time.tv_sec} * kSecond + time.tv_nsec / 1000; };
  return std::min(micros(info.st_mtim), micros(info.st_ctim));
}

}  // namespace

std::optional<task::RecordPlace> DiskAttemptFiles::ReadNote(const AttemptId& attempt) const {
  const std::string path = Paths(attempt).record_note;
  if (path.empty()) return std::nullopt;
  return task::ReadRecordNote(directories_.Read(path));
}

DiskAttemptFiles::DiskAttemptFiles(std::string directory, sandbox::TaskDirectories directories,
                                   std::uint64_t reserved_bytes, std::optional<sandbox::UserRange> users, Log log,
                                   RoomProbe free)
    : directory_(std::move(directory)),
      directories_(std::move(directories)),
      reserved_bytes_(reserved_bytes),
      free_(std::move(free)),
      users_(users),
      removals_(directories_, std::move(log)) {}

// Files of an earlier incarnation do not prevent a start.
Result<std::unique_ptr<DiskAttemptFiles>> DiskAttemptFiles::Open(std::string directory, std::uint64_t reserved_bytes,
                                                                 std::optional<sandbox::UserRange> users, Log log,
                                                                 RoomProbe free) {
  for (const char* name : {"/jobs", "/logs"}) {
    MILLRACE_TRY(MakeDirectories(directory + name));
    struct stat info = {};  // a task without confinement may have made anything of it
    if (stat((directory + name).c_str(), &info) == 0)
      (void)chmod((directory + name).c_str(), (info.st_mode & 07777) | S_IRWXU);
  }
  MILLRACE_ASSIGN(auto directories, sandbox::TaskDirectories::Open({directory + "/jobs", directory + "/logs"}));
  std::unique_ptr<DiskAttemptFiles> files(
      new DiskAttemptFiles(std::move(directory), std::move(directories), reserved_bytes, users, log, std::move(free)));
  for (const Status& left :
       {files->removals_.AddAll(files->jobs_directory()), files->removals_.Resume(files->logs_directory())}) {
    if (!left.ok()) log->warn("cannot remove what an earlier worker left of jobs: {}", left.message());
  }
  return files;
}

std::string DiskAttemptFiles::JobDirectory(JobId job) const { return fmt::format("{}/jobs/{}", directory_, job.value); }
std::string DiskAttemptFiles::LogDirectory(JobId job) const { return fmt::format("{}/logs/{}", directory_, job.value); }

AttemptPaths DiskAttemptFiles::Paths(const AttemptId& attempt) const {
  const std::string job = JobDirectory(attempt.task.job), stem = ToText(attempt);
  const std::string log = LogDirectory(attempt.task.job) + "/" + stem;
  AttemptPaths paths;
  if (!attempt.task.reduce()) paths.run_file = job + "/map/" + stem + ".run";
  if (attempt.task.reduce()) paths.copy_file = job + "/reduce/" + stem + ".copy";
  paths.scratch = job + "/scratch/" + stem;
  if (!attempt.task.reduce()) paths.record_note = paths.scratch + "/.record";
  if (!attempt.task.reduce()) paths.moved_file = job + "/reduce/" + stem + ".run";
  paths.stdout_file = log + ".out";
  paths.stderr_file = log + ".err";
  return paths;
}

Result<std::uint64_t> DiskAttemptFiles::Free() const { return free_(directory_); }

bool DiskAttemptFiles::HasRoom() {
  const Result<std::uint64_t> free = Free();
  if (!free.ok()) return true;  // that is not for want of space, and Prepare says it
  had_room_ = *free >= reserved_bytes_ + (had_room_ ? 0 : reserved_bytes_ / 16);
  return had_room_;
}

std::optional<AttemptFiles::Shortage> DiskAttemptFiles::FindShortage() const {
  const Result<std::uint64_t> free = Free();
  if (!free.ok() || *free >= reserved_bytes_) return std::nullopt;
  return Shortage{*free, reserved_bytes_};
}

std::uint64_t DiskAttemptFiles::BytesOf(const AttemptId& attempt) const {
  constexpr std::size_t kMostLookedAt = 1000;  // files of a scratch directory
  const AttemptPaths paths = Paths(attempt);
  std::uint64_t bytes = 0;
  for (const std::string& path :
       {paths.run_file, paths.copy_file, paths.stdout_file, paths.stderr_file, paths.scratch}) {
    if (!path.empty()) bytes += directories_.BytesOnDisk(path, kMostLookedAt);
  }
  return bytes;
}

AttemptFiles::Limited DiskAttemptFiles::Measure(const AttemptId& attempt) const {
  constexpr std::size_t kMostLookedAt = 100'000;  // files of a scratch directory
  const AttemptPaths paths = Paths(attempt);
  Limited limited;
  limited.standard_output = directories_.BytesOnDisk(paths.stdout_file, 1);
  limited.standard_error = directories_.BytesOnDisk(paths.stderr_file, 1);
  limited.scratch = directories_.BytesOnDisk(paths.scratch, kMostLookedAt, &limited.whole);
  return limited;
}

AttemptFiles::Taken DiskAttemptFiles::TakenBy(JobId job) const {
  Taken taken;
  for (const std::string& path : {JobDirectory(job), LogDirectory(job)})
    taken.bytes += directories_.BytesOnDisk(path, kMostNames, &taken.whole);
  return taken;
}

Status DiskAttemptFiles::Prepare(const AttemptId& attempt) {
  MILLRACE_ASSIGN(const std::uint64_t free, Free());
  if (free < reserved_bytes_) {
    return NoSpace(fmt::format("{} cannot start: {} has {} free, less than worker.reserved_bytes = {}; make room there",
                               ToText(attempt), directory_, FormatBytes(free), FormatBytes(reserved_bytes_)));
  }
  const JobId job = attempt.task.job;
  const std::string own = JobDirectory(job);
  MILLRACE_TRY(MakeReadable(own, job));
  MILLRACE_TRY(MakeReadable(own + "/reduce", job));
  MILLRACE_TRY(MakeReadable(own + "/scratch", job));
  MILLRACE_TRY(MakeWritable(own + "/map", job));
  MILLRACE_TRY(MakeWritable(own + "/shared", job));
  MILLRACE_TRY(MakeWritable(Paths(attempt).scratch, job));
  return MakeWritable(LogDirectory(job), job);
}

Status DiskAttemptFiles::MakeWritable(const std::string& path, JobId job) const {
  if (!users_) return directories_.MakeDirectory(path, {});
  const uid_t user = sandbox::UserOf(*users_, job);
  return directories_.MakeDirectory(path, {.mode = 0700, .owner = user, .group = user});
}

// The group is the job's, also for files made in it.
Status DiskAttemptFiles::MakeReadable(const std::string& path, JobId job) const {
  if (!users_) return directories_.MakeDirectory(path, {});
  return directories_.MakeDirectory(path, {.mode = 02750, .group = sandbox::UserOf(*users_, job)});
}

// Failures are logged by whoever removes: what cannot be removed now goes with the job, or at the next start.
void DiskAttemptFiles::RemoveScratch(const AttemptId& attempt) {
  const AttemptPaths paths = Paths(attempt);
  removals_.Add(paths.scratch, jobs_directory());
  if (!paths.copy_file.empty()) removals_.Add(paths.copy_file, jobs_directory());
}

void DiskAttemptFiles::RemoveRun(const AttemptId& attempt) {
  const AttemptPaths paths = Paths(attempt);
  for (const std::string& file : {paths.run_file, paths.moved_file}) {
    if (!file.empty()) removals_.Add(file, jobs_directory());
  }
}

void DiskAttemptFiles::RemoveJob(JobId job) { removals_.Add(JobDirectory(job), jobs_directory()); }

void DiskAttemptFiles::RemoveAllBut(JobId job, const std::set<AttemptId>& outputs) {
  constexpr std::uint64_t kMuch = std::uint64_t{64} << 20;
  const std::string own = JobDirectory(job);
  std::set<std::string> known;
  for (const AttemptId& map : outputs) known.insert(ToText(map) + ".run");
  for (const char* directory : {"/map", "/reduce"}) RemoveStrangers(own + directory, known);
  for (const char* directory : {"/shared", "/scratch"}) removals_.Add(own + directory, jobs_directory());
  bool whole = true;
  const std::uint64_t logs = directories_.BytesOnDisk(LogDirectory(job), kMostNames, &whole);
  if (logs > kMuch || !whole) removals_.Add(LogDirectory(job), logs_directory());
}

// Some at a time, since a task may have made any number. Those that are left after all passes go with the job.
void DiskAttemptFiles::RemoveStrangers(const std::string& directory, const std::set<std::string>& known) {
  constexpr std::size_t kAtATime = 1000;
  constexpr int kPasses = 100;
  std::vector<std::string> strangers(kAtATime);
  for (int pass = 0; pass < kPasses && strangers.size() == kAtATime; ++pass) {
    strangers.clear();
    const Status listed = directories_.ForEach(directory, [&](const std::string& name, const struct stat&) {
      if (!known.contains(name)) strangers.push_back(directory + "/" + name);
      return strangers.size() < kAtATime;
    });
    if (!listed.ok()) removals_.Add(directory, jobs_directory());  // a task has made something else of it
    for (const std::string& path : strangers) removals_.Add(path, jobs_directory());
  }
}

Result<LogPiece> DiskAttemptFiles::ReadLog(const AttemptId& attempt, bool standard_error, std::uint64_t offset,
                                           std::uint32_t limit) const {
  const AttemptPaths paths = Paths(attempt);
  const std::string& path = standard_error ? paths.stderr_file : paths.stdout_file;
  auto file = directories_.Read(path);
  if (!file.ok()) {
    if (file.status().code() != StatusCode::kNotFound) return file.status();
    return NotFound(fmt::format("this worker has no log of {}: it never ran here, or worker.log_retention has passed",
                                ToText(attempt)));
  }
  LogPiece piece;
  MILLRACE_ASSIGN(piece.size, FileSize(file->get(), path));
  if (offset >= piece.size) return piece;
  piece.data.resize(std::min<std::uint64_t>(std::min(limit, kLogPieceBytes), piece.size - offset));
  MILLRACE_TRY(ReadExactlyAt(file->get(), piece.data.data(), piece.data.size(), offset, path));
  return piece;
}

std::vector<JobId> DiskAttemptFiles::ListUnarchived() const {
  std::set<JobId> jobs, archived;
  const Status listed = directories_.ForEach(logs_directory(), [&](const std::string& name, const struct stat& info) {
    const std::string_view number = std::string_view(name).substr(0, name.find('.'));
    const std::optional<JobId> job = ParseJob("job" + std::string(number));
    if (!job) return true;
    if (S_ISDIR(info.st_mode) && number == name) jobs.insert(*job);
    if (std::string_view(name).substr(number.size()) == kArchivedSuffix) archived.insert(*job);
    return jobs.size() < kMostNames;
  });
  if (!listed.ok()) return {};
  std::vector<JobId> left;
  std::ranges::set_difference(jobs, archived, std::back_inserter(left));
  return left;
}

Status DiskAttemptFiles::NoteArchived(JobId job) {
  const std::string path = LogDirectory(job) + std::string(kArchivedSuffix);
  MILLRACE_ASSIGN(Fd file, directories_.Replace(path));
  return CloseFile(std::move(file), path);
}

Result<std::vector<AttemptFiles::StreamFile>> DiskAttemptFiles::ListLogs(JobId job) const {
  std::vector<StreamFile> found;
  MILLRACE_TRY(directories_.ForEach(LogDirectory(job), [&](const std::string& name, const struct stat& info) {
    const std::string_view all = name, ending = all.substr(std::min(all.size(), all.rfind('.')));
    if ((ending != ".out" && ending != ".err") || !S_ISREG(info.st_mode) || info.st_size == 0) return true;
    const std::optional<AttemptId> attempt = ParseAttempt(all.substr(0, all.size() - ending.size()));
    if (attempt && attempt->task.job == job)
      found.push_back({*attempt, ending == ".err", static_cast<std::uint64_t>(info.st_size)});
    return found.size() < kMostNames;
  }));
  std::ranges::sort(found, {}, [](const StreamFile& file) { return std::pair(file.attempt, file.standard_error); });
  return found;
}

DiskAttemptFiles::JobLogs DiskAttemptFiles::MeasureLogs(const std::string& path) {
  constexpr std::size_t kMostForeign = 1000;  // that one sweep removes
  constexpr std::size_t kMostFiles = 100'000;
  constexpr std::uint64_t kBlock = 512;  // of st_blocks
  JobLogs logs;
  logs.path = path;
  std::vector<std::string> foreign;
  std::size_t files = 0;
  (void)directories_.ForEach(path, [&](const std::string& name, const struct stat& info) {
    if (!S_ISREG(info.st_mode)) foreign.push_back(path + "/" + name);
    // A file may have any length and take nothing of the disk.
    if (S_ISREG(info.st_mode))
      logs.bytes +=
          std::min(static_cast<std::uint64_t>(info.st_size), static_cast<std::uint64_t>(info.st_blocks) * kBlock);
    logs.written = std::max(logs.written, WrittenAt(info));
    logs.crowded = ++files > kMostFiles;
    return foreign.size() < kMostForeign && !logs.crowded;
  });
  for (const std::string& one : foreign) removals_.Add(one, logs_directory());
  return logs;
}

void DiskAttemptFiles::SweepLogs(Micros oldest, std::uint64_t limit, const std::set<JobId>& here) {
  std::set<std::string> kept;
  for (const JobId job : here) kept.insert(std::to_string(job.value));
  std::vector<JobLogs> jobs;
  std::uint64_t total = 0;
  const Status listed = directories_.ForEach(logs_directory(), [&](const std::string& name, const struct stat& info) {
    if (Removals::IsAside(name) || kept.contains(name)) return true;
    JobLogs logs = MeasureLogs(logs_directory() + "/" + name);
    // A directory that holds nothing is as old as itself.
    logs.written = std::max(logs.written, WrittenAt(info));
    total += logs.bytes;
    jobs.push_back(std::move(logs));
    return true;
  });
  if (!listed.ok()) return;
  const auto goes_first = [oldest](const JobLogs& job) {
    const bool old = job.written < oldest;
    return std::make_tuple(!old, !job.crowded, ~job.bytes, job.written);
  };
  std::ranges::sort(jobs, std::less(), goes_first);
  for (const JobLogs& job : jobs) {
    if (job.written >= oldest && !job.crowded && total <= limit) break;
    removals_.Add(job.path, logs_directory());
    total -= job.bytes;
  }
}

std::string TailOfFile(const sandbox::TaskDirectories& directories, const std::string& path, std::size_t limit) {
  const auto file = directories.Read(path);
  if (!file.ok()) return {};
  const auto size = FileSize(file->get(), path);
  if (!size.ok()) return {};
  const std::size_t length = std::min<std::uint64_t>(limit, *size);
  std::string tail(length, '\0');
  if (!ReadExactlyAt(file->get(), tail.data(), length, *size - length, path).ok()) return {};
  if (length < *size) {
    if (const auto end = tail.find('\n'); end != std::string::npos && end + 1 < tail.size()) tail.erase(0, end + 1);
  }
  return tail;
}

}  // namespace millrace::worker
