// SPDX-License-Identifier: Apache-2.0
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "client/format/decompressor.h"

namespace millrace::internal {
namespace {

class GzipDecompressor final : public Decompressor {
 public:
  Result<std::size_t> Decompress(std::string_view* in, char* out, std::size_t room) override {
    constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
    if (stage_ == Stage::kBorder) {
      if (in->empty()) return std::size_t{0};
      if (members_ > 0 && in->front() != '\x1f') return NoFurtherMember();
      BeginMember();
    }
    // The library does not write to what it reads, although its type says so.
    state_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(in->data()));
    state_.avail_in = static_cast<std::uint32_t>(std::min(in->size(), kMost));
    state_.next_out = reinterpret_cast<std::uint8_t*>(out);
    state_.avail_out = static_cast<std::uint32_t>(std::min(room, kMost));
    const Status status = GoOn();
    in->remove_prefix(static_cast<std::size_t>(reinterpret_cast<const char*>(state_.next_in) - in->data()));
    if (!status.ok()) return status;
    return static_cast<std::size_t>(reinterpret_cast<char*>(state_.next_out) - out);
  }
  bool AtBorder() const override { return stage_ == Stage::kBorder; }

 private:
  enum class Stage { kBorder, kHeader, kData };

  // The header is read by a call of its own: isal_inflate, which can read it too, forgets where it was in a header that
  // comes in pieces.
  void BeginMember() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP_NO_HDR_VER;
    isal_gzip_header_init(&header_);
    stage_ = Stage::kHeader;
    ++members_;
  }

  Status GoOn() {
    if (stage_ == Stage::kHeader) {
      const int read = isal_read_gzip_header(&state_, &header_);
      if (read == ISAL_END_INPUT) return Status::Ok();
      if (read != ISAL_DECOMP_OK) return members_ > 1 ? NoFurtherMember() : Corrupt("its header is damaged");
      stage_ = Stage::kData;
    }
    const int inflated = isal_inflate(&state_);
    if (inflated == ISAL_INCORRECT_CHECKSUM) return Corrupt("the decompressed data does not match its checksum");
    if (inflated < 0) return Corrupt("it is damaged");
    if (state_.block_state == ISAL_BLOCK_FINISH) stage_ = Stage::kBorder;
    return Status::Ok();
  }

  Stage stage_ = Stage::kBorder;
  std::uint64_t members_ = 0;
  isal_gzip_header header_{};
  inflate_state state_{};
};

}  // namespace

std::unique_ptr<Decompressor> MakeGzipDecompressor() { return std::make_unique<GzipDecompressor>(); }

}  // namespace millrace::internal
