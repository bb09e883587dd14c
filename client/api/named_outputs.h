// SPDX-License-Identifier: Apache-2.0
// Named outputs are files beside the part files, for records that are to be kept apart, like Hadoop's MultipleOutputs.
// A job declares each as an object, lists them, and hands the object to emit.To:
//
//   static constexpr millrace::NamedOutput<"late"> kLate{};
//   static constexpr millrace::NamedOutput<"large", millrace::RecordOutput> kLarge{};  // with a format of its own
//   using Outputs = millrace::NamedOutputs<kLate, kLarge>;
//   void Reduce(std::string_view order, auto& days, auto& emit) {
//     for (const std::uint64_t day : days) {
//       if (day > 30) emit.To(kLate, order, day);
//       else emit(order, day);
//     }
//   }
//
// Reduce 3 writes its kLate to OUTPUT/late-r-00003; without Key and Value, map 3 writes it to late-m-00003. A file
// exists only if something was written to it. It appears together with the part file of its task, or not at all,
// whatever fails. The maps of a job with reduces have no named outputs, since a map may have to run again after its
// output has appeared. Each output that a task writes to costs a buffer of 1 MiB. Thread rule: one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/random.h"
#include "client/api/emit.h"
#include "client/api/output_formats.h"
#include "client/job/output_files.h"

namespace millrace {

namespace internal {

// Text as a template argument.
template <std::size_t kSize>
struct Literal {
  consteval Literal(const char (&literal)[kSize]) { std::copy_n(literal, kSize, text); }  // NOLINT: it is one
  [[nodiscard]] constexpr std::string_view view() const { return {text, kSize - 1}; }
  char text[kSize] = {};
};

constexpr bool IsOutputName(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= 64 && name != "part" && name[0] != '_' && std::ranges::all_of(name, plain);
}

}  // namespace internal

// One named output of a job, and the format in which it is written.
template <internal::Literal kOutputName, class OutputFormat = TextOutput>
struct NamedOutput {
  static_assert(internal::IsOutputName(kOutputName.view()),
                "the name of an output is up to 64 letters, digits and '_', which it does not begin with, and not "
                "\"part\"");
  using Format = OutputFormat;
  static constexpr std::string_view kName = kOutputName.view();
};

// The named outputs of a job.
template <auto... kOutputs>
struct NamedOutputs {
  static constexpr std::size_t kCount = sizeof...(kOutputs);
  static constexpr bool kDistinct = [] {
    std::array<std::string_view, kCount> names{kOutputs.kName...};
    std::ranges::sort(names);
    return std::ranges::adjacent_find(names) == names.end();
  }();
  static_assert(kDistinct, "two of the job's named outputs have one name");
};

namespace internal {

template <class T>
inline constexpr bool kIsNamedOutputs = false;
template <auto... kOutputs>
inline constexpr bool kIsNamedOutputs<NamedOutputs<kOutputs...>> = true;

template <class J>
concept HasOutputs = requires {
  typename J::Outputs;
}
&&kIsNamedOutputs<typename J::Outputs>;

// Writes to one named output. Its file is made when the first record comes.
template <class Output>
class NamedWriter {
 public:
  template <class K, class V>
  void Write(OutputFiles& files, Random& random, const K& key, const V& value) {
    if (!writer_) writer_.emplace(files.Named(Output::kName), Random(random.Next()));
    writer_->Write(key, value);
  }
  void Finish() {
    if (writer_) writer_->Finish();
  }

 private:
  std::optional<typename Output::Format::Writer> writer_;
};

}  // namespace internal

// Emits to the job's output and to its named ones.
template <class Output, class Outputs>
class NamedEmitter;
template <class Output, auto... kOutputs>
class NamedEmitter<Output, NamedOutputs<kOutputs...>> : public OutputEmitter<Output> {
 public:
  NamedEmitter(typename Output::Writer& writer, OutputFiles& files, const Random& random)
      : OutputEmitter<Output>(writer), files_(files), random_(random) {}

  // Emits to one of the job's named outputs.
  template <class Named, class K, class V = Nothing>
  void To(const Named&, const K& key, const V& value = {}) {
    constexpr bool kListed = (std::is_same_v<Named, std::remove_cv_t<decltype(kOutputs)>> || ...);
    static_assert(kListed,
                  "emit.To(output, key, value): the output is not one that the job lists, as in `using Outputs "
                  "= millrace::NamedOutputs<kOne, kOther>`");
    if constexpr (kListed) {
      using KeyField = std::remove_cvref_t<decltype(internal::AsField(key))>;
      using ValueField = std::remove_cvref_t<decltype(internal::AsField(value))>;
      constexpr bool kTaken = Named::Format::template kTakes<KeyField, ValueField>;
      static_assert(kTaken,
                    "emit.To(output, key, value): the output's format cannot write what is emitted here: "
                    "specialise millrace::Codec for the type (codec.h)");
      if constexpr (kTaken) {
        std::get<internal::NamedWriter<Named>>(writers_).Write(files_, random_, internal::AsField(key),
                                                               internal::AsField(value));
      }
    }
  }
  // For the runtime: finishes the writers of the named outputs.
  void Finish() {
    std::apply([](auto&... writer) { (writer.Finish(), ...); }, writers_);
  }

 private:
  OutputFiles& files_;
  Random random_;
  std::tuple<internal::NamedWriter<std::remove_cv_t<decltype(kOutputs)>>...> writers_;
};

}  // namespace millrace
