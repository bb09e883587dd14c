// SPDX-License-Identifier: Apache-2.0
#include "tests/dfs/client/fake_name_server.h"

#include <kj/debug.h>

#include <algorithm>

#include "base/check.h"
#include "base/protocol/name.capnp.h"
#include "base/rpc/status_codec.h"
#include "base/text.h"
#include "dfs/client/wire_convert.h"

namespace millrace::dfs {
namespace {

constexpr std::size_t kPage = 2;

[[noreturn]] void Refuse(const Status& status) {
  kj::throwFatalException(rpc::ToException(status));
  MILLRACE_CHECK(false, "it throws");
}

void WritePlace(const ReplicaHost& place, wire::ReplicaHost::Builder out) {
  out.setNode(place.node.value);
  out.setHost(place.host);
  out.setPort(place.port);
  out.setLocalSocket(place.local_socket);
}

class LeaseService final : public wire::FileLease::Server {
 public:
  LeaseService(FakeNameServer& master, std::uint64_t file) : master_(master), file_(file) {}
  ~LeaseService() {
    const std::lock_guard lock(master_.mutex);
    master_.Log("dropped " + Name());
  }

  kj::Promise<void> addBlock(AddBlockContext context) override {
    const std::lock_guard lock(master_.mutex);
    std::string call = "addBlock " + Name();
    std::vector<NodeId> excluded;
    for (const std::uint32_t node : context.getParams().getExcluded()) {
      excluded.push_back(NodeId{node});
      call += " without " + std::to_string(node);
    }
    master_.Log(call);
    std::vector<ReplicaHost> targets;
    for (const ReplicaHost& place : master_.places_once.empty() ? master_.places : master_.places_once) {
      if (std::find(excluded.begin(), excluded.end(), place.node) == excluded.end()) targets.push_back(place);
    }
    if (targets.empty()) Refuse(Unavailable("no worker has room for a block"));
    master_.places_once.clear();
    const std::uint64_t block = master_.next++;
    Open().blocks.insert(block);
    context.getResults().setId(block);
    auto out = context.getResults().initTargets(static_cast<unsigned>(targets.size()));
    for (unsigned i = 0; i < out.size(); ++i) WritePlace(targets[i], out[i]);
    return kj::READY_NOW;
  }

  kj::Promise<void> dropBlock(DropBlockContext context) override {
    const std::lock_guard lock(master_.mutex);
    Open().blocks.erase(context.getParams().getId());
    return kj::READY_NOW;
  }

  kj::Promise<void> complete(CompleteContext context) override {
    const std::lock_guard lock(master_.mutex);
    master_.Log("complete " + Name());
    const std::string path = Open().path;
    FakeNameServer::File file{file_, Read(context.getParams().getBlocks())};
    master_.open.erase(file_);
    master_.files[path] = std::move(file);
    if (!master_.TakeLoss("complete")) return kj::READY_NOW;
    return KJ_EXCEPTION(DISCONNECTED, "the connection broke");  // as the caller sees it when the answer does not arrive
  }

  kj::Promise<void> abandon(AbandonContext) override {
    const std::lock_guard lock(master_.mutex);
    if (const auto open = master_.open.find(file_); open != master_.open.end()) {
      if (!open->second.synced.empty()) master_.files[open->second.path] = {file_, open->second.synced};
      master_.open.erase(open);
    }
    master_.Log("abandon " + Name());
    return kj::READY_NOW;
  }

  kj::Promise<void> sync(SyncContext context) override {
    const std::lock_guard lock(master_.mutex);
    const auto params = context.getParams();
    master_.Log("sync " + Name() + " from " + std::to_string(params.getFirst()));
    std::vector<WrittenBlock>& synced = Open().synced;
    if (params.getFirst() > synced.size()) Refuse(Invalid("a gap"));
    synced.resize(params.getFirst());
    for (WrittenBlock& written : Read(params.getBlocks())) synced.push_back(std::move(written));
    if (!master_.TakeLoss("sync")) return kj::READY_NOW;
    return KJ_EXCEPTION(DISCONNECTED, "the connection broke");
  }

