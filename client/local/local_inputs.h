// SPDX-License-Identifier: Apache-2.0
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

// An INPUT as named, and the local files and directories for which it stands. There are several only if the INPUT is a
// pattern (dfs/wire/pattern.h) that the user has put in quotation marks. "-" is standard input.
struct LocalInput {
  std::string word;
  std::vector<std::string> matches;
};

// Finds the inputs. Returns kNotFound if a word stands for nothing, and kInvalid if there are two "-".
[[nodiscard]] Result<std::vector<LocalInput>> LocalInputs(const std::vector<std::string>& words);

// Returns kUnsupported if the job reads text and a file is known not to be text (client/format/text_check.h). A file
// that cannot be read passes, since its reader will report why.
[[nodiscard]] Status CheckLocalText(const std::vector<LocalInput>& inputs, const job::JobDescription& job);

// A local path, and the path at which the job finds it in the cluster.
struct Placed {
  std::string local, stored;
};
// The places in the cluster of the files of an INPUT, and the INPUT's name for the job, to which it is one INPUT
// however many files it stands for.
struct PlacedInput {
  std::vector<Placed> files;
  std::string name;
};
[[nodiscard]] PlacedInput PlaceInput(const LocalInput& input, std::size_t number);

}  // namespace millrace::local
