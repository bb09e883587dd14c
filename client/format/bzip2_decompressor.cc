// SPDX-License-Identifier: Apache-2.0
#include <bzlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "base/check.h"
#include "client/format/decompressor.h"

namespace millrace::internal {
namespace {

class Bzip2Decompressor final : public Decompressor {
 public:
  Bzip2Decompressor() = default;
  ~Bzip2Decompressor() override { EndStream(); }
  Bzip2Decompressor(const Bzip2Decompressor&) = delete;
  Bzip2Decompressor& operator=(const Bzip2Decompressor&) = delete;

  Result<std::size_t> Decompress(std::string_view* in, char* out, std::size_t room) override {
    constexpr std::size_t kMost = std::numeric_limits<unsigned>::max();
    if (!open_) {
      if (in->empty()) return std::size_t{0};
      BeginStream();
    }
    stream_.next_in = const_cast<char*>(in->data());  // it is only read
    stream_.avail_in = static_cast<unsigned>(std::min(in->size(), kMost));
    stream_.next_out = out;
    stream_.avail_out = static_cast<unsigned>(std::min(room, kMost));
    const int code = BZ2_bzDecompress(&stream_);
    in->remove_prefix(static_cast<std::size_t>(stream_.next_in - in->data()));
    const auto wrote = static_cast<std::size_t>(stream_.next_out - out);
    if (code == BZ_STREAM_END) EndStream();
    if (code == BZ_OK || code == BZ_STREAM_END) return wrote;
    if (code == BZ_MEM_ERROR) throw std::bad_alloc();  // as `new` would
    if (code != BZ_DATA_ERROR_MAGIC) return Corrupt("it is damaged, or does not match its checksum");
    return streams_ > 1 ? NoFurtherMember() : Corrupt("it does not begin like such a file");
  }
  bool AtBorder() const override { return !open_; }

 private:
  void BeginStream() {
    stream_ = bz_stream{};
    const int code = BZ2_bzDecompressInit(&stream_, 0, 0);
    if (code == BZ_MEM_ERROR) throw std::bad_alloc();
    MILLRACE_CHECK(code == BZ_OK, "BZ2_bzDecompressInit");
    open_ = true;
    ++streams_;
  }
  void EndStream() {
    if (open_) BZ2_bzDecompressEnd(&stream_);
    open_ = false;
  }

  bz_stream stream_{};
  bool open_ = false;
  std::size_t streams_ = 0;
};

}  // namespace

std::unique_ptr<Decompressor> MakeBzip2Decompressor() { return std::make_unique<Bzip2Decompressor>(); }

}  // namespace millrace::internal
