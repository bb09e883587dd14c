#include "lab/generate/generator.h"

#include "base/text.h"
#include "lab/generate/kinds.h"
#include "lab/generate/text.h"

namespace millrace::generate {
namespace {

template <class Number>
Status InRange(std::string_view name, Number value, Number least, Number most) {
  if (value >= least && value <= most) return Status::Ok();  // no comparison holds for NaN
  return Invalid(std::string(name) + " " + std::to_string(value) + " is not in " + std::to_string(least) + " to " +
                 std::to_string(most));
}

Status Check(const Shape& shape) {
  MILLRACE_TRY(InRange("exponent", shape.exponent, 0.1, 3.0));
  MILLRACE_TRY(InRange("vocabulary", shape.vocabulary, 0.1, 1e6));
  MILLRACE_TRY(InRange("growth", shape.growth, 0.1, 1.0));
  MILLRACE_TRY(InRange("line-words", shape.line_words, 1u, 1'000u));
  MILLRACE_TRY(InRange("ratings", shape.ratings, 1u, 10'000u));
  MILLRACE_TRY(InRange("line-bases", shape.line_bases, 1u, 10'000u));
  return InRange("centres", shape.centres, 1u, 65'536u);
}

}  // namespace

const std::vector<std::string>& Kinds() {
  static const std::vector<std::string> kinds = {"text", "ratings", "dna", "points", "edges", "tuples", "records"};
  return kinds;
}

Result<std::unique_ptr<Generator>> MakeGenerator(std::string_view kind, std::uint64_t size, std::uint64_t seed,
                                                 const Shape& shape) {
  MILLRACE_TRY(Check(shape));
  std::unique_ptr<Generator> made;
  if (kind == "ratings" && size > 0 && size < Ratings::kLeastBytes) {
    return Invalid("ratings of " + std::to_string(size) + " bytes: there must be " +
                   std::to_string(Ratings::kLeastBytes) + " at least");
  }
  if (kind == "text") made = std::make_unique<Text>(size, seed, shape);
  if (kind == "ratings") made = std::make_unique<Ratings>(size, seed, shape.ratings);
  if (kind == "dna") made = std::make_unique<Dna>(size, seed, shape.line_bases);
  if (kind == "points") made = std::make_unique<Points>(size, seed, shape.centres);
  if (kind == "edges") made = std::make_unique<Edges>(size, seed);
  if (kind == "tuples") made = std::make_unique<Tuples>(size, seed);
  if (kind == "records") made = std::make_unique<Records>(size, seed);
  if (made != nullptr) return made;
  const std::optional<std::string> nearest = Nearest(kind, Kinds());
  return Invalid("no data of the kind " + Quote(kind) + (nearest ? "; did you mean " + Quote(*nearest) + "?" : ""));
}

}  // namespace millrace::generate
