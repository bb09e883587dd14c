// SPDX-License-Identifier: Apache-2.0
// Measures the cost of the rights of a call beside the call itself: a namespace of FILES files, a thousand to a
// directory, whose paths have five components. Prints the microseconds of a stat, a list of a directory and a create
// with completion, for everybody (as without TLS), for a user who owns nothing, and for one with ten groups.
//   namespace_rights [FILES]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/program.h"
#include "base/random.h"
#include "dfs/name/namespace.h"

namespace millrace::dfs {
namespace {

double MicrosOf(int times, const std::function<void(int)>& f) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) f(i);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  return took.count() / times;
}

void Need(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

void Make(Namespace* names, const std::string& path) {
  WriteBatch batch;
  std::vector<BlockId> freed;
  const Result<FileId> file = names->Create(path, {.owner = "someone"}, 1, &batch);
  Need(file.status());
  Need(names->Complete(*file, {}, 1, &batch, &freed));
}

int Run(int files) {
  BlockId next = 0;
  Namespace names([&next] { return ++next; });
  const auto directory = [](int i) { return "/data/of/team/d" + std::to_string(i / 1000); };
  const auto path = [&](int i) { return directory(i) + "/part-r-" + std::to_string(i); };
  for (int i = 0; i < files; ++i) Make(&names, path(i));
  Principal user{.user = "ann", .groups = {}, .superuser = false}, member = user;
  for (int i = 0; i < 10; ++i) member.groups.insert("group" + std::to_string(i));
  WriteBatch batch;
  for (const char* at : {"/data", "/data/of", "/data/of/team"})
    Need(names.SetOwner(at, std::nullopt, "group9", &batch));
  for (int i = 0; i < files; i += 1000) Need(names.SetMode(directory(i), 0777, &batch));
  const struct {
    const char* name;
    const Principal& who;
  } people[] = {{"everybody", Everybody()}, {"a user", user}, {"of ten groups", member}};
  // Nothing is made before everybody has looked: what is made later lies elsewhere in memory.
  Random random(1);
  const auto any = [&] { return static_cast<int>(random.Below(static_cast<std::uint64_t>(files))); };
  std::vector<std::pair<double, double>> looks;
  for (const auto& [name, who] : people) {
    const double stat = MicrosOf(300'000, [&](int) {
      const std::string at = path(any());
      Need(names.Check(Wish::kLook, at, who));
      Need(names.Stat(at).status());
    });
    const double list = MicrosOf(300, [&](int) {
      const std::string at = directory(any());
      Need(names.Check(Wish::kList, at, who));
      Need(names.List(at, {}, 1000).status());
    });
    looks.emplace_back(stat, list);
  }
  std::printf("%-14s %8s %8s %8s\n", "microseconds", "stat", "list", "create");
  int made = 0;
  auto look = looks.begin();
  for (const auto& [name, who] : people) {
    const double create = MicrosOf(100'000, [&](int) {
      const std::string at = directory(any()) + "/new" + std::to_string(made++);
      Need(names.Check(Wish::kCreate, at, who));
      Make(&names, at);
    });
    std::printf("%-14s %8.2f %8.1f %8.2f\n", name, look->first, look->second, create);
    ++look;
  }
  return 0;
}

}  // namespace
}  // namespace millrace::dfs

int main(int argc, char** argv) {
  millrace::SetInheritedRight();
  return millrace::dfs::Run(argc > 1 ? std::atoi(argv[1]) : 100'000);
}
