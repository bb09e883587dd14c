// Produce: all chunks of a Generator to a file or pipe, made by several threads. Thread rule: the calling thread waits.
#pragma once

#include <string_view>

#include "base/status.h"
#include "examples/generate/generator.h"

namespace millrace::generate {

// Writes to `fd` from its position on: where it can be positioned, each thread writes its chunks in their places;
// else chunks are written in turn. `path`: for messages. The first failure ends it.
Status Produce(const Generator& generator, int fd, std::string_view path, unsigned threads);

}  // namespace millrace::generate
