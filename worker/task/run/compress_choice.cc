// SPDX-License-Identifier: Apache-2.0
#include "worker/task/run/compress_choice.h"

#include <time.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "worker/task/run/run_file.h"

namespace millrace::run {
namespace {

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

double ThreadSeconds() {
  timespec at{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

// Compresses as the frames of a run are made and read, where a context serves many of them.
class ZstdProbe {
 public:
  CompressionFigures operator()(std::string_view sample) {
    if (compressor_ == nullptr) {
      compressor_.reset(ZSTD_createCCtx());
      decompressor_.reset(ZSTD_createDCtx());
      packed_.resize(ZSTD_compressBound(kFrameBytes));
      unpacked_.resize(kFrameBytes);
      if (compressor_ == nullptr || decompressor_ == nullptr) return {};
      (void)Once(sample.substr(0, kLeastSample));  // the first use of its memory is not part of a frame's cost
    }
    return Once(sample);
  }

 private:
  CompressionFigures Once(std::string_view sample) {
    const double begin = ThreadSeconds();
    const std::size_t size =
        ZSTD_compressCCtx(compressor_.get(), packed_.data(), packed_.size(), sample.data(), sample.size(), kZstdLevel);
    if (ZSTD_isError(size) != 0) return {};
    if (size >= sample.size()) return {1, 1};  // such a frame is stored as it is
    const std::size_t back =
        ZSTD_decompressDCtx(decompressor_.get(), unpacked_.data(), unpacked_.size(), packed_.data(), size);
    if (back != sample.size()) return {};
    const double seconds = std::max(ThreadSeconds() - begin, 1e-9);
    const auto raw = static_cast<double>(sample.size());
    return {raw / seconds, raw / static_cast<double>(size)};
  }

  std::unique_ptr<ZSTD_CCtx, FreeCompressor> compressor_;
  std::unique_ptr<ZSTD_DCtx, FreeDecompressor> decompressor_;
  std::string packed_, unpacked_;
};

}  // namespace

bool CompressionPays(const ShuffleLink& link, const CompressionFigures& figures, bool compressed) {
  if (link.bytes_per_second <= 0 || figures.bytes_per_second <= 0 || figures.ratio <= 1) return false;
  const double cost = 1 / (std::max(link.maps, 1U) * figures.bytes_per_second);
  const double saving = link.crossing * link.waited * (1 - 1 / figures.ratio) / link.bytes_per_second;
  return compressed ? cost <= kCompressionBand * saving : saving >= kCompressionBand * cost;
}

bool CompressionCouldPay(const ShuffleLink& link) { return CompressionPays(link, kBestCompression, true); }

CompressChoice::CompressChoice()
    : CompressChoice([probe = std::make_shared<ZstdProbe>()](std::string_view sample) { return (*probe)(sample); }) {}
CompressChoice::CompressChoice(Measure measure) : measure_(std::move(measure)) {}

bool CompressChoice::Begin(const ShuffleLink& link, std::function<double()> core_share) {
  link_ = link;
  core_share_ = std::move(core_share);
  if (CompressionCouldPay(link_)) return true;
  return compressed_ = false;
}

bool CompressChoice::Choose(std::string_view first_records, std::uint64_t expected) {
  expected_ += std::max<std::uint64_t>(expected, first_records.size());
  Sample(first_records);
  CompressionFigures figures = figures_;
  figures.bytes_per_second *= core_share_();
  return compressed_ = CompressionPays(link_, figures, compressed_);
}

void CompressChoice::Sample(std::string_view records) {
  const auto room = static_cast<std::uint64_t>(kSampleShare * static_cast<double>(expected_));
  const std::size_t size = std::min({records.size(), kFrameBytes, std::size_t{room > sampled_ ? room - sampled_ : 0}});
  if (size < kLeastSample) return;
  sampled_ += size;
  figures_ = measure_(records.substr(0, size));
}

CoreShare::Times CoreShare::Read() {
  Times times;
  std::FILE* const file = std::fopen("/proc/thread-self/schedstat", "re");
  if (file == nullptr) return times;
  unsigned long long ran = 0, waited = 0;
  if (std::fscanf(file, "%llu %llu", &ran, &waited) == 2) times = {ran, waited};
  std::fclose(file);
  return times;
}

double CoreShare::operator()() const {
  const Times now = Read();
  if (now.ran <= begin_.ran || now.waited < begin_.waited) return 1;
  const auto ran = static_cast<double>(now.ran - begin_.ran);
  return ran / (ran + static_cast<double>(now.waited - begin_.waited));
}

}  // namespace millrace::run
