// SPDX-License-Identifier: Apache-2.0
#include "client/local/local_inputs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/address.h"
#include "base/file.h"
#include "base/text.h"
#include "client/format/text_check.h"
#include "client/solo/local_files.h"
#include "dfs/tools/remote_path.h"
#include "dfs/wire/pattern.h"

namespace millrace::local {
namespace {

constexpr std::string_view kStandardInput = "-";
constexpr std::size_t kPlaceDigits = 6;

Status CheckFile(const InputFile& file) {
  const Result<Fd> fd = OpenFile(file.path, O_RDONLY | O_NONBLOCK);
  if (!fd.ok()) return Status::Ok();
  const auto read_at = [&](std::uint64_t offset, std::uint64_t size, std::string* out) -> Status {
    std::string bytes(size, '\0');
    MILLRACE_TRY(ReadExactlyAt(fd->get(), bytes.data(), bytes.size(), offset, file.path));
    out->append(bytes);
    return Status::Ok();
  };
  std::string first;
  if (!read_at(0, std::min<std::uint64_t>(kTextCheckBytes, file.length), &first).ok()) return Status::Ok();
  const Status text = CheckText(file.path, first, file.length, read_at);
  return text.code() == StatusCode::kUnsupported ? text : Status::Ok();
}

// Returns the name of a local path in the cluster; none for a path such as "..", whose files are put there themselves.
std::string NameOf(const std::string& local) {
  if (local == kStandardInput) return "/stdin";
  const std::string name = dfs::LastName(local);
  return name.empty() || name == "." || name == ".." ? std::string() : "/" + name;
}

}  // namespace

bool Present(const std::string& path) {
  struct stat entry {};
  return ::lstat(path.c_str(), &entry) == 0;
}

Status NoLocalFile(const std::string& word) {
  const std::string_view scheme = SchemeOf(word);
  if (scheme.empty()) return NotFound("there is no local file " + Quote(word));
  return NotFound("there is no local file " + Quote(word) +
                  (IsFileScheme(scheme) ? "; give the path alone, without " + std::string(scheme) + "://"
                                        : "; `local run` reads files of this machine: fetch it first, or give - and "
                                          "pipe it in"));
}

Result<std::vector<LocalInput>> LocalInputs(const std::vector<std::string>& words) {
  std::vector<LocalInput> inputs;
  for (const std::string& word : words) {
    LocalInput input{word, {word}};
    if (word != kStandardInput && dfs::HasPattern(word)) {
      MILLRACE_ASSIGN(input.matches, solo::MatchLocal(word));
    } else if (word != kStandardInput && !Present(word)) {
      input.matches.clear();
    }
    if (input.matches.empty()) return NoLocalFile(word);
    inputs.push_back(std::move(input));
  }
  if (std::ranges::count(inputs, kStandardInput, &LocalInput::word) > 1)
    return Invalid("standard input (-) can be read once only");
  return inputs;
}

Status CheckLocalText(const std::vector<LocalInput>& inputs, const job::JobDescription& job) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const job::DescribedInput how = job::CutOf(job, i);
    if (!how.text || !how.decompresses || inputs[i].word == kStandardInput) continue;
    for (const std::string& match : inputs[i].matches) {
      const Result<std::vector<InputFile>> files = solo::ListLocal(match);
      if (!files.ok()) continue;
      for (const InputFile& file : *files) MILLRACE_TRY(CheckFile(file));
    }
  }
  return Status::Ok();
}

PlacedInput PlaceInput(const LocalInput& input, std::size_t number) {
  const std::string directory = std::string(kInputDirectory) + std::to_string(number);
  PlacedInput placed;
  if (input.matches.size() == 1) {
    placed.files.push_back({input.matches[0], directory + NameOf(input.matches[0])});
    placed.name = dfs::EscapePattern(placed.files[0].stored);
    return placed;
  }
  for (std::size_t i = 0; i < input.matches.size(); ++i) {
    std::string place = std::to_string(i);
    place.insert(0, kPlaceDigits - std::min(kPlaceDigits, place.size()), '0');  // they sort as the matches do
    placed.files.push_back({input.matches[i], directory + "/" + place + NameOf(input.matches[i])});
  }
  placed.name = directory + "/*/{*,_*,.*}";  // hidden ones, too: they were matched
  return placed;
}

}  // namespace millrace::local
