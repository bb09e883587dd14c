// SPDX-License-Identifier: Apache-2.0
// WordSequences<N> is an input format whose records are N consecutive words of a file, joined by '|': for "a b c d"
// with N = 3 the records are "a|b|c" and "b|c|d", each with its words. Words lie between ASCII white space (words.h). A
// sequence continues over the end of a line, but not of a file. It belongs to the split in which its first word starts.
// So a map reads past the end of its split for the N - 1 words that follow, and skips a word that started before the
// split.
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "client/api/job.h"
#include "examples/words/words.h"

namespace millrace::examples {

template <std::size_t kWords>
struct WordSequence {
  std::string_view text;  // the words, joined; it and `words` live for the call
  std::array<std::string_view, kWords> words;
};

// Cuts consecutive pieces of text into sequences. Each word is copied once, to the end of a buffer in which every
// sequence is then a range.
template <std::size_t kWords, class OnSequence>
class SequenceCutter {
 public:
  // If `skip_first`, the first piece begins inside a word that belongs to another split.
  SequenceCutter(bool skip_first, OnSequence& on_sequence)
      : on_sequence_(on_sequence), text_(kRoom), skipping_(skip_first) {}

  // Takes the next piece, whose first byte is at `offset` in the file. Returns false if a word is too long.
  bool Feed(std::string_view piece, std::uint64_t offset) {
    const char* const begin = piece.data();
    if (offset == 0 && !piece.empty()) mark_ = !IsSpace(piece.front());
    if ((open_ || skipping_) && !TakeRest(&piece, offset)) return !too_long_;
    const char* const end = piece.data() + piece.size();
    std::size_t tail = piece.size();
    while (tail > 0 && !IsSpace(piece[tail - 1])) --tail;
    ForEachWord(piece.substr(0, tail), [&](std::string_view word) {
      Begin();
      AppendWord(word, end);
      End(offset + static_cast<std::uint64_t>(word.data() - begin));
    });
    if (tail < piece.size() && left_ > 0) {
      Begin();
      Append(piece.substr(tail));
      open_ = true;
    }
    return !too_long_;
  }
  // Ends the split: the bytes fed from now on lie after it.
  void EndSplit() {
    ended_ = true;
    const std::uint64_t own = words_ + (open_ ? 1 : 0);
    left_ = own == 0 ? 0 : own + kWords - 1 - words_;
  }
  // Ends the file.
  void EndFile(std::uint64_t offset) {
    if (open_) End(offset);
    left_ = 0;
  }
  // Returns true as long as further words belong to sequences of the split.
  [[nodiscard]] bool wants_more() const { return left_ > 0; }

 private:
  static constexpr std::size_t kRoom = std::size_t{64} << 10;

