// Reading one block: from this machine by descriptor, else from the closest replica that answers. A replica says first
// what checksums its chunks have; unless they make the block's (LocatedBlock), it is another block's or another
// cluster's and not a byte of it is taken. Then every chunk is checked against them. Thread rule: any thread; blocking.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "dfs/wire/place.h"

namespace millrace::dfs {

// Called for each replica that turned out bad (checksum, not the block that is meant, or absent where it should be), to
// be told to the master.
using BadReplica = std::function<void(std::uint64_t block, std::uint32_t node)>;

// Where the last read of a block came from, for locality figures.
enum class ReadSource { kLocal, kRemote };

// The whole block mapped from a local replica, checked once; kNotFound when no replica is on this machine.
[[nodiscard]] Result<MappedFile> MapLocalBlock(const LocatedBlock& block, const BadReplica& bad_replica);

// Bytes [offset, offset + size) of the block, handed to `sink` in order as they arrive, checked. Falls over from one
// replica to the next in the middle of a read; a false sink stops with kCancelled. Fails only when every replica
// failed: kCorrupt if one of them was corrupt, else kUnavailable naming them and why. `stall`: how long a replica may
// be silent.
[[nodiscard]] Status ReadBlock(const LocatedBlock& block, std::uint64_t offset, std::uint64_t size, Micros stall,
                               const BadReplica& bad_replica, const std::function<bool(std::string_view)>& sink,
                               ReadSource* source = nullptr);

}  // namespace millrace::dfs
