// SPDX-License-Identifier: Apache-2.0
// Writing and Reading let one list of fields serve as both the encoder and the decoder of a value. A list of fields is
// a constant function, called with a Writing and the value, or with a Reading and the value to fill in:
//
//   constexpr auto kBlockFields = [](auto& archive, auto& block) {
//     archive.U64(block.id);
//     archive.Varint(block.length);
//     if (archive.Has(2)) archive.U32(block.crc);  // since format 2
//   };
//
// WriteFields and ReadFields apply such a list to a whole value. Each call says how its fields are encoded (see
// base/bytes.h): U8, U32, U64 and Varint take integers, Micros, booleans and the ids of base/ids, Text takes strings;
// archive(a, b) picks the encoding by the type. The bytes are those that the same calls of an Encoder give.
//
// Versions: a format that has grown either begins with its version (Version), or the caller of Reading gives it the
// version. Has(n) is false in a Reading of older bytes; the fields that are not there keep the values that they have.
// A Writing always writes the newest version.
//
// Damaged bytes: a Reading refuses bytes that end too early or go on too long, a number too big for its field, a
// boolean that is neither 0 nor 1, an enumerator after the last one, a list of more elements than the bytes left, and
// values that a Check or the caller's rule for a count refuses. After the first refusal all reads give zero or empty,
// lists end and checks pass, so that Finish, at the end, reports the first refusal.
//
// Memory: every element of a list takes at least one byte and is made only once it is its turn, so that a damaged count
// cannot ask for memory: room is made ahead for 1000 elements at most. A text is copied only once all of it is known to
// be there. A std::string_view takes a text, too, without a copy: it points into the bytes.
//
// Thread rule: values, any thread; one thread at a time for one object. Pure.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"

namespace millrace {

// An integer that is stored as it is, without loss: unsigned, a boolean, or signed of 64 bits (as Micros are).
template <class T>
concept StoredInteger = std::unsigned_integral<T> ||(std::signed_integral<T> && sizeof(T) == sizeof(std::int64_t));

// An id of base/ids: a number under a type of its own.
template <class T>
concept StoredId = requires(T id) {
  requires StoredInteger<decltype(id.value)>;
};

class Writing {
 public:
  void U8(const auto&... numbers) { (out_.U8(Fitting<std::uint8_t>(numbers)), ...); }
  void U32(const auto&... numbers) { (out_.U32(Fitting<std::uint32_t>(numbers)), ...); }
  void U64(const auto&... numbers) { (out_.U64(Fitting<std::uint64_t>(numbers)), ...); }
  void Varint(const auto&... numbers) { (out_.Varint(Fitting<std::uint64_t>(numbers)), ...); }
  void Text(const auto&... texts) { (out_.Text(texts), ...); }
  // Text for strings, u8 for booleans, u64 for doubles and signed integers, a varint for unsigned ones.
  void operator()(const auto&... values) { (ByType(values), ...); }
  // A u8.
  template <class Value>
  void Enum(Value value, Value /*last*/) {
    out_.U8(static_cast<std::uint8_t>(value));
  }

  // A u8 of up to eight booleans, the first in the lowest bit. A Reading refuses further bits.
  void Bits(const std::same_as<bool> auto&... flags) {
    unsigned bits = 0, at = 0;
    ((bits |= static_cast<unsigned>(flags) << at++), ...);
    out_.U8(static_cast<std::uint8_t>(bits));
  }

  // A u8 that says whether there is a value. A Reading then makes `value`, whose fields come later.
  void Presence(const auto& value) { out_.U8(value.has_value() ? 1 : 0); }
  // Its presence, and then its fields.
  void Optional(const auto& value, const auto& fields) {
    Presence(value);
    if (value) fields(*this, *value);
  }
  // Its size as a varint, and then the fields of each element. A Reading appends. It calls `check` with the size, and
  // fails with the result unless that is OK.
  void List(const auto& values, const auto& fields) {
    out_.Varint(values.size());
    Rest(values, fields);
  }
  void List(const auto& values, const auto& fields, const auto& /*check*/) { List(values, fields); }
  // The same for a map, whose fields are called with a key and a value. In a Reading the last of equal keys holds.
  void Map(const auto& map, const auto& fields) {
    out_.Varint(map.size());
    for (const auto& [key, value] : map) fields(*this, key, value);
  }
  // The fields of each element, up to the end of the bytes.
  void Rest(const auto& values, const auto& fields) {
    for (const auto& value : values) fields(*this, value);
  }
  // Returns true if more follows, in a format that leaves out its last fields if they are empty: `there` here, and in a
  // Reading true if bytes are left.
  [[nodiscard]] static bool More(bool there) { return there; }

  // A u8 with the version, `newest` here. A Reading is refused with refusal(version) if it is older or newer.
  void Version(std::uint8_t /*oldest*/, std::uint8_t newest, const auto& /*refusal*/) { out_.U8(newest); }
  [[nodiscard]] static bool Has(std::uint32_t /*since*/) { return true; }
  // Refuses a Reading with refusal() unless `good`, which may ask the fields that were read.
  static void Check(bool /*good*/, const auto& /*refusal*/) {}

  [[nodiscard]] std::string Take() { return out_.Take(); }

