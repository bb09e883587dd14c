// SPDX-License-Identifier: Apache-2.0
#include "client/job/key_sample.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "client/format/compression.h"
#include "client/format/opened_source.h"
#include "client/job/segments.h"
#include "client/job/task_context.h"

namespace millrace {
namespace {

constexpr std::uint64_t kSlice = 4 << 10;                            // bytes that a reader gets at a time
constexpr std::uint64_t kLongestRecord = std::uint64_t{64} << 20;    // a piece with a longer one is left out
constexpr std::uint64_t kLeastOpened = std::uint64_t{512} << 10;     // bytes of a compressed file
constexpr std::uint64_t kLeastSample = std::uint64_t{1} << 20;       // bytes
constexpr std::uint64_t kSampleOfReduce = std::uint64_t{128} << 10;  // bytes
constexpr std::uint64_t kMostSample = std::uint64_t{64} << 20;       // bytes, unless more are asked for
constexpr std::uint64_t kLeastKeys = 100;                            // of a reduce, before more is read
constexpr std::size_t kParts = 8;  // of the sample, one of which a failure takes with it
constexpr std::size_t kMostWholeFiles = 256;
constexpr std::size_t kMostOpened = 16;  // compressed files
constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
constexpr std::uint64_t kSeed = 1;

// A source that is asked for a little at a time. Whoever asks for much of a block has it checked as a whole, and a
// sample takes little of each.
class InSteps final : public ByteSource {
 public:
  explicit InSteps(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) override {
    bool goes_on = true;
    const Sink noting = [&](std::string_view piece) { return goes_on = sink(piece); };
    std::uint64_t step = kFirstStep;
    while (size > 0 && goes_on) {
      const std::uint64_t now = std::min(size, step);
      MILLRACE_TRY(source_->Stream(offset, now, noting));
      offset += now;
      size -= now;
      step = std::min(2 * step, kLongestStep);
    }
    return Status::Ok();
  }
  Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override {
    return source_->ReadAt(offset, size, out);
  }
  [[nodiscard]] bool decompressed() const override { return source_->decompressed(); }

 private:
  static constexpr std::uint64_t kFirstStep = std::uint64_t{64} << 10, kLongestStep = std::uint64_t{512} << 10;
  const std::unique_ptr<ByteSource> source_;
};

// Bytes of all sources of a map together.
struct BytesOfMap {
  std::uint64_t read = 0;     // that readers got
  std::uint64_t offered = 0;  // that sources had for them, in whole pieces
};

// The beginning of what a source streams. Its reader is stopped once it has had enough and has found a record.
class FirstBytes final : public ByteSource {
 public:
  FirstBytes(std::unique_ptr<ByteSource> source, std::uint64_t enough, const Counter& records, BytesOfMap* bytes)
      : source_(std::move(source)), enough_(enough), records_(records), bytes_(bytes) {}

  Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) override {
    return source_->Stream(offset, size, [&](std::string_view piece) {
      bytes_->offered += piece.size();
      while (!piece.empty()) {
        EndIfEnough();
        const std::string_view slice = piece.substr(0, kSlice);
        Count(slice.size());
        if (!sink(slice)) return false;
        piece.remove_prefix(slice.size());
      }
      return true;
    });
  }
  Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override {
    EndIfEnough();
    bytes_->offered += size;
    Count(size);
    return source_->ReadAt(offset, size, out);
  }
  [[nodiscard]] bool decompressed() const override { return source_->decompressed(); }

 private:
  void EndIfEnough() {
    if (given_ == 0) records_before_ = records_.value();
    if (given_ >= kLongestRecord || (given_ >= enough_ && records_.value() > records_before_)) throw EnoughRead{};
  }
  void Count(std::uint64_t bytes) {
    given_ += bytes;
    bytes_->read += bytes;
  }

