// SPDX-License-Identifier: Apache-2.0
// Measures the memory that a file costs the master: makes a namespace of FILES files of BLOCKS blocks each, a thousand
// to a directory, has REPLICAS nodes report all of them, and prints how much the process has grown, by steps.
//   namespace_memory FILES [BLOCKS [REPLICAS]]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "base/program.h"
#include "dfs/name/block_manager.h"
#include "dfs/name/namespace.h"

namespace millrace::dfs {
namespace {

double ResidentMiB() {
  std::ifstream statm("/proc/self/statm");
  double size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

void Print(const char* what, double before, std::uint64_t files) {
  const double grown = ResidentMiB() - before;
  std::printf("%-24s %8.1f MiB, %6.0f bytes a file\n", what, grown, grown * (1 << 20) / static_cast<double>(files));
}

int Run(std::uint64_t files, std::uint64_t blocks, std::uint32_t replicas) {
  BlockId next = 0;
  const double before = ResidentMiB();
  Namespace names([&next] { return ++next; });
  BlockManager manager{Random(1)};
  std::vector<Block> all;
  for (std::uint64_t i = 0; i < files; ++i) {
    const std::string path = "/data/d" + std::to_string(i / 1000) + "/part-r-" + std::to_string(i);
    WriteBatch batch;
    const Result<FileId> file = names.Create(path, {.replication = replicas, .owner = "someone"}, 1, &batch);
    if (!file.ok()) return std::fprintf(stderr, "%s\n", file.status().message().c_str()), 1;
    std::vector<Block> written;
    for (std::uint64_t b = 0; b < blocks; ++b) {
      const Result<BlockId> block = names.AddBlock(*file, &batch);
      if (!block.ok()) return std::fprintf(stderr, "%s\n", block.status().message().c_str()), 1;
      written.push_back({*block, 1000, 7});
      all.push_back(written.back());
      manager.Want(all.back(), replicas);
    }
    std::vector<BlockId> freed;
    const Status done = names.Complete(*file, written, 1, &batch, &freed);
    if (!done.ok()) return std::fprintf(stderr, "%s\n", done.message().c_str()), 1;
  }
  Print("files and blocks", before, files);
  for (std::uint32_t node = 1; node <= replicas; ++node) {
    manager.NodeUp(NodeId{node}, {"rack", "datacenter"});
    manager.ReportBegin(NodeId{node});
    manager.ReportPart(NodeId{node}, all);
    manager.ReportEnd(NodeId{node});
  }
  Print("with all replicas known", before + static_cast<double>(all.capacity() * sizeof(Block)) / (1 << 20), files);
  return 0;
}

}  // namespace
}  // namespace millrace::dfs

int main(int argc, char** argv) {
  millrace::SetInheritedRight();
  if (argc < 2 || argc > 4) return std::fprintf(stderr, "usage: namespace_memory FILES [BLOCKS [REPLICAS]]\n"), 2;
  const auto number = [&](int i, std::uint64_t otherwise) {
    return i < argc ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  return millrace::dfs::Run(number(1, 0), number(2, 1), static_cast<std::uint32_t>(number(3, 3)));
}
