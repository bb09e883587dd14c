#include "worker/task/run/compress_rule.h"

#include <algorithm>

namespace millrace::run {

bool CompressionPays(const ShuffleLink& link, const CompressionFigures& figures, bool compressed) {
  if (link.bytes_per_second <= 0 || figures.bytes_per_second <= 0 || figures.ratio <= 1) return false;
  const double cost = 1 / (std::max(link.maps, 1U) * figures.bytes_per_second);
  const double saving = link.crossing * link.waited * (1 - 1 / figures.ratio) / link.bytes_per_second;
  return compressed ? cost <= kCompressionBand * saving : saving >= kCompressionBand * cost;
}

bool CompressionCouldPay(const ShuffleLink& link) { return CompressionPays(link, kBestCompression, true); }

}  // namespace millrace::run
