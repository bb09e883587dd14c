// SPDX-License-Identifier: Apache-2.0
// Failures across RPC: what a peer throws becomes a Status, whatever its text; names and suggestions in messages.
#include "base/status.h"

#include "base/rpc/status_codec.h"
#include "base/text.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  std::vector<std::string> seeds;
  for (const Status& status : {Corrupt("bad block"), NotFound("\xff\n\x1b[1m"), Busy(std::string(20'000, 'x'))}) {
    const kj::Exception exception = rpc::ToException(status);
    seeds.emplace_back(exception.getDescription().cStr());
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::View(data, size));
  for (const auto type :
       {kj::Exception::Type::FAILED, kj::Exception::Type::OVERLOADED, kj::Exception::Type::DISCONNECTED}) {
    const kj::Exception exception(type, "file", 1, kj::heapString(text.data(), text.size()));
    const Status status = rpc::FromException(exception);
    fuzz::Require(!status.ok(), "an exception that says OK");
    const Status again = rpc::FromException(rpc::ToException(status));
    const bool whole = status.message().size() <= 16 << 10;  // longer ones are cut off
    fuzz::Require(again.code() == status.code() && (!whole || again.message() == status.message()),
                  "a failure does not come back");
    (void)rpc::ConnectionBroke(exception);
  }
  const std::string shown = Printable(text);
  fuzz::Require(Printable(shown) == shown, "escaping twice changes something");
  for (const char c : shown)
    fuzz::Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a control character is shown");
  const std::string quoted = Quote(text);
  fuzz::Require(
      quoted.size() < 1000 && quoted.find('\n') == std::string::npos && quoted.find('\x1b') == std::string::npos,
      "a quoted name");
  if (size < 200) (void)Nearest(text, {"master.bind", "worker.port", ""});
  return 0;
}
