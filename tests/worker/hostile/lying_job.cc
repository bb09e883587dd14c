// SPDX-License-Identifier: Apache-2.0
// A job whose maps exchange their output once it is written, before they say that it is done: the worker is to believe
// nothing of what it finds there. Each line of the input names what lies in the output's place.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client/api/job.h"
#include "worker/task/run/run_file.h"

namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::string lie;

// A file of this size that ends so; before that it has holes.
void MakeSparse(const std::string& path, std::uint64_t size, const std::string& end) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  (void)!pwrite(fd, end.data(), end.size(), static_cast<off_t>(size - end.size()));
  syscall(SYS_close, fd);
}

std::string IndexOf(const millrace::run::SegmentInfo& segment) {
  return millrace::run::EncodeRunIndex({segment}, segment.length);
}

// An index of 200 million partitions.
void Count(const std::string& path) {
  const std::uint64_t size = 8 * kGiB;
  const std::uint32_t count = 200'000'000;
  const std::uint64_t place = size - 24 - std::uint64_t{count} * 40;
  std::string footer = IndexOf({});
  footer = footer.substr(footer.size() - 24);
  footer.replace(0, 8, reinterpret_cast<const char*>(&place), 8);
  footer.replace(8, 4, reinterpret_cast<const char*>(&count), 4);
  MakeSparse(path, size, footer);
}

// A true index of a segment that would be 4 TiB when it is unpacked.
void Size(const std::string& path) {
  millrace::run::SegmentInfo segment;
  segment.length = kGiB / 16;
  segment.raw_length = 4096 * kGiB;
  segment.records = 1;
  segment.compressed = true;
  const std::string end = IndexOf(segment);
  MakeSparse(path, segment.length + end.size(), end);
}

void Empty(const std::string& path) { MakeSparse(path, 0, {}); }
void Pipe(const std::string& path) { (void)!mkfifo(path.c_str(), 0600); }
void Directory(const std::string& path) { (void)!mkdir(path.c_str(), 0700); }
void Link(const std::string& path) { (void)!symlink("/etc/passwd", path.c_str()); }
void Device(const std::string& path) { (void)!symlink("/dev/zero", path.c_str()); }
void SecondName(const std::string& path) {
  MakeSparse(path, 1, "x");
  (void)!link(path.c_str(), (path + ".second").c_str());
}
void Nothing(const std::string&) {}

const std::map<std::string, void (*)(const std::string&), std::less<>> kLies = {
    {"count", Count}, {"size", Size},     {"empty", Empty},       {"pipe", Pipe},      {"directory", Directory},
    {"link", Link},   {"device", Device}, {"second", SecondName}, {"nothing", Nothing}};

struct Lying {
  using Key = std::string_view;
  using Value = std::string_view;

  void Map(std::string_view line, auto& emit) {
    lie = line;
    emit(line, std::string_view("x"));
  }
  void Reduce(std::string_view key, auto& values, auto& emit) {
    for (std::string_view value : values) emit(key, value);
  }
};

}  // namespace

// Every file of this process is closed by this one.
extern "C" int close(int fd) {
  char name[4096];
  const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), name, sizeof name);
  const std::string path(name, length > 0 ? static_cast<std::size_t>(length) : 0);
  const int result = static_cast<int>(syscall(SYS_close, fd));
  const auto found = kLies.find(lie);
  if (found == kLies.end() || !path.ends_with(".run") || path.find("/map/") == std::string::npos) return result;
  lie.clear();
  std::remove(path.c_str());
  found->second(path);
  return result;
}

int main(int argc, char** argv) { return millrace::Run<Lying>(argc, argv); }
