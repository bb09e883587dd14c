// The local files that a job is run over: what the words of the command line stand for, and a look into them before
// anything is started. Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/job_client/job_description.h"

namespace millrace::local {

// Where the inputs are put, each below its number.
inline constexpr std::string_view kInputDirectory = "/input/";

// Returns true if there is something of that name; a link counts itself.
[[nodiscard]] bool Present(const std::string& path);

// Says that there is no local file of this name, and what to do if it is a URL.
[[nodiscard]] Status NoLocalFile(const std::string& word);

// An INPUT as it is named, and the local files and directories that it stands for: several only if it is a pattern
// (dfs/wire/pattern.h), which reaches this program when it stands in quotation marks. "-" is standard input.
struct LocalInput {
  std::string word;
  std::vector<std::string> matches;
};

// kNotFound for a word that stands for nothing; kInvalid if there are two "-".
[[nodiscard]] Result<std::vector<LocalInput>> LocalInputs(const std::vector<std::string>& words);

// Returns kUnsupported for a file that is no text, where the job reads text (client/format/text_check.h). What cannot
// be read passes: whoever reads it will tell.
[[nodiscard]] Status CheckLocalText(const std::vector<LocalInput>& inputs, const job::JobDescription& job);

// A local path, and where the job finds it in the cluster.
struct Placed {
  std::string local, stored;
};
// Says where the files of an INPUT are put, and how it is named to the job: as one INPUT, whatever it stands for.
struct PlacedInput {
  std::vector<Placed> files;
  std::string name;
};
[[nodiscard]] PlacedInput PlaceInput(const LocalInput& input, std::size_t number);

}  // namespace millrace::local
