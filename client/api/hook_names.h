// SPDX-License-Identifier: Apache-2.0
// Names that an author may mistake for the name of a hook. Nothing calls them, so a job with such a member would
// compile and do something else. CheckJob refuses such a job and names the hook that is meant. The list leaves out
// names that a hook has in another form (`Partition` as a type, say) or may get some day. Data members may have any
// name.
// Thread rule: types only.
#pragma once

#include <type_traits>

namespace millrace::internal {

// NamesX<J> is true if J has any member named X, even an overloaded, templated or private one: the name is then
// ambiguous in WithX.
#define MILLRACE_HAS_MEMBER_(Name)       \
  struct Other##Name {                   \
    int Name;                            \
  };                                     \
  template <class J>                     \
  struct With##Name : J, Other##Name {}; \
  template <class J>                     \
  concept Names##Name = !requires {      \
    &With##Name<J>::Name;                \
  };

// kFree_X<J> is false if J has a member X that is not data. Data can be used by its name; a function or a type cannot.
#define MILLRACE_NEAR_(Name)                                                     \
  MILLRACE_HAS_MEMBER_(Name)                                                     \
  template <class J>                                                             \
  concept IsData##Name = requires(J & job) {                                     \
    requires !std::is_function_v<std::remove_reference_t<decltype((job.Name))>>; \
  };                                                                             \
  template <class J>                                                             \
  inline constexpr bool kFree_##Name = !Names##Name<J> || IsData##Name<J>;
MILLRACE_NEAR_(map)
MILLRACE_NEAR_(Mapper)
MILLRACE_NEAR_(mapper)
MILLRACE_NEAR_(mappers)
MILLRACE_NEAR_(MultipleInputs)
MILLRACE_NEAR_(InputMappers)
MILLRACE_NEAR_(reduce)
MILLRACE_NEAR_(Reducer)
MILLRACE_NEAR_(reducer)
MILLRACE_NEAR_(combine)
MILLRACE_NEAR_(Combiner)
MILLRACE_NEAR_(combiner)
MILLRACE_NEAR_(partition)
MILLRACE_NEAR_(Partitioner)
MILLRACE_NEAR_(partitioner)
MILLRACE_NEAR_(getPartition)
MILLRACE_NEAR_(GetPartition)
MILLRACE_NEAR_(group)
MILLRACE_NEAR_(GroupBy)
MILLRACE_NEAR_(groupBy)
MILLRACE_NEAR_(group_by)
MILLRACE_NEAR_(Grouping)
MILLRACE_NEAR_(grouping)
MILLRACE_NEAR_(GroupingComparator)
MILLRACE_NEAR_(GroupKey)
MILLRACE_NEAR_(outputs)
MILLRACE_NEAR_(NamedOutputs)
MILLRACE_NEAR_(named_outputs)
MILLRACE_NEAR_(MultipleOutputs)
MILLRACE_NEAR_(options)
MILLRACE_NEAR_(prepare)
MILLRACE_NEAR_(start)
MILLRACE_NEAR_(setup)
MILLRACE_NEAR_(Setup)
MILLRACE_NEAR_(setUp)
MILLRACE_NEAR_(SetUp)
MILLRACE_NEAR_(set_up)
MILLRACE_NEAR_(configure)
MILLRACE_NEAR_(Configure)
MILLRACE_NEAR_(cleanup)
MILLRACE_NEAR_(Cleanup)
MILLRACE_NEAR_(cleanUp)
MILLRACE_NEAR_(CleanUp)
MILLRACE_NEAR_(clean_up)
MILLRACE_NEAR_(close)
MILLRACE_NEAR_(Close)
MILLRACE_NEAR_(finish)
MILLRACE_NEAR_(Finish)
MILLRACE_NEAR_(finish_map)
MILLRACE_NEAR_(finishMap)
MILLRACE_NEAR_(finish_reduce)
MILLRACE_NEAR_(finishReduce)
#undef MILLRACE_NEAR_

