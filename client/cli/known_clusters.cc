// SPDX-License-Identifier: Apache-2.0
#include "client/cli/known_clusters.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <set>

#include "base/cluster_id.h"
#include "base/file.h"
#include "base/local_place.h"
#include "base/text.h"

namespace millrace::cli {
namespace {

// Returns the text of the file, which is empty if there is no such file.
Result<std::string> ReadLines(const std::string& file) {
  Result<std::string> text = ReadWholeFile(file);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return std::string();
  return text;
}

std::set<std::string, std::less<>> Split(std::string_view addresses) {
  std::set<std::string, std::less<>> all;
  for (std::size_t begin = 0; begin <= addresses.size();) {
    const std::size_t end = std::min(addresses.find(',', begin), addresses.size());
    all.emplace(addresses.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

bool IsThisMachine(std::string_view address) {
  const std::string_view host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host.starts_with("127.") || host == "::1" || host == "[::1]";
}

}  // namespace

std::string KnownClustersFile(const std::string& state_home, const std::string& home) {
  constexpr const char* kFile = "/millrace/known_clusters";
  if (!state_home.empty()) return state_home + kFile;
  return home.empty() ? "" : home + "/.local/state" + kFile;
}

bool IsLoopback(std::string_view address) {
  const auto all = Split(address);
  return std::all_of(all.begin(), all.end(), IsThisMachine);
}

Result<KnownAddresses> FindKnownCluster(const std::string& file, const std::string& addresses) {
  MILLRACE_ASSIGN(const std::string text, ReadLines(file));
  auto asked = Split(addresses);
  std::erase_if(asked, IsThisMachine);
  auto unknown = asked;
  KnownAddresses found;
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::string_view names = line.substr(0, line.find(' '));
    const auto listed = Split(names);
    if (std::none_of(listed.begin(), listed.end(), [&](const std::string& one) { return asked.contains(one); }))
      continue;
    const std::string cluster(line.substr(std::min(line.size(), names.size() + 1)));
    if (!IsClusterId(cluster))
      return Corrupt(file + ", line " + std::to_string(number) + ": " + Quote(cluster) +
                     " is not a cluster id; remove the line");
    if (!found.cluster.has_value()) found.cluster = KnownCluster{cluster, number};
    if (found.cluster->cluster != cluster)
      return Corrupt(file + ", lines " + std::to_string(found.cluster->line) + " and " + std::to_string(number) + ": " +
                     addresses + " are of different clusters; remove the line that is wrong");
    for (const std::string& one : listed) unknown.erase(one);
  }
  for (const std::string& one : unknown) found.unknown += (found.unknown.empty() ? "" : ",") + one;
  return found;
}

Status RememberCluster(const std::string& file, const std::string& addresses, const std::string& cluster) {
  const std::string directory = file.substr(0, file.rfind('/'));
  MILLRACE_TRY(MakeDirectories(directory.substr(0, directory.rfind('/'))));
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return FromErrno(errno, "make directory " + directory);
  MILLRACE_ASSIGN(std::string text, ReadLines(file));
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += addresses + " " + cluster + "\n";
  MILLRACE_ASSIGN(LocalFile place, LocalFile::Open(file, {.replace = true, .mode = 0600}));
  MILLRACE_TRY(WriteAll(place.fd(), text, file));
  return place.Commit();
}

}  // namespace millrace::cli
