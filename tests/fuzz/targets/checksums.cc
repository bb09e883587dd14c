// SPDX-License-Identifier: Apache-2.0
// The checksums' file of a block, also with a sum that is right, and names of block files.
#include "dfs/data/block_checksums.h"
#include "dfs/wire/blocks.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  return {dfs::EncodeChecksums(0, {}), dfs::EncodeChecksums(70'000, {1, 2}), dfs::BlockText(255)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view given = fuzz::View(data, size);
  for (const std::string& bytes : {std::string(given), fuzz::Summed(given)}) {
    const auto length = dfs::ChecksumsLength(std::string_view(bytes).substr(0, dfs::kChecksumsHeadBytes));
    if (!length) continue;
    const auto crcs = dfs::DecodeChecksums(bytes, *length, 1);
    if (!crcs.ok()) continue;
    fuzz::Require(crcs->size() * dfs::kChunkBytes >= *length, "fewer checksums than the data has chunks");
    fuzz::Require(dfs::EncodeChecksums(*length, *crcs) == bytes, "checksums are not what they encode to");
  }
  if (const auto id = dfs::ParseBlockText(given)) fuzz::Require(dfs::BlockText(*id) == given, "a block has two names");
  return 0;
}
