#include "worker/daemon/process/attempt_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/units.h"
#include "worker/sandbox/task_file.h"

namespace millrace::worker {

namespace fs = std::filesystem;

DiskAttemptFiles::DiskAttemptFiles(std::string directory, std::uint64_t reserved_bytes,
                                   std::optional<sandbox::UserRange> users, RoomProbe free)
    : directory_(std::move(directory)), reserved_bytes_(reserved_bytes), free_(std::move(free)), users_(users) {}

Result<std::unique_ptr<DiskAttemptFiles>> DiskAttemptFiles::Open(std::string directory, std::uint64_t reserved_bytes,
                                                                 std::optional<sandbox::UserRange> users,
                                                                 RoomProbe free) {
  MILLRACE_TRY(RemoveTree(directory + "/jobs"));
  MILLRACE_TRY(MakeDirectories(directory + "/jobs"));
  MILLRACE_TRY(MakeDirectories(directory + "/logs"));
  return std::unique_ptr<DiskAttemptFiles>(
      new DiskAttemptFiles(std::move(directory), reserved_bytes, users, std::move(free)));
}

std::string DiskAttemptFiles::JobDirectory(JobId job) const { return fmt::format("{}/jobs/{}", directory_, job.value); }

AttemptPaths DiskAttemptFiles::Paths(const AttemptId& attempt) const {
  const std::string job = JobDirectory(attempt.task.job), stem = ToText(attempt);
  const std::string log = fmt::format("{}/{}/{}", logs_directory(), attempt.task.job.value, stem);
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
  constexpr int kMostLookedAt = 1000;  // files of a scratch directory
  constexpr std::uint64_t kBlock = 512;
  std::uint64_t bytes = 0;
  const auto add = [&bytes](const std::string& path) {
    struct stat info = {};
    if (!path.empty() && lstat(path.c_str(), &info) == 0) bytes += static_cast<std::uint64_t>(info.st_blocks) * kBlock;
  };
  const AttemptPaths paths = Paths(attempt);
  for (const std::string& path : {paths.run_file, paths.copy_file, paths.stdout_file, paths.stderr_file}) add(path);
  std::error_code error;
  int looked_at = 0;
  for (fs::recursive_directory_iterator at(paths.scratch, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end && ++looked_at <= kMostLookedAt; at.increment(error)) {
    add(at->path());
  }
  return bytes;
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
  return MakeWritable(fmt::format("{}/{}", logs_directory(), job.value), job);
}

namespace {

// Makes a directory, or finds it as an earlier attempt made it.
Result<bool> MadeNew(const std::string& path, int mode) {
  if (mkdir(path.c_str(), static_cast<mode_t>(mode)) == 0) return true;
  if (errno == EEXIST) return false;
  return FromErrno(errno, "cannot make " + path);
}

}  // namespace

Status DiskAttemptFiles::MakeWritable(const std::string& path, JobId job) const {
  MILLRACE_ASSIGN(const bool made, MadeNew(path, users_ ? 0700 : 0777));
  if (!made || !users_) return Status::Ok();
  const uid_t user = sandbox::UserOf(*users_, job);
  return lchown(path.c_str(), user, user) == 0 ? Status::Ok() : FromErrno(errno, "cannot hand over " + path);
}

// The group is the job's, also of what is made in it.
Status DiskAttemptFiles::MakeReadable(const std::string& path, JobId job) const {
  MILLRACE_ASSIGN(const bool made, MadeNew(path, users_ ? 0750 : 0777));
  if (!made || !users_) return Status::Ok();
  const bool done = lchown(path.c_str(), static_cast<uid_t>(-1), sandbox::UserOf(*users_, job)) == 0 &&
                    chmod(path.c_str(), 02750) == 0;
  return done ? Status::Ok() : FromErrno(errno, "cannot hand over " + path);
}

// Failures are ignored: what cannot be removed now goes with the job, or at the next start.
void DiskAttemptFiles::RemoveScratch(const AttemptId& attempt) {
  const AttemptPaths paths = Paths(attempt);
  (void)RemoveTree(paths.scratch);
  if (!paths.copy_file.empty()) (void)RemoveTree(paths.copy_file);
}

void DiskAttemptFiles::RemoveRun(const AttemptId& attempt) {
  const AttemptPaths paths = Paths(attempt);
  for (const std::string& file : {paths.run_file, paths.moved_file}) {
    if (!file.empty()) (void)RemoveTree(file);
  }
}

void DiskAttemptFiles::RemoveJob(JobId job) { (void)RemoveTree(JobDirectory(job)); }

Result<LogPiece> DiskAttemptFiles::ReadLog(const AttemptId& attempt, bool standard_error, std::uint64_t offset,
                                           std::uint32_t limit) const {
  const AttemptPaths paths = Paths(attempt);
  const std::string& path = standard_error ? paths.stderr_file : paths.stdout_file;
  auto file = sandbox::OpenTaskFile(path, O_RDONLY);
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

namespace {

struct JobLogs {
  Micros written = 0;  // when the latest of its files was written
  std::uint64_t bytes = 0;
  std::string path;
};

JobLogs Measure(const std::string& path) {
  JobLogs logs;
  logs.path = path;
  auto names = ListDirectory(path);
  if (!names.ok()) return logs;
  names->push_back(".");
  for (const std::string& name : *names) {
    struct stat info = {};
    if (stat((path + "/" + name).c_str(), &info) != 0) continue;
    if (S_ISREG(info.st_mode)) logs.bytes += static_cast<std::uint64_t>(info.st_size);
    logs.written = std::max(logs.written, Micros{info.st_mtim.tv_sec} * kSecond + info.st_mtim.tv_nsec / 1000);
  }
  return logs;
}

}  // namespace

void DiskAttemptFiles::SweepLogs(Micros oldest, std::uint64_t limit) {
  auto names = ListDirectory(logs_directory());
  if (!names.ok()) return;
  std::vector<JobLogs> jobs;
  std::uint64_t total = 0;
  for (const std::string& name : *names) {
    jobs.push_back(Measure(logs_directory() + "/" + name));
    total += jobs.back().bytes;
  }
  std::sort(jobs.begin(), jobs.end(), [](const JobLogs& a, const JobLogs& b) { return a.written < b.written; });
  for (const JobLogs& job : jobs) {
    if (job.written >= oldest && total <= limit) break;
    if (RemoveTree(job.path).ok()) total -= job.bytes;
  }
}

std::string TailOfFile(const std::string& path, std::size_t limit) {
  auto file = sandbox::OpenTaskFile(path, O_RDONLY);
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
