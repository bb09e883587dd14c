// SPDX-License-Identifier: Apache-2.0
// Tests TLS on the bulk plane, over real sockets: blocking callers and Wires, requests and what is pumped from files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <future>
#include <map>
#include <set>

#include "base/net/blocking_stream.h"
#include "base/net/bulk_handler.h"
#include "base/net/bulk_server.h"
#include "base/random.h"
#include "tests/base/tls/tls_fixture.h"

namespace millrace::net {
namespace {

using testing::HasSubstr;
using tls::TestAuthority;

constexpr Micros kStall = 20 * kSecond;

// Answers with who the peer is, and then pumps the file, with a header before each piece.
class FileHandler final : public BulkHandler {
 public:
  explicit FileHandler(std::string text) : text_(std::move(text)), file_(::memfd_create("file", MFD_CLOEXEC)) {
    MILLRACE_CHECK(WriteAll(file_.get(), text_, "memfd").ok(), "memfd");
  }

  Awaitable<bool> Serve(std::shared_ptr<Wire> wire, std::string header) override {
    Status status = co_await wire->WriteReply(tls::ToText(wire->identity()));
    if (header != "file" || !status.ok()) co_return status.ok();
    std::uint64_t at = 0;
    std::size_t headed = 0;
    auto step = [&](Outlet& outlet) -> Result<bool> {
      while (at < text_.size()) {
        while (headed < kHeader.size()) {
          MILLRACE_ASSIGN(const std::size_t n, outlet.Send(kHeader.substr(headed), true));
          if (n == 0) return false;
          headed += n;
        }
        MILLRACE_ASSIGN(const std::size_t n, outlet.SendFile(file_.get(), at, text_.size() - at, "the file"));
        if (n == 0) return false;
        at += n;
      }
      return true;
    };
    co_return (co_await wire->Pump(step)).ok();
  }

  static constexpr std::string_view kHeader = "head";
  const std::string text_;
  const Fd file_;
};

class TlsBulkTest : public testing::Test {
 protected:
  TlsBulkTest() { Serve(authority_.Of("worker:w1")); }

  void Serve(std::shared_ptr<tls::Credentials> credentials, Micros idle = 60 * kSecond, unsigned connections = 64,
             const std::vector<Operation>& operations = {Operation::kReadBlock}) {
    BulkServerOptions options;
    options.bind = "127.0.0.1";
    options.idle_timeout = idle;
    options.max_connections = connections;
    options.credentials = std::move(credentials);
    server_ = std::make_unique<BulkServer>(options, MakeSilentLog());
    for (const Operation operation : operations) server_->Register(operation, handler_);
    const Status started = server_->Start();
    EXPECT_TRUE(started.ok()) << started.message();
  }
  Result<BlockingStream> Connect(const std::shared_ptr<tls::Credentials>& credentials) {
    return BlockingStream::ConnectTcp("127.0.0.1", server_->port(), kStall, credentials);
  }

