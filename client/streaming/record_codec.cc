// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/record_codec.h"

#include <cstdint>
#include <utility>

#include "base/units.h"
#include "client/streaming/typed_bytes.h"

namespace millrace::streaming {
namespace {

constexpr std::size_t kRawLengthBytes = 4;

void AppendRaw(std::string_view bytes, std::string* out) {
  const std::uint64_t size = bytes.size();
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(size >> shift));
  out->append(bytes);
}

// Returns the size of the raw bytes at the front, with their length; 0: more bytes are needed.
std::size_t RawSize(std::string_view bytes) {
  if (bytes.size() < kRawLengthBytes) return 0;
  std::size_t length = 0;
  for (std::size_t i = 0; i < kRawLengthBytes; ++i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length <= bytes.size() - kRawLengthBytes ? kRawLengthBytes + length : 0;
}

}  // namespace

void AppendRecord(Io io, std::string_view key, std::string_view separator, std::string_view value, std::string* out) {
  if (io == Io::kText) {
    out->append(key).append(separator).append(value).push_back('\n');
  } else if (io == Io::kTypedBytes) {
    out->append(key).append(value);
  } else {
    AppendRaw(key, out);
    AppendRaw(value, out);
  }
}

void RecordCutter::Take(std::string_view bytes) {
  const auto give = [this](std::string_view all) { return io_ == Io::kText ? GiveLines(all) : GivePairs(all); };
  if (!status_.ok()) return;
  if (!open_.empty() && io_ == Io::kText) {  // only the first line has to be put together
    const std::size_t newline = bytes.find('\n');
    open_.append(bytes.substr(0, newline));
    if (newline == std::string_view::npos) {
      bytes = {};
    } else {
      line_(open_);
      open_.clear();
      bytes.remove_prefix(newline + 1);
    }
  } else if (!open_.empty()) {
    open_.append(bytes);
    open_.erase(0, give(open_));
    bytes = {};
  }
  if (!bytes.empty()) open_.append(bytes.substr(give(bytes)));
  if (open_.size() > kLongestRecord) status_ = Invalid("it wrote a record of more than " + FormatBytes(kLongestRecord));
}

std::size_t RecordCutter::GiveLines(std::string_view bytes) {
  std::size_t at = 0;
  for (std::size_t newline = bytes.find('\n'); newline != std::string_view::npos; newline = bytes.find('\n', at)) {
    line_(bytes.substr(at, newline - at));
    at = newline + 1;
  }
  return at;
}

std::size_t RecordCutter::PairAt(std::string_view bytes, std::string_view* key, std::string_view* value) {
  const auto size_of = [this](std::string_view front) -> std::size_t {
    if (io_ == Io::kRawBytes) return RawSize(front);
    const Result<std::size_t> size = TypedSize(front);
    if (size.ok()) return *size;
    status_ = Invalid("it wrote what is not typed bytes: " + size.status().message());
    return 0;
  };
  const std::size_t key_size = size_of(bytes);
  if (key_size == 0) return 0;
  const std::size_t value_size = size_of(bytes.substr(key_size));
  if (value_size == 0) return 0;
  const std::size_t skipped = io_ == Io::kRawBytes ? kRawLengthBytes : 0;
  *key = bytes.substr(skipped, key_size - skipped);
  *value = bytes.substr(key_size + skipped, value_size - skipped);
  return key_size + value_size;
}

std::size_t RecordCutter::GivePairs(std::string_view bytes) {
  std::size_t at = 0;
  std::string_view key, value;
  while (const std::size_t size = PairAt(bytes.substr(at), &key, &value)) {
    pair_(key, value);
    at += size;
  }
  return at;
}

Status RecordCutter::Finish() {
  MILLRACE_TRY(status_);
  if (open_.empty()) return Status::Ok();
  if (io_ != Io::kText)
    return Invalid("it ended its output inside a record, of which there are " + std::to_string(open_.size()) +
                   " bytes");
  line_(open_);
  open_.clear();
  return Status::Ok();
}

}  // namespace millrace::streaming
