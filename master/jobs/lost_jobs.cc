// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/lost_jobs.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "base/archive.h"
#include "base/text.h"
#include "base/units.h"

namespace millrace::master {
namespace {

constexpr std::string_view kGapsKey = "gaps";
constexpr std::string_view kGapsWhat = "the database's gaps in the numbers of jobs";
constexpr std::string_view kLostPrefix = "l/";
constexpr std::string_view kLostWhat = "the database's record of a lost job";

constexpr auto kGaps = [](auto& archive, auto& gaps) {
  archive.Version(1, 1, [](int) { return Corrupt(std::string(kGapsWhat) + " are not understood"); });
  archive.List(gaps, [](auto& in, auto& gap) {
    in.Varint(gap.first);
    in.Varint(gap.end);
    in.Enum(gap.cause, DoubtCause::kSetBack);
    in.Varint(gap.known);
    in.Varint(gap.opened);
  });
};

struct LostRecord {
  std::string how, name, owner;
  Micros noted = 0;
};

constexpr auto kLostRecord = [](auto& archive, auto& record) {
  archive.Version(1, 1, [](int) { return Corrupt(std::string(kLostWhat) + " is not understood"); });
  archive.Text(record.how);
  archive.Text(record.name);
  archive.Text(record.owner);
  archive.Varint(record.noted);
};

std::string LostKey(JobId job) { return std::string(kLostPrefix) + KeyNumber(job.value); }

// "after the backup of 2026-01-31 12:00:00 UTC, from which the database was restored"
std::string SinceText(const NumberGap& gap) {
  const std::string time = gap.known == 0 ? "" : FormatUtc(gap.known) + " UTC";
  switch (gap.cause) {
    case DoubtCause::kRestored:
      return "after the backup" + (time.empty() ? "" : " of " + time) + ", from which the database was restored";
    case DoubtCause::kRepaired:
      return "after the state" + (time.empty() ? "" : " of " + time) + ", to which the database was repaired";
    case DoubtCause::kSetBack:
      return "after the state" + (time.empty() ? "" : " of " + time) + ", to which the database was set back";
  }
  return "";
}

// The value of a field of a flat object whose keys are known; it ends at the first quote that is not escaped.
std::string JsonField(std::string_view line, std::string_view key) {
  const std::string begin = "\"" + std::string(key) + "\":\"";
  const std::size_t found = line.find(begin);
  if (found == std::string_view::npos) return {};
  std::string value;
  for (std::size_t at = found + begin.size(); at < line.size() && line[at] != '"'; ++at) {
    if (line[at] == '\\' && at + 1 < line.size()) ++at;
    value += line[at];
  }
  return value;
}

// Reads "job3, "name" to pool "p"".
std::optional<SubmittedJob> ReadSubject(std::string_view on) {
  constexpr std::string_view kJob = "job";
  if (!on.starts_with(kJob)) return std::nullopt;
  SubmittedJob job;
  const char* const begin = on.data() + kJob.size();
  const auto [end, error] = std::from_chars(begin, on.data() + on.size(), job.job.value);
  if (error != std::errc() || end == begin) return std::nullopt;
  const std::string_view rest = on.substr(static_cast<std::size_t>(end - on.data()));
  constexpr std::string_view kName = ", \"", kPool = "\" to pool ";
  const std::size_t pool = rest.rfind(kPool);
  if (!rest.starts_with(kName) || pool == std::string_view::npos || pool < kName.size()) return std::nullopt;
  job.name = rest.substr(kName.size(), pool - kName.size());
  return job;
}

// Returns the next word of the line, and takes it off.
std::string_view TakeWord(std::string_view* line) {
  const std::size_t space = std::min(line->find(' '), line->size());
  const std::string_view word = line->substr(0, space);
  line->remove_prefix(std::min(space + 1, line->size()));
  return word;
}

}  // namespace

std::uint64_t NumberAfterGap(std::uint64_t next, Micros known, Micros now) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t seconds =
      known <= 0 || now <= known ? 0 : static_cast<std::uint64_t>((now - known + kSecond - 1) / kSecond);
  const std::uint64_t wanted = LostJobs::kNumbersAtOnce + LostJobs::kNumbersEachSecond * seconds;
  // Half of what is left is never exceeded, so that there are always numbers.
  return next + std::min(wanted, next >= kLast ? 0 : (kLast - next) / 2);
}

