// SPDX-License-Identifier: Apache-2.0
// Hostile compressed files: whether one is refused, and what it decompresses to, does not depend on the pieces in which
// it comes or goes; nothing is written beyond its room, and no piece of a file leads to a loop without end.
#include "client/format/decompressor.h"

#include <algorithm>

#include "client/format/opened_source.h"
#include "tests/compress/compress.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 10;  // more of an output is not waited for

struct Outcome {
  bool ok = false, long_one = false;
  std::string bytes;
};

// Of a file without padding, which is passed over by who reads files (StreamDecompressor).
Outcome Decompress(Compression compression, std::string_view file, std::size_t piece, std::size_t room) {
  const std::unique_ptr<Decompressor> decompressor = MakeDecompressor(compression);
  const auto buffer = std::make_unique<char[]>(room);  // of just that size, for the sanitizer
  Outcome outcome;
  while (!file.empty()) {
    const std::string copy(file.substr(0, piece));
    file.remove_prefix(copy.size());
    std::string_view in = copy;
    for (bool more = true; more;) {
      const std::size_t before = in.size();
      const Result<std::size_t> wrote = decompressor->Decompress(&in, buffer.get(), room);
      if (!wrote.ok()) return outcome;
      fuzz::Require(*wrote <= room && in.size() <= before, "more than there was");
      outcome.bytes.append(buffer.get(), *wrote);
      more = *wrote == room || !in.empty();
      fuzz::Require(!more || *wrote > 0 || in.size() < before, "it takes nothing and gives nothing");
      if (outcome.bytes.size() > kMostBytes) {
        outcome.long_one = true;
        return outcome;
      }
    }
  }
  outcome.ok = decompressor->AtBorder();
  return outcome;
}

class Pieces final : public ByteSource {
 public:
  Pieces(std::string_view bytes, std::size_t piece) : bytes_(bytes), piece_(piece) {}
  Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) override {
    fuzz::Require(offset == 0 && size == bytes_.size(), "another part of the file is asked for");
    for (std::string_view rest = bytes_; !rest.empty();) {
      const std::string copy(rest.substr(0, piece_));
      if (!sink(copy)) break;
      rest.remove_prefix(copy.size());
    }
    return Status::Ok();
  }
  Status ReadAt(std::uint64_t, std::uint64_t, std::string*) override {
    fuzz::Require(false, "a whole file is read as it comes by");
    return Status::Ok();
  }

 private:
  std::string_view bytes_;
  std::size_t piece_;
};

void Open(std::string_view file, const std::string& name, std::size_t piece) {
  OpenedSource source(std::make_unique<Pieces>(file, piece), {name, 0, file.size(), file.size()}, InputKind::kBytes,
                      nullptr);
  std::string out;
  const Status status = source.Stream(0, file.size(), [&](std::string_view bytes) {
    out += bytes;
    return out.size() <= kMostBytes;
  });
  const Compression found = CompressionOf(file);
  fuzz::Require(source.decompressed() == (found != Compression::kNone), "the first bytes tell");
  if (found != Compression::kNone) {
    const Outcome alone = Decompress(found, file, file.size(), 4096);
    if (alone.long_one || out.size() > kMostBytes) return;
    if (status.ok() && !alone.ok && file.find('\0') != std::string_view::npos) return;  // it may be padded
    fuzz::Require(status.ok() == alone.ok || found == Compression::kZstd,
                  "an opened file fails unlike its decompressor");
    fuzz::Require(!status.ok() || !alone.ok || out == alone.bytes, "an opened file gives other bytes");
  } else if (CompressionOfName(name) == Compression::kNone || file.empty()) {
    fuzz::Require(status.ok() && out == file, "a file that is not compressed is not given as it is");
  } else {
    fuzz::Require(!status.ok() && out.empty(), "a file is not what its name says, and is read");
  }
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() {
  std::vector<std::string> seeds;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "line " + std::to_string(i * i * i) + "\n";
  for (const char kind : {0, 1, 2}) {
    const auto compression = static_cast<Compression>(kind + 1);
    const std::string head = {kind, 7, 9, kind};
    const std::string file = Compress(compression, text), empty = Compress(compression, "");
    for (const std::string& seed : {file, empty + file, file + empty + file, empty}) seeds.push_back(head + seed);
  }
  seeds.push_back(std::string("\0\1\2\0", 4) + text);
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Draw draw(fuzz::View(data, size));
  const auto compression = static_cast<Compression>(1 + draw.Number(2));
  const std::size_t piece = 1 + draw.Number(63), room = 1 + draw.Number(127);
  const std::string name = "/a" + std::string(NameEnding(static_cast<Compression>(draw.Number(3))));
  const std::string_view file = draw.rest().substr(0, 4096);
  const Outcome whole = Decompress(compression, file, 4096, 4096), pieces = Decompress(compression, file, piece, room);
  if (!whole.long_one && !pieces.long_one) {
    // libzstd holds the length in a frame's header against a last block that is empty only if it gets both at once.
    fuzz::Require(whole.ok == pieces.ok || compression == Compression::kZstd, "it fails for some pieces alone");
    fuzz::Require(!whole.ok || !pieces.ok || whole.bytes == pieces.bytes, "other pieces decompress to other bytes");
  }
  Open(file, name, piece);
  return 0;
}
