// SPDX-License-Identifier: Apache-2.0
// SocketGate decides which addresses the sockets of a confined task process reach. The process is in an empty network
// namespace, and its filter (call_filter.h) passes four calls to the worker, which makes the calls in place of the
// process or refuses them:
//
//   socket   a TCP socket is made in the network of the worker and handed over
//   connect  goes to the addresses that PeerList names, and to unix sockets of the process's own user; EACCES otherwise
//   bind     allowed for unix sockets, in the process's own view and as its own user; refused for TCP sockets and for
//            the socket that was connected to the worker for it, which belongs to the worker's network
//   listen   allowed for unix sockets, refused for TCP sockets
//
// The worker acts on its own copy of the address and of the descriptor, so that the call that was checked is the one
// that is made. Data does not pass through the gate: blocks and the master's answers go between the task and their
// servers as without a sandbox.
//
// No peer can block a gate. It waits for the connects under way together with everything else, for at most 10 seconds
// each (ETIMEDOUT) and for at most 64 at a time (EAGAIN); they end with the gate. Thread rule: each gate has a thread
// of its own; the calls below come from one other thread. These calls wait for the gate's thread, but not for anything
// that a task or a peer does.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::sandbox {

// PeerList decides where tasks may connect. Thread rule: any thread; nothing blocks.
class PeerList {
 public:
  virtual ~PeerList() = default;
  // Returns true if a TCP connection to the address is allowed, or nothing if that is not known yet. In that case
  // `later` is called once, on any thread, when it is worth asking again.
  [[nodiscard]] virtual std::optional<bool> Allows(const sockaddr_storage& address,
                                                   const std::function<void()>& later) = 0;
  // Returns true if tasks may use this abstract unix socket, that is, if it is the worker's own, where they read
  // blocks.
  [[nodiscard]] virtual bool AllowsLocal(std::string_view abstract_name) = 0;
};

struct GateOptions {
  std::optional<uid_t> user = std::nullopt;  // the task's user, if it has its own
  PeerList* peers = nullptr;                 // outlives the gate; null if no filter asks
  bool own_view = true;                      // the task has its own view of files, in which it may make unix sockets
  std::chrono::milliseconds longest_connect = std::chrono::seconds(10);
};

class SocketGate {
 public:
  // `report` is the worker's end of the socket on which millrace-launch reports.
  SocketGate(Fd report, const GateOptions& options);
  // Calls of the task's processes to the gate fail from now on. Requires: these processes have ended or do not matter.
  ~SocketGate();
  // Ends the gate. Returns the launcher's report of its failure; empty if it executed the job. Requires: the process
  // has ended.
  [[nodiscard]] std::string Failure();

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Connect;  // a connect that is not answered yet

  void Serve();
  void Loop();
  void Stop();
  [[nodiscard]] bool Receive();  // one message of the launcher; returns false at the end
  void Answer();                 // one call of the task
  // These return true if the call is answered.
  bool Decide(Connect& connect);
  bool Begin(Connect& connect);
  bool Advance(Connect& connect, bool ready, bool news, Time now);
  bool Reply(Connect& connect, int error);
  void Reply(std::uint64_t call, int error, int value);

  Fd report_, listener_, stop_;
  std::shared_ptr<const Fd> news_;  // readable when PeerList may know more
  const GateOptions options_;
  std::string failure_;
  std::vector<std::unique_ptr<Connect>> connects_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // the thread has nothing more to do
  std::jthread thread_;
};

}  // namespace millrace::sandbox
