#include "client/cli/known_clusters.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/cluster_id.h"
#include "base/file.h"
#include "base/text.h"

namespace millrace::cli {
namespace {

// Empty when there is none.
Result<std::string> ReadLines(const std::string& file) {
  Result<std::string> text = ReadWholeFile(file);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return std::string();
  return text;
}

}  // namespace

std::string KnownClustersFile(const std::string& state_home, const std::string& home) {
  constexpr const char* kFile = "/millrace/known_clusters";
  if (!state_home.empty()) return state_home + kFile;
  return home.empty() ? "" : home + "/.local/state" + kFile;
}

bool IsLoopback(std::string_view address) {
  for (std::size_t begin = 0; begin <= address.size();) {
    const std::size_t end = std::min(address.find(',', begin), address.size());
    const std::string_view one = address.substr(begin, end - begin), host = one.substr(0, one.rfind(':'));
    if (host != "localhost" && !host.starts_with("127.") && host != "::1" && host != "[::1]") return false;
    begin = end + 1;
  }
  return true;
}

Result<std::optional<KnownCluster>> FindKnownCluster(const std::string& file, const std::string& address) {
  MILLRACE_ASSIGN(const std::string text, ReadLines(file));
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.substr(0, line.find(' ')) != address) continue;
    const std::string_view cluster = line.substr(std::min(line.size(), address.size() + 1));
    if (IsClusterId(cluster)) return std::optional(KnownCluster{std::string(cluster), number});
    return Corrupt(file + ", line " + std::to_string(number) + ": " + Quote(std::string(cluster)) +
                   " is no cluster id; remove the line");
  }
  return std::optional<KnownCluster>();
}

Status RememberCluster(const std::string& file, const std::string& address, const std::string& cluster) {
  const std::string directory = file.substr(0, file.rfind('/'));
  MILLRACE_TRY(MakeDirectories(directory.substr(0, directory.rfind('/'))));
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return FromErrno(errno, "make directory " + directory);
  MILLRACE_ASSIGN(std::string text, ReadLines(file));
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += address + " " + cluster + "\n";
  const std::string aside = file + "." + std::to_string(::getpid());
  {
    MILLRACE_ASSIGN(const Fd fd, OpenFile(aside, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    MILLRACE_TRY(WriteAll(fd.get(), text, aside));
    if (::fsync(fd.get()) != 0) return FromErrno(errno, "sync " + aside);
  }
  if (::rename(aside.c_str(), file.c_str()) != 0) return FromErrno(errno, "rename " + aside);
  return Status::Ok();
}

}  // namespace millrace::cli
