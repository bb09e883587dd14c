// SPDX-License-Identifier: Apache-2.0
// AuditLog records the calls to the master in a file of its own, one line for each: who asked for what, and whether it
// was done. It records changes, submissions, the acts of administrators and every refusal; on request also the calls
// that only look. A line as text and as JSON:
//
//   2026-01-31T12:00:00.000Z denied client:bob 10.0.0.7 kill job 3: bob may not kill job 3: ...
//   {"time":"2026-01-31T12:00:00.000Z","outcome":"denied","role":"client","user":"bob","address":"10.0.0.7",
//    "call":"kill","on":"job 3","why":"..."}
//
// The outcome is `allowed`, `denied` (somebody else may) or `failed` (nobody could). Names come from clients, so they
// are made printable. If a line cannot be written, it is lost but the master continues. The master reports the loss in
// its log and its status, and notes the number of missing lines in the file once it can. Thread rule: the control
// thread.
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
  std::string_view address;  // empty if the connection has none
  std::string_view call;     // "kill"
  std::string_view on;       // "job 3", "\"/a\" to \"/b\""; empty if the call is about nothing in particular
  const Status& outcome;
};

class AuditLog {
 public:
  // Writes to options.file, unless that is empty, in the way that the other options say. With `reads`, it also records
  // the calls that only look. Requires: `clock` outlives this object.
  AuditLog(const Clock& clock, LogOptions options, bool reads, Log log);

  // Opens the file. A full disk is not a failure; anything else that prevents it is.
  [[nodiscard]] Status Open();

  [[nodiscard]] bool writes() const { return file_.has_value(); }
  [[nodiscard]] bool writes_reads() const { return file_.has_value() && reads_; }
  void Write(const AuditLine& line);

  // Returns one line that gives the reason why lines are being lost and what to do; empty if none are lost.
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
