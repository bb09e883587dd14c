// SPDX-License-Identifier: Apache-2.0
#include "dfs/tools/stat_format.h"

#include "base/clock.h"
#include "base/console/console.h"
#include "base/text.h"

namespace millrace::dfs {
namespace {

// Appends what the letter stands for. Returns false for a letter that stands for nothing.
bool Append(char letter, const FileStatus& info, std::string* out) {
  const auto append = [out](const std::string& text) {
    *out += text;
    return true;
  };
  switch (letter) {
    case 'n':
      return append(info.path);
    case 's':
      return append(std::to_string(info.length));
    case 'F':
      return append(info.directory ? "directory" : info.length == 0 ? "regular empty file" : "regular file");
    case 'a':
      return append(OctalText(info.mode));
    case 'A':
      return append((info.directory ? "d" : "-") + ModeText(info.mode));
    case 'U':
      return append(info.owner);
    case 'G':
      return append(info.group);
    case 'y':
      return append(console::FormatTime(info.modified));
    case 'Y':
      return append(std::to_string(info.modified / kSecond));
    case 'r':
      return append(std::to_string(info.replication));
    case 'o':
      return append(std::to_string(info.block_size));
    case 'i':
      return append(std::to_string(info.id));
    case '%':
      return append("%");
    default:
      return false;
  }
}

}  // namespace

Result<std::string> FormatStat(std::string_view format, const FileStatus& info) {
  std::string out;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      out += format[at];
    } else if (++at == format.size() || !Append(format[at], info, &out)) {
      return Invalid(Quote(format) + ": " + Quote(format.substr(at - 1, 2)) + " stands for nothing; there are " +
                     std::string(kStatFormatLine));
    }
  }
  return out;
}

}  // namespace millrace::dfs
