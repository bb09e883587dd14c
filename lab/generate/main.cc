// SPDX-License-Identifier: Apache-2.0
// millrace-generate makes data for jobs and benchmarks. Its exit statuses are those of the program millrace.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <thread>

#include "base/local_place.h"
#include "base/program.h"
#include "base/text.h"
#include "base/units.h"
#include "lab/generate/generator.h"

namespace {

using namespace millrace;

struct Request {
  std::string kind, size, output = "-";
  std::uint64_t seed = 1;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  generate::Shape shape;
};

std::string KindsText() {
  std::string text;
  for (const std::string& kind : generate::Kinds()) text += (text.empty() ? "" : ", ") + kind;
  return text;
}

void Declare(CLI::App& app, Request& request) {
  generate::Shape& shape = request.shape;
  app.add_option("KIND", request.kind, KindsText())->required();
  app.add_option("--size", request.size, "the most bytes to write, as with K, M, G or T")->required();
  app.add_option("-o,--output", request.output, "a file, which must not exist; -: standard output");
  app.add_option("--seed", request.seed, "seed of all random choices; the same seed gives the same bytes");
  app.add_option("--threads", request.threads, "threads that make data at once")->check(CLI::Range(1, 1024));
  app.add_option("--exponent", shape.exponent, "text: exponent of Zipf's law");
  app.add_option("--vocabulary", shape.vocabulary, "text: n words have VOCABULARY * n^GROWTH to choose from");
  app.add_option("--growth", shape.growth, "text: exponent of the vocabulary's growth (Heaps' law)");
  app.add_option("--line-words", shape.line_words, "text: mean number of words in a line");
  app.add_option("--ratings", shape.ratings, "ratings: mean number of ratings of a movie");
  app.add_option("--line-bases", shape.line_bases, "dna: bases in a line");
  app.add_option("--centres", shape.centres, "points: number of clusters");
  for (CLI::Option* option : app.get_options()) option->capture_default_str();
}

int Fail(const Status& failure, int status) {
  std::cerr << "millrace-generate: " << failure.message() << "\n";
  return status;
}

Status Write(const generate::Generator& generator, const Request& request) {
  if (request.output == "-") return Produce(generator, STDOUT_FILENO, "standard output", request.threads);
  MILLRACE_ASSIGN(LocalFile file, LocalFile::Open(request.output, {}));
  MILLRACE_TRY(Produce(generator, file.fd(), request.output, request.threads));
  return file.Commit();
}

int Main(int argc, char** argv) {
  Request request;
  CLI::App app("Writes seeded data: Zipf text, movie ratings, DNA, points, edges, tuples, terasort records.");
  Declare(app, request);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return Fail(Invalid(std::string(error.what()) + "; --help says what there is"), 2);
  }
  const Result<std::uint64_t> size = ParseBytes(request.size);
  if (!size.ok()) return Fail(size.status().Within("--size"), 2);
  const auto generator = generate::MakeGenerator(request.kind, *size, request.seed, request.shape);
  if (!generator.ok()) return Fail(generator.status(), 2);
  const Status written = Write(**generator, request);
  return written.ok() ? 0 : Fail(written, 1);
}

}  // namespace

int main(int argc, char** argv) {
  return RunProgram("millrace-generate", [&] { return Main(argc, argv); });
}
