// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/journal.h"

#include <algorithm>
#include <map>
#include <variant>

#include "base/text.h"
#include "master/jobs/answer_budget.h"
#include "schedulers/events/event_text.h"

namespace millrace::master {

namespace {

constexpr std::string_view kReplayFrom = "r";
constexpr std::string_view kReplayBase = "b";
constexpr std::string_view kAnswerWord = " PolicyAnswered ";

}  // namespace

std::string JournalPrefix(JobId job) { return "e/" + KeyNumber(job.value); }

std::string JournalKey(JobId job, std::uint64_t sequence) { return JournalPrefix(job) + KeyNumber(sequence); }

std::optional<std::uint64_t> JournalSequence(std::string_view key) {
  return key.size() == 2 + 8 + 8 ? ParseKeyNumber(key.substr(10)) : std::nullopt;
}

Status Journal::Load() {
  MILLRACE_TRY(sequences_.Load(store_));
  return store_.Scan(JournalPrefix(JobId{0}), {}, [&](std::string_view key, std::string_view line) {
    if (line.find(kAnswerWord) != std::string_view::npos) NoteAnswer(JournalSequence(key).value_or(0), line.size());
    return true;
  });
}

void Journal::NoteAnswer(std::uint64_t sequence, std::size_t bytes) {
  answers_.emplace_back(sequence, bytes);
  answer_bytes_ += bytes;
}

void Journal::Record(const sched::Event& event, JobId job, Step* step) {
  const std::uint64_t sequence = sequences_.Next(&step->batch);
  std::string line = sched::FormatEvent(step->now, event);
  if (std::holds_alternative<sched::PolicyAnswered>(event)) {
    NoteAnswer(sequence, line.size());
    while (answer_bytes_ > kAnswerBytes && answers_.size() > 1) {
      step->batch.Remove(JournalKey(job, answers_.front().first));
      answer_bytes_ -= answers_.front().second;
      answers_.pop_front();
    }
  }
  step->batch.Put(JournalKey(job, sequence), std::move(line));
  last_event_ = step->now;
}

void Journal::RecordMark(sched::JournalMark mark, Step* step) {
  step->batch.Put(JournalKey(JobId{0}, sequences_.Next(&step->batch)), sched::FormatMark(step->now, mark));
}

void Journal::Snapshot(const std::vector<sched::Event>& events, Step* step) {
  const std::uint64_t start = sequences_.Next(&step->batch);
  step->batch.Put(std::string(kReplayFrom), KeyNumber(start));
  std::string base;
  for (const sched::Event& event : events) base += sched::FormatEvent(step->now, event) + "\n";
  step->batch.Put(std::string(kReplayBase), std::move(base));
}

Status Journal::ReplaySnapshot(const Visit& visit) const {
  MILLRACE_ASSIGN(const std::optional<std::string> base, store_.Get(kReplayBase));
  std::string_view rest = base ? std::string_view(*base) : std::string_view();
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::optional<sched::TimedEvent> event = sched::ParseEvent(line);
    if (!event) return Corrupt("the journal's list of nodes is not understood: " + Quote(line));
    visit(event->event, event->time);
  }
  return Status::Ok();
}

Result<std::size_t> Journal::Replay(const std::set<JobId>& live, const Visit& visit) const {
  MILLRACE_ASSIGN(const std::optional<std::string> from_text, store_.Get(kReplayFrom));
  const std::uint64_t from = from_text ? ParseKeyNumber(*from_text).value_or(0) : 0;
  MILLRACE_TRY(ReplaySnapshot(visit));
  std::map<std::uint64_t, std::string> lines;
  std::vector<JobId> sources = {JobId{0}};
  sources.insert(sources.end(), live.begin(), live.end());
  for (const JobId source : sources) {
    MILLRACE_TRY(
        store_.Scan(JournalPrefix(source), JournalKey(source, from), [&](std::string_view key, std::string_view line) {
          if (const auto sequence = JournalSequence(key)) lines.emplace(*sequence, line);
          return true;
        }));
  }
  for (const auto& [sequence, line] : lines) {
    const std::optional<sched::JournalLine> parsed = sched::ParseJournalLine(line);
    if (!parsed) return Corrupt("the journal's line " + std::to_string(sequence) + " is not understood: " + line);
    // Marks are passed over: they only serve those who decide again, and what was decided has lines of its own.
    if (const auto* event = std::get_if<sched::Event>(&parsed->content)) visit(*event, parsed->time);
  }
  return lines.size();
}

Status Journal::ReadJob(JobId job, const Visit& visit) const {
  return store_.Scan(JournalPrefix(job), {}, [&](std::string_view, std::string_view line) {
    if (const std::optional<sched::TimedEvent> event = sched::ParseEvent(line)) visit(event->event, event->time);
    return true;
  });
}

Result<Journal::Page> Journal::Read(JobId job, std::uint64_t after, std::uint64_t offset, std::size_t limit) const {
  constexpr std::size_t kPiece = kElementBytes - 64;  // of a line; its pointer and its number take the rest
  Page page;
  page.next = after;
  AnswerBudget budget(limit);
  MILLRACE_TRY(
      store_.Scan(JournalPrefix(job), JournalKey(job, after + 1), [&](std::string_view key, std::string_view line) {
        line.remove_prefix(std::min<std::uint64_t>(std::exchange(offset, 0), line.size()));
        const std::string_view piece = line.substr(0, kPiece);
        page.more = !budget.Take(FieldBytes(piece) + 16);
        if (page.more) return false;
        const std::uint64_t number = JournalSequence(key).value_or(page.next);
        page.lines.emplace_back(number, piece);
        page.cut = page.more = piece.size() < line.size();
        if (!page.cut) page.next = number;
        return !page.cut;
      }));
  return page;
}

Status Journal::Forget(JobId job, Step* step) const {
  return store_.Scan(JournalPrefix(job), {}, [&](std::string_view key, std::string_view) {
    step->batch.Remove(std::string(key));
    return true;
  });
}

}  // namespace millrace::master
