// A file system in memory behind the DfsClient seam, as much of it as tasks use, and a channel to a task loop on a
// thread.
#pragma once

#include <capnp/message.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "client/process/storage.h"

namespace millrace {

struct FakeFiles {
  std::mutex mutex;
  std::map<std::string, std::string> files;     // what OpenKnown reads
  std::map<std::uint64_t, std::string> local;   // blocks on this machine
  std::map<std::uint64_t, std::string> remote;  // blocks that ReadBlock gives
  std::map<std::string, std::string> written;   // handed over, by path
  std::map<std::string, std::string> attempts;  // path to attempt
  int connections = 0;
  Micros ticks = 0;  // the clock; it goes on while bytes of remote blocks are waited for
};

class FakeReader final : public dfs::FileReader {
 public:
  FakeReader(FakeFiles& files, dfs::FileInfo info) : files_(files), info_(std::move(info)) {}
  const dfs::FileInfo& info() const override { return info_; }
  Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override {
    const std::string& bytes = files_.files.at(info_.path);
    const std::size_t before = out->size();
    if (offset < bytes.size()) out->append(bytes, offset, size);
    remote_ += out->size() - before;
    return Status::Ok();
  }
  Status Stream(std::uint64_t offset, std::uint64_t size, const std::function<bool(std::string_view)>& sink) override {
    std::string bytes;
    MILLRACE_TRY(ReadAt(offset, size, &bytes));
    return sink(bytes) ? Status::Ok() : Cancelled("sink");
  }
  Result<std::vector<dfs::LocatedBlock>> Blocks() override { return std::vector<dfs::LocatedBlock>(); }
  std::uint64_t bytes_local() const override { return 0; }
  std::uint64_t bytes_remote() const override { return remote_; }

 private:
  FakeFiles& files_;
  dfs::FileInfo info_;
  std::uint64_t remote_ = 0;
};

class FakeWriter final : public dfs::FileWriter {
 public:
  FakeWriter(FakeFiles& files, std::string path) : files_(files), path_(std::move(path)) {}
  Status Write(std::string_view data) override {
    bytes_.append(data);
    return Status::Ok();
  }
  Status Sync() override { return Internal("a task does not sync its output"); }
  Status Close() override { return Internal("a task does not close its output"); }
  void Abandon() override {}
  Result<HandedOver> HandOver(const std::string& attempt) override {
    files_.written[path_] = bytes_;
    files_.attempts[path_] = attempt;
    return HandedOver{77, {{5, bytes_.size(), {1, 2}}}, bytes_.size()};
  }
  std::uint64_t bytes() const override { return bytes_.size(); }

