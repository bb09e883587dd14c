// SPDX-License-Identifier: Apache-2.0
#include "dfs/client/dfs_client.h"

#include "base/rpc/status_codec.h"
#include "base/text.h"
#include "dfs/client/file_reader.h"
#include "dfs/client/file_writer.h"
#include "dfs/client/lease.h"
#include "dfs/client/master_connection.h"
#include "dfs/client/wire_convert.h"

namespace millrace::dfs {
namespace {

using Names = wire::NameService;

class DfsClientImpl final : public DfsClient {
 public:
  DfsClientImpl(ClientOptions options, std::shared_ptr<MasterConnection> connection)
      : options_(std::move(options)), connection_(std::move(connection)) {}

  Result<FileStatus> Stat(std::string_view path) override {
    FileStatus info;
    MILLRACE_TRY(Ask("stat " + Quote(path), [&](Names::Client names) {
      auto request = names.statRequest();
      request.setPath(ToData(path));
      return request.send().then(
          [&info](capnp::Response<Names::StatResults>&& response) { info = FromWire(response.getStatus()); });
    }));
    return info;
  }

  Status List(std::string_view path, const std::function<bool(const FileStatus&)>& visit) override {
    std::string after;
    for (bool more = true; more;) {
      std::vector<FileStatus> page;
      MILLRACE_TRY(Ask("list " + Quote(path), [&](Names::Client names) {
        auto request = names.listRequest();
        request.setPath(ToData(path));
        request.setAfter(ToData(after));
        return request.send().then([&](capnp::Response<Names::ListResults>&& response) {
          page.clear();
          for (const auto entry : response.getEntries()) page.push_back(FromWire(entry));
          more = response.getMore();
        });
      }));
      for (const FileStatus& entry : page) {
        if (!visit(entry)) return Status::Ok();
      }
      if (page.empty()) return Status::Ok();
      after = page.back().path.substr(page.back().path.rfind('/') + 1);
    }
    return Status::Ok();
  }

  using DfsClient::MakeDirectory;
  Status MakeDirectory(std::string_view path, Mode mode) override {
    return Ask("make directory " + Quote(path), [&](Names::Client names) {
      auto request = names.makeDirectoryRequest();
      request.setPath(ToData(path));
      request.setOwner(options_.owner);
      request.setMode(mode);
      return request.send().ignoreResult();
    });
  }

  Status Remove(std::string_view path, bool recursive) override {
    return Ask("remove " + Quote(path), [&](Names::Client names) {
      auto request = names.removeRequest();
      request.setPath(ToData(path));
      request.setRecursive(recursive);
      return request.send().ignoreResult();
    });
  }

  Status Rename(std::string_view from, std::string_view to) override {
    return Ask("rename " + Quote(from), [&](Names::Client names) {
      auto request = names.renameRequest();
      request.setFrom(ToData(from));
      request.setTo(ToData(to));
      return request.send().ignoreResult();
    });
  }

  Result<Trashed> Trash(std::string_view path, bool recursive) override {
    Trashed trashed;
    MILLRACE_TRY(Ask("move " + Quote(path) + " to the trash", [&](Names::Client names) {
      auto request = names.trashRequest();
      request.setPath(ToData(path));
      request.setRecursive(recursive);
      request.setOwner(options_.owner);
      return request.send().then(
          [&trashed](capnp::Response<Names::TrashResults>&& response) {
            trashed = {ToString(response.getPlace()), response.getUntil()};
          },
          [this](kj::Exception&& e) { TooOld(kj::mv(e), "keeps no trash", "remove it at once (--skip-trash)"); });
    }));
    return trashed;
  }

  Result<std::string> Undelete(std::string_view path, Micros deleted, const std::string& user) override {
    std::string place;
    MILLRACE_TRY(Ask("undelete " + Quote(path), [&](Names::Client names) {
      auto request = names.undeleteRequest();
      request.setPath(ToData(path));
      request.setDeleted(deleted);
      request.setUser(user);
      request.setOwner(options_.owner);
      return request.send().then(
          [&place](capnp::Response<Names::UndeleteResults>&& response) { place = ToString(response.getPlace()); },
          [this](kj::Exception&& e) { TooOld(kj::mv(e), "keeps no trash", {}); });
    }));
    return place;
  }

