// SPDX-License-Identifier: Apache-2.0
// MapLocalBlock and ReadBlock read one block: by descriptor if a replica is on this machine, else from the closest
// replica that answers. A replica first sends the checksums of its chunks. If they do not yield the block's checksum
// (LocatedBlock), the replica belongs to another block or another cluster and none of its bytes is used. Otherwise
// every chunk is checked against them. Thread rule: any thread; the calls block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/file.h"
#include "base/ids/ids.h"
#include "base/status.h"
#include "base/tls/credentials.h"
#include "dfs/wire/blocks.h"

namespace millrace::dfs {

// Called for each bad replica, so that it can be reported to the master: its checksum is wrong, it is a different
// block, or it is absent where it should be.
using BadReplica = std::function<void(std::uint64_t block, NodeId node)>;

// The source of the last read of a block, for locality figures.
enum class ReadSource { kLocal, kRemote };

// Maps the whole block from a local replica and checks it once. Returns kNotFound if no replica is on this machine.
[[nodiscard]] Result<MappedFile> MapLocalBlock(const LocatedBlock& block, const BadReplica& bad_replica);

// Reads bytes [offset, offset + size) of the block, checks them, and hands them to `sink` in order as they arrive. If a
// replica fails, even in the middle of a read, the next one is used. Returns kCancelled if `sink` returns false.
// Otherwise it fails only if every replica fails: with kCorrupt if one of them was corrupt, else with kUnavailable,
// naming the replicas and their failures. `stall` is how long a replica may be silent.
// With `credentials` it uses TLS to workers.
[[nodiscard]] Status ReadBlock(const LocatedBlock& block, std::uint64_t offset, std::uint64_t size, Micros stall,
                               const BadReplica& bad_replica, const std::function<bool(std::string_view)>& sink,
                               ReadSource* source = nullptr,
                               const std::shared_ptr<tls::Credentials>& credentials = nullptr);

}  // namespace millrace::dfs
