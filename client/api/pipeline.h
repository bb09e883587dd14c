// SPDX-License-Identifier: Apache-2.0
// RunPipeline runs a pipeline of jobs; main calls it. A pipeline is a struct of two or three members; its manual is
// client/process/pipeline.h.
// Thread rule: main's.
#pragma once

#include <concepts>
#include <type_traits>

#include "client/api/job.h"
#include "client/process/pipeline.h"
#include "client/process/run_pipeline.h"

namespace millrace {
namespace internal {

template <class T>
struct JobsOf;
template <class... Jobs>
struct JobsOf<Pipeline<Jobs...>> {
  static std::vector<JobBinding> Bind() { return {BindJob<Jobs>()...}; }
};

template <class T>
inline constexpr bool kIsPipeline = false;
template <class... Jobs>
inline constexpr bool kIsPipeline<Pipeline<Jobs...>> = sizeof...(Jobs) > 0;

template <class P>
concept NamesPipeline = requires {
  requires kIsPipeline<typename P::Pipeline>;
};
template <class P>
concept Drives = requires(typename P::Pipeline& pipeline) {
  { P::Drive(pipeline) } -> std::same_as<Status>;
};

template <class P>
PipelineBinding BindPipeline() {
  constexpr bool kNamed = NamesPipeline<P>;
  static_assert(kNamed, "a pipeline names its jobs: `using Pipeline = millrace::Pipeline<Job, ...>`");
  PipelineBinding binding;
  if constexpr (kNamed) {
    constexpr bool kDrives = Drives<P>;
    static_assert(kDrives, "a pipeline has `static millrace::Status Drive(Pipeline& pipeline)`");
    static_assert(!NamesOptions<P> || DeclaresOptions<P>,
                  "Options is `static void Options(millrace::JobOptions& options)`");
    binding.jobs = JobsOf<typename P::Pipeline>::Bind();
    binding.declare = []([[maybe_unused]] JobOptions& options) {
      if constexpr (DeclaresOptions<P>) P::Options(options);
    };
    if constexpr (kDrives) {
      binding.drive = [](PipelineBase::Facts facts, const JobOptions& options, StepRunner& runner) {
        typename P::Pipeline pipeline(std::move(facts), options, runner);
        return P::Drive(pipeline);
      };
    }
  }
  return binding;
}

}  // namespace internal

// Returns the exit status for main (client/process/run_pipeline.h).
template <class P>
[[nodiscard]] int RunPipeline(int argc, char** argv) {
  return internal::RunPipelineProgram(internal::BindPipeline<P>(), argc, argv);
}

}  // namespace millrace
