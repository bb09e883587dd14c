// SPDX-License-Identifier: Apache-2.0
// CompressChoice decides by CompressionPays, for each map of a task process, whether its run is compressed.
// It measures the gain on a sample of the run's own first records, which it compresses and decompresses once.
//
// A sample is at most one frame, and all samples together are at most kSampleShare of the bytes of all the process's
// runs. While less than kLeastSample is left for a sample, the figures of the last sample are used. If the worker's
// link cannot be the limit, no samples are taken. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace millrace::run {

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

inline constexpr double kSampleShare = 0.01;
inline constexpr std::size_t kLeastSample = 4096;

class CompressChoice {
 public:
  // Returns the figures of a sample, for one core that has nothing else to do.
  using Measure = std::function<CompressionFigures(std::string_view sample)>;
  // Measures with zstd level 1 and the thread's processor time, which other work on the machine does not change.
  CompressChoice();
  explicit CompressChoice(Measure measure);

  // Begins the next map. Returns false if its run will not be compressed, whatever its records are. `core_share` is
  // called when a decision is made. It returns the part of a core that the map gets when it wants a core: above 0, at
  // most 1.
  [[nodiscard]] bool Begin(const ShuffleLink& link, std::function<double()> core_share);
  // Returns true if the map's run of about `expected` raw bytes, which begins with these records, is to be compressed.
  [[nodiscard]] bool Choose(std::string_view first_records, std::uint64_t expected);

  [[nodiscard]] std::uint64_t sampled_bytes() const { return sampled_; }

 private:
  void Sample(std::string_view records);

  Measure measure_;
  ShuffleLink link_;
  std::function<double()> core_share_;
  CompressionFigures figures_;  // for a whole core
  bool compressed_ = false;
  std::uint64_t sampled_ = 0, expected_ = 0;  // bytes of all maps so far
};

// CoreShare returns the part of a core that the calling thread got since the CoreShare was made: the time in which the
// thread ran, divided by the time in which it ran or could have run. It is 1 if the kernel does not report the times
// (/proc/thread-self/schedstat).
class CoreShare {
 public:
  CoreShare() : begin_(Read()) {}
  [[nodiscard]] double operator()() const;

 private:
  struct Times {
    std::uint64_t ran = 0, waited = 0;  // ns
  };
  static Times Read();
  Times begin_;
};

}  // namespace millrace::run