  const TestAuthority authority_;
  const std::string text_ = [] {
    std::string text(3 << 20, '\0');
    Random random(7);
    for (char& c : text) c = static_cast<char>(random.Below(256));
    return text;
  }();
  const std::shared_ptr<FileHandler> handler_ = std::make_shared<FileHandler>(text_);
  std::unique_ptr<BulkServer> server_;
};

TEST_F(TlsBulkTest, ABlockingCallerIsKnownAndGetsWhatIsPumped) {
  Result<BlockingStream> stream = Connect(authority_.Of("client:ann"));
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  for (int request = 0; request < 2; ++request) {
    EXPECT_EQ(*stream->Call(Operation::kReadBlock, "file"), "client:ann");
    std::string got(FileHandler::kHeader.size() + text_.size(), '\0');
    const Status received = stream->Receive(got.data(), got.size());
    ASSERT_TRUE(received.ok()) << received.message();
    EXPECT_EQ(got.substr(0, FileHandler::kHeader.size()), FileHandler::kHeader);
    EXPECT_EQ(got.substr(FileHandler::kHeader.size()), text_);
  }
}

TEST_F(TlsBulkTest, AWireIsKnownAndGetsWhatIsPumped) {
  BulkServerOptions options;
  options.credentials = authority_.Of("worker:w2");
  BulkServer::Threads threads(options, MakeSilentLog());
  threads.Start();
  std::promise<std::string> seen;
  const auto fetch = [&](std::string* got) -> Awaitable<Status> {
    const auto wire = co_await Wire::Connect(threads, "127.0.0.1", server_->port(), kStall);
    if (!wire.ok()) co_return wire.status();
    const std::string request = EncodeRequest(Operation::kReadBlock, "file");
    Status status = co_await (*wire)->Write(request);
    std::string payload;
    if (status.ok()) status = (co_await (*wire)->ReadReply(&payload)).status();
    got->resize(FileHandler::kHeader.size() + text_.size());
    if (status.ok()) status = co_await (*wire)->Read(got->data(), got->size());
    *got = payload + got->substr(FileHandler::kHeader.size());
    co_return status;
  };
  threads.Spawn(threads.MakeStrand(), [](auto work, std::promise<std::string>& done) -> Awaitable<void> {
    std::string got;
    const Status status = co_await work(&got);
    done.set_value(status.ok() ? got : status.message());
  }(fetch, seen));
  const std::string got = seen.get_future().get();
  EXPECT_EQ(got.substr(0, 9), "worker:w2");
  EXPECT_TRUE(got == "worker:w2" + text_) << got.substr(0, 200);
  threads.Stop();
}

TEST_F(TlsBulkTest, WithoutACertificateOfThisClusterNothingIsServed) {
  const TestAuthority other;
  tls::CredentialTexts texts = other.TextsOf("client:ann");
  texts.authorities = authority_.pair.certificate;
  const Result<BlockingStream> stranger = Connect(tls::Credentials::From(texts).value());
  EXPECT_EQ(stranger.status().code(), StatusCode::kInvalid);
  EXPECT_THAT(stranger.status().message(), HasSubstr("refuses us: our certificate was issued by another authority"));

  Result<BlockingStream> plain = Connect(nullptr);
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(plain->Call(Operation::kReadBlock, "file").ok());
}

// Every operation that there is, and every number that is none, by every role. What is read takes a token besides
// (tests/dfs/data/secured_transfer_test.cc).
TEST_F(TlsBulkTest, EveryOperationIsRefusedOrAllowedAsItsRowSays) {
  using tls::Role;
  const std::set<Role> all = {Role::kClient, Role::kTask, Role::kWorker};
  const std::map<Operation, std::set<Role>> rows = {
      {Operation::kWriteBlock, all},     {Operation::kReadBlock, all},
      {Operation::kFinishBlockAt, all},  {Operation::kFetchRuns, {Role::kWorker}},
      {Operation::kOpenLocalBlock, {}},  // of the local socket alone
      {Operation::kWriteLocalBlock, {}},
  };
  std::vector<Operation> served;
  for (const auto& [operation, roles] : rows) served.push_back(operation);
  Serve(authority_.Of("worker:w1"), 60 * kSecond, 64, served);
  std::size_t known = 0;
  for (const char* caller : {"client:ann", "client:bob", "task:ann", "worker:w2", "master"}) {
    Result<BlockingStream> stream = Connect(authority_.OfAnybody(caller));
    ASSERT_TRUE(stream.ok()) << caller << ": " << stream.status().message();
    for (unsigned number = 0; number < 256; ++number) {
      const auto operation = static_cast<Operation>(number);
      const auto row = rows.find(operation);
      const bool may = row != rows.end() && row->second.contains(tls::ParseIdentity(caller).value().role);
      known += row != rows.end() ? 1 : 0;
      const Result<std::string> answer = stream->Call(operation, "who");
      EXPECT_EQ(answer.ok(), may) << number << " by " << caller << ": " << answer.status().message();
      if (answer.ok()) {
        EXPECT_EQ(*answer, caller);
      } else {
        EXPECT_EQ(answer.status().code(), StatusCode::kDenied) << answer.status().message();
        EXPECT_THAT(answer.status().message(), HasSubstr("is refused to " + std::string(caller)));
      }
    }
  }
  EXPECT_EQ(known, 5 * rows.size());
}

TEST_F(TlsBulkTest, ACallerDoesNotTalkToAPeerThatIsNoWorker) {
  Serve(authority_.Of("master"));
  EXPECT_THAT(Connect(authority_.Of("client:ann")).status().message(),
              HasSubstr("is that of master, and not of a worker"));
}

TEST_F(TlsBulkTest, AHandshakeThatDoesNotGoOnEnds) {
  Serve(authority_.Of("worker:w1"), 50 * kMillisecond, 1);
  Result<BlockingStream> half = Connect(nullptr);
  ASSERT_TRUE(half->Send("\x16\x03\x01").ok());
  char byte = 0;
  EXPECT_EQ(half->Receive(&byte, 1).code(), StatusCode::kUnavailable);  // the server has hung up
}

}  // namespace
}  // namespace millrace::net
