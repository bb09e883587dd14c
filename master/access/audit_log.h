// AuditLog: who asked the master for what, and whether it was done: a line each, in a file of its own. Written are
// changes, submissions, what administrators do, and every refusal; the calls that only look are written too if so
// asked. As text and as JSON:
//
//   2026-01-31T12:00:00.000Z denied client:bob 10.0.0.7 kill job 3: bob may not kill job 3: ...
//   {"time":"2026-01-31T12:00:00.000Z","outcome":"denied","role":"client","user":"bob","address":"10.0.0.7",
//    "call":"kill","on":"job 3","why":"..."}
//
// The outcome is `allowed`, `denied` (somebody else may) or `failed` (nobody could). What is said is made printable,
// since names come from anywhere. Lines that cannot be written are lost and nothing else: the master goes on, says so
// in its log and its status, and notes in the file how many are missing once it can. Thread rule: the control thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/rotated_file.h"
#include "base/status.h"
#include "base/tls/peer_identity.h"

namespace millrace::master {

struct AuditLine {
  const tls::PeerIdentity& who;
  std::string_view address;  // empty where there are none
  std::string_view call;     // "kill"
  std::string_view on;       // "job 3", "\"/a\" to \"/b\""; empty if the call is about nothing in particular
  const Status& outcome;
};

class AuditLog {
 public:
  // Writes to options.file, if it is not empty, as the other fields say; `reads`: also those who only looked.
  // Requires: `clock` outlives it.
  AuditLog(const Clock& clock, LogOptions options, bool reads, Log log);

  // Opens the file at the start, when it is a failure if that cannot be; but not if only the disk is full.
  [[nodiscard]] Status Open();

  [[nodiscard]] bool writes() const { return file_.has_value(); }
  [[nodiscard]] bool writes_reads() const { return file_.has_value() && reads_; }
  void Write(const AuditLine& line);

  // Returns why lines are lost now, in one line with what to do; empty if none are.
  [[nodiscard]] std::string problem() const;

 private:
  [[nodiscard]] std::string Format(const AuditLine& line) const;
  [[nodiscard]] std::string FormatGap() const;
  [[nodiscard]] Status Append(const std::string& text);
  void Lose(const Status& why);

  const Clock& clock_;
  const bool json_, reads_;
  const Log log_;
  std::optional<RotatedFile> file_;
  std::uint64_t lost_ = 0;  // since the last line that was written
  Status why_;
  Micros told_ = 0;
};

}  // namespace millrace::master
