// SocketGate: whom the sockets of a confined task process reach. The process is in an empty network namespace, and its
// filter (call_filter.h) puts three calls to the worker, which does them in its place or refuses them:
//
//   socket   a TCP socket is made in the network of the worker and handed over
//   connect  goes to the addresses that PeerList names, and to unix sockets of the process's own user; EACCES otherwise
//   listen   unix sockets may, TCP sockets may not
//
// The worker acts on its own copy of the address and of the descriptor, so that what was checked is what is done.
// Blocks and answers of the master thus pass between the task and their servers as without a sandbox.
// Thread rule: each gate has a thread of its own; the calls below come from one other thread.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/file.h"
#include "base/status.h"

namespace millrace::sandbox {

// Whom tasks may connect to. Thread rule: any thread.
class PeerList {
 public:
  virtual ~PeerList() = default;
  // Returns true if a TCP connection to the address is allowed. May block for as long as asking the master takes.
  [[nodiscard]] virtual bool Allows(const sockaddr_storage& address) = 0;
  // Returns true for an abstract unix socket that tasks use: the worker's own, at which they read blocks.
  [[nodiscard]] virtual bool AllowsLocal(std::string_view abstract_name) = 0;
};

class SocketGate {
 public:
  // `report` is the worker's end of the socket that millrace-launch has. `user` is the task's, if it has its own.
  // Requires: `peers` outlives the gate; it is null if no filter asks.
  SocketGate(Fd report, std::optional<uid_t> user, PeerList* peers);
  // Requires: the task's processes have ended or do not matter: calls that they put to the gate fail from now on.
  ~SocketGate();
  // Ends the gate, and returns what the launcher said of its failure; empty: nothing, it executed the job.
  // Requires: the process has ended.
  [[nodiscard]] std::string Failure();

 private:
  void Serve();
  void Stop();
  [[nodiscard]] bool Receive();  // one message of the launcher; returns false at the end
  void Answer();                 // one call of the task

  Fd report_, listener_, stop_;
  std::optional<uid_t> user_;
  PeerList* peers_;
  std::string failure_;
  std::thread thread_;
};

}  // namespace millrace::sandbox
