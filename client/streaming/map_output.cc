// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/map_output.h"

#include <algorithm>
#include <utility>

#include "client/api/partition.h"
#include "client/streaming/typed_bytes.h"

namespace millrace::streaming {

OutputSink::OutputSink(OutputFiles& files, const Random& random, const Settings& settings, const LineCut& cut)
    : files_(files),
      settings_(settings),
      cut_(cut),
      as_it_is_(!settings.records_out && cut.separator == settings.output_separator) {
  if (settings.records_out) records_.emplace(files.part(), random);
}

void OutputSink::Line(std::string_view line) {
  if (!as_it_is_) {
    const KeyAndValue record = CutLine(line, cut_.separator, cut_.fields);
    if (records_) return records_->Write(record.key, record.value);
    if (record.key.size() < line.size()) {
      files_.part().buffer().append(record.key).append(settings_.output_separator).append(record.value).push_back('\n');
      return files_.part().EndRecord();
    }
  }
  files_.part().buffer().append(line).push_back('\n');
  files_.part().EndRecord();
}

void OutputSink::Pair(std::string_view key, std::string_view value) {
  if (records_) return records_->Write(key, value);
  std::string& out = files_.part().buffer();
  if (settings_.io == Io::kTypedBytes) {
    const std::size_t begin = out.size();
    Status written = AppendAsText(key, &out);
    out.append(settings_.output_separator);
    if (written.ok()) written = AppendAsText(value, &out);
    if (!written.ok()) {
      out.resize(begin);
      if (status_.ok()) status_ = std::move(written);
      return;
    }
  } else {
    out.append(key).append(settings_.output_separator).append(value);
  }
  out.push_back('\n');
  files_.part().EndRecord();
}

Status OutputSink::Finish() {
  if (records_) records_->Finish();
  MILLRACE_TRY(status_);
  return files_.status();
}

ShuffleSink::ShuffleSink(map::CollectorOptions options, const Settings& settings)
    : settings_(settings),
      partitions_(options.partitions),
      order_(settings.sort, settings.key_separator),
      collector_(std::move(options), nullptr) {}

std::uint32_t ShuffleSink::PartitionOf(std::string_view key) {
  if (partitions_ == 1) return 0;
  if (settings_.partition.empty()) return HashPartition(key, partitions_);
  parts_.clear();
  for (const KeyRange& range : settings_.partition)
    parts_.append(BytesOf(range, key, settings_.key_separator)).push_back('\n');
  return HashPartition(parts_, partitions_);
}

void ShuffleSink::Pair(std::string_view key, std::string_view value) {
  collector_.Emit(PartitionOf(key), order_.Encode(key, &encoded_), value);
}

void ShuffleSink::Line(std::string_view line) {
  const KeyAndValue record = CutLine(line, settings_.map_output.separator, settings_.map_output.fields);
  Pair(record.key, record.value);
}

void CombineSink::Line(std::string_view line) {
  const KeyAndValue record = CutLine(line, settings_.map_output.separator, settings_.map_output.fields);
  Pair(record.key, record.value);
}

void CombineSink::Pair(std::string_view key, std::string_view value) {
  if (!status_.ok()) return;
  Held held{bytes_.size(), 0, static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size())};
  if (!order_.plain()) {
    const std::string_view encoded = order_.Encode(key, &scratch_);
    held.sort_key = static_cast<std::uint32_t>(encoded.size());
    bytes_.append(encoded);
  }
  bytes_.append(key).append(value);
  held_.push_back(held);
  if (bytes_.size() + held_.size() * sizeof(Held) >= most_) (void)Flush();
}

Status CombineSink::Flush() {
  const auto part = [this](std::size_t begin, std::size_t size) {
    return std::string_view(bytes_).substr(begin, size);
  };
  const auto sort_key = [&](const Held& h) { return part(h.begin, h.sort_key != 0 ? h.sort_key : h.key); };
  std::stable_sort(held_.begin(), held_.end(), [&](const Held& a, const Held& b) { return sort_key(a) < sort_key(b); });
  std::vector<Record> records;
  records.reserve(held_.size());
  for (const Held& h : held_) {
    const std::size_t key = h.begin + h.sort_key;
    records.push_back({part(key, h.key), part(key + h.key, h.value)});
  }
  if (status_.ok() && !records.empty()) status_ = combine_(records);
  held_.clear();
  bytes_.clear();
  return status_;
}

}  // namespace millrace::streaming
