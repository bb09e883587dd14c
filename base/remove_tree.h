// SPDX-License-Identifier: Apache-2.0
// RemoveTreeAt removes directory trees that another party made, perhaps with malice: of any depth, with names of any
// bytes, without permissions, with links and pipes in them, and changing during the call. It follows no link and enters
// no other file system. It has at most 16 descriptors open and remembers no names: a directory at a greater depth is
// first moved up to the top of the tree. It gives the owner of a directory all permissions on it. Thread rule: any
// thread; it blocks on the disk.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace {

// Removes `name` in `directory` (as for openat(2)) and all below it. A missing file is not a failure. The call
// continues after a failure; the returned Status gives the number of names left and the first one. `path` is for the
// message only. `stop` is called before each name. Once it returns true, the call leaves the rest and returns
// kCancelled. Until then, a process that makes new names as fast as they are removed keeps the call busy.
[[nodiscard]] Status RemoveTreeAt(int directory, const std::string& name, std::string_view path,
                                  const std::function<bool()>& stop = {});

}  // namespace millrace