// Fails to compile for a job with a member whose name is near a hook's. The assertions are written out because the
// compiler would show a macro at length.
template <class J>
consteval void CheckNames() {
  static_assert(kFree_map<J>, "nothing calls the job's `map`: the hook is Map");
  static_assert(kFree_Mapper<J>, "nothing calls the job's `Mapper`: the hook is Map");
  static_assert(kFree_mapper<J>, "nothing calls the job's `mapper`: the hook is Map");
  static_assert(kFree_mappers<J>, "nothing calls the job's `mappers`: the hook is Mappers");
  static_assert(kFree_MultipleInputs<J>, "nothing calls the job's `MultipleInputs`: the hook is Mappers");
  static_assert(kFree_InputMappers<J>, "nothing calls the job's `InputMappers`: the hook is Mappers");
  static_assert(kFree_reduce<J>, "nothing calls the job's `reduce`: the hook is Reduce");
  static_assert(kFree_Reducer<J>, "nothing calls the job's `Reducer`: the hook is Reduce");
  static_assert(kFree_reducer<J>, "nothing calls the job's `reducer`: the hook is Reduce");
  static_assert(kFree_combine<J>, "nothing calls the job's `combine`: the hook is Combine");
  static_assert(kFree_Combiner<J>, "nothing calls the job's `Combiner`: the hook is Combine");
  static_assert(kFree_combiner<J>, "nothing calls the job's `combiner`: the hook is Combine");
  static_assert(kFree_partition<J>, "nothing calls the job's `partition`: the hook is Partition");
  static_assert(kFree_Partitioner<J>, "nothing calls the job's `Partitioner`: the hook is Partition");
  static_assert(kFree_partitioner<J>, "nothing calls the job's `partitioner`: the hook is Partition");
  static_assert(kFree_getPartition<J>, "nothing calls the job's `getPartition`: the hook is Partition");
  static_assert(kFree_GetPartition<J>, "nothing calls the job's `GetPartition`: the hook is Partition");
  static_assert(kFree_group<J>, "nothing calls the job's `group`: the hook is Group");
  static_assert(kFree_GroupBy<J>, "nothing calls the job's `GroupBy`: the hook is Group");
  static_assert(kFree_groupBy<J>, "nothing calls the job's `groupBy`: the hook is Group");
  static_assert(kFree_group_by<J>, "nothing calls the job's `group_by`: the hook is Group");
  static_assert(kFree_Grouping<J>, "nothing calls the job's `Grouping`: the hook is Group");
  static_assert(kFree_grouping<J>, "nothing calls the job's `grouping`: the hook is Group");
  static_assert(kFree_GroupingComparator<J>, "nothing calls the job's `GroupingComparator`: the hook is Group");
  static_assert(kFree_GroupKey<J>, "nothing calls the job's `GroupKey`: the hook is Group");
  static_assert(kFree_outputs<J>, "nothing calls the job's `outputs`: the hook is Outputs");
  static_assert(kFree_NamedOutputs<J>, "nothing calls the job's `NamedOutputs`: the hook is Outputs");
  static_assert(kFree_named_outputs<J>, "nothing calls the job's `named_outputs`: the hook is Outputs");
  static_assert(kFree_MultipleOutputs<J>, "nothing calls the job's `MultipleOutputs`: the hook is Outputs");
  static_assert(kFree_options<J>, "nothing calls the job's `options`: the hook is Options");
  static_assert(kFree_prepare<J>, "nothing calls the job's `prepare`: the hook is Prepare");
  static_assert(kFree_start<J>, "nothing calls the job's `start`: the hook is Start");
  static_assert(kFree_setup<J>, "nothing calls the job's `setup`: the hook is Start");
  static_assert(kFree_Setup<J>, "nothing calls the job's `Setup`: the hook is Start");
  static_assert(kFree_setUp<J>, "nothing calls the job's `setUp`: the hook is Start");
  static_assert(kFree_SetUp<J>, "nothing calls the job's `SetUp`: the hook is Start");
  static_assert(kFree_set_up<J>, "nothing calls the job's `set_up`: the hook is Start");
  static_assert(kFree_configure<J>, "nothing calls the job's `configure`: the hook is Start");
  static_assert(kFree_Configure<J>, "nothing calls the job's `Configure`: the hook is Start");
  static_assert(kFree_cleanup<J>, "nothing calls the job's `cleanup`: the hook is FinishMap and FinishReduce");
  static_assert(kFree_Cleanup<J>, "nothing calls the job's `Cleanup`: the hook is FinishMap and FinishReduce");
  static_assert(kFree_cleanUp<J>, "nothing calls the job's `cleanUp`: the hook is FinishMap and FinishReduce");
  static_assert(kFree_CleanUp<J>, "nothing calls the job's `CleanUp`: the hook is FinishMap and FinishReduce");
  static_assert(kFree_clean_up<J>, "nothing calls the job's `clean_up`: the hook is FinishMap and FinishReduce");
  static_assert(kFree_close<J>, "nothing calls the job's `close`: the hook is FinishMap and FinishReduce");
  static_assert(kFree_Close<J>, "nothing calls the job's `Close`: the hook is FinishMap and FinishReduce");
  static_assert(kFree_finish<J>, "nothing calls the job's `finish`: the hook is FinishMap and FinishReduce");
  static_assert(kFree_Finish<J>, "nothing calls the job's `Finish`: the hook is FinishMap and FinishReduce");
  static_assert(kFree_finish_map<J>, "nothing calls the job's `finish_map`: the hook is FinishMap");
  static_assert(kFree_finishMap<J>, "nothing calls the job's `finishMap`: the hook is FinishMap");
  static_assert(kFree_finish_reduce<J>, "nothing calls the job's `finish_reduce`: the hook is FinishReduce");
  static_assert(kFree_finishReduce<J>, "nothing calls the job's `finishReduce`: the hook is FinishReduce");
}

}  // namespace millrace::internal
