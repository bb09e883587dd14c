#include "base/net/incarnation_server.h"

#include <atomic>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/net/bulk_handler.h"

namespace millrace::net {

class IncarnationServer::Handler final : public BulkHandler {
 public:
  Awaitable<bool> Serve(std::shared_ptr<Wire> wire, std::string header) override {
    Decoder in(header);
    const std::uint64_t asked = in.U64();
    Status status = in.Finish("a question for an incarnation");
    if (status.ok() && (!drawn || asked != incarnation)) status = Invalid("another process is here");
    if (!status.ok()) co_return (co_await wire->WriteFailure(std::move(status))).ok();
    co_return (co_await wire->WriteReply({})).ok();
  }

  std::atomic<std::uint64_t> incarnation = 0;
  std::atomic<bool> drawn = false;
};

IncarnationServer::IncarnationServer(BulkServer& server) : handler_(std::make_shared<Handler>()) {
  server.Register(Operation::kAskIncarnation, handler_);
}

void IncarnationServer::Is(std::uint64_t incarnation) {
  handler_->incarnation = incarnation;
  handler_->drawn = true;
}

}  // namespace millrace::net
