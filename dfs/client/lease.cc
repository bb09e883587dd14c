// SPDX-License-Identifier: Apache-2.0
#include "dfs/client/lease.h"

#include <kj/debug.h>
#include <unistd.h>

#include "base/rpc/status_codec.h"
#include "base/text.h"
#include "dfs/client/wire_convert.h"

namespace millrace::dfs {
namespace {

wire::NameService::Client NameServiceOf(capnp::Capability::Client bootstrap) {
  return bootstrap.castAs<wire::NameProvider>().namesRequest().send().getService();
}

std::string WriterName() {
  char host[256] = {};
  (void)::gethostname(host, sizeof host - 1);
  return std::string(host) + ":" + std::to_string(::getpid());
}

}  // namespace

Result<std::unique_ptr<Lease>> Lease::Create(std::shared_ptr<MasterConnection> connection, const ClientOptions& options,
                                             const std::string& path, const WriteOptions& write) {
  std::unique_ptr<Lease> lease(new Lease(std::move(connection), options, path, write));
  MILLRACE_TRY(lease->Open());
  return lease;
}

Status Lease::Open() {
  return connection_->Call(
      "create " + Quote(path_), [this](capnp::Capability::Client bootstrap, kj::AsyncIoContext& io) {
        auto request = NameServiceOf(bootstrap).createRequest();
        request.setPath(ToData(path_));
        request.setReplication(write_.replication);
        request.setBlockSize(write_.block_size);
        request.setOverwrite(write_.overwrite);
        request.setOwner(options_.owner);
        request.setWriter(WriterName());
        request.setMode(write_.mode);
        return request.send().then([this, &io](capnp::Response<wire::NameService::CreateResults>&& response) {
          file_ = response.getFile();
          block_size_ = response.getBlockSize();
          held_->End();  // of a file that was created before
          held_->lease = response.getLease();
          held_->keeping = Keep(*connection_, *held_, file_).eagerlyEvaluate(nullptr);
          if (const std::uint32_t every = response.getRenewMillis(); every > 0) {
            held_->renewing = Renew(io.provider->getTimer(), every * kj::MILLISECONDS, *held_).eagerlyEvaluate(nullptr);
          }
        });
      });
}

// Failures are ignored here: the writer learns of a lost lease at its next call.
kj::Promise<void> Lease::Renew(kj::Timer& timer, kj::Duration every, Held& held) {
  return timer.afterDelay(every)
      .then([&held]() -> kj::Promise<void> {
        KJ_IF_MAYBE (lease, held.lease) {
          return lease->renewRequest().send().ignoreResult().catch_([](kj::Exception&&) {});
        }
        return kj::READY_NOW;
      })
      .then([&timer, every, &held] { return Renew(timer, every, held); });
}

kj::Promise<void> Lease::Keep(MasterConnection& connection, Held& held, std::uint64_t file) {
  return connection.Broken()
      .then([&connection] { return connection.Connected(); })
      .then([&held, file](capnp::Capability::Client bootstrap) { return Resume(kj::mv(bootstrap), held, file); })
      .then([&connection, &held, file] { return Keep(connection, held, file); },
            [&connection, &held, file](kj::Exception&& failure) -> kj::Promise<void> {
              if (rpc::ConnectionBroke(failure)) return Keep(connection, held, file);
              return kj::READY_NOW;  // the file is no longer open, as the writer will learn
            });
}

kj::Promise<void> Lease::Resume(capnp::Capability::Client bootstrap, Held& held, std::uint64_t file) {
  auto request = NameServiceOf(bootstrap).resumeRequest();
  request.setFile(file);
  return request.send().then(
      [&held](capnp::Response<wire::NameService::ResumeResults>&& response) { held.lease = response.getLease(); });
}

Lease::~Lease() {
  connection_->Post([held = std::move(held_)](kj::AsyncIoContext&) {
    held->End();
    held->lease = nullptr;
  });
}

// A capability breaks together with its connection. The file stays open for a while so that it can be resumed.
Status Lease::Call(const char* what, const WithLease& f) {
  return connection_->CallUntilReady(
      std::string(what) + " " + Quote(path_),
      [&](capnp::Capability::Client bootstrap, kj::AsyncIoContext&) -> kj::Promise<void> {
        KJ_IF_MAYBE (lease, held_->lease) {
          return f(*lease).catch_([this](kj::Exception&& failure) -> kj::Promise<void> {
            if (rpc::ConnectionBroke(failure)) held_->lease = nullptr;
            return kj::mv(failure);
          });
        }
        return Resume(bootstrap, *held_, file_).then([this, &f] { return f(KJ_ASSERT_NONNULL(held_->lease)); });
      });
}

Result<Lease::NewBlock> Lease::AddBlock(const std::vector<NodeId>& excluded) {
  NewBlock block;
  const auto ask = [&](wire::FileLease::Client lease) {
    auto request = lease.addBlockRequest();
    WriteAsker(options_, request.initAsker());
    request.setShowsToken(true);
    auto nodes = request.initExcluded(static_cast<unsigned>(excluded.size()));
    for (unsigned i = 0; i < nodes.size(); ++i) nodes.set(i, excluded[i].value);
    return request.send().then([&block](capnp::Response<wire::FileLease::AddBlockResults>&& response) {
      block.id = response.getId();
      block.targets.clear();
      for (const auto target : response.getTargets()) block.targets.push_back(FromWire(target));
      const auto token = response.getToken().asChars();
      block.token.assign(token.begin(), token.size());
    });
  };
  Status added = Call("write", ask);
  if (added.code() == StatusCode::kNotFound && !has_blocks_ && Open().ok()) added = Call("write", ask);
  MILLRACE_TRY(added);
  has_blocks_ = true;
  return block;
}

Status Lease::DropBlock(std::uint64_t id) {
  return Call("write", [&](wire::FileLease::Client lease) {
    auto request = lease.dropBlockRequest();
    request.setId(id);
    return request.send().ignoreResult();
  });
}

Status Lease::Sync(std::size_t first, const std::vector<WrittenBlock>& written) {
  return Call("sync", [&](wire::FileLease::Client lease) {
    auto request = lease.syncRequest();
    request.setFirst(static_cast<std::uint32_t>(first));
    auto out = request.initBlocks(static_cast<unsigned>(written.size() - first));
    for (unsigned i = 0; i < out.size(); ++i) ToWire(written[first + i], out[i]);
    return request.send().ignoreResult();
  });
}

Status Lease::Complete(const std::vector<WrittenBlock>& blocks) {
  const auto complete = [&](wire::FileLease::Client lease) {
    auto request = lease.completeRequest();
    auto out = request.initBlocks(static_cast<unsigned>(blocks.size()));
    for (unsigned i = 0; i < out.size(); ++i) ToWire(blocks[i], out[i]);
    return request.send().ignoreResult();
  };
  const Status completed = Call("complete", complete);
  if (completed.code() != StatusCode::kNotFound) return completed;
  // An earlier try may have succeeded and its answer been lost. Then the file stands under its path with our id.
  bool ours = false;
  const Status found =
      connection_->Call("stat " + Quote(path_), [&](capnp::Capability::Client bootstrap, kj::AsyncIoContext&) {
        auto request = NameServiceOf(bootstrap).statRequest();
        request.setPath(ToData(path_));
        return request.send().then([&](capnp::Response<wire::NameService::StatResults>&& response) {
          ours = response.getStatus().getId() == file_;
        });
      });
  if (!found.ok() && found.code() != StatusCode::kNotFound) return found;
  if (ours) return Status::Ok();
  return has_blocks_ || !Open().ok() ? completed : Call("complete", complete);
}

Status Lease::HandOver(const std::string& attempt) {
  return Call("hand over", [&](wire::FileLease::Client lease) {
    held_->End();  // from here on the file belongs to the job tracker
    auto request = lease.handOverRequest();
    request.setAttempt(attempt);
    return request.send().ignoreResult();
  });
}

void Lease::Abandon() {
  connection_->Post([held = held_](kj::AsyncIoContext&) {
    held->End();
    KJ_IF_MAYBE (lease, held->lease) {
      // The call is sent before the capability is dropped. Its answer does not matter.
      lease->abandonRequest().send().ignoreResult().detach([](kj::Exception&&) {});
      held->lease = nullptr;
    }
  });
}

}  // namespace millrace::dfs
