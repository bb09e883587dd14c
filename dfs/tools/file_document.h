// SPDX-License-Identifier: Apache-2.0
// A file or directory as `fs ls --json` prints it (docs/use/json.md). Thread rule: any thread.
#pragma once

#include <nlohmann/json.hpp>

#include "dfs/wire/file_status.h"

namespace millrace::dfs {

[[nodiscard]] nlohmann::ordered_json FileDocument(const FileStatus& info);

}  // namespace millrace::dfs
