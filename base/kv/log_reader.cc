// SPDX-License-Identifier: Apache-2.0
#include "base/kv/log_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace millrace {
namespace {

constexpr std::size_t kBlock = 32768;
constexpr std::size_t kHeader = 7;  // checksum, length, type
enum Type : std::uint8_t { kZero = 0, kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

std::uint32_t Unmask(std::uint32_t masked) {
  constexpr std::uint32_t kDelta = 0xa282ead8;
  const std::uint32_t rotated = masked - kDelta;
  return (rotated >> 17) | (rotated << 15);
}

struct Fragment {
  Type type = kZero;
  std::string_view data;
  bool sound = false;  // its checksum holds
  [[nodiscard]] bool begins() const { return type == kFull || type == kFirst; }
  [[nodiscard]] bool ends() const { return type == kFull || type == kLast; }
};

// Returns the fragment at this place; nothing if the bytes there are not the header of one.
std::optional<Fragment> FragmentAt(std::string_view bytes, std::size_t at) {
  const std::size_t left = std::min(kBlock - at % kBlock, bytes.size() - at);
  if (left < kHeader) return std::nullopt;
  Decoder in(bytes.substr(at, kHeader));
  const std::uint32_t masked = in.U32();
  std::size_t length = in.U8();
  length += std::size_t{in.U8()} << 8;
  const std::uint8_t type = in.U8();
  if (type < kFull || type > kLast || kHeader + length > left) return std::nullopt;
  const std::uint32_t crc = Crc32c(bytes.substr(at + kHeader - 1, 1 + length));  // the type, and the data
  return Fragment{static_cast<Type>(type), bytes.substr(at + kHeader, length), crc == Unmask(masked)};
}

// Only zeros fill up a block.
bool IsEndOfBlock(std::string_view bytes, std::size_t at) {
  const std::size_t left = kBlock - at % kBlock;
  return left < kHeader || bytes.substr(at, left).find_first_not_of('\0') == std::string_view::npos;
}

enum class Operation : std::uint8_t { kRemove = 0, kPut = 1 };

// Reads the changes of a batch. Returns nothing if it holds anything else; what was read until then is in *changes.
std::optional<std::uint64_t> ReadBatch(std::string_view record, WriteBatch* changes) {
  Decoder in(record);
  const std::uint64_t first = in.U64();
  const std::uint32_t count = in.U32();
  for (std::uint32_t n = 0; n < count && !in.failed(); ++n) {
    const std::uint8_t operation = in.U8();
    if (operation > static_cast<std::uint8_t>(Operation::kPut)) return std::nullopt;
    std::string key(in.Text());
    if (operation == static_cast<std::uint8_t>(Operation::kRemove)) {
      if (!in.failed()) changes->Remove(std::move(key));
      continue;
    }
    std::string value(in.Text());
    if (!key.empty()) changes->Put(std::move(key), std::move(value));
  }
  if (in.failed() || in.left() > 0 || changes->changes().size() != count) return std::nullopt;
  return first;
}

class Reader {
 public:
  Reader(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  LogContent Read() {
    while (at_ < bytes_.size()) {
      if (IsEndOfBlock(bytes_, at_)) {
        at_ += kBlock - at_ % kBlock;
      } else {
        Step();
      }
    }
    if (inside_) Damaged(begin_);  // its end is not there
    return std::move(content_);
  }

 private:
  void Step() {
    const std::optional<Fragment> fragment = FragmentAt(bytes_, at_);
    if (fragment && fragment->begins() && inside_) Damaged(begin_);  // the end of the one before is lost
    if (fragment && fragment->begins()) Begin();
    if (!inside_ && !fragment) Begin();
    if (!fragment) return Resume(at_ + 1);
    if (!inside_) Begin(false);  // a record whose beginning is lost
    record_ += fragment->data;
    whole_ = whole_ && fragment->sound;
    const std::size_t next = at_ + kHeader + fragment->data.size();
    // A length that is damaged leads nowhere.
    const bool leads = fragment->sound || next >= bytes_.size() || IsEndOfBlock(bytes_, next) || SoundAt(next);
    if (!leads) return Resume(at_ + 1);
    at_ = next;
    if (fragment->ends()) End();
  }

  [[nodiscard]] bool SoundAt(std::size_t at) const {
    const std::optional<Fragment> fragment = FragmentAt(bytes_, at);
    return fragment && fragment->sound;
  }

  void Begin(bool whole = true) {
    inside_ = true;
    whole_ = whole;
    begin_ = at_;
    record_.clear();
  }

  void End() {
    inside_ = false;
    WriteBatch changes;
    const std::optional<std::uint64_t> first = whole_ ? ReadBatch(record_, &changes) : std::nullopt;
    if (!first) return Damaged(begin_);
    content_.batches.push_back({*first, std::move(changes)});
  }

  // Goes on at the next place from `from` on where a fragment is sound.
  void Resume(std::size_t from) {
    Damaged(begin_);
    for (at_ = from; at_ < bytes_.size(); ++at_) {
      if (SoundAt(at_)) return;
    }
  }

  void Damaged(std::size_t begin) {
    inside_ = false;
    WriteBatch guessed;
    (void)ReadBatch(record_, &guessed);
    std::vector<std::string> keys;
    for (const WriteBatch::Change& change : guessed.changes()) keys.push_back(change.key);
    record_.clear();
    // Damage that follows without a sound record in between is the same damage.
    if (!content_.damage.empty() && content_.before.back() == content_.batches.size()) {
      auto& all = content_.damage.back().keys;
      all.insert(all.end(), keys.begin(), keys.end());
      return;
    }
    content_.damage.push_back({name_, begin, 0, std::move(keys)});
    content_.before.push_back(content_.batches.size());
  }

  const std::string_view bytes_;
  const std::string name_;
  LogContent content_;
  std::size_t at_ = 0;
  bool inside_ = false;  // a record has begun, at begin_
  bool whole_ = false;   // all of its fragments so far are sound
  std::size_t begin_ = 0;
  std::string record_;
};

}  // namespace

LogContent ReadLog(std::string_view bytes, const std::string& name) { return Reader(bytes, name).Read(); }

}  // namespace millrace
