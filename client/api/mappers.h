// SPDX-License-Identifier: Apache-2.0
// Mappers gives each input a mapper of its own, for a job whose INPUT arguments hold different things, like Hadoop's
// MultipleInputs. A mapper is a struct with the members that a job has for its maps, and the job lists its mappers in
// the order of its INPUTs:
//
//   struct MapUsers {                                       // for the first INPUT: record files
//     using Input = millrace::RecordFiles;
//     void Map(const millrace::KeyValue& user, auto& emit) { ... }
//   };
//   struct MapOrders {                                      // for the second one: lines
//     void Map(std::string_view line, auto& emit) { ... }
//   };
//   struct Join {
//     using Mappers = millrace::Mappers<MapUsers, MapOrders>;
//     using Key = ..., Value = ...;
//     void Reduce(...);
//   };
//
// A mapper has Map, and may have Input, FinishMap, Start or a constructor from TaskContext&, and Options. It emits the
// job's Key and Value. All else is a member of the job, which then has no Map, Input or FinishMap; the job's own Start
// runs first. There must be as many INPUT arguments as mappers; an argument may be a directory or a pattern. A map that
// reads small files of several inputs has the mappers of all of them, one object each.
//
// Thread rule: types only.
#pragma once

#include <cstddef>
#include <tuple>

namespace millrace {

template <class... Ms>
struct Mappers {
  static_assert(sizeof...(Ms) > 0, "millrace::Mappers<First, Second> lists a mapper for each INPUT");
  static constexpr std::size_t kCount = sizeof...(Ms);
};

namespace internal {

template <class T>
inline constexpr bool kIsMappers = false;
template <class... Ms>
inline constexpr bool kIsMappers<Mappers<Ms...>> = true;

template <class J>
concept HasMappers = requires {
  typename J::Mappers;
}
&&kIsMappers<typename J::Mappers>;

// Calls `use` with a null pointer to each mapper of the job, in order: a type as an argument.
template <class... Ms, class Use>
constexpr void ForEachMapper(const Mappers<Ms...>*, Use use) {
  (use(static_cast<Ms*>(nullptr)), ...);
}

}  // namespace internal
}  // namespace millrace
