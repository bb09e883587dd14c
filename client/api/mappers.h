// A mapper for each input: a job whose INPUT arguments hold different things, as Hadoop's MultipleInputs has it. A
// mapper is a struct with what a job's maps have, and the job lists them in the order of its INPUTs:
//
//   struct MapUsers {                                       // of the first INPUT: record files
//     using Input = millrace::RecordFiles;
//     void Map(const millrace::KeyValue& user, auto& emit) { ... }
//   };
//   struct MapOrders {                                      // of the second one: lines
//     void Map(std::string_view line, auto& emit) { ... }
//   };
//   struct Join {
//     using Mappers = millrace::Mappers<MapUsers, MapOrders>;
//     using Key = ..., Value = ...;
//     void Reduce(...);
//   };
//
// A mapper has Map, and may have Input, FinishMap, Start or a constructor from TaskContext&, and Options. It emits the
// job's Key and Value. All else is the job's, which has no Map, Input and FinishMap then; its own Start comes first.
// The number of INPUT arguments has to be that of the mappers; an argument may be a directory or a pattern. A map that
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