Status LostJobs::Load(const KeyValueStore& store) {
  MILLRACE_ASSIGN(const std::optional<std::string> gaps, store.Get(kGapsKey));
  if (gaps) {
    MILLRACE_ASSIGN(gaps_, ReadFields<std::deque<NumberGap>>(*gaps, kGapsWhat, kGaps));
  }
  Status failure;
  MILLRACE_TRY(store.Scan(kLostPrefix, {}, [&](std::string_view key, std::string_view value) {
    const auto number = ParseKeyNumber(key.substr(kLostPrefix.size()));
    const Result<LostRecord> record = ReadFields<LostRecord>(value, kLostWhat, kLostRecord);
    if (!number || *number > std::numeric_limits<std::uint32_t>::max() || !record.ok()) {
      failure = record.ok() ? Corrupt(std::string(kLostWhat) + ": key not understood") : record.status();
      return false;
    }
    Remember(JobId{static_cast<std::uint32_t>(*number)}, record->how, record->name, record->owner, record->noted);
    return true;
  }));
  return failure;
}

void LostJobs::Open(const NumberGap& gap, WriteBatch* batch) {
  gaps_.push_back(gap);
  if (gaps_.size() > kMostGaps) gaps_.pop_front();
  batch->Put(std::string(kGapsKey), WriteFields(gaps_, kGaps));
}

void LostJobs::Note(JobId job, const std::string& how, const std::string& name, const std::string& owner, Micros now,
                    WriteBatch* batch) {
  if (GapOf(job) == nullptr || jobs_.contains(job)) return;
  batch->Put(LostKey(job), WriteFields(LostRecord{how, name, owner, now}, kLostRecord));
  Remember(job, how, name, owner, now);
  if (jobs_.size() <= kMostLost) return;
  batch->Remove(LostKey(jobs_.begin()->first));
  jobs_.erase(jobs_.begin());
}

void LostJobs::Remember(JobId job, std::string_view how, const std::string& name, const std::string& owner,
                        Micros noted) {
  const NumberGap* gap = GapOf(job);
  JobRecord& record = jobs_[job];
  record.id = job;
  record.request.name = name;
  record.request.owner = owner;
  record.request.reduces = 0;
  record.ended = noted;
  record.outcome = JobOutcomeRecord{
      sched::JobOutcome::kKilled,
      "it was submitted " + (gap == nullptr ? "to a state of the database that is gone" : SinceText(*gap)) +
          ", and is lost (" + std::string(how) + "); look at its output, and submit it again"};
}

const NumberGap* LostJobs::GapOf(JobId job) const {
  const auto found = std::ranges::find_if(
      gaps_, [job](const NumberGap& gap) { return gap.first <= job.value && job.value < gap.end; });
  return found == gaps_.end() ? nullptr : &*found;
}

const JobRecord* LostJobs::Find(JobId job) const {
  const auto it = jobs_.find(job);
  return it == jobs_.end() ? nullptr : &it->second;
}

std::vector<JobId> LostJobs::After(JobId after, std::size_t limit) const {
  std::vector<JobId> found;
  for (auto it = jobs_.upper_bound(after); it != jobs_.end() && found.size() < limit; ++it) found.push_back(it->first);
  return found;
}

Status LostJobs::Missing(JobId job) const {
  if (Find(job) != nullptr) {
    return NotFound(ToText(job) + ": it is lost; `millrace job status " + std::to_string(job.value) + "` says why");
  }
  if (const NumberGap* gap = GapOf(job)) {
    return NotFound(ToText(job) + ": not known; if it was submitted, that was " + SinceText(*gap) + " (at " +
                    FormatUtc(gap->opened) + " UTC), and it is lost: look at its output, and submit it again");
  }
  return NotFound(ToText(job) + ": no such job; `millrace job list` shows them");
}

std::optional<SubmittedJob> ReadSubmission(std::string_view line) {
  if (line.starts_with('{')) {
    if (JsonField(line, "outcome") != "allowed" || JsonField(line, "call") != "submit") return std::nullopt;
    std::optional<SubmittedJob> job = ReadSubject(JsonField(line, "on"));
    if (job) job->user = JsonField(line, "user"), job->time = JsonField(line, "time");
    return job;
  }
  const std::string_view time = TakeWord(&line), outcome = TakeWord(&line), who = TakeWord(&line);
  (void)TakeWord(&line);  // the address
  if (outcome != "allowed" || TakeWord(&line) != "submit") return std::nullopt;
  std::optional<SubmittedJob> job = ReadSubject(line);
  constexpr std::string_view kClient = "client:";
  if (job) job->user = who.starts_with(kClient) ? who.substr(kClient.size()) : who, job->time = time;
  return job;
}

}  // namespace millrace::master
