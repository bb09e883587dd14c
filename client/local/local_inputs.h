// Finds the local files that the words of a command line name as a job's input, and looks into them before anything is
// started. Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/job_client/job_description.h"

namespace millrace::local {

// The directory in the cluster for the inputs, each below its number.
inline constexpr std::string_view kInputDirectory = "/input/";

// Returns true if something of that name exists; a link counts, whatever it points to.
[[nodiscard]] bool Present(const std::string& path);

// Returns the failure that there is no local file of this name, with what to do if it is a URL.
[[nodiscard]] Status NoLocalFile(const std::string& word);

// An INPUT as named, and the local files and directories that it stands for: several only if it is a pattern
// (dfs/wire/pattern.h), which reaches this program when the user puts it in quotation marks. "-" is standard input.
struct LocalInput {
  std::string word;
  std::vector<std::string> matches;
};

// Finds the inputs. kNotFound for a word that stands for nothing; kInvalid if there are two "-".
[[nodiscard]] Result<std::vector<LocalInput>> LocalInputs(const std::vector<std::string>& words);

// Returns kUnsupported for a file that is not text, where the job reads text (client/format/text_check.h). A file that
// cannot be read passes: its reader will report why.
[[nodiscard]] Status CheckLocalText(const std::vector<LocalInput>& inputs, const job::JobDescription& job);

// A local path, and the path at which the job finds it in the cluster.
struct Placed {
  std::string local, stored;
};
// The places of the files of an INPUT in the cluster, and its name for the job: it is one INPUT, whatever it stands
// for.
struct PlacedInput {
  std::vector<Placed> files;
  std::string name;
};
[[nodiscard]] PlacedInput PlaceInput(const LocalInput& input, std::size_t number);

}  // namespace millrace::local