  kj::Promise<void> renew(RenewContext) override {
    const std::lock_guard lock(master_.mutex);
    master_.Log("renew " + Name());
    return kj::READY_NOW;
  }

  kj::Promise<void> handOver(HandOverContext context) override {
    const std::lock_guard lock(master_.mutex);
    master_.Log("handOver " + Name() + " to " + std::string(context.getParams().getAttempt()));
    return kj::READY_NOW;
  }

 private:
  std::vector<WrittenBlock> Read(capnp::List<wire::WrittenBlock>::Reader blocks) {
    std::vector<WrittenBlock> all;
    for (const auto block : blocks) {
      WrittenBlock written{block.getBlock().getId(), block.getBlock().getLength(), {}, block.getBlock().getCrc()};
      for (const std::uint32_t node : block.getNodes()) written.nodes.push_back(NodeId{node});
      if (!Open().blocks.contains(written.id)) Refuse(Invalid("block " + std::to_string(written.id) + " is not of it"));
      all.push_back(std::move(written));
    }
    return all;
  }
  [[nodiscard]] std::string Name() const { return std::to_string(file_); }
  FakeNameServer::OpenFile& Open() {
    const auto found = master_.open.find(file_);
    if (found == master_.open.end()) Refuse(NotFound("file " + Name() + " is not being written any more"));
    return found->second;
  }

  FakeNameServer& master_;
  std::uint64_t file_;
};

class Names final : public wire::NameService::Server {
 public:
  explicit Names(FakeNameServer& master) : master_(master) {}

  kj::Promise<void> stat(StatContext context) override {
    const std::lock_guard lock(master_.mutex);
    const std::string path = ToString(context.getParams().getPath());
    WriteStatus(path, Find(path), context.getResults().initStatus());
    return kj::READY_NOW;
  }

  kj::Promise<void> list(ListContext context) override {
    const std::lock_guard lock(master_.mutex);
    const std::string after = "/" + ToString(context.getParams().getAfter());
    std::vector<const std::pair<const std::string, FakeNameServer::File>*> found;
    for (auto it = master_.files.upper_bound(after); it != master_.files.end() && found.size() < kPage; ++it) {
      found.push_back(&*it);
    }
    auto out = context.getResults().initEntries(static_cast<unsigned>(found.size()));
    for (unsigned i = 0; i < out.size(); ++i) WriteStatus(found[i]->first, found[i]->second, out[i]);
    context.getResults().setMore(!found.empty() &&
                                 master_.files.upper_bound(found.back()->first) != master_.files.end());
    return kj::READY_NOW;
  }

  kj::Promise<void> locate(LocateContext context) override {
    const std::lock_guard lock(master_.mutex);
    const std::string path = ToString(context.getParams().getPath());
    const FakeNameServer::File& file = Find(path);
    WriteStatus(path, file, context.getResults().initStatus());
    const std::size_t first = std::min<std::size_t>(context.getParams().getFirstBlock(), file.blocks.size());
    const std::size_t count = std::min(kPage, file.blocks.size() - first);
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < first; ++i) offset += file.blocks[i].length;
    auto out = context.getResults().initBlocks(static_cast<unsigned>(count));
    for (unsigned i = 0; i < count; ++i) {
      const WrittenBlock& block = file.blocks[first + i];
      WriteBlock(block, offset, out[i]);
      offset += block.length;
    }
    context.getResults().setMore(first + count < file.blocks.size());
    return kj::READY_NOW;
  }

  kj::Promise<void> makeDirectory(MakeDirectoryContext context) override {
    const std::lock_guard lock(master_.mutex);
    const std::uint16_t mode = context.getParams().getMode();
    master_.Log("makeDirectory " + ToString(context.getParams().getPath()) +
                (mode <= kAllModeBits ? " " + OctalText(mode) : ""));
    return kj::READY_NOW;
  }

