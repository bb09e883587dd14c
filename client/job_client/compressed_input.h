// The files of a job's input that must not be cut although their names do not say so, since their first bytes are those
// of a compressed file (client/format/compression.h). The master does not look into files, so the client does.
// Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::job {

// Returns the paths of these files, in the order of the inputs. Only files that are longer than a block are looked at,
// a few bytes of each, since others have one split. A file that cannot be read is not among them: its maps will tell
// why. Fails if an input cannot be listed, and with kInvalid if there are too many for one request.
[[nodiscard]] Result<std::vector<std::string>> FindCompressedInput(dfs::DfsClient& files,
                                                                   const std::vector<std::string>& inputs);

}  // namespace millrace::job