  const std::unique_ptr<ByteSource> source_;
  const std::uint64_t enough_;
  const Counter& records_;
  BytesOfMap* const bytes_;
  std::uint64_t given_ = 0;
  std::int64_t records_before_ = 0;  // that other sources of the map gave
};

// A part of the input that one map of the sample reads.
struct Piece {
  Split split;
  std::string name;
  std::uint32_t index = 0;  // of the input
  InputFile file;
  std::uint64_t enough = 0;  // bytes, as the reader gets them
};

// Pieces that one map reads, and how much of the input they stand for, in bytes as they are stored, or numbers.
struct Batch {
  std::vector<Piece> pieces;
  double stands_for = 0;
  bool opened = false;  // it is one compressed file
};

struct NamedFile {
  InputFile file;
  std::uint32_t index = 0;
};

class Sampler {
 public:
  Sampler(const JobBinding& binding, Preparation& job, SideFiles& side_files, const std::string& scratch)
      : binding_(binding), job_(job), side_files_(side_files), scratch_(scratch) {}

  Result<std::vector<WeighedKey>> Run() {
    const std::uint64_t asked = job_.options().bytes(kSampleOption);
    if (binding_.input.split_by != SplitBy::kNumbers) MILLRACE_TRY(List());
    const std::uint64_t wanted = std::uint64_t{job_.reduces()} * kSampleOfReduce;
    std::uint64_t size = asked != 0 ? asked : std::clamp(wanted, kLeastSample, kMostSample);
    while (true) {
      MILLRACE_ASSIGN(std::vector<WeighedKey> keys, SampleOf(size));
      const bool enough = records_ >= kLeastKeys * job_.reduces() || everything_;
      if (asked != 0 || enough || size >= kMostSample) return keys;
      size = std::min(8 * size, kMostSample);  // Map gives few keys
    }
  }

 private:
  Status List() {
    for (std::uint32_t index = 0; index < job_.inputs().size(); ++index) {
      if (!binding_.mappers.empty() && index >= binding_.mappers.size())
        return Invalid("the job has a mapper for each INPUT; name one INPUT for each mapper");
      MILLRACE_ASSIGN(const std::vector<InputFile> listed, job_.files().List(job_.inputs()[index]));
      for (const InputFile& file : listed) {
        if (file.length > 0) files_.push_back({file, index});
        total_ += file.length;
      }
    }
    return Status::Ok();
  }

  Result<std::vector<WeighedKey>> SampleOf(std::uint64_t size) {
    const std::uint64_t pieces = std::max<std::uint64_t>(size / kSamplePiece, 1);
    std::vector<Batch> batches;
    if (binding_.input.split_by == SplitBy::kNumbers) {
      batches = BatchesOfNumbers(pieces);
    } else {
      MILLRACE_ASSIGN(batches, BatchesOfFiles(size, pieces));
    }
    records_ = 0;
    std::vector<WeighedKey> keys;
    Status failure;
    bool any = false;
    for (const Batch& batch : batches) {
      Status taken = Take(batch, &keys);
      if (!taken.ok()) failure = taken;
      any |= taken.ok();
      if (taken.ok() || batch.pieces.size() == 1) continue;
      for (const Batch& part : PartsOf(batch)) any |= Take(part, &keys).ok();
    }
    const EngineOptions& engine = job_.options().engine();
    const bool goes_on = engine.skip_bad_records > 0 || engine.max_failed_maps > 0;
    if (!failure.ok() && !any && !goes_on)
      return Status(failure.code(), "sample the keys of the input: " + failure.message());
    return keys;
  }

  // Returns smaller batches, so that a piece at which Map fails takes few others with it.
  static std::vector<Batch> PartsOf(const Batch& batch) {
    std::vector<Batch> parts(std::min(kParts, batch.pieces.size()));
    const double each = batch.stands_for / static_cast<double>(batch.pieces.size());
    for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
      parts[i % parts.size()].pieces.push_back(batch.pieces[i]);
      parts[i % parts.size()].stands_for += each;
    }
    return parts;
  }

  std::vector<Batch> BatchesOfNumbers(std::uint64_t pieces) {
    const std::uint64_t numbers = binding_.numbers(job_.options()).records;
    everything_ = numbers <= pieces * kSampleNumbers;
    if (numbers == 0) return {};
    Batch batch;
    batch.stands_for = static_cast<double>(numbers);
    if (everything_) pieces = 1;
    const std::uint64_t length = everything_ ? numbers : kSampleNumbers;
    for (std::uint64_t i = 0; i < pieces; ++i)
      batch.pieces.push_back({{"", Place(numbers - length + 1, i, pieces), length, numbers}, "", 0, {}, 0});
    return {std::move(batch)};
  }

