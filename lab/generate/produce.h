// Produce writes all chunks of a Generator to a file or pipe; several threads make them. Thread rule: the calling
// thread waits.
#pragma once

#include <string_view>

#include "base/status.h"
#include "lab/generate/generator.h"

namespace millrace::generate {

// Writes to `fd` from its position on. If the file is seekable, each thread writes its chunks in their places;
// otherwise chunks are written in turn. `path` is for messages. The first failure ends the writing and is returned.
Status Produce(const Generator& generator, int fd, std::string_view path, unsigned threads);

}  // namespace millrace::generate
