// SPDX-License-Identifier: Apache-2.0
// ReportQueue holds the reports that the master must receive, whatever happens to the connection. It keeps them in
// order and sends each again on every new session, until the master has answered it. Thread rule: the control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/protocol/attempt_wire.h"
#include "base/protocol/master.capnp.h"
#include "base/rpc/calls.h"
#include "base/rpc/task_group.h"
#include "base/status.h"

namespace millrace::worker {

struct Report {
  std::string what;   // "job3.m.7.0 is done", for messages
  AttemptId attempt;  // the attempt that it is about
  enum class Tells : std::uint8_t {
    kDone,
    kFailed,
    kOther
  } tells = Tells::kOther;  // kOther: the attempt has not ended
  std::function<kj::Promise<void>(master::wire::WorkerSession::Client&)> send;
};

class ReportQueue {
 public:
  // `broken` is called when an answer shows that the session is no longer of use. At most `most_in_flight` reports are
  // unanswered at a time.
  ReportQueue(kj::Timer& timer, std::size_t most_in_flight, std::function<void(const Status&)> broken, Log log);

  void Keep(Report report);
  // Returns true if a report with the same `what` waits to be sent or answered.
  [[nodiscard]] bool Holds(const std::string& what) const;
  // Sends to this session from now on, first the reports that no earlier session has answered. A call that is not
  // answered within `limit` breaks the session.
  void Open(master::wire::WorkerSession::Client session, kj::Duration limit);
  void Close();
  // Sends again the reports for which the master was too busy.
  void Pump();
  // Drops the reports of the attempt, because they are no longer wanted.
  void Drop(const AttemptId& attempt);
  void DropJob(JobId job);
  // Returns the attempts that have ended in this way and whose end the master has not yet confirmed.
  [[nodiscard]] std::vector<AttemptId> Unanswered(Report::Tells end) const;
  [[nodiscard]] bool empty() const { return reports_.empty(); }
  [[nodiscard]] kj::Promise<void> WhenEmpty();

 private:
  struct KeptReport {
    std::uint64_t serial = 0;
    bool sent = false;  // sent on the session that is open
    Report report;
  };
  void Answered(std::uint64_t serial);
  void TellEmpty();
  void Refused(std::uint64_t serial, const Status& why);
  std::list<KeptReport>::iterator Find(std::uint64_t serial);

  kj::Timer& timer_;
  std::function<void(const Status&)> broken_;
  Log log_;
  rpc::CallGate gate_;
  kj::Duration limit_ = 10 * kj::SECONDS;
  std::list<KeptReport> reports_;
  std::uint64_t next_serial_ = 0;
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> await_empty_;
  kj::Maybe<master::wire::WorkerSession::Client> session_;
  std::unique_ptr<rpc::TaskGroup> calls_;  // of the open session; last: they use the members above
};

}  // namespace millrace::worker