  kj::Promise<void> setMode(SetModeContext context) override {
    const std::lock_guard lock(master_.mutex);
    master_.Log("setMode " + ToString(context.getParams().getPath()) + " " + OctalText(context.getParams().getMode()));
    return kj::READY_NOW;
  }

  kj::Promise<void> setOwner(SetOwnerContext context) override {
    const std::lock_guard lock(master_.mutex);
    const auto params = context.getParams();
    master_.Log("setOwner " + ToString(params.getPath()) + " " + std::string(params.getOwner()) + ":" +
                std::string(params.getGroup()));
    return kj::READY_NOW;
  }

  kj::Promise<void> create(CreateContext context) override {
    const std::lock_guard lock(master_.mutex);
    const std::string path = ToString(context.getParams().getPath());
    master_.Log("create " + path);
    if (master_.files.contains(path)) Refuse(Exists("create " + Quote(path) + ": exists already"));
    const std::uint64_t file = master_.next++;
    master_.open[file].path = path;
    context.getResults().setFile(file);
    context.getResults().setBlockSize(kBlockSize);
    context.getResults().setRenewMillis(master_.renew_millis);
    context.getResults().setLease(kj::heap<LeaseService>(master_, file));
    return kj::READY_NOW;
  }

  kj::Promise<void> resume(ResumeContext context) override {
    const std::lock_guard lock(master_.mutex);
    const std::uint64_t file = context.getParams().getFile();
    master_.Log("resume " + std::to_string(file));
    if (!master_.open.contains(file))
      Refuse(NotFound("file " + std::to_string(file) + " is not being written any more"));
    context.getResults().setLease(kj::heap<LeaseService>(master_, file));
    return kj::READY_NOW;
  }

  kj::Promise<void> reportBadReplica(ReportBadReplicaContext context) override {
    const std::lock_guard lock(master_.mutex);
    master_.Log("bad " + std::to_string(context.getParams().getBlock()) + " on " +
                std::to_string(context.getParams().getNode()));
    return kj::READY_NOW;
  }

  kj::Promise<void> verify(VerifyContext context) override {
    const std::lock_guard lock(master_.mutex);
    const auto params = context.getParams();
    const FakeNameServer::File& file = Find(ToString(params.getPath()));
    const std::size_t first = std::min<std::size_t>(params.getFirstBlock(), file.blocks.size());
    const std::size_t end = std::min(first + kPage, file.blocks.size());
    using Replica = std::pair<std::uint64_t, NodeId>;
    std::set<Replica> again;
    for (const auto name : params.getAgain()) again.emplace(name.getBlock(), NodeId{name.getNode()});
    std::vector<Replica> found;
    for (std::size_t i = first; i < end; ++i) {
      for (const NodeId node : file.blocks[i].nodes) {
        const Replica replica(file.blocks[i].id, node);
        if (again.empty() || again.contains(replica)) found.push_back(replica);
      }
    }
    auto out = context.getResults().initReplicas(static_cast<unsigned>(found.size()));
    for (unsigned i = 0; i < out.size(); ++i) {
      master_.Log("verify " + std::to_string(found[i].first) + " on " + std::to_string(found[i].second.value));
      out[i].setBlock(found[i].first);
      out[i].setNode(found[i].second.value);
      const auto slow = master_.slow.find(found[i].second);
      out[i].setState(slow == master_.slow.end() ? wire::ReplicaState::SOUND : wire::ReplicaState::UNKNOWN);
      if (slow != master_.slow.end()) master_.slow.erase(slow);
    }
    context.getResults().setNextBlock(static_cast<std::uint32_t>(end));
    context.getResults().setMore(end < file.blocks.size());
    return kj::READY_NOW;
  }

