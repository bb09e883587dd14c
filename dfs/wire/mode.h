// Mode: who may do what with a file or a directory, as POSIX has it: read, write and execute (for a directory,
// traverse) for its owner, its group and all others, and the sticky bit of directories. How modes are written, and how
// people ask for them. Pure. Thread rule: any thread.
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
inline constexpr Mode kFileMode = 0644;       // of a new file whose writer says nothing else
inline constexpr Mode kDirectoryMode = 0755;  // of a new directory
// Of "/" and of the directory of executables: all may put things there, and nobody may remove another's.
inline constexpr Mode kRootMode = 01777;

[[nodiscard]] std::string ModeText(Mode mode);   // "rwxr-x---"; the last is t or T in a sticky directory
[[nodiscard]] std::string OctalText(Mode mode);  // "750", "1777"

// A change of modes as chmod of POSIX takes it: in octal ("750"), or clauses with commas between them ("u+rwx,go-w",
// "a=rX", "+t"). A clause without u, g, o or a is for all three; there is no umask. X is x for a directory and for what
// somebody may execute already.
class ModeChange {
 public:
  // Returns kInvalid, with the grammar, for anything else.
  [[nodiscard]] static Result<ModeChange> Parse(std::string_view text);
  [[nodiscard]] Mode Apply(Mode mode, bool directory) const;

 private:
  struct Clause {
    Mode whose = 0;  // all bits of those whom it is for
    char operation = '=';
    Mode bits = 0;  // rwx for all three, and kSticky
    bool x_if_any = false;
  };
  std::vector<Clause> clauses_;
};

}  // namespace millrace::dfs
