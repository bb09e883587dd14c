#include "dfs/wire/executable.h"

#include <string>

#include "base/text.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {

Status CheckExecutable(std::string_view canonical, std::string_view digest) {
  if (!IsWithin(canonical, kExecutablesDirectory) || BaseName(canonical) == digest) return Status::Ok();
  return Corrupt("executable " + Quote(canonical) + " is not what its name says: its SHA-256 is " +
                 std::string(digest) + "; have an administrator remove it, and submit the job again");
}

}  // namespace millrace::dfs
