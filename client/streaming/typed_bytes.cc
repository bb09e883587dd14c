// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/typed_bytes.h"

#include <array>
#include <bit>
#include <charconv>

namespace millrace::streaming {
namespace {

enum Type : unsigned char {
  kBytes = 0,
  kByte = 1,
  kBool = 2,
  kInt = 3,
  kLong = 4,
  kFloat = 5,
  kDouble = 6,
  kString = 7,
  kVector = 8,
  kList = 9,
  kMap = 10,
  kFirstOwn = 50,
  kLastOwn = 200,
  kListEnd = 255,
};
constexpr int kDeepest = 32;
constexpr std::size_t kLengthBytes = 4;

std::uint64_t BigEndian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}
void AppendBigEndian(std::uint64_t number, int bytes, std::string* out) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out->push_back(static_cast<char>(number >> shift));
}

// Sizes objects one after the other; once one is incomplete, so is all.
class Sizer {
 public:
  explicit Sizer(std::string_view bytes) : bytes_(bytes) {}

  // Goes past an object. Returns false if it is incomplete.
  Result<bool> Skip(int depth) {
    if (depth > kDeepest) return Corrupt("typed bytes hold one another more than 32 deep");
    if (at_ >= bytes_.size()) return false;
    const auto type = static_cast<unsigned char>(bytes_[at_++]);
    switch (type) {
      case kByte:
      case kBool:
        return Forward(1);
      case kInt:
      case kFloat:
        return Forward(4);
      case kLong:
      case kDouble:
        return Forward(8);
      case kVector:
        return SkipMany(1, depth);
      case kMap:
        return SkipMany(2, depth);
      case kList:
        return SkipList(depth);
      default:
        break;
    }
    if (type != kBytes && type != kString && (type < kFirstOwn || type > kLastOwn))
      return Corrupt("typed bytes of the unknown type " + std::to_string(type));
    std::size_t length = 0;
    return Length(&length) && Forward(length);
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  bool Forward(std::size_t size) {
    if (size > bytes_.size() - at_) return false;
    at_ += size;
    return true;
  }
  bool Length(std::size_t* length) {
    if (bytes_.size() - at_ < kLengthBytes) return false;
    *length = BigEndian(bytes_.substr(at_, kLengthBytes));
    at_ += kLengthBytes;
    return true;
  }
  Result<bool> SkipMany(std::size_t each, int depth) {
    std::size_t count = 0;
    if (!Length(&count)) return false;
    for (count *= each; count > 0; --count) {
      MILLRACE_ASSIGN(const bool whole, Skip(depth + 1));
      if (!whole) return false;
    }
    return true;
  }
  Result<bool> SkipList(int depth) {
    while (at_ < bytes_.size() && static_cast<unsigned char>(bytes_[at_]) != kListEnd) {
      MILLRACE_ASSIGN(const bool whole, Skip(depth + 1));
      if (!whole) return false;
    }
    return Forward(1);
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

template <class Number>
void AppendDecimal(Number number, std::string* out) {
  std::array<char, 64> text;
  out->append(text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr);
}

void AppendWithLength(Type type, std::string_view value, std::string* out) {
  out->push_back(static_cast<char>(type));
  AppendBigEndian(value.size(), kLengthBytes, out);
  out->append(value);
}

}  // namespace

Result<std::size_t> TypedSize(std::string_view bytes) {
  Sizer sizer(bytes);
  MILLRACE_ASSIGN(const bool whole, sizer.Skip(0));
  return whole ? sizer.at() : std::size_t{0};
}

void AppendTypedBytes(std::string_view value, std::string* out) { AppendWithLength(kBytes, value, out); }
void AppendTypedText(std::string_view value, std::string* out) { AppendWithLength(kString, value, out); }
void AppendTypedInteger(std::int64_t value, std::string* out) {
  out->push_back(static_cast<char>(kLong));
  AppendBigEndian(static_cast<std::uint64_t>(value), 8, out);
}

Status AppendAsText(std::string_view object, std::string* out) {
  MILLRACE_ASSIGN(const std::size_t size, TypedSize(object));
  if (size != object.size() || size == 0) return Corrupt("typed bytes that are not one whole object");
  const auto type = static_cast<unsigned char>(object[0]);
  const std::uint64_t number = size <= 1 + sizeof(std::uint64_t) ? BigEndian(object.substr(1)) : 0;
  switch (type) {
    case kByte:
      AppendDecimal(static_cast<int>(static_cast<std::int8_t>(number)), out);
      return Status::Ok();
    case kBool:
      out->append(number != 0 ? "true" : "false");
      return Status::Ok();
    case kInt:
      AppendDecimal(static_cast<std::int32_t>(number), out);
      return Status::Ok();
    case kLong:
      AppendDecimal(static_cast<std::int64_t>(number), out);
      return Status::Ok();
    case kFloat:
      AppendDecimal(std::bit_cast<float>(static_cast<std::uint32_t>(number)), out);
      return Status::Ok();
    case kDouble:
      AppendDecimal(std::bit_cast<double>(number), out);
      return Status::Ok();
    case kVector:
    case kList:
    case kMap:
      return Unsupported("typed bytes that hold others (type " + std::to_string(type) +
                         ") have no form as text; write record files: -outputformat SequenceFileOutputFormat");
    default:
      out->append(object.substr(1 + kLengthBytes));
      return Status::Ok();
  }
}

}  // namespace millrace::streaming
