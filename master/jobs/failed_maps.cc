#include "master/jobs/failed_maps.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/kv/key_value_store.h"

namespace millrace::master {
namespace {

constexpr std::uint8_t kVersion = 1;

}  // namespace

FailedMaps FailedMapsOf(const std::vector<AttemptRecord>& attempts, const std::vector<MapSplits>& splits) {
  std::map<std::uint32_t, std::size_t> failures;
  for (const AttemptRecord& record : attempts) {
    if (record.state == AttemptState::kFailed && !record.attempt.task.reduce()) ++failures[record.attempt.task.index];
  }
  std::vector<std::pair<std::uint32_t, std::size_t>> worst(failures.begin(), failures.end());
  std::ranges::stable_sort(worst, std::ranges::greater(), &std::pair<std::uint32_t, std::size_t>::second);
  FailedMaps kept;
  std::size_t total = 0;
  for (const auto& [map, count] : worst) {
    total += splits.at(map).size();
    if (kept.size() == kMostFailedMaps || (!kept.empty() && total > kMostFailedSplits)) break;
    kept.emplace(map, splits[map]);
  }
  return kept;
}

std::string FailedMapsKey(JobId job) { return "m/" + KeyNumber(job.value); }

std::string EncodeFailedMaps(const FailedMaps& maps) {
  Encoder out;
  out.U8(kVersion);
  out.Varint(maps.size());
  std::vector<MapSplits> splits;
  for (const auto& [map, of_map] : maps) {
    out.Varint(map);
    splits.push_back(of_map);
  }
  out.Text(EncodeSplits(splits));
  return out.Take();
}

Result<FailedMaps> DecodeFailedMaps(std::string_view value) {
  const std::string what = "the database's inputs of failed maps";
  Decoder in(value);
  if (const int version = in.U8(); version != kVersion)
    return Corrupt(what + ": version " + std::to_string(version) + " is not understood");
  std::vector<std::uint32_t> maps;
  for (std::uint64_t n = in.Varint(); n > 0 && !in.failed(); --n)
    maps.push_back(static_cast<std::uint32_t>(in.Varint()));
  const std::string_view encoded = in.Text();
  MILLRACE_TRY(in.Finish(what));
  MILLRACE_ASSIGN(std::vector<MapSplits> splits, DecodeSplits(encoded));
  if (splits.size() != maps.size())
    return Corrupt(what + ": " + std::to_string(maps.size()) + " maps, but the splits of " +
                   std::to_string(splits.size()));
  FailedMaps failed;
  for (std::size_t i = 0; i < maps.size(); ++i) failed.emplace(maps[i], std::move(splits[i]));
  return failed;
}

}  // namespace millrace::master
