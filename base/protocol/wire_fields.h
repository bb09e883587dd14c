// SPDX-License-Identifier: Apache-2.0
// FromMessage and ToMessage let one list of fields serve for both directions between a value and its Cap'n Proto
// message. A list of fields is a constant function that is called with a FromMessage and the value to fill in, or with
// a ToMessage and the value. Each field stands on one line, with the name of its accessors in the message:
//
//   constexpr auto kPhaseFields = [](auto& message, auto& phase) {
//     MILLRACE_WIRE(message, Total, phase.total);
//     MILLRACE_WIRE(message, Fraction, phase.fraction);
//   };
//   constexpr auto kJobFields = [](auto& message, auto& job) {
//     MILLRACE_WIRE(message, Name, job.name);
//     MILLRACE_WIRE(message, Maps, job.maps, kPhaseFields);                         // a struct
//     MILLRACE_WIRE(message, DeadlineMillis, job.deadline, InUnitsOf{kMillisecond});  // a number in another unit
//   };
//
// Numbers, enumerators and ids are cast: a reader of messages from outside checks their ranges before. Text and Data
// are strings. A List is a vector, whose elements are converted like fields, or a std::array, of which elements that
// the message lacks keep their values. A text or list that is empty is left out of the message, which reads the same.
//
// Thread rule: values, any thread.
#pragma once

#include <capnp/blob.h>
#include <capnp/list.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "base/ids/time.h"

#define MILLRACE_WIRE(message, Name, ...)                                                                       \
  (message).Field([](auto from) { return from.get##Name(); }, [](auto to, auto value) { to.set##Name(value); }, \
                  [](auto to, auto... size) { return to.init##Name(size...); }, __VA_ARGS__)

namespace millrace {

// A time that the message has as an unsigned number of units.
struct InUnitsOf {
  Micros unit;
  [[nodiscard]] Micros Read(std::uint64_t number) const { return static_cast<Micros>(number) * unit; }
  [[nodiscard]] std::uint64_t Write(Micros time) const { return static_cast<std::uint64_t>(time / unit); }
};

// An enumerator of a list that may grow: one after `last`, which a newer program has sent, is read as `otherwise`.
template <class Enum>
struct UpTo {
  Enum last, otherwise;
  [[nodiscard]] Enum Read(auto sent) const {
    return static_cast<unsigned>(sent) <= static_cast<unsigned>(last) ? static_cast<Enum>(sent) : otherwise;
  }
  [[nodiscard]] Enum Write(Enum value) const { return value; }
};
template <class Enum>
UpTo(Enum, Enum) -> UpTo<Enum>;  // which clang before 17 does not deduce by itself

namespace wire_fields {

template <class T>
inline constexpr bool kIsBytes = std::same_as<T, capnp::Text::Reader> || std::same_as<T, capnp::Data::Reader>;
template <class T>
inline constexpr bool kIsList = !kIsBytes<T> && requires(T list) {
  list.size(), list[0];
};
template <class T>
inline constexpr bool kIsStruct = !kIsBytes<T> && !kIsList<T> && requires {
  typename T::Reads;
};
template <class T>
concept Id = requires(T id) {
  { id.value } -> std::convertible_to<std::uint32_t>;
};

[[nodiscard]] inline std::string ToString(capnp::Text::Reader text) { return {text.begin(), text.size()}; }
[[nodiscard]] inline std::string ToString(capnp::Data::Reader data) { return {data.asChars().begin(), data.size()}; }

}  // namespace wire_fields

template <class Reader>
class FromMessage {
 public:
  explicit FromMessage(Reader in) : in_(in) {}

  void Field(const auto& get, const auto& /*set*/, const auto& /*init*/, auto& value, const auto&... rule) {
    Take(get(in_), value, rule...);
  }

 private:
  template <class From, class To>
  static void Take(From from, To& to, const auto&... rule) {
    if constexpr (wire_fields::kIsBytes<From>) {
      to = wire_fields::ToString(from);
    } else if constexpr (wire_fields::kIsStruct<From>) {
      FromMessage<From> message(from);
      (rule(message, to), ...);
    } else if constexpr (wire_fields::kIsList<From>) {
      TakeList(from, to, rule...);
    } else if constexpr (sizeof...(rule) > 0) {
      to = (rule.Read(from), ...);
    } else if constexpr (wire_fields::Id<To>) {
      to.value = from;
    } else {
      to = static_cast<To>(from);
    }
  }
  template <class From, class To>
  static void TakeList(From from, To& to, const auto&... rule) {
    if constexpr (requires { to.emplace_back(); }) {
      to.clear();
      for (unsigned i = 0; i < from.size(); ++i) Take(from[i], to.emplace_back(), rule...);
    } else {
      for (unsigned i = 0; i < std::min<std::size_t>(from.size(), to.size()); ++i) Take(from[i], to[i], rule...);
    }
  }

  Reader in_;
};

template <class Builder>
class ToMessage {
 public:
  explicit ToMessage(Builder out) : out_(out) {}

  void Field(const auto& get, const auto& set, const auto& init, const auto& value, const auto&... rule) {
    using Sent = decltype(get(out_.asReader()));
    if constexpr (wire_fields::kIsBytes<Sent>) {
      if (!value.empty()) set(out_, Bytes<Sent>(value));
    } else if constexpr (wire_fields::kIsStruct<Sent>) {
      ToMessage<decltype(init(out_))> message(init(out_));
      (rule(message, value), ...);
    } else if constexpr (wire_fields::kIsList<Sent>) {
      if (!value.empty()) PutList<Sent>(value, init(out_, static_cast<unsigned>(value.size())), rule...);
    } else {
      set(out_, Number<Sent>(value, rule...));
    }
  }

 private:
  template <class Sent>
  static Sent Bytes(const std::string& text) {
    if constexpr (std::same_as<Sent, capnp::Text::Reader>) {
      return {text.c_str(), text.size()};
    } else {
      return {reinterpret_cast<const capnp::byte*>(text.data()), text.size()};
    }
  }
  template <class Sent>
  static Sent Number(const auto& value, const auto&... rule) {
    if constexpr (sizeof...(rule) > 0) {
      return static_cast<Sent>((rule.Write(value), ...));
    } else if constexpr (wire_fields::Id<std::remove_cvref_t<decltype(value)>>) {
      return value.value;
    } else {
      return static_cast<Sent>(value);
    }
  }
  template <class Sent>
  static void PutList(const auto& values, auto out, const auto&... rule) {
    using Element = std::remove_cvref_t<decltype(std::declval<Sent>()[0])>;
    for (unsigned i = 0; i < out.size(); ++i) {
      if constexpr (wire_fields::kIsBytes<Element>) {
        out.set(i, Bytes<Element>(values[i]));
      } else if constexpr (wire_fields::kIsStruct<Element>) {
        ToMessage<decltype(out[i])> message(out[i]);
        (rule(message, values[i]), ...);
      } else {
        out.set(i, Number<Element>(values[i], rule...));
      }
    }
  }

  Builder out_;
};

// Returns the value that the message has.
template <class Value>
[[nodiscard]] Value ReadMessage(auto in, const auto& fields) {
  Value value;
  FromMessage message(in);
  fields(message, value);
  return value;
}

void WriteMessage(const auto& value, auto out, const auto& fields) {
  ToMessage message(out);
  fields(message, value);
}

}  // namespace millrace