 private:
  FakeFiles& files_;
  std::string path_, bytes_;
};

class FakeClient final : public dfs::DfsClient {
 public:
  explicit FakeClient(FakeFiles& files) : files_(files) { ++files.connections; }
  std::string Cluster() override { return {}; }
  // A directory is what files lie below.
  Result<dfs::FileInfo> Stat(std::string_view path) override {
    const std::string name(path), below = name == "/" ? name : name + "/";
    if (files_.files.contains(name)) return Info(name, false);
    const auto inside = files_.files.lower_bound(below);
    if (inside != files_.files.end() && inside->first.starts_with(below)) return Info(name, true);
    return NotFound(name + ": no such file or directory");
  }
  Status List(std::string_view path, const std::function<bool(const dfs::FileInfo&)>& visit) override {
    const std::string below = path == "/" ? "/" : std::string(path) + "/";
    std::string last;
    for (const auto& [file, bytes] : files_.files) {
      if (!file.starts_with(below)) continue;
      const std::string entry = file.substr(0, file.find('/', below.size()));
      if (entry != last && !visit(Info(entry, entry != file))) break;
      last = entry;
    }
    return Status::Ok();
  }
  Status MakeDirectory(std::string_view) override { return No(); }
  Status Remove(std::string_view, bool) override { return No(); }
  Status Rename(std::string_view, std::string_view) override { return No(); }
  Status SetReplication(std::string_view, std::uint32_t) override { return No(); }
  Result<dfs::FileUsage> Measure(std::string_view) override { return No(); }
  Result<dfs::Health> GetHealth() override { return No(); }
  Status AwaitReports() override { return No(); }
  Status ListUnhealthy(const std::function<bool(const dfs::UnhealthyBlock&)>&) override { return No(); }
  Status StartBalance(double) override { return No(); }
  Status StopBalance() override { return No(); }
  Result<dfs::BalanceStatus> GetBalance(Micros) override { return No(); }
  Result<std::unique_ptr<dfs::FileReader>> Open(std::string_view path) override {
    MILLRACE_ASSIGN(dfs::FileInfo info, Stat(path));
    return OpenKnown(std::move(info), {});
  }
  std::unique_ptr<dfs::FileReader> OpenKnown(dfs::FileInfo info, std::vector<dfs::LocatedBlock>) override {
    return std::make_unique<FakeReader>(files_, std::move(info));
  }
  Result<std::unique_ptr<dfs::FileWriter>> Create(std::string_view path, const dfs::WriteOptions&) override {
    return std::unique_ptr<dfs::FileWriter>(std::make_unique<FakeWriter>(files_, std::string(path)));
  }
  Status Verify(std::string_view, bool, const std::function<void(const dfs::CheckedReplica&)>&) override {
    return No();
  }
  void ReportBadReplica(std::uint64_t, std::uint32_t) override {}
  Status Call(const std::string&, const WithMaster&) override { return No(); }
  Status CallUntilReady(const std::string&, const WithMaster&) override { return No(); }

 private:
  dfs::FileInfo Info(const std::string& path, bool directory) {
    dfs::FileInfo info;
    info.path = path;
    info.directory = directory;
    info.length = directory ? 0 : files_.files.at(path).size();
    return info;
  }
  static Status No() { return Internal("not for tasks"); }
  FakeFiles& files_;
};

// Local blocks are files in `directory`, so that they can be mapped.
inline StorageAccess FakeStorage(FakeFiles& files, const std::string& directory) {
  StorageAccess access;
  access.connect = [&files](const dfs::ClientOptions&) -> Result<std::unique_ptr<dfs::DfsClient>> {
    return std::unique_ptr<dfs::DfsClient>(std::make_unique<FakeClient>(files));
  };
  access.map_local = [&files, directory](const dfs::LocatedBlock& block, const dfs::BadReplica&) -> Result<MappedFile> {
    const auto found = files.local.find(block.id);
    if (found == files.local.end()) return NotFound("no local replica");
    const std::string path = directory + "/block" + std::to_string(block.id);
    MILLRACE_TRY(WriteFileDurably(path, found->second));
    MILLRACE_ASSIGN(const Fd fd, OpenFile(path, 0));
    return MappedFile::Map(fd.get(), 0, found->second.size(), path);
  };
  access.ticks = [&files] { return files.ticks; };
  access.read_block = [&files](const dfs::LocatedBlock& block, std::uint64_t offset, std::uint64_t size, Micros,
                               const dfs::BadReplica&, const std::function<bool(std::string_view)>& sink,
                               dfs::ReadSource* source) -> Status {
    const auto found = files.remote.find(block.id);
    if (found == files.remote.end()) return Unavailable("no replica answers");
    *source = dfs::ReadSource::kRemote;
    for (std::uint64_t at = offset; at < offset + size;) {  // small pieces, as a network may give them
      const std::string_view piece =
          std::string_view(found->second).substr(at, std::min<std::uint64_t>(5, offset + size - at));
      files.ticks += 100;  // for each piece
      if (!sink(piece)) return Cancelled("sink");
      at += piece.size();
    }
    return Status::Ok();
  };
  return access;
}

}  // namespace millrace
