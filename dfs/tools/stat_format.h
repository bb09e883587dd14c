// SPDX-License-Identifier: Apache-2.0
// FormatStat writes what is known of a path in a form that the user gives, as stat(1) does. Pure. Thread rule: any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "dfs/wire/file_status.h"

namespace millrace::dfs {

inline constexpr std::string_view kStatFormatLine =
    "%n path, %s bytes, %F type, %a octal mode, %A mode, %U owner, %G group, %y time, %Y seconds, %r replicas, %o "
    "block size, %i id, %% a percent sign";

// Replaces each sequence of kStatFormatLine. Returns kInvalid, naming those that exist, for any other sequence.
[[nodiscard]] Result<std::string> FormatStat(std::string_view format, const FileStatus& info);

}  // namespace millrace::dfs
