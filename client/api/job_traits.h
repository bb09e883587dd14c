// SPDX-License-Identifier: Apache-2.0
// Traits of a job struct: its types, with the defaults filled in, the hooks that it has, and whether it is a job at
// all.
// Thread rule: types only.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/status.h"
#include "client/api/emit.h"
#include "client/api/hook_names.h"
#include "client/api/input_formats.h"
#include "client/api/mappers.h"
#include "client/api/named_outputs.h"
#include "client/api/output_formats.h"
#include "client/api/values.h"
#include "client/job/preparation.h"
#include "client/job/task_context.h"

namespace millrace::internal {

template <class J>
struct InputOfJob {
  using Type = TextLines;
};
template <class J>
requires requires { typename J::Input; }
struct InputOfJob<J> {
  using Type = typename J::Input;
};
template <class J>
using InputOf = typename InputOfJob<J>::Type;

template <class J>
struct OutputOfJob {
  using Type = TextOutput;
};
template <class J>
requires requires { typename J::Output; }
struct OutputOfJob<J> {
  using Type = typename J::Output;
};
template <class J>
using OutputOf = typename OutputOfJob<J>::Type;

// The emitter to the job's output.
template <class J>
struct OutputEmitterOfJob {
  using Type = OutputEmitter<OutputOf<J>>;
};
template <HasOutputs J>
struct OutputEmitterOfJob<J> {
  using Type = NamedEmitter<OutputOf<J>, typename J::Outputs>;
};
template <class J>
using OutputEmitterOf = typename OutputEmitterOfJob<J>::Type;

MILLRACE_HAS_MEMBER_(Map)
MILLRACE_HAS_MEMBER_(Reduce)
MILLRACE_HAS_MEMBER_(Combine)
MILLRACE_HAS_MEMBER_(Partition)
MILLRACE_HAS_MEMBER_(Group)
MILLRACE_HAS_MEMBER_(Outputs)
MILLRACE_HAS_MEMBER_(Mappers)
MILLRACE_HAS_MEMBER_(Input)
MILLRACE_HAS_MEMBER_(Options)
MILLRACE_HAS_MEMBER_(Start)
MILLRACE_HAS_MEMBER_(Prepare)
MILLRACE_HAS_MEMBER_(FinishMap)
MILLRACE_HAS_MEMBER_(FinishReduce)
#undef MILLRACE_HAS_MEMBER_

template <class Input>
concept ReadsStoredBytes = requires {
  requires Input::kReadsStoredBytes;
};

template <class Input>
concept ReadsText = requires {
  requires Input::kReadsText;
};

template <class J>
concept HasIntermediate = requires {
  typename J::Key;
  typename J::Value;
};

// One signature of Combine. Arguments convert, but the address of a function does not, so int for std::uint64_t is not
// a match.
template <class J, class Result, class A, class B>
concept CombinesAs = requires {
  static_cast<Result (*)(A, B)>(&J::Combine);
};
template <class J, class Result, class V = typename J::Value>
concept CombinesTo = CombinesAs<J, Result, V, V> || CombinesAs<J, Result, const V&, const V&> ||
    CombinesAs<J, Result, V, const V&> || CombinesAs<J, Result, const V&, V>;

// J has a Combine that takes and returns its Value itself.
template <class J>
concept Combines = HasIntermediate<J> &&(CombinesTo<J, typename J::Value> || CombinesTo<J, const typename J::Value&>);

template <class J>
struct MapEmitterOfJob {
  using Type = OutputEmitterOf<J>;
};
template <HasIntermediate J>
struct MapEmitterOfJob<J> {
  using Type = SortEmitter<J>;
};
template <Combines J>
struct MapEmitterOfJob<J> {
  using Type = CombineEmitter<J>;
};
// The type of Map's `emit` when the job has reduces, or has no intermediate types.
template <class J>
using MapEmitterOf = typename MapEmitterOfJob<J>::Type;

template <class M, class Emit>
concept MapsInput = requires(M& mapper, const typename InputOf<M>::Record& record, Emit& emit) {
  mapper.Map(record, emit);
};
template <class List, class Emit>
inline constexpr bool kAllMap = false;
template <class... Ms, class Emit>
inline constexpr bool kAllMap<Mappers<Ms...>, Emit> = (MapsInput<Ms, Emit> && ...);

// J, or each of its mappers, has a Map that takes an Emit.
template <class J, class Emit = MapEmitterOf<J>>
concept Maps = (!HasMappers<J> && MapsInput<J, Emit>) || (HasMappers<J> && kAllMap<typename J::Mappers, Emit>);

template <class J>
struct ValuesOfJob {
  using Type = Values<typename J::Value>;
};
template <HasGroup J>
struct ValuesOfJob<J> {
  using Type = Values<typename J::Value, Grouping<J>>;
};
// The type of Reduce's `values`.
template <class J>
using ValuesOf = typename ValuesOfJob<J>::Type;

template <class J>
concept Reduces = HasIntermediate<J> &&
    requires(J& job, const typename J::Key& key, ValuesOf<J>& values, OutputEmitterOf<J>& emit) {
  job.Reduce(key, values, emit);
};

template <class J, class Emit>
concept FinishesMap = requires(J& job, Emit& emit) {
  job.FinishMap(emit);
};

template <class J>
concept FinishesReduce = HasIntermediate<J> && requires(J& job, OutputEmitterOf<J>& emit) {
  job.FinishReduce(emit);
};

template <class J>
concept Starts = requires(J& job, TaskContext& context) {
  { job.Start(context) } -> std::same_as<Status>;
};

template <class J>
concept Prepares = requires(Preparation& preparation) {
  { J::Prepare(preparation) } -> std::same_as<Status>;
};

template <class J>
concept DeclaresOptions = requires(JobOptions& options) {
  J::Options(options);
};

// Says whether the Value would be copied as it lies in memory although it holds a pointer, or a member that may hold
// one.
template <class J>
constexpr bool ValueLosesBytes() {
  if constexpr (HasIntermediate<J>) {
    return LooksPlain<typename J::Value> && !PlainBytes<typename J::Value> && !Encodable<typename J::Value>;
  } else {
    return false;
  }
}

template <class J>
constexpr bool IntermediateTypesFit() {
  if constexpr (HasIntermediate<J>) {
    return Encodable<typename J::Key> && IntermediateValue<typename J::Value>;
  } else {
    return true;
  }
}

// Says whether Combine's Value can be kept in a known number of bytes. A view cannot: it would outlive the bytes that
// it points to.
template <class J>
constexpr bool CombineValueFits() {
  if constexpr (Combines<J>) {
    return Holdable<typename J::Value> && !std::same_as<typename J::Value, std::string_view> &&
           MaxValueBytes<typename J::Value>() > 0;
  } else {
    return true;
  }
}

template <class J>
constexpr bool IdentityFits() {
  if constexpr (HasIntermediate<J> && !Reduces<J>) {
    return OutputOf<J>::template kTakes<typename J::Key, typename J::Value>;
  } else {
    return true;
  }
}

}  // namespace millrace::internal

