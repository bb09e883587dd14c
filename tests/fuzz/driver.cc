// SPDX-License-Identifier: Apache-2.0
// The driver of a fuzz target without libFuzzer: runs its seeds, the committed regressions, then N mutations from a
// seed.
//
//   fuzz_frame [--inputs N] [--seed S] [FILE...]    a .hex file holds hexadecimal digits and lines that begin with #,
//   any
//                                                  other is taken as it is
//
// Mutations of inputs are kept as inputs of further ones, so that they move away from the seeds. When the target dies,
// what it was given is in crash-<target>.hex in the working directory.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <iterator>

#include "base/file.h"
#include "base/program.h"
#include "base/random.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"

namespace millrace::fuzz {
namespace {

const std::string* running = nullptr;
std::string crash_file;

// Writes what is running: with calls that are allowed in a signal handler, then dies of the signal.
void OnDeath(int number) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const int file = ::open(crash_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  for (std::size_t i = 0; running != nullptr && i < running->size(); ++i) {
    const auto byte = static_cast<unsigned char>((*running)[i]);
    const char pair[2] = {kDigits[byte >> 4], kDigits[byte & 15]};
    if (::write(file, pair, 2) != 2) break;
  }
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void Run(const std::string& input) {
  running = &input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  running = nullptr;
}

std::string FromHex(std::string_view text) {
  std::string bytes, digits;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with('#')) continue;
    std::copy_if(line.begin(), line.end(), std::back_inserter(digits), [](char c) { return std::isxdigit(c) != 0; });
  }
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

int Main(int argc, char** argv) {
  std::uint64_t inputs = 0, seed = 1;
  std::vector<std::string> corpus = Seeds();
  const std::size_t seeds = corpus.size();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if ((word == "--inputs" || word == "--seed") && i + 1 < argc) {
      (word == "--inputs" ? inputs : seed) = std::stoull(argv[++i]);
    } else {
      const std::string bytes = ReadWholeFile(word).value();
      corpus.push_back(word.ends_with(".hex") ? FromHex(bytes) : bytes);
    }
  }
  const std::string_view program = argv[0];
  crash_file = "crash-" + std::string(program.substr(program.rfind('/') + 1)) + ".hex";
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(number, OnDeath);
  std::printf("seed %llu, %zu seeds, %zu regressions\n", static_cast<unsigned long long>(seed), seeds,
              corpus.size() - seeds);
  std::fflush(stdout);
  const auto begin = std::chrono::steady_clock::now();
  Run("");
  for (const std::string& input : corpus) Run(input);
  Random random(seed);
  if (corpus.empty()) corpus.emplace_back();
  const std::size_t fixed = corpus.size();
  for (std::uint64_t n = 0; n < inputs; ++n) {
    std::string input = Mutate(corpus[random.Next() % corpus.size()], corpus[random.Next() % corpus.size()], random);
    Run(input);
    if (random.Next() % 16 != 0) continue;
    if (corpus.size() < fixed + 256) {
      corpus.push_back(std::move(input));
    } else {
      corpus[fixed + random.Next() % 256] = std::move(input);
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const std::uint64_t runs = inputs + fixed + 1;
  std::printf("%llu inputs in %.1f s, %.0f a second\n", static_cast<unsigned long long>(runs), seconds.count(),
              static_cast<double>(runs) / seconds.count());
  return 0;
}

}  // namespace
}  // namespace millrace::fuzz

int main(int argc, char** argv) {
  millrace::SetInheritedRight();
  return millrace::fuzz::Main(argc, argv);
}
