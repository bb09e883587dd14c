#include "master/control/watched_file.h"

#include <errno.h>
#include <sys/stat.h>

#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace millrace::master {
namespace {

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

}  // namespace millrace::master