  Result<Micros> ListTrash(const std::string& user, const std::function<bool(const Deletion&)>& visit) override {
    Micros retention = 0, after = 0;
    for (bool more = true; more;) {
      std::vector<Deletion> page;
      MILLRACE_TRY(Ask("list the trash", [&](Names::Client names) {
        auto request = names.deletionsRequest();
        request.setUser(user);
        request.setOwner(options_.owner);
        request.setAfter(after);
        return request.send().then(
            [&](capnp::Response<Names::DeletionsResults>&& response) {
              page.clear();
              for (const auto deletion : response.getDeletions()) page.push_back(FromWire(deletion));
              more = response.getMore();
              retention = response.getRetention();
            },
            [this](kj::Exception&& e) { TooOld(kj::mv(e), "keeps no trash", {}); });
      }));
      for (const Deletion& deletion : page) {
        if (!visit(deletion)) return retention;
        after = deletion.deleted;
      }
      if (page.empty()) break;
    }
    return retention;
  }

  Result<Micros> Time() override {
    Micros now = 0;
    MILLRACE_TRY(Ask("ask for the time", [&](Names::Client names) {
      return names.timeRequest().send().then(
          [&now](capnp::Response<Names::TimeResults>&& response) { now = response.getNow(); },
          [this](kj::Exception&& e) { TooOld(kj::mv(e), "does not tell its time", {}); });
    }));
    return now;
  }

  Status SetQuota(std::string_view path, const std::string& user, std::optional<std::uint64_t> bytes,
                  std::optional<std::uint64_t> entries) override {
    return Ask("set the quota of " + (path.empty() ? "user " + Quote(user) : Quote(path)), [&](Names::Client names) {
      auto request = names.setQuotaRequest();
      request.setPath(ToData(path));
      request.setUser(user);
      request.setSetBytes(bytes.has_value());
      request.setBytes(bytes.value_or(0));
      request.setSetEntries(entries.has_value());
      request.setEntries(entries.value_or(0));
      return request.send().ignoreResult().catch_(
          [this](kj::Exception&& e) { TooOld(kj::mv(e), "knows no quotas", {}); });
    });
  }

  Result<std::vector<QuotaState>> GetQuotas(std::string_view path, const std::string& user) override {
    std::vector<QuotaState> quotas;
    for (bool more = true; more;) {
      const std::size_t first = quotas.size();
      MILLRACE_TRY(Ask("show quotas", [&](Names::Client names) {
        auto request = names.quotasRequest();
        request.setPath(ToData(path));
        request.setUser(user);
        request.setFirst(static_cast<std::uint32_t>(first));
        return request.send().then(
            [&](capnp::Response<Names::QuotasResults>&& response) {
              quotas.resize(first);
              for (const auto state : response.getQuotas()) quotas.push_back(FromWire(state));
              more = response.getMore();
            },
            [this](kj::Exception&& e) { TooOld(kj::mv(e), "knows no quotas", {}); });
      }));
      if (quotas.size() == first) break;
    }
    return quotas;
  }

  Status SetReplication(std::string_view path, std::uint32_t replication) override {
    return Ask("set the replication of " + Quote(path), [&](Names::Client names) {
      auto request = names.setReplicationRequest();
      request.setPath(ToData(path));
      request.setReplication(replication);
      return request.send().ignoreResult();
    });
  }

  Status SetMode(std::string_view path, Mode mode) override {
    return Ask("change the mode of " + Quote(path), [&](Names::Client names) {
      auto request = names.setModeRequest();
      request.setPath(ToData(path));
      request.setMode(mode);
      return request.send().ignoreResult();
    });
  }

  Status SetOwner(std::string_view path, const std::string& owner, const std::string& group) override {
    return Ask("change the owner of " + Quote(path), [&](Names::Client names) {
      auto request = names.setOwnerRequest();
      request.setPath(ToData(path));
      request.setOwner(owner);
      request.setGroup(group);
      return request.send().ignoreResult();
    });
  }

  Result<FileUsage> Measure(std::string_view path) override {
    FileUsage usage;
    MILLRACE_TRY(Ask("measure " + Quote(path), [&](Names::Client names) {
      auto request = names.measureRequest();
      request.setPath(ToData(path));
      return request.send().then([&usage](capnp::Response<Names::MeasureResults>&& response) {
        const auto in = response.getUsage();
        usage = {in.getFiles(), in.getDirectories(), in.getBytes(), in.getBytesWithReplicas(), in.getBlocks()};
      });
    }));
    return usage;
  }