 private:
  const FakeNameServer::File& Find(const std::string& path) {
    const auto found = master_.files.find(path);
    if (found == master_.files.end()) Refuse(NotFound(Quote(path) + ": no such file or directory"));
    return found->second;
  }

  static void WriteStatus(const std::string& path, const FakeNameServer::File& file, wire::FileStatus::Builder out) {
    std::uint64_t length = 0;
    for (const WrittenBlock& block : file.blocks) length += block.length;
    out.setPath(ToData(path));
    out.setLength(length);
    out.setId(file.id);
    out.setBlockSize(kBlockSize);
    out.setOwner("somebody");
  }

  void WriteBlock(const WrittenBlock& block, std::uint64_t offset, wire::LocatedBlock::Builder out) {
    out.initBlock().setId(block.id);
    out.getBlock().setLength(block.length);
    out.getBlock().setCrc(block.crc);
    out.setOffset(offset);
    std::vector<ReplicaHost> holders;
    for (const ReplicaHost& place : master_.places) {
      if (std::find(block.nodes.begin(), block.nodes.end(), place.node) != block.nodes.end()) holders.push_back(place);
    }
    auto replicas = out.initReplicas(static_cast<unsigned>(holders.size()));
    for (unsigned i = 0; i < replicas.size(); ++i) WritePlace(holders[i], replicas[i]);
  }

  FakeNameServer& master_;
};

class Provider final : public wire::NameProvider::Server {
 public:
  explicit Provider(FakeNameServer& master) : master_(master), names_(kj::heap<Names>(master)) {}
  kj::Promise<void> names(NamesContext context) override {
    const std::lock_guard lock(master_.mutex);
    context.getResults().setService(names_);
    context.getResults().setCluster(master_.cluster);
    context.getResults().setVersion("9.9.9");
    context.getResults().setProtocol(master_.protocol);
    return kj::READY_NOW;
  }

 private:
  FakeNameServer& master_;
  wire::NameService::Client names_;
};

}  // namespace

FakeNameServer::FakeNameServer() { Start(); }

FakeNameServer::~FakeNameServer() noexcept { Stop(); }

void FakeNameServer::Start() {
  const Status started = thread_.Run([this](kj::AsyncIoContext& io) {
    return rpc::Listen(io.provider->getNetwork(), address()).then([this, &io](rpc::Listening&& listening) {
      port_ = listening.port;
      server_ = std::make_unique<rpc::Server>(io.provider->getTimer(), kj::heap<Provider>(*this));
      accepting_ = server_->AcceptLoop(kj::mv(listening.receiver)).eagerlyEvaluate([](kj::Exception&&) {});
    });
  });
  MILLRACE_CHECK(started.ok(), started.message());
}

void FakeNameServer::Stop() {
  (void)thread_.Run([this](kj::AsyncIoContext&) -> kj::Promise<void> {
    accepting_ = nullptr;
    server_.reset();
    return kj::READY_NOW;
  });
}

void FakeNameServer::LoseAnswerOf(const std::string& call) {
  const std::lock_guard lock(mutex);
  lose_ = call;
}

bool FakeNameServer::TakeLoss(const std::string& call) {
  if (lose_ != call) return false;
  lose_.clear();
  return true;
}

void FakeNameServer::Log(const std::string& call) {
  calls_.push_back(call);
  called_.notify_all();
}

std::vector<std::string> FakeNameServer::Calls() {
  const std::lock_guard lock(mutex);
  return calls_;
}

bool FakeNameServer::WasCalled(const std::string& call) {
  const std::vector<std::string> calls = Calls();
  return std::find(calls.begin(), calls.end(), call) != calls.end();
}

void FakeNameServer::AwaitCall(const std::string& call) {
  std::unique_lock lock(mutex);
  called_.wait(lock, [&] { return std::find(calls_.begin(), calls_.end(), call) != calls_.end(); });
}

}  // namespace millrace::dfs