 private:
  template <class Wide, class Number>
  static Wide Fitting(const Number& number) {
    if constexpr (StoredId<Number>) {
      return Fitting<Wide>(number.value);
    } else {
      static_assert(StoredInteger<Number> && sizeof(Number) <= sizeof(Wide), "the field does not fit this encoding");
      return static_cast<Wide>(number);
    }
  }
  template <class Value>
  void ByType(const Value& value) {
    if constexpr (std::same_as<Value, std::string>) {
      Text(value);
    } else if constexpr (std::same_as<Value, bool>) {
      U8(value);
    } else if constexpr (std::same_as<Value, double>) {
      out_.U64(std::bit_cast<std::uint64_t>(value));
    } else if constexpr (std::unsigned_integral<Value>) {
      Varint(value);
    } else {
      U64(value);
    }
  }

  Encoder out_;
};

class Reading {
 public:
  // Requires: the bytes outlive it.
  explicit Reading(std::string_view bytes, std::uint32_t version = 0) : in_(bytes), version_(version) {}

  void U8(auto&... numbers) { (Put(in_.U8(), numbers), ...); }
  void U32(auto&... numbers) { (Put(in_.U32(), numbers), ...); }
  void U64(auto&... numbers) { (Put(in_.U64(), numbers), ...); }
  void Varint(auto&... numbers) { (Put(in_.Varint(), numbers), ...); }
  void Text(auto&... texts) { (static_cast<void>(texts = in_.Text()), ...); }
  void operator()(auto&... values) { (ByType(values), ...); }
  template <class Value>
  void Enum(Value& value, Value last) {
    const std::uint8_t read = in_.U8();
    if (read > static_cast<std::uint8_t>(last)) return in_.Fail();
    value = static_cast<Value>(read);
  }

  void Bits(std::same_as<bool> auto&... flags) {
    unsigned bits = in_.U8();
    ((flags = (bits & 1) != 0, bits >>= 1), ...);
    if (bits != 0) in_.Fail();
  }

  void Presence(auto& value) {
    bool there = false;
    U8(there);
    if (there) value.emplace();
  }
  void Optional(auto& value, const auto& fields) {
    Presence(value);
    if (value) fields(*this, *value);
  }
  void List(auto& values, const auto& fields) {
    List(values, fields, [](std::uint64_t /*size*/) { return Status::Ok(); });
  }
  void List(auto& values, const auto& fields, const auto& check) {
    const std::uint64_t size = Size(check);
    if constexpr (requires { values.reserve(kAhead); }) values.reserve(values.size() + std::min(size, kAhead));
    for (std::uint64_t left = size; left > 0 && !in_.failed(); --left) fields(*this, values.emplace_back());
  }
  template <class Key, class Value>
  void Map(std::map<Key, Value>& map, const auto& fields) {
    for (std::uint64_t left = Size([](std::uint64_t /*size*/) { return Status::Ok(); }); left > 0; --left) {
      Key key{};
      Value value{};
      fields(*this, key, value);
      if (in_.failed()) return;
      map.insert_or_assign(std::move(key), std::move(value));
    }
  }
  void Rest(auto& values, const auto& fields) {
    while (in_.left() > 0) fields(*this, values.emplace_back());
  }
  [[nodiscard]] bool More(bool /*there*/) const { return in_.left() > 0; }

  void Version(std::uint8_t oldest, std::uint8_t newest, const auto& refusal) {
    const std::uint8_t version = in_.U8();
    version_ = version;
    Check(version >= oldest && version <= newest, [&] { return refusal(version); });
  }
  [[nodiscard]] bool Has(std::uint32_t since) const { return version_ >= since; }
  void Check(bool good, const auto& refusal) {
    if (good || in_.failed()) return;
    failure_ = refusal();
    in_.Fail();
  }

  // Returns OK if every byte was read and nothing was refused, else the first refusal of a check, or else kCorrupt,
  // naming `what`.
  [[nodiscard]] Status Finish(std::string_view what) const { return failure_.ok() ? in_.Finish(what) : failure_; }

 private:
  template <class Number>
  void Put(std::uint64_t read, Number& number) {
    if constexpr (StoredId<Number>) {
      Put(read, number.value);
    } else {
      number = static_cast<Number>(read);
      if (static_cast<std::uint64_t>(number) != read) {
        number = 0;
        in_.Fail();
      }
    }
  }
  template <class Value>
  void ByType(Value& value) {
    if constexpr (std::same_as<Value, std::string>) {
      Text(value);
    } else if constexpr (std::same_as<Value, bool>) {
      U8(value);
    } else if constexpr (std::same_as<Value, double>) {
      value = std::bit_cast<double>(in_.U64());
    } else if constexpr (std::unsigned_integral<Value>) {
      Varint(value);
    } else {
      U64(value);
    }
  }
  std::uint64_t Size(const auto& check) {
    const std::uint64_t size = in_.Varint();
    const Status allowed = check(size);
    Check(allowed.ok(), [&] { return allowed; });
    if (size > in_.left()) in_.Fail();
    return in_.failed() ? 0 : size;
  }

  static constexpr std::uint64_t kAhead = 1000;

  Decoder in_;
  std::uint32_t version_;
  Status failure_;
};

// Returns the bytes of a value.
template <class Value>
[[nodiscard]] std::string WriteFields(const Value& value, const auto& fields) {
  Writing archive;
  fields(archive, value);
  return archive.Take();
}

// Returns the value whose bytes these are, or what Reading::Finish says. `value` holds the values of fields that bytes
// of an older version lack.
template <class Value>
[[nodiscard]] Result<Value> ReadFields(std::string_view bytes, std::string_view what, const auto& fields,
                                       Value value = {}) {
  Reading archive(bytes);
  fields(archive, value);
  MILLRACE_TRY(archive.Finish(what));
  return value;
}

}  // namespace millrace