  Result<std::vector<Batch>> BatchesOfFiles(std::uint64_t size, std::uint64_t pieces) {
    everything_ = total_ <= size && files_.size() <= kMostWholeFiles;
    Batch plain;
    std::vector<Batch> batches;  // a compressed file each
    const auto add = [&](Piece piece, double stands_for) {
      plain.pieces.push_back(std::move(piece));
      plain.stands_for += stands_for;
    };
    const double step = static_cast<double>(total_) / static_cast<double>(pieces);
    std::uint64_t before = 0, piece = 0;  // bytes of the files before this one, and pieces that begin before it
    for (const NamedFile& each : files_) {
      const InputFile& file = each.file;
      const std::uint64_t first = piece;
      while (piece < pieces && Place(total_, piece, pieces) < before + file.length) ++piece;
      // However few bytes a compressed file has, it may hold most records.
      const bool opened = job_.options().engine().decompress && CompressionOfName(file.path) != Compression::kNone;
      const bool always = everything_ || opened;
      const double stands_for = always ? static_cast<double>(file.length) : step * static_cast<double>(piece - first);
      const Piece all{{file.path, 0, file.length, file.length}, file.name, each.index, file, kNoLimit};
      if (always || piece > first) {
        MILLRACE_ASSIGN(const bool compressed, IsCompressed(each));
        if (compressed) {
          batches.push_back({{all}, stands_for, true});
          if (!everything_) batches.back().pieces[0].enough = std::max((piece - first) * kSamplePiece, kLeastOpened);
        } else if (binding_.RulesOf(each.index).split_by == SplitBy::kFile || file.length <= 2 * kSamplePiece) {
          add(all, stands_for);
        } else if (everything_) {
          for (std::uint64_t i = 0; i < kParts; ++i) {
            Piece part = all;
            part.split.offset = Part(file.length, i, kParts);
            part.split.length = Part(file.length, i + 1, kParts) - part.split.offset;
            const auto length = static_cast<double>(part.split.length);
            add(std::move(part), length);
          }
        } else {
          for (std::uint64_t i = first; i < piece; ++i) {
            Piece part = all;
            part.split.offset = Place(total_, i, pieces) - before;
            part.split.length = std::min(file.length - part.split.offset, kLongestRecord);
            part.enough = kSamplePiece;
            add(std::move(part), step);
          }
        }
      }
      before += file.length;
    }
    Thin(&batches);
    if (!plain.pieces.empty()) batches.push_back(std::move(plain));
    return batches;
  }

  // Leaves kMostOpened compressed files, which stand for the others.
  static void Thin(std::vector<Batch>* opened) {
    if (opened->size() <= kMostOpened) return;
    double all = 0, left = 0;
    for (const Batch& batch : *opened) all += batch.stands_for;
    std::vector<Batch> some;
    for (std::size_t i = 0; i < kMostOpened; ++i)
      some.push_back(std::move((*opened)[Part(opened->size(), i, kMostOpened)]));
    for (const Batch& batch : some) left += batch.stands_for;
    for (Batch& batch : some) batch.stands_for *= all / left;
    *opened = std::move(some);
  }