  Result<Health> GetHealth() override {
    Health health;
    MILLRACE_TRY(Ask("ask for the health of blocks", [&](Names::Client names) {
      return names.healthRequest().send().then([&health](capnp::Response<Names::HealthResults>&& in) {
        health = {in.getBlocks(),
                  in.getMissing(),
                  in.getUnderReplicated(),
                  in.getOverReplicated(),
                  in.getCorruptReplicas(),
                  in.getCapacity(),
                  in.getUsed(),
                  in.getFree(),
                  in.getLiveWorkers(),
                  in.getUnknownBlocks(),
                  in.getHoldingWorkers(),
                  in.getAwaiting(),
                  in.getReadOnly(),
                  in.getShortOfNodes(),
                  in.getSingleReplica(),
                  {.bytes = in.getTrashBytes(), .entries = in.getTrashEntries()}};
      });
    }));
    return health;
  }

  Status AwaitReports() override {
    return AskUntilReady("wait for the reports of workers",
                         [](Names::Client names) { return names.awaitReportsRequest().send().ignoreResult(); });
  }

  Status ListUnhealthy(const std::function<bool(const UnhealthyBlock&)>& visit) override {
    std::uint64_t after = 0;
    for (bool more = true; more;) {
      std::vector<UnhealthyBlock> page;
      MILLRACE_TRY(Ask("list unhealthy blocks", [&](Names::Client names) {
        auto request = names.unhealthyBlocksRequest();
        request.setAfter(after);
        return request.send().then([&](capnp::Response<Names::UnhealthyBlocksResults>&& response) {
          page.clear();
          for (const auto in : response.getBlocks()) {
            page.push_back({ToString(in.getPath()), in.getBlock().getId(), in.getBlock().getLength(), in.getLive(),
                            in.getWanted()});
          }
          more = response.getMore();
        });
      }));
      for (const UnhealthyBlock& block : page) {
        if (!visit(block)) return Status::Ok();
        after = block.block;
      }
      if (page.empty()) return Status::Ok();
    }
    return Status::Ok();
  }

  // Holders read whole blocks, which may take longer than one call may. The master answers in time, and replicas that
  // it does not know of yet are asked for again; the new call joins the reading that is under way.
  Status Verify(std::string_view path, bool wait, const std::function<void(const CheckedReplica&)>& visit) override {
    std::uint32_t first = 0;
    std::vector<CheckedReplica> again;  // replicas of the blocks from `first` on
    for (bool more = true; more;) {
      MILLRACE_ASSIGN(const CheckedPage page, VerifyPage(path, first, wait, again));
      again.clear();
      for (const CheckedReplica& replica : page.replicas) {
        if (wait && replica.finding == ReplicaFinding::kAsked) {
          again.push_back(replica);
        } else {
          visit(replica);
        }
      }
      if (!again.empty()) continue;
      first = page.next;
      more = page.more;
    }
    return Status::Ok();
  }

  Status StartBalance(double threshold) override {
    return Ask("balance", [&](Names::Client names) {
      auto request = names.balanceRequest();
      request.setThreshold(threshold);
      return request.send().ignoreResult();
    });
  }

  Status StopBalance() override {
    return Ask("stop balancing", [&](Names::Client names) { return names.stopBalanceRequest().send().ignoreResult(); });
  }

  Result<BalanceStatus> GetBalance(Micros wait) override {
    BalanceStatus status;
    MILLRACE_TRY(Ask("ask for the state of balancing", [&](Names::Client names) {
      auto request = names.balanceStatusRequest();
      request.setWaitMillis(static_cast<std::uint32_t>(wait / kMillisecond));
      return request.send().then([&status](capnp::Response<Names::BalanceStatusResults>&& response) {
        const auto in = response.getStatus();
        status = {static_cast<BalancePhase>(in.getState()),
                  in.getThreshold(),
                  in.getMean(),
                  in.getSmallest(),
                  in.getLargest(),
                  in.getBytesLeft(),
                  in.getMovedBlocks(),
                  in.getMovedBytes(),
                  in.getMovingBlocks()};
      });
    }));
    return status;
  }

  Result<std::unique_ptr<FileReader>> Open(std::string_view path) override {
    MILLRACE_ASSIGN(BlockPage page, Locate(std::string(path), 0));
    FileStatus info = page.info;
    return std::unique_ptr<FileReader>(MakeReader(std::move(info), std::move(page.blocks), !page.more));
  }

  std::unique_ptr<FileReader> OpenKnown(FileStatus info, std::vector<LocatedBlock> blocks) override {
    return MakeReader(std::move(info), std::move(blocks), false);
  }

  Result<std::unique_ptr<FileWriter>> Create(std::string_view path, const WriteOptions& options) override {
    MILLRACE_ASSIGN(std::unique_ptr<Lease> lease, Lease::Create(connection_, options_, std::string(path), options));
    return std::unique_ptr<FileWriter>(std::make_unique<BlockFileWriter>(std::move(lease), std::string(path),
                                                                         options_.stall_timeout, options_.credentials));
  }

