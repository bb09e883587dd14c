// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/pipe_network.h"

#include <set>

#include "base/rpc/status_codec.h"

namespace millrace::rpc {
namespace {

class Pipe;

// The list of a network's open streams. The streams share it, since they may outlive the network.
struct Registry {
  std::map<std::uint64_t, Pipe*> pipes;  // keyed by age, so that a cut breaks them in the same order every time
  std::uint64_t next = 0;
};

// One end of a pipe. It can be broken from outside, whatever is under way on it.
class Pipe final : public kj::AsyncIoStream {
 public:
  Pipe(kj::Own<kj::AsyncIoStream> inner, std::string address, std::shared_ptr<Registry> registry)
      : inner_(kj::mv(inner)), address_(std::move(address)), registry_(std::move(registry)), id_(registry_->next++) {
    registry_->pipes.emplace(id_, this);
  }
  ~Pipe() noexcept(false) { registry_->pipes.erase(id_); }

  void Break() {
    broken_ = true;
    canceler_.cancel(Gone());
    inner_ = nullptr;
  }
  [[nodiscard]] const std::string& address() const { return address_; }

  kj::Promise<std::size_t> tryRead(void* buffer, std::size_t least, std::size_t most) override {
    if (broken_) return Gone();
    return canceler_.wrap(inner_->tryRead(buffer, least, most));
  }
  kj::Promise<void> write(const void* buffer, std::size_t size) override {
    if (broken_) return Gone();
    return canceler_.wrap(inner_->write(buffer, size));
  }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    if (broken_) return Gone();
    return canceler_.wrap(inner_->write(pieces));
  }
  kj::Promise<void> whenWriteDisconnected() override {
    if (broken_) return kj::READY_NOW;
    return canceler_.wrap(inner_->whenWriteDisconnected()).catch_([](kj::Exception&&) {});
  }
  void shutdownWrite() override {
    if (!broken_) inner_->shutdownWrite();
  }
  void abortRead() override {
    if (!broken_) inner_->abortRead();
  }

 private:
  [[nodiscard]] kj::Exception Gone() const { return ToException(Unavailable("connection to " + address_ + ": cut")); }

  kj::Own<kj::AsyncIoStream> inner_;
  std::string address_;
  std::shared_ptr<Registry> registry_;
  std::uint64_t id_;
  bool broken_ = false;
  kj::Canceler canceler_;
};

}  // namespace

struct PipeNetwork::Impl {
  std::map<std::string, Server*> servers;
  std::set<std::string> cut;
  std::shared_ptr<Registry> registry = std::make_shared<Registry>();
};

PipeNetwork::PipeNetwork() : impl_(std::make_unique<Impl>()) {}
PipeNetwork::~PipeNetwork() = default;

void PipeNetwork::Serve(std::string address, Server& server) {
  impl_->servers.insert_or_assign(std::move(address), &server);
}
void PipeNetwork::Remove(const std::string& address) { impl_->servers.erase(address); }
void PipeNetwork::Mend(const std::string& address) { impl_->cut.erase(address); }

void PipeNetwork::Cut(const std::string& address) {
  impl_->cut.insert(address);
  std::vector<std::uint64_t> ids;
  for (const auto& [id, pipe] : impl_->registry->pipes) {
    if (pipe->address() == address) ids.push_back(id);
  }
  for (const std::uint64_t id : ids) {
    const auto it = impl_->registry->pipes.find(id);
    if (it != impl_->registry->pipes.end()) it->second->Break();
  }
}

kj::Promise<kj::Own<kj::AsyncIoStream>> PipeNetwork::Dial(kj::StringPtr address) {
  const std::string name(address.begin(), address.size());
  const auto server = impl_->servers.find(name);
  if (server == impl_->servers.end() || impl_->cut.contains(name)) {
    return ToException(Unavailable("connect to " + name + ": nobody answers there"));
  }
  kj::TwoWayPipe pipe = kj::newTwoWayPipe();
  server->second->Accept(kj::heap<Pipe>(kj::mv(pipe.ends[0]), name, impl_->registry));
  return kj::Own<kj::AsyncIoStream>(kj::heap<Pipe>(kj::mv(pipe.ends[1]), name, impl_->registry));
}

}  // namespace millrace::rpc
