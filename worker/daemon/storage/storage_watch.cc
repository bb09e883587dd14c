// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/storage/storage_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/rpc/status_codec.h"

namespace millrace::worker {
namespace {

constexpr int kBlockDirectories = 256;

}  // namespace

std::vector<std::string> WorkerParts() { return {"lock", "storage_id"}; }

std::vector<std::string> TaskParts() { return {"lock", "jobs", "logs"}; }

std::vector<std::string> BlockParts() {
  std::vector<std::string> parts = {"writing", "trash", "blocks"};
  for (int i = 0; i < kBlockDirectories; ++i) parts.push_back(fmt::format("blocks/{:02x}", i));
  return parts;
}

Result<std::unique_ptr<DiskStorageProbe>> DiskStorageProbe::Make(const std::string& directory,
                                                                 const std::vector<std::string>& parts,
                                                                 dfs::SyncMeter* meter) {
  std::vector<KnownPath> known;
  for (const std::string& part : parts) {
    const std::string path = directory + "/" + part;
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) return FromErrno(errno, "look at " + path);
    known.push_back({path, info.st_dev, info.st_ino});
  }
  // The file is opened only once, because a lack of descriptors says nothing about the disk.
  MILLRACE_ASSIGN(Fd probe, OpenFile(directory + "/probe", O_RDWR | O_CREAT));
  return std::unique_ptr<DiskStorageProbe>(new DiskStorageProbe(directory, std::move(known), std::move(probe), meter));
}

Status DiskStorageProbe::Check() {
  for (const KnownPath& file : known_) {
    struct stat info = {};
    if (::stat(file.path.c_str(), &info) != 0) return FromErrno(errno, "look at " + file.path);
    if (info.st_dev != file.device || info.st_ino != file.inode) {
      return Corrupt(file.path + " is not the one that the worker started with");
    }
  }
  const std::string path = directory_ + "/probe";
  const auto write = [&]() -> Status {
    const std::string text = fmt::format("{:020}\n", ++looks_);
    MILLRACE_TRY(WriteAllAt(probe_.get(), text, 0, path));
    const auto sync = [&]() -> Status {
      return ::fdatasync(probe_.get()) == 0 ? Status::Ok() : FromErrno(errno, "sync " + path);
    };
    MILLRACE_TRY(meter_ == nullptr ? sync() : meter_->Time(0, sync));
    ::posix_fadvise(probe_.get(), 0, 0, POSIX_FADV_DONTNEED);  // so that the bytes are read from the disk
    std::string read(text.size(), '\0');
    MILLRACE_TRY(ReadExactlyAt(probe_.get(), read.data(), read.size(), 0, path));
    return read == text ? Status::Ok() : Corrupt(path + " does not hold what was written to it");
  };
  const Status written = write();
  return written.code() == StatusCode::kNoSpace ? Status::Ok() : written;
}

StorageWatch::StorageWatch(kj::Timer& timer, rpc::Background& background, StorageProbe& probe, Micros period,
                           std::function<void(const Status&)> gone)
    : timer_(timer), background_(background), probe_(probe), period_(period), gone_(std::move(gone)) {}

void StorageWatch::Start() {
  cycle_ = Cycle().eagerlyEvaluate(
      [](kj::Exception&& exception) { MILLRACE_CHECK(false, rpc::FromException(exception).message()); });
}

kj::Promise<void> StorageWatch::Cycle() {
  return timer_.afterDelay(period_ * kj::MICROSECONDS).then([this]() -> kj::Promise<void> {
    auto looked = kj::newPromiseAndFulfiller<void>();
    const auto tell = std::make_shared<kj::Own<kj::PromiseFulfiller<void>>>(kj::mv(looked.fulfiller));
    const auto seen = std::make_shared<Status>();
    background_.Run([seen, &probe = probe_] { *seen = probe.Check(); }, [tell] { (*tell)->fulfill(); });
    return looked.promise.then([this, seen]() -> kj::Promise<void> {
      if (seen->ok()) return Cycle();
      gone_(*seen);
      return kj::READY_NOW;
    });
  });
}

}  // namespace millrace::worker