  void ReportBadReplica(std::uint64_t block, NodeId node) override {
    (void)Ask("report a bad replica", [&](Names::Client names) {
      auto request = names.reportBadReplicaRequest();
      request.setBlock(block);
      request.setNode(node.value);
      return request.send().ignoreResult();
    });
  }

  std::string Cluster() override { return connection_->cluster(); }

  Status Call(const std::string& what, const WithMaster& f) override { return connection_->Call(what, f); }
  Status CallUntilReady(const std::string& what, const WithMaster& f) override {
    return connection_->CallUntilReady(what, f);
  }

 private:
  // Throws the failure of a call. One that the master does not know becomes kUnsupported.
  void TooOld(kj::Exception&& failure, std::string_view lacks, std::string_view advice) const {
    if (!rpc::IsUnknownCall(failure)) kj::throwFatalException(kj::mv(failure));
    kj::throwFatalException(rpc::ToException(Unsupported(
        "the master at " + options_.master + " is of an earlier release, which " + std::string(lacks) +
        "; a version after 0.1.0 is needed: upgrade it" + (advice.empty() ? "" : ", or " + std::string(advice)))));
  }

  using WithNames = std::function<kj::Promise<void>(Names::Client)>;
  static WithMaster ToNames(const WithNames& f) {
    return [&f](capnp::Capability::Client bootstrap, kj::AsyncIoContext&) {
      return f(bootstrap.castAs<wire::NameProvider>().namesRequest().send().getService());
    };
  }
  Status Ask(const std::string& what, const WithNames& f) { return connection_->Call(what, ToNames(f)); }
  Status AskUntilReady(const std::string& what, const WithNames& f) {
    return connection_->CallUntilReady(what, ToNames(f));
  }

  struct CheckedPage {
    std::vector<CheckedReplica> replicas;
    std::uint32_t next = 0;  // the first block of the next page
    bool more = false;
  };
  // `again` means what it means in `verify` of base/protocol/name.capnp.
  Result<CheckedPage> VerifyPage(std::string_view path, std::uint32_t first, bool wait,
                                 const std::vector<CheckedReplica>& again) {
    CheckedPage page;
    MILLRACE_TRY(Ask("verify " + Quote(path), [&](Names::Client names) {
      auto request = names.verifyRequest();
      request.setPath(ToData(path));
      request.setFirstBlock(first);
      request.setWait(wait);
      auto named = request.initAgain(static_cast<unsigned>(again.size()));
      for (unsigned i = 0; i < named.size(); ++i) {
        named[i].setBlock(again[i].block);
        named[i].setNode(again[i].node.value);
      }
      return request.send().then([&page](capnp::Response<Names::VerifyResults>&& response) {
        page.replicas.clear();
        for (const auto in : response.getReplicas()) page.replicas.push_back(FromWire(in));
        page.next = response.getNextBlock();
        page.more = response.getMore();
      });
    }));
    return page;
  }

  Result<BlockPage> Locate(const std::string& path, std::uint32_t first) {
    BlockPage page;
    MILLRACE_TRY(AskUntilReady("open " + Quote(path), [&](Names::Client names) {
      auto request = names.locateRequest();
      request.setPath(ToData(path));
      request.setFirstBlock(first);
      WriteAsker(options_, request.initAsker());
      return request.send().then([&page](capnp::Response<Names::LocateResults>&& response) {
        page.info = FromWire(response.getStatus());
        page.blocks.clear();
        for (const auto block : response.getBlocks()) page.blocks.push_back(FromWire(block));
        page.more = response.getMore();
      });
    }));
    return page;
  }

  std::unique_ptr<FileReader> MakeReader(FileStatus info, std::vector<LocatedBlock> blocks, bool complete) {
    return std::make_unique<BlockFileReader>(
        std::move(info), std::move(blocks), complete,
        [this](const std::string& path, std::uint32_t first) { return Locate(path, first); },
        [this](std::uint64_t block, NodeId node) { ReportBadReplica(block, node); }, options_.stall_timeout,
        options_.credentials);
  }

  const ClientOptions options_;
  const std::shared_ptr<MasterConnection> connection_;
};

}  // namespace

Result<std::unique_ptr<DfsClient>> DfsClient::Connect(ClientOptions options) {
  MILLRACE_ASSIGN(std::shared_ptr<MasterConnection> connection, MasterConnection::Connect(options));
  return std::unique_ptr<DfsClient>(std::make_unique<DfsClientImpl>(std::move(options), std::move(connection)));
}

}  // namespace millrace::dfs