  // Runs a map over the batch and appends the keys that it emits.
  Status Take(const Batch& batch, std::vector<WeighedKey>* keys) {
    const EngineOptions& engine = job_.options().engine();
    TaskContext context({{{JobId{0}, TaskKind::kMap, 0}, 0}, "sample", 1, job_.reduces(), scratch_, engine.task_memory},
                        job_.options(), side_files_);
    const Counter& records = context.counter("millrace", "map_input_records");
    BytesOfMap bytes;
    std::uint64_t taken = 0;  // of a compressed file, as it is stored
    std::vector<MapInput> inputs;
    for (const Piece& piece : batch.pieces) {
      MapInput& input = inputs.emplace_back();
      input.split = piece.split;
      input.name = piece.name;
      input.index = piece.index;
      if (binding_.input.split_by == SplitBy::kNumbers) {
        bytes.read += piece.split.length;
        continue;
      }
      MILLRACE_ASSIGN(std::unique_ptr<ByteSource> stored, job_.files().Open(piece.file));
      std::unique_ptr<ByteSource> source = std::make_unique<InSteps>(std::move(stored));
      if (binding_.RulesOf(piece.index).decompresses && engine.decompress)
        source = std::make_unique<OpenedSource>(std::move(source), piece.split, binding_.RulesOf(piece.index).kind(),
                                                [&](std::uint64_t so_far) { taken = so_far; });
      input.source = std::make_unique<FirstBytes>(std::move(source), piece.enough, records, &bytes);
    }
    MapAttempt attempt{context, inputs, {}, nullptr, Random(kSeed), nullptr, {}};
    const std::string run = scratch_ + "/sample.run";
    attempt.collector = {1, context.facts().memory, run, scratch_};
    MILLRACE_TRY(Map(attempt));
    auto got = static_cast<double>(bytes.read);
    // `taken` includes bytes that were decompressed and not read.
    if (batch.opened && taken > 0) got *= static_cast<double>(taken) / static_cast<double>(bytes.offered);
    return Append(run, got == 0 ? 0 : batch.stands_for / got, keys);
  }

  Status Map(MapAttempt& attempt) {
    try {
      return binding_.map(attempt);
    } catch (const std::exception& e) {
      return Invalid(std::string("the job's map threw an exception: ") + e.what());
    } catch (...) {
      return Invalid("the job's map threw something that is not a std::exception");
    }
  }

  // Appends the keys of a run, each with `weight` a record.
  Status Append(const std::string& run, double weight, std::vector<WeighedKey>* keys) {
    MILLRACE_ASSIGN(const MappedSegments segments, MappedSegments::OpenRun(run));
    const std::size_t first = keys->size();
    for (run::SegmentCursor& segment : segments.Cursors()) {
      while (segment.Next()) {
        ++records_;
        if (keys->size() > first && keys->back().key == segment.key()) {
          keys->back().weight += weight;
        } else {
          keys->push_back({std::string(segment.key()), weight});
        }
      }
      MILLRACE_TRY(segment.status());
    }
    (void)::unlink(run.c_str());
    return Status::Ok();
  }

  Result<bool> IsCompressed(const NamedFile& each) {
    if (!binding_.RulesOf(each.index).decompresses || !job_.options().engine().decompress) return false;
    MILLRACE_ASSIGN(const std::string first, job_.Read(each.file, 0, kCompressionBytes));
    return CompressionOf(first) != Compression::kNone;
  }

  // Returns where part i begins if `whole` is cut into `parts` equal ones.
  static std::uint64_t Part(std::uint64_t whole, std::uint64_t i, std::uint64_t parts) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(whole) * i / parts);
  }

  // Returns a place in that part: not its beginning, since what repeats itself in the input may do so as often as parts
  // do.
  static std::uint64_t Place(std::uint64_t whole, std::uint64_t i, std::uint64_t parts) {
    const std::uint64_t begin = Part(whole, i, parts), length = Part(whole, i + 1, parts) - begin;
    return length == 0 ? begin : begin + Random(kSeed + i).Below(length);
  }

  const JobBinding& binding_;
  Preparation& job_;
  SideFiles& side_files_;
  const std::string& scratch_;
  std::vector<NamedFile> files_;
  std::uint64_t total_ = 0;    // their bytes
  std::uint64_t records_ = 0;  // that the last sample's maps emitted
  bool everything_ = false;    // the last sample was the whole input
};

}  // namespace

Result<std::vector<WeighedKey>> SampleKeys(const JobBinding& binding, Preparation& job, SideFiles& side_files,
                                           const std::string& scratch) {
  return Sampler(binding, job, side_files, scratch).Run();
}

Status PrepareCuts(const JobBinding& binding, Preparation& job, SideFiles& side_files, const std::string& scratch) {
  if (job.reduces() < 2 || !job.options().text(kCutsOption).empty()) return Status::Ok();
  MILLRACE_ASSIGN(std::vector<WeighedKey> keys, SampleKeys(binding, job, side_files, scratch));
  return job.Set(kCutsOption, FormatCuts(CutKeys(std::move(keys), job.reduces())));
}

}  // namespace millrace
