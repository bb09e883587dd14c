// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>
#include <zstd_errors.h>

#include <new>
#include <string>

#include "base/check.h"
#include "client/format/decompressor.h"

namespace millrace::internal {
namespace {

class ZstdDecompressor final : public Decompressor {
 public:
  ZstdDecompressor() : stream_(ZSTD_createDStream()) { MILLRACE_CHECK(stream_ != nullptr, "ZSTD_createDStream"); }
  ~ZstdDecompressor() override { ZSTD_freeDStream(stream_); }
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;

  Result<std::size_t> Decompress(std::string_view* in, char* out, std::size_t room) override {
    if (in->empty() && at_border_) return std::size_t{0};
    ZSTD_inBuffer input{in->data(), in->size(), 0};
    ZSTD_outBuffer output{out, room, 0};
    const std::size_t left = ZSTD_decompressStream(stream_, &output, &input);
    if (ZSTD_isError(left) != 0) return Failure(left);
    in->remove_prefix(input.pos);
    at_border_ = left == 0;
    if (at_border_) ++frames_;
    return output.pos;
  }
  bool AtBorder() const override { return at_border_; }

 private:
  Status Failure(std::size_t code) const {
    switch (ZSTD_getErrorCode(code)) {
      case ZSTD_error_prefix_unknown:
        return frames_ > 0 ? NoFurtherMember() : Corrupt("it does not begin like such a file");
      case ZSTD_error_checksum_wrong:
        return Corrupt("the decompressed data does not match its checksum");
      case ZSTD_error_frameParameter_windowTooLarge:
        return Corrupt("it needs a window of more than 128 MiB; compress it again without --long or --ultra");
      case ZSTD_error_dictionary_wrong:
        return Corrupt("it needs a dictionary; compress it again without one");
      case ZSTD_error_memory_allocation:
        throw std::bad_alloc();  // as `new` would
      default:
        return Corrupt("it is damaged (" + std::string(ZSTD_getErrorName(code)) + ")");
    }
  }

  ZSTD_DStream* const stream_;
  bool at_border_ = true;
  std::size_t frames_ = 0;
};

}  // namespace

std::unique_ptr<Decompressor> MakeZstdDecompressor() { return std::make_unique<ZstdDecompressor>(); }

}  // namespace millrace::internal
