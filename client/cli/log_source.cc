// SPDX-License-Identifier: Apache-2.0
#include "client/cli/log_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ids/counted.h"
#include "base/text.h"
#include "dfs/wire/job_logs.h"

namespace millrace::cli {

Status LogSource::Read(const AttemptStatus& attempt, job::LogStream stream,
                       const std::function<void(std::string_view)>& sink) {
  std::uint64_t known = 0;
  const Status read = jobs_
                          .ReadLog(attempt.attempt, stream, 0,
                                   [&](std::string_view piece) {
                                     known += piece.size();
                                     sink(piece);
                                   })
                          .status();
  if (read.ok() || read.code() == StatusCode::kDenied || attempt.state == AttemptState::kRunning) return read;
  return ReadArchived(attempt, stream, known, read, sink);
}

LogSource::Archive& LogSource::Open(JobId job, NodeId node) {
  const auto [at, first] = archives_.try_emplace({job, node});
  Archive& archive = at->second;
  if (!first) return archive;
  Result<std::unique_ptr<dfs::FileReader>> file = files_.Open(dfs::PathOf({job, node}));
  if (!file.ok()) {
    archive.status = file.status();
    return archive;
  }
  archive.file = *std::move(file);
  auto reader = dfs::LogArchiveReader::Open(
      archive.file->info().length,
      [open = archive.file.get()](std::uint64_t offset, std::uint64_t size) -> Result<std::string> {
        std::string bytes;
        MILLRACE_TRY(open->ReadAt(offset, size, &bytes));
        return bytes;
      });
  if (reader.ok()) {
    archive.reader = *std::move(reader);
  } else {
    archive.status = reader.status().Within(dfs::PathOf({job, node}));
  }
  return archive;
}

// `known` bytes came from the worker before it failed, and are not given again if the archive has all of the log.
Status LogSource::ReadArchived(const AttemptStatus& attempt, job::LogStream stream, std::uint64_t known,
                               const Status& why, const std::function<void(std::string_view)>& sink) {
  const JobId job = attempt.attempt.task.job;
  const bool standard_error = stream == job::LogStream::kStderr;
  Archive& archive = Open(job, attempt.node);
  const std::string path = dfs::PathOf({job, attempt.node});
  if (!archive.reader) {
    if (archive.status.code() != StatusCode::kNotFound) return archive.status;
    if (why.code() == StatusCode::kUnavailable) lost_[{attempt.node, attempt.host}].insert(attempt.attempt);
    return why;
  }
  if (!std::exchange(archive.told, true)) {
    console::SayLine(invocation_.console,
                     fmt::format("the logs of {} on {} (node {}) come from the archive {}: {}", ToText(job),
                                 Printable(attempt.host), attempt.node.value, path, Printable(why.message())));
  }
  const dfs::ArchivedStream* found = archive.reader->Find(attempt.attempt, standard_error);
  if (found == nullptr) return Status::Ok();  // it printed nothing
  if (found->kept != found->printed) {
    known = 0;
    console::SayLine(
        invocation_.console,
        fmt::format("of the {} that {} printed to standard {}, the archive keeps the head and the tail",
                    Counted(found->printed, "byte"), ToText(attempt.attempt), standard_error ? "error" : "output"));
  }
  return archive.reader->Read(*found, [&](std::string_view piece) {
    const std::uint64_t skipped = std::min<std::uint64_t>(known, piece.size());
    known -= skipped;
    if (skipped < piece.size()) sink(piece.substr(skipped));
  });
}

std::string LogSource::Lost() const {
  std::string text;
  for (const auto& [place, attempts] : lost_) {
    text += fmt::format("{}what {} printed, if anything, was on {} (node {}), which was lost before it was archived",
                        text.empty() ? "" : "; ", Counted(attempts.size(), "attempt"), Printable(place.second),
                        place.first.value);
  }
  return text;
}

}  // namespace millrace::cli
