// SPDX-License-Identifier: Apache-2.0
// terasort INPUT OUTPUT: records of 100 bytes in order of their first 10. Sorts references (eight bytes of the key and
// the record's number): scattered by the key's first bits, each part sorted while it lies in the cache; then the
// records are gathered into the output, each read and written once.
#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>

#include "tests/bench/limits/common.h"

namespace {

using namespace millrace::limits;

constexpr std::size_t kRecord = 100;
constexpr int kBits = 11;
constexpr std::size_t kParts = std::size_t{1} << kBits;
using Counts = std::array<std::size_t, kParts>;

struct Reference {
  std::uint64_t key;  // its first eight bytes, as a number that compares like them
  std::uint64_t number;
};

std::uint64_t KeyOf(const char* record) {
  std::uint64_t key;
  std::memcpy(&key, record, sizeof key);
  return __builtin_bswap64(key);
}

class Sort {
 public:
  Sort(std::string_view input, const char* output)
      : input_(input), records_(input.size() / kRecord), references_(Huge<Reference>(records_)), path_(output) {
    out_ = ::open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (out_ < 0) Die(path_);
  }

  void Work(int t) {
    const std::size_t from = records_ * static_cast<std::size_t>(t) / kThreads;
    const std::size_t to = records_ * (static_cast<std::size_t>(t) + 1) / kThreads;
    Populate(input_.substr(from * kRecord, (to - from) * kRecord));
    for (std::size_t i = from; i < to; ++i) ++counts_[t][KeyOf(Record(i)) >> (64 - kBits)];
    counted_.arrive_and_wait();
    Counts place{};
    std::size_t sum = 0;
    for (std::size_t part = 0; part < kParts; ++part) {
      if (t == 0) starts_[part] = sum;
      for (int other = 0; other < kThreads; ++other) {
        if (other == t) place[part] = sum;
        sum += counts_[other][part];
      }
    }
    for (std::size_t i = from; i < to; ++i) {
      const std::uint64_t key = KeyOf(Record(i));
      references_[place[key >> (64 - kBits)]++] = {key, i};
    }
    scattered_.arrive_and_wait();
    std::vector<char> buffer;
    for (std::size_t part; (part = next_++) < kParts;) WritePart(part, &buffer);
  }

 private:
  [[nodiscard]] const char* Record(std::uint64_t i) const { return input_.data() + i * kRecord; }
  void WritePart(std::size_t part, std::vector<char>* buffer) {
    const std::size_t begin = starts_[part], end = part + 1 < kParts ? starts_[part + 1] : records_;
    std::sort(references_ + begin, references_ + end, [&](const Reference& a, const Reference& b) {
      if (a.key != b.key) return a.key < b.key;
      const int order = std::memcmp(Record(a.number) + 8, Record(b.number) + 8, 2);
      return order != 0 ? order < 0 : a.number < b.number;
    });
    buffer->resize((end - begin) * kRecord);
    constexpr std::size_t kAhead = 16;
    for (std::size_t i = begin; i < end; ++i) {
      if (i + kAhead < end) {
        const char* const soon = Record(references_[i + kAhead].number);
        __builtin_prefetch(soon);
        __builtin_prefetch(soon + kRecord - 1);
      }
      std::memcpy(buffer->data() + (i - begin) * kRecord, Record(references_[i].number), kRecord);
    }
    for (std::size_t done = 0; done < buffer->size();) {
      const ssize_t wrote =
          ::pwrite(out_, buffer->data() + done, buffer->size() - done, static_cast<off_t>(begin * kRecord + done));
      if (wrote < 0) Die(path_);
      done += static_cast<std::size_t>(wrote);
    }
  }

  std::string_view input_;
  std::size_t records_;
  Reference* references_;
  std::string path_;
  int out_;
  Counts counts_[kThreads] = {}, starts_{};
  std::barrier<> counted_{kThreads}, scattered_{kThreads};
  std::atomic<std::size_t> next_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Sort sort(MapFile(argv[1]), argv[2]);
  InThreads([&](int t) { sort.Work(t); });
  std::_Exit(0);
}
