// SPDX-License-Identifier: Apache-2.0
// opening_bench FILE: opens the file as a map does whose block lies on its machine (mapped, in one piece) and counts
// its lines. Prints how many bytes it decompresses to and how many lines these have. One thread, no cluster.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/program.h"
#include "client/format/line_reader.h"
#include "client/format/opened_source.h"

namespace {

using namespace millrace;

class MappedSource final : public ByteSource {
 public:
  explicit MappedSource(std::string_view bytes) : bytes_(bytes) {}
  Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) override {
    sink(bytes_.substr(offset, size));
    return Status::Ok();
  }
  Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override {
    out->append(bytes_.substr(offset, size));
    return Status::Ok();
  }

 private:
  std::string_view bytes_;
};

Status Count(const std::string& path) {
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, 0));
  MILLRACE_ASSIGN(const std::uint64_t length, FileSize(file.get(), path));
  MILLRACE_ASSIGN(const MappedFile mapped, MappedFile::Map(file.get(), 0, length, path));
  const Split split{path, 0, length, length};
  OpenedSource source(std::make_unique<MappedSource>(mapped.bytes()), split, InputKind::kText, nullptr);
  std::uint64_t lines = 0, bytes = 0;
  MILLRACE_TRY(ReadLines(source, split, false, [&](std::string_view line, std::uint64_t) {
    ++lines;
    bytes += line.size() + 1;
  }));
  std::printf("%llu bytes %llu lines\n", static_cast<unsigned long long>(bytes),
              static_cast<unsigned long long>(lines));
  return Status::Ok();
}

}  // namespace

int main(int argc, char** argv) {
  millrace::SetInheritedRight();
  if (argc != 2) return 2;
  const Status status = Count(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "opening_bench: %s\n", status.message().c_str());
  return 1;
}
