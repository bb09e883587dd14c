// Removes trees that somebody else has made, perhaps to be in the way: of any depth, with names of any bytes, without
// permissions, with links and pipes in them, changed meanwhile. No link is followed and no other file system entered.
// It holds 16 descriptors at most and remembers no names: a directory that lies deeper is moved up to the top of the
// tree first. Directories without permissions for their owner are given them. Thread rule: any thread; it blocks on the
// disk.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace {

// Removes `name` in `directory` (as of openat(2)) and all below it. What is not there is no failure. It goes on after a
// failure, and says how much stays and what the first of it is; `path` serves the message only. kCancelled, with the
// rest still there, as soon as `stop` returns true; it is asked before each name that is looked at. Somebody who makes
// names as fast as they go keeps the call busy until then.
[[nodiscard]] Status RemoveTreeAt(int directory, const std::string& name, std::string_view path,
                                  const std::function<bool()>& stop = {});

}  // namespace millrace
