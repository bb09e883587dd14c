// SPDX-License-Identifier: Apache-2.0
// What it costs to make and remove files in the namespace: makes FILES files of one block each, a thousand to a
// directory, five deep, removes them again, and prints the time for each file. With a third argument, that many open
// files are there meanwhile, and the directory and the user have quotas, which are asked as the master asks them.
//   namespace_creates FILES [ROUNDS [OPEN]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/program.h"
#include "dfs/name/namespace.h"

namespace millrace::dfs {
namespace {

using Clock = std::chrono::steady_clock;

void Make(Namespace& names, const std::string& path) {
  WriteBatch batch;
  std::vector<BlockId> freed;
  const CreateOptions options{.owner = "someone"};
  MILLRACE_CHECK(names.CheckRoomForFile(path, options).ok(), path);
  const FileId file = names.Create(path, options, 1, &batch).value();
  MILLRACE_CHECK(names.CheckRoomForBlock(file).ok(), path);
  const BlockId block = names.AddBlock(file, &batch).value();
  MILLRACE_CHECK(names.Complete(file, {{block, 1000, 7}}, 1, &batch, &freed).ok(), path);
}

int Run(int files, int rounds, int open) {
  BlockId next = 0;
  Namespace names([&next] { return ++next; });
  WriteBatch batch;
  MILLRACE_CHECK(names.MakeDirectory("/a/b/c", "someone", 1, &batch).ok(), "/a/b/c");
  if (open > 0) {
    MILLRACE_CHECK(names.SetQuota("/a", {.bytes = std::uint64_t{1} << 50, .entries = 1 << 30}, &batch).ok(), "/a");
    MILLRACE_CHECK(names.SetUserQuota("someone", {.bytes = std::uint64_t{1} << 50}, &batch).ok(), "someone");
  }
  for (int i = 0; i < open; ++i) {
    const std::string path = "/a/b/open" + std::to_string(i);
    MILLRACE_CHECK(names.Create(path, {.owner = "someone"}, 1, &batch).ok(), path);
  }
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < files; ++i) Make(names, "/a/b/c/d" + std::to_string(i / 1000) + "/part-r-" + std::to_string(i));
    for (int d = 0; d <= (files - 1) / 1000; ++d) {
      WriteBatch removal;
      std::vector<BlockId> freed;
      const std::string path = "/a/b/c/d" + std::to_string(d);
      MILLRACE_CHECK(names.Remove(path, true, &removal, &freed).ok(), path);
    }
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / files);
  }
  std::printf("%.3f us a file, made and removed (best of %d rounds of %d files, %d open)\n", best, rounds, files, open);
  return 0;
}

}  // namespace
}  // namespace millrace::dfs

int main(int argc, char** argv) {
  millrace::SetInheritedRight();
  if (argc < 2) return std::fprintf(stderr, "usage: namespace_creates FILES [ROUNDS [OPEN]]\n"), 2;
  return millrace::dfs::Run(std::atoi(argv[1]), argc > 2 ? std::atoi(argv[2]) : 5, argc > 3 ? std::atoi(argv[3]) : 0);
}