namespace millrace {

// A struct that Run accepts. CheckJob reports what is missing.
template <class J>
concept Job = std::is_class_v<J> && !std::is_final_v<J> &&
              (std::is_default_constructible_v<J> || std::is_constructible_v<J, TaskContext&>)&&internal::Maps<J> &&
              internal::IntermediateTypesFit<J>() && internal::CombineValueFits<J>() && internal::IdentityFits<J>();

namespace internal {

template <class M, class Emit>
consteval void CheckMapper() {
  constexpr bool kStruct = std::is_class_v<M> && !std::is_final_v<M>;
  static_assert(kStruct, "a mapper is a struct, not final");
  if constexpr (kStruct) {
    static_assert(std::is_default_constructible_v<M> || std::is_constructible_v<M, TaskContext&>,
                  "a mapper has a default constructor or one that takes a millrace::TaskContext&");
    CheckNames<M>();
    constexpr bool kNamesMap = NamesMap<M>;
    static_assert(kNamesMap, "a mapper has void Map(record, auto& emit)");
    static_assert(!kNamesMap || MapsInput<M, Emit>,
                  "a mapper's Map does not take (record, auto& emit): the record's type is the Record of the mapper's "
                  "Input, std::string_view for TextLines; see input_formats.h");
    // Instantiates Map here, so that an error in what it emits shows up here and not where records are read, many calls
    // farther down.
    if constexpr (MapsInput<M, Emit>) (void)[](M & mapper, const typename InputOf<M>::Record& record, Emit& emit) {
        mapper.Map(record, emit);
      };
    static_assert(InputOf<M>::kSplitBy != SplitBy::kNumbers, "a mapper reads files: Numbers are not an INPUT");
    static_assert(!(NamesReduce<M> || NamesCombine<M> || NamesPartition<M> || NamesGroup<M> || NamesOutputs<M> ||
                    NamesMappers<M> || NamesPrepare<M> || NamesFinishReduce<M>),
                  "a mapper has Map, FinishMap, Start, Options and Input alone: all else is the job's");
    static_assert(!NamesOptions<M> || DeclaresOptions<M>,
                  "Options is `static void Options(millrace::JobOptions& options)`");
    static_assert(!NamesStart<M> || Starts<M>, "Start is `millrace::Status Start(millrace::TaskContext& context)`");
    static_assert(!NamesFinishMap<M> || FinishesMap<M, Emit>, "FinishMap is `void FinishMap(auto& emit)`");
  }
}

template <class J>
consteval void CheckMembers() {
  static_assert(std::is_default_constructible_v<J> || std::is_constructible_v<J, TaskContext&>,
                "a job has a default constructor or one that takes a millrace::TaskContext&");
  constexpr bool kHasMap = NamesMap<J> || NamesMappers<J>;  // the compiler would explain a concept at length
  static_assert(kHasMap, "a job has void Map(record, auto& emit)");
  static_assert(!NamesMappers<J> || HasMappers<J>,
                "Mappers is `using Mappers = millrace::Mappers<First, Second>`, a struct with a Map for each INPUT");
  static_assert(!NamesMappers<J> || !(NamesMap<J> || NamesInput<J> || NamesFinishMap<J>),
                "a job with Mappers has no Map, Input and FinishMap of its own: they are those of its mappers");
  if constexpr (HasMappers<J>)
    ForEachMapper(static_cast<typename J::Mappers*>(nullptr), []<class M>(M*) { CheckMapper<M, MapEmitterOf<J>>(); });
  static_assert(
      requires { typename J::Key; } == requires { typename J::Value; },
      "a job names both of `using Key = ...` and `using Value = ...`, or neither (then it is map-only)");
  CheckNames<J>();
  static_assert(
      !ValueLosesBytes<J>(),
      "Value holds a view, a pointer or a reference, or members that cannot be seen (private, of a base, of a "
      "union, with a constructor, more than 32): its bytes mean nothing elsewhere; use what holds its own "
      "bytes, or specialise millrace::Codec for it (codec.h)");
  static_assert(ValueLosesBytes<J>() || IntermediateTypesFit<J>(),
                "Key or Value is a type that has no encoding between map and reduce: specialise millrace::Codec for it "
                "(codec.h); text in a pair, a tuple or a vector is std::string");
  static_assert(
      !NamesMap<J> || Maps<J>,
      "Map does not take (record, auto& emit): the record's type is the Record of the job's Input, std::string_view "
      "for TextLines; see input_formats.h");
  static_assert(!NamesReduce<J> || HasIntermediate<J>,
                "a job with Reduce names its `using Key = ...` and `using Value = ...`");
  static_assert(!NamesReduce<J> || !HasIntermediate<J> || Reduces<J>,
                "Reduce does not take (Key key, auto& values, auto& emit), values being a millrace::Values<Value>");
  static_assert(
      !NamesCombine<J> || Combines<J>,
      "Combine is `static Value Combine(Value, Value)`: it takes and returns exactly the job's Value, by value "
      "or const&, since any other type would silently cut or convert sums");
  static_assert(
      CombineValueFits<J>(),
      "Combine needs a Value of fixed length: a number, a struct of numbers, or a pair, tuple, array or optional of "
      "them; "
      "text and vectors do not have one, and a type with a Codec of its own is trivially copyable and has "
      "Codec::kMaxBytes");
  static_assert(!NamesPartition<J> || HasIntermediate<J>,
                "a job with Partition names its `using Key = ...` and `using Value = ...`");
  static_assert(!NamesGroup<J> || HasIntermediate<J>,
                "a job with Group names its `using Key = ...` and `using Value = ...`");
  if constexpr (HasIntermediate<J>) {
    static_assert(
        !NamesPartition<J> || HasPartition<J> || OrdersTotally<J>,
        "Partition is `std::uint32_t Partition(const Key& key, std::uint32_t partitions)`, static or const, or "
        "`using Partition = millrace::TotalOrder`");
    static_assert(!NamesGroup<J> || HasGroup<J>,
                  "Group is `static G Group(const Key& key)`: it returns a part of the key, of a type with a Codec, by "
                  "which the calls of Reduce are made");
    static_assert(!NamesGroup<J> || !HasGroup<J> || NamesReduce<J>, "a job with Group has a Reduce of its own");
    static_assert(
        !NamesGroup<J> || !OrdersTotally<J>,
        "a job with Group has no Partition of TotalOrder, whose ranges of whole keys would cut a group in two");
  }
  static_assert(!NamesOutputs<J> || HasOutputs<J>,
                "Outputs is `using Outputs = millrace::NamedOutputs<kOne, kOther>`, of millrace::NamedOutput objects");
  static_assert(!NamesOptions<J> || DeclaresOptions<J>,
                "Options is `static void Options(millrace::JobOptions& options)`");
  static_assert(!NamesStart<J> || Starts<J>, "Start is `millrace::Status Start(millrace::TaskContext& context)`");
  static_assert(!NamesFinishMap<J> || FinishesMap<J, MapEmitterOf<J>>, "FinishMap is `void FinishMap(auto& emit)`");
  static_assert(!NamesFinishReduce<J> || FinishesReduce<J>,
                "FinishReduce is `void FinishReduce(auto& emit)`, of a job with Key and Value");
  static_assert(!NamesPrepare<J> || Prepares<J>,
                "Prepare is `static millrace::Status Prepare(millrace::Preparation& job)`");
  static_assert(IdentityFits<J>(),
                "a job without Reduce writes its Key and Value, which its Output cannot: specialise "
                "millrace::Codec for them, with AppendText for TextOutput");
}

template <class J>
consteval void CheckJob() {
  constexpr bool kStruct = std::is_class_v<J> && !std::is_final_v<J>;  // members are looked for in a subclass
  static_assert(kStruct, "a job is a struct, not final");
  if constexpr (kStruct) CheckMembers<J>();
}

}  // namespace internal
}  // namespace millrace
