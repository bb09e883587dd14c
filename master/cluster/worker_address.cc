// SPDX-License-Identifier: Apache-2.0
#include "master/cluster/worker_address.h"

#include <algorithm>
#include <memory>

#include "base/address.h"
#include "base/bytes.h"
#include "base/net/frame.h"
#include "base/release.h"
#include "base/rpc/calls.h"
#include "base/rpc/status_codec.h"

namespace millrace::master {
namespace {

constexpr kj::Duration kDialLimit = 5 * kj::SECONDS;

std::string AddressText(const std::string& host, std::uint16_t port) {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

// One question to a bulk server, and its answer.
struct Question {
  kj::Own<kj::AsyncIoStream> stream;
  std::string request;
  std::string frame = std::string(net::kFrameBytes, '\0');
  std::string payload;
};

kj::Promise<void> ReadInto(kj::AsyncIoStream& stream, std::string& bytes) {
  return stream.tryRead(bytes.data(), bytes.size(), bytes.size()).then([&bytes](std::size_t got) -> kj::Promise<void> {
    if (got == bytes.size()) return kj::READY_NOW;
    return rpc::ToException(Unavailable("it hung up"));
  });
}

// Resolves to the answer's contents; rejects if no valid answer comes.
kj::Promise<Status> Ask(kj::Promise<kj::Own<kj::AsyncIoStream>> dialed, std::string request) {
  const auto question = std::make_shared<Question>();
  question->request = std::move(request);
  return dialed
      .then([question](kj::Own<kj::AsyncIoStream> stream) {
        question->stream = kj::mv(stream);
        return question->stream->write(question->request.data(), question->request.size());
      })
      .then([question] { return ReadInto(*question->stream, question->frame); })
      .then([question]() -> kj::Promise<void> {
        const Result<net::Frame> frame = net::DecodeReplyFrame(question->frame);
        if (!frame.ok()) return rpc::ToException(frame.status());
        question->payload.resize(std::min<std::size_t>(frame->length, net::kMaxRequestBytes));
        return ReadInto(*question->stream, question->payload);
      })
      .then([question]() -> kj::Promise<Status> {
        const net::Frame frame = *net::DecodeReplyFrame(question->frame);
        if (const Status whole = net::CheckPayload(frame, question->payload, "its answer"); !whole.ok())
          return rpc::ToException(whole);
        return net::ReplyStatus(frame, question->payload, "it");
      });
}

kj::Promise<void> Reach(rpc::Dialer& dialer, kj::Timer& timer, const std::string& host, std::uint16_t port) {
  const std::string address = AddressText(host, port);
  auto dialed = kj::evalNow([&] { return dialer.Dial(address.c_str()); });
  return rpc::WithDeadline(timer, kDialLimit, "connect to " + address, kj::mv(dialed)).ignoreResult();
}

}  // namespace

Result<std::string> HostOfWorker(const std::string& said, const rpc::Peer& peer) {
  if (said.empty() && peer.address.empty()) return Invalid("the worker gives no host; set worker.host");
  if (said.empty()) return peer.address;
  if (IsLoopbackHost(said) && !peer.address.empty() && !peer.loopback) {
    return Invalid("worker.host is " + said + ", but the worker is at " + peer.address +
                   ", another machine; leave worker.host unset, or set it to what other machines reach");
  }
  return said;
}

Status CheckReach(const WorkerFacts& worker, const NodeTable& nodes) {
  if (!IsLoopbackHost(worker.host)) return Status::Ok();
  for (const auto& [number, node] : nodes.all()) {
    if (!node.alive || !node.facts.remote || node.facts.storage == worker.storage) continue;
    return Invalid("the worker is known as " + worker.host + ", where worker " + std::to_string(number.value) + " at " +
                   node.facts.host + " cannot reach it; set worker.host to what other machines reach");
  }
  return Status::Ok();
}

std::string OutOfReach(const WorkerFacts& worker, const NodeTable& nodes) {
  std::string names;
  for (const auto& [number, node] : nodes.all()) {
    if (!worker.remote || !node.alive || !IsLoopbackHost(node.facts.host)) continue;
    names += (names.empty() ? "" : ", ") + std::to_string(number.value) + " (" + node.facts.host + ")";
  }
  if (names.empty()) return {};
  return "the worker at " + worker.host + ", on another machine, cannot reach these workers of this one: " + names +
         "; set their worker.host to what other machines reach and start them again";
}

kj::Promise<void> DialBack(rpc::Dialer& dialer, kj::Timer& timer, const std::string& host, std::uint16_t port) {
  return Reach(dialer, timer, host, port).catch_([](kj::Exception&& why) -> kj::Promise<void> {
    return rpc::ToException(
        Unavailable("the master cannot reach the worker's port: " + rpc::FromException(why).message() +
                    "; set worker.bind to 0.0.0.0 and worker.host to what other machines "
                    "reach, and see that no firewall is in between"));
  });
}

kj::Promise<void> AskIncarnation(rpc::Dialer& dialer, kj::Timer& timer, const WorkerFacts& worker) {
  const std::string address = AddressText(worker.host, worker.port);
  Encoder header;
  header.U64(worker.incarnation);
  auto dialed = kj::evalNow([&] { return dialer.Dial(address.c_str()); });
  auto asked = Ask(kj::mv(dialed), net::EncodeRequest(net::Operation::kAskIncarnation, header.bytes()));
  const bool says = worker.release.protocol >= kIncarnationsSince;
  const auto refuse = [address](const std::string& why) {
    return rpc::ToException(Invalid("the worker says that it is at " + address +
                                    ", but another process answers there (" + why +
                                    "); set worker.host and worker.port to an address that leads to it"));
  };
  return rpc::WithDeadline(timer, kDialLimit, "ask who is at " + address, kj::mv(asked))
      .then(
          [refuse, says](Status answer) -> kj::Promise<void> {
            if (answer.ok() || !says) return kj::READY_NOW;
            return refuse(answer.message());
          },
          [refuse](kj::Exception&& why) -> kj::Promise<void> { return refuse(rpc::FromException(why).message()); });
}

kj::Promise<bool> IsDeserted(rpc::Dialer& dialer, kj::Timer& timer, const std::string& host, std::uint16_t port) {
  return Reach(dialer, timer, host, port)
      .then([] { return false; }, [](kj::Exception&& why) { return rpc::SaysNobodyListens(why); });
}

}  // namespace millrace::master