  // Takes the rest of the word that began in an earlier piece. Returns false if the piece has nothing more.
  bool TakeRest(std::string_view* piece, std::uint64_t offset) {
    const auto end = static_cast<std::size_t>(std::find_if(piece->begin(), piece->end(), IsSpace) - piece->begin());
    if (open_) Append(piece->substr(0, end));
    if (end == piece->size()) return false;
    piece->remove_prefix(end);
    if (open_) End(offset);
    open_ = skipping_ = false;
    return true;
  }
  void Begin() {
    std::copy(starts_ + 1, starts_ + kWords, starts_);
    if (size_ > 0) Append("|");
    starts_[kWords - 1] = size_;
  }
  // Appends a word. Most words are short, and copying 16 bytes is faster than copying a few. Bytes can be read up to
  // `end`.
  void AppendWord(std::string_view word, const char* end) {
    constexpr std::size_t kShort = 16;
    if (word.size() > kShort || static_cast<std::size_t>(end - word.data()) < kShort || text_.size() - size_ < kShort) {
      Append(word);
      return;
    }
    std::memcpy(text_.data() + size_, word.data(), kShort);
    size_ += word.size();
  }
  void Append(std::string_view bytes) {
    if (text_.size() - size_ < bytes.size() && !MakeRoom(bytes.size())) return;
    std::memcpy(text_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  // Removes a byte order mark from the first word of the file. Returns false if nothing is left of the word.
  bool TakeMark() {
    mark_ = false;
    const std::size_t mark = MarkSize({text_.data(), size_});
    std::memmove(text_.data(), text_.data() + mark, size_ - mark);
    size_ -= mark;
    return size_ > 0;
  }
  void End(std::uint64_t offset) {
    if (mark_ && !TakeMark()) {
      if (ended_) left_ = 0;  // the split has no word
      return;
    }
    if (left_ == 0) return;
    --left_;
    if (++words_ < kWords) return;
    WordSequence<kWords> sequence{{text_.data() + starts_[0], size_ - starts_[0]}, {}};
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::size_t end = i + 1 == kWords ? size_ : starts_[i + 1] - 1;
      sequence.words[i] = {text_.data() + starts_[i], end - starts_[i]};
    }
    on_sequence_(sequence, offset);
  }
  // Drops all but the last words, since only these are still needed. The buffer grows when they are long.
  bool MakeRoom(std::size_t bytes) {
    const std::size_t drop = starts_[0];
    std::memmove(text_.data(), text_.data() + drop, size_ - drop);
    size_ -= drop;
    for (std::size_t& start : starts_) start -= std::min(start, drop);
    too_long_ = too_long_ || size_ + bytes > kMaxRecordBytes;
    if (too_long_) {
      left_ = 0;
      return false;
    }
    if (text_.size() - size_ < std::max(bytes, kRoom / 2)) text_.resize(2 * (size_ + bytes) + kRoom);
    return true;
  }

  OnSequence& on_sequence_;
  std::vector<char> text_;  // the last words, joined
  std::size_t size_ = 0;
  std::size_t starts_[kWords] = {};         // where the last words begin in text_
  std::uint64_t words_ = 0;                 // how many words are complete
  std::uint64_t left_ = ~std::uint64_t{0};  // how many words are still to be taken
  bool open_ = false;                       // the last word may continue in the next piece
  bool mark_ = false;                       // the word begins where the file does
  bool ended_ = false;                      // the split has ended
  bool skipping_;
  bool too_long_ = false;
};

inline Status EndsEarly(const Split& split, std::uint64_t at) {
  return Corrupt(Quote(split.name) + " ends at byte " + std::to_string(at) + " instead of " +
                 std::to_string(split.file_length));
}

template <std::size_t kWords>
struct WordSequences {
  using Record = WordSequence<kWords>;
  static constexpr SplitBy kSplitBy = SplitBy::kBlock;
  static constexpr std::uint32_t kRecordBytes = 0;
  static constexpr bool kReadsText = true;

  template <class OnRecord>
  static Status Read(ByteSource& source, const Split& split, const ReadOptions&, OnRecord&& on_record) {
    std::string look;
    if (split.offset > 0) MILLRACE_TRY(source.ReadAt(split.offset - 1, 1, &look));
    const bool inside = !look.empty() && !IsSpace(look[0]);
    SequenceCutter<kWords, OnRecord> cutter(inside, on_record);
    std::uint64_t at = split.offset;
    bool fits = true;
    MILLRACE_TRY(source.Stream(split.offset, split.length, [&](std::string_view piece) {
      fits = cutter.Feed(piece, at);
      at += piece.size();
      return fits;
    }));
    cutter.EndSplit();
    constexpr std::uint64_t kMostLook = std::uint64_t{8} << 20;
    for (std::uint64_t step = 4096; fits && cutter.wants_more(); step = std::min(step * 4, kMostLook)) {
      if (source.decompressed()) {  // the whole file has come
        cutter.EndFile(at);
        break;
      }
      look.clear();
      MILLRACE_TRY(source.ReadAt(at, step, &look));
      fits = cutter.Feed(look, at);
      at += look.size();
      if (!look.empty()) continue;
      if (at < split.file_length) return EndsEarly(split, at);
      cutter.EndFile(at);
    }
    if (fits) return Status::Ok();
    return Invalid("words before byte " + std::to_string(at) + " of " + Quote(split.name) +
                   " are longer than 2 GiB, the most that a record may have");
  }
};

}  // namespace millrace::examples
