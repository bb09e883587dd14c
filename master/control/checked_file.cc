// SPDX-License-Identifier: Apache-2.0
#include "master/control/checked_file.h"

#include <errno.h>
#include <sys/stat.h>

#include <tuple>
#include <utility>

#include "base/archive.h"
#include "base/file.h"
#include "base/tls/certificates.h"

namespace millrace::master {
namespace {

struct FileRecord {
  bool has_copy = false;
  std::string copy;
  Micros taken = 0, refused = 0;
};

constexpr auto kFileRecord = [](auto& archive, auto& record) {
  archive.Version(1, 1, [](int) { return Corrupt("another version"); });
  archive.U8(record.has_copy);
  archive.Text(record.copy);
  archive.U64(record.taken, record.refused);
};

// Files with equal stamps are taken for equal. The stamp of a file that cannot be looked at is the error number alone.
using Stamp = std::tuple<int, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>;

class RealFile final : public WatchedFile {
 public:
  explicit RealFile(std::string path) : path_(std::move(path)) {}

  const std::string& name() const override { return path_; }

  Result<std::string> Read() override {
    seen_ = given_ = Look();
    return ReadWholeFile(path_);
  }

  Result<std::optional<std::string>> TakeChange() override {
    const Stamp now = Look();
    const bool settled = std::exchange(seen_, now) == now;
    if (!settled || given_ == now) return std::optional<std::string>();
    given_ = now;
    MILLRACE_ASSIGN(std::string text, ReadWholeFile(path_));
    return std::optional(std::move(text));
  }

 private:
  Stamp Look() const {
    struct stat entry {};
    if (::stat(path_.c_str(), &entry) != 0) return {errno, 0, 0, 0, 0};
    return {0, entry.st_ino, static_cast<std::uint64_t>(entry.st_size), entry.st_mtim.tv_sec, entry.st_mtim.tv_nsec};
  }

  std::string path_;
  Stamp seen_, given_;
};

}  // namespace

std::unique_ptr<WatchedFile> WatchFile(std::string path) { return std::make_unique<RealFile>(std::move(path)); }

Status CheckedFile::Start(const KeyValueStore& store, Micros now, const Take& take) {
  if (file_ == nullptr) return Status::Ok();
  if (const Result<std::optional<std::string>> record = store.Get(key_); record.ok() && *record) {
    // A copy that is not understood is ignored, and does not prevent a start.
    if (Result<FileRecord> kept = ReadFields<FileRecord>(**record, key_, kFileRecord); kept.ok()) {
      if (kept->has_copy) copy_ = std::move(kept->copy);
      taken_ = kept->taken;
      refused_ = kept->refused;
    }
  }
  const Result<std::string> text = file_->Read();
  const Status noted = Note(now, text.ok() ? take(*text) : text.status(), text.ok() ? *text : std::string());
  if (!noted.ok()) in_force_ = copy_ && take(*copy_).ok() ? InForce::kCopy : InForce::kNothing;
  return noted;
}

std::optional<Status> CheckedFile::Poll(Micros now, const Take& take) {
  if (file_ == nullptr) return std::nullopt;
  const Result<std::optional<std::string>> text = file_->TakeChange();
  if (text.ok() && !*text) return std::nullopt;
  return Note(now, text.ok() ? take(**text) : text.status(), text.ok() ? **text : std::string());
}

Status CheckedFile::Note(Micros now, const Status& taken, const std::string& text) {
  problem_ = taken.message();
  if (!taken.ok()) {
    unkept_ = unkept_ || refused_ == 0;
    if (refused_ == 0) refused_ = now;
    return taken;
  }
  in_force_ = InForce::kFile;
  if (copy_ == text && refused_ == 0) return taken;
  copy_ = text;
  taken_ = now;
  refused_ = 0;
  unkept_ = true;
  return taken;
}

void CheckedFile::Keep(WriteBatch* batch) {
  if (!std::exchange(unkept_, false)) return;
  batch->Put(key_, WriteFields(FileRecord{copy_.has_value(), copy_.value_or(""), taken_, refused_}, kFileRecord));
}

std::string CheckedFile::Line(const std::string& otherwise) const {
  if (problem_.empty()) return {};
  const std::string refused = "has been refused since " + tls::TimeText(refused_) + ": " + problem_ + "; ";
  switch (in_force_) {
    case InForce::kFile:
      return refused + "its earlier contents stay in force";
    case InForce::kCopy:
      return refused + "a copy is in force, of its contents on " + tls::TimeText(taken_);
    case InForce::kNothing:
      break;
  }
  return refused + otherwise;
}

}  // namespace millrace::master
