// SPDX-License-Identifier: Apache-2.0
// Mode: the permissions of a file or a directory, as in POSIX: read, write and execute (for a directory, traverse) for
// its owner, its group and all others, and the sticky bit of directories. Also the texts of modes and of changes to
// them. Pure. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace::dfs {

using Mode = std::uint16_t;  // 0 to kAllModeBits

inline constexpr Mode kAllModeBits = 01777;
inline constexpr Mode kSticky = 01000;
inline constexpr Mode kFileMode = 0644;       // of a new file, by default
inline constexpr Mode kDirectoryMode = 0755;  // of a new directory, by default
// The mode of "/" and of the directory of executables: all may add entries there, and nobody may remove those of
// others.
inline constexpr Mode kRootMode = 01777;

[[nodiscard]] std::string ModeText(Mode mode);   // "rwxr-x---"; the last letter is t or T in a sticky directory
[[nodiscard]] std::string OctalText(Mode mode);  // "750", "1777"

// A change of modes, as POSIX chmod takes it: in octal ("750"), or as clauses with commas between them ("u+rwx,go-w",
// "a=rX", "+t"). A clause without u, g, o or a applies to all three classes; there is no umask. X is x for a directory
// and for a file that someone may execute already.
class ModeChange {
 public:
  // Returns kInvalid, with the grammar, if the text is not such a change.
  [[nodiscard]] static Result<ModeChange> Parse(std::string_view text);
  [[nodiscard]] Mode Apply(Mode mode, bool directory) const;

 private:
  struct Clause {
    Mode whose = 0;  // all bits of the classes to which it applies
    char operation = '=';
    Mode bits = 0;  // rwx for all three classes, and kSticky
    bool x_if_any = false;
  };
  std::vector<Clause> clauses_;
};

}  // namespace millrace::dfs
