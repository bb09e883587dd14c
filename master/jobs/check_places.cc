#include "master/jobs/check_places.h"

#include <charconv>
#include <string>
#include <string_view>

#include "base/text.h"
#include "base/units.h"
#include "base/url_scheme.h"
#include "dfs/wire/file_shape.h"
#include "dfs/wire/path.h"

namespace millrace::master {
namespace {

// Of what stands below an output: "/_temporary/", an attempt, "/" and the longest name of a file.
constexpr std::size_t kLongestBelow = 64 + dfs::kMaxNameBytes;

Status CheckUrl(std::string_view path) {
  const std::string_view given = path.substr(path.starts_with('/') ? 1 : 0);
  return SchemeOf(given).empty() ? Status::Ok() : dfs::CanonicalPath(given).status();
}

Status CheckOption(std::string_view name, std::string_view value) {
  if (name == "output.block_size") {
    MILLRACE_ASSIGN(const std::uint64_t bytes, ParseBytes(value));
    return bytes == 0 ? Status::Ok() : dfs::CheckBlockSize(bytes);
  }
  if (name == "output.replication") {
    std::uint64_t replication = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), replication);
    if (error != std::errc() || end != value.data() + value.size()) return Invalid(Quote(value) + " is not a number");
    return replication == 0 ? Status::Ok() : dfs::CheckReplicas(replication);
  }
  return Status::Ok();
}

}  // namespace

Status CheckPlaces(const JobRequest& request) {
  for (const std::string& input : request.inputs) MILLRACE_TRY(CheckUrl(input).Within("submit a job: the input"));
  MILLRACE_TRY(CheckUrl(request.output).Within("submit a job: the output"));
  if (request.output.size() + kLongestBelow > dfs::kMaxPathBytes) {
    return Invalid("submit a job: the output " + Quote(request.output) +
                   " is too long for the files below it; it may have " +
                   std::to_string(dfs::kMaxPathBytes - kLongestBelow) + " bytes");
  }
  for (const auto& [name, value] : request.parameters)
    MILLRACE_TRY(CheckOption(name, value).Within("submit a job: option " + name));
  return Status::Ok();
}

}  // namespace millrace::master
