// SPDX-License-Identifier: Apache-2.0
#include "master/access/audit_log.h"

#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "base/ids/counted.h"
#include "base/text.h"

namespace millrace::master {
namespace {

constexpr Micros kTellEvery = 60 * kSecond;

std::string TimeText(Micros now) {
  const std::time_t seconds = now / kSecond;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, now % kSecond / kMillisecond);
}

std::string_view OutcomeText(const Status& outcome) {
  if (outcome.ok()) return "allowed";
  return outcome.code() == StatusCode::kDenied ? "denied" : "failed";
}

}  // namespace

AuditLog::AuditLog(const Clock& clock, LogOptions options, bool reads, Log log)
    : clock_(clock), json_(options.format == "json"), reads_(reads), log_(std::move(log)) {
  if (!options.file.empty()) file_.emplace(options.file, options.file_bytes, options.old_files);
}

Status AuditLog::Open() {
  if (!file_) return Status::Ok();
  const Status opened = file_->Open().Within("audit.log");
  if (opened.code() != StatusCode::kNoSpace) return opened;
  log_->error("{}: lines are lost until there is room", opened.message());
  return Status::Ok();
}

void AuditLog::Write(const AuditLine& line) {
  if (!file_) return;
  if (lost_ > 0) {
    if (const Status noted = Append(FormatGap()); !noted.ok()) return Lose(noted);
    log_->info("the audit log {} is written again; {} lost", file_->path(), Counted(lost_, "line was", "lines were"));
    lost_ = 0;
    why_ = Status::Ok();
  }
  if (const Status written = Append(Format(line)); !written.ok()) Lose(written);
}

Status AuditLog::Append(const std::string& text) { return file_->Append(text + "\n"); }

void AuditLog::Lose(const Status& why) {
  const Micros now = clock_.Now();
  if (lost_++ == 0 || now - told_ >= kTellEvery) {
    log_->error("a line of the audit log is lost: {}", why.message());
    told_ = now;
  }
  why_ = why;
}

std::string AuditLog::problem() const {
  if (lost_ > 0) {
    return fmt::format("the audit log is not written, {} lost so far: {}; make room, or mend the file",
                       Counted(lost_, "line is", "lines are"), why_.message());
  }
  if (file_ && !file_->rotation().ok()) {
    return fmt::format("the audit log is full and keeps growing: {}", file_->rotation().message());
  }
  return {};
}

std::string AuditLog::Format(const AuditLine& line) const {
  const std::string time = TimeText(clock_.Now());
  const std::string_view outcome = OutcomeText(line.outcome);
  const std::string_view address = line.address.empty() ? "-" : line.address;
  if (!json_) {
    return fmt::format("{} {} {} {} {}{}{}{}{}", time, outcome, tls::ToText(line.who), address, line.call,
                       line.on.empty() ? "" : " ", Printable(line.on), line.outcome.ok() ? "" : ": ",
                       Printable(line.outcome.message()));
  }
  std::string json = fmt::format(R"({{"time":"{}","outcome":"{}","role":"{}")", time, outcome, NameOf(line.who.role));
  if (!line.who.name.empty()) json += ",\"user\":" + JsonString(line.who.name);
  json += ",\"address\":" + JsonString(address) + ",\"call\":" + JsonString(line.call);
  if (!line.on.empty()) json += ",\"on\":" + JsonString(line.on);
  if (!line.outcome.ok()) json += ",\"why\":" + JsonString(line.outcome.message());
  return json + "}";
}

std::string AuditLog::FormatGap() const {
  const std::string time = TimeText(clock_.Now());
  if (!json_) return fmt::format("{} lost {} lines: {}", time, lost_, Printable(why_.message()));
  return fmt::format(R"({{"time":"{}","outcome":"lost","lines":{},"why":{}}})", time, lost_,
                     JsonString(why_.message()));
}

}  // namespace millrace::master
