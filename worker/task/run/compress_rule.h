// Decides whether a map's output is worth compressing: whether compression saves the worker more time on the network
// than it costs.
//
// For each raw byte of output, in seconds of the worker:
//   cost    1 / (maps * figures.bytes_per_second)
//   saving  crossing * waited * (1 - 1/ratio) / link.bytes_per_second
// All maps that run here compress at the same time, but all their output shares one link. Compressing saves nothing for
// output that does not cross the link, nor for output that crosses it while the copies wait for something else.
//
// Hysteresis: to begin compressing, the saving has to be at least kCompressionBand times the cost; to continue, the
// cost may be at most kCompressionBand times the saving. If a rate is not known (0), compressing does not pay. Thread
// rule: as values; pure.
#pragma once

#include <cstdint>

namespace millrace::run {

// The worker's knowledge of its link when a map starts.
struct ShuffleLink {
  double bytes_per_second =
      0;  // stored bytes, of all the worker's copies together, while one waited for the network; 0: unknown
  double crossing = 0;     // share of the output that goes to reduces on other workers, 0 to 1
  double waited = 0;       // share of the copies' time for which they would wait for the network if nothing were
                           // compressed, 0 to 1
  std::uint32_t maps = 1;  // maps that run on the worker, including this one
};

// The measured effect of compressing the job's records.
struct CompressionFigures {
  double bytes_per_second = 0;  // raw bytes that one map compresses and its reduce decompresses; 0: unknown
  double ratio = 0;             // raw bytes to stored bytes
};

inline constexpr double kCompressionBand = 1.25;

// Returns true if the output is to be compressed. `compressed` says whether the previous map's output was compressed.
[[nodiscard]] bool CompressionPays(const ShuffleLink& link, const CompressionFigures& figures, bool compressed);
// Returns false if not even the speed and ratio of kBestCompression would pay on this link.
[[nodiscard]] bool CompressionCouldPay(const ShuffleLink& link);

inline constexpr CompressionFigures kBestCompression{1e9, 100};

}  // namespace millrace::run
