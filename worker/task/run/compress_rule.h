// Whether a map's output is worth compressing: when that saves the worker more time on the network than it costs.
//
// Of each raw byte of output, in seconds of the worker:
//   cost    1 / (maps * figures.bytes_per_second)
//   saving  crossing * waited * (1 - 1/ratio) / link.bytes_per_second
// All maps that run here compress at once, while all that they send shares one link. What does not cross it, and what
// crosses it while the copies have something else to wait for, saves nothing.
//
// Hysteresis: to begin, the saving is kCompressionBand times the cost at least; to go on, the cost is no more than
// kCompressionBand times the saving. What is not known (a rate of 0) does not pay. Thread rule: as values; pure.
#pragma once

#include <cstdint>

namespace millrace::run {

// What the worker knows of its link when a map starts.
struct ShuffleLink {
  double bytes_per_second =
      0;                   // stored bytes, of all its copies together, while one waited for the network; 0: unknown
  double crossing = 0;     // share of the output that goes to reduces on other workers, 0 to 1
  double waited = 0;       // share of the copies' time for which they would wait for the network if nothing were
                           // compressed, 0 to 1
  std::uint32_t maps = 1;  // that run on the worker, this one counted
};

// What compressing the job's records was seen to bring.
struct CompressionFigures {
  double bytes_per_second = 0;  // raw bytes that one map compresses and its reduce decompresses; 0: unknown
  double ratio = 0;             // raw bytes to stored ones
};

inline constexpr double kCompressionBand = 1.25;

// `compressed`: the map before was.
[[nodiscard]] bool CompressionPays(const ShuffleLink& link, const CompressionFigures& figures, bool compressed);
// False: on this link not even records that vanish at the speed of kBestCompression are worth compressing.
[[nodiscard]] bool CompressionCouldPay(const ShuffleLink& link);

inline constexpr CompressionFigures kBestCompression{1e9, 100};

}  // namespace millrace::run
