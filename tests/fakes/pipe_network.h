// SPDX-License-Identifier: Apache-2.0
// PipeNetwork: the in-memory network, which joins the parts of a cluster by pipes in one thread. It keeps servers by
// address, and Dial connects to one of them by a pipe. Cut(address) breaks every connection to the address and refuses
// new ones until Mend. Thread rule: the thread that owns the event loop.
#pragma once

#include <kj/async-io.h>

#include <memory>
#include <string>

#include "base/rpc/transport.h"

namespace millrace::rpc {

class PipeNetwork final : public Dialer {
 public:
  void Serve(std::string address, Server& server);  // Requires: the server outlives the network, or Remove comes first.
  // Refuses new connections; existing ones stay.
  void Remove(const std::string& address);
  void Cut(const std::string& address);
  void Mend(const std::string& address);
  kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr address) override;

  PipeNetwork();
  ~PipeNetwork() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::rpc
