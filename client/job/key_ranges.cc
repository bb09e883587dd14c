// SPDX-License-Identifier: Apache-2.0
#include "client/job/key_ranges.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace millrace {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

bool Plain(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

std::size_t SharedBytes(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Sorts the keys, and merges equal ones.
void Merge(std::vector<WeighedKey>* keys) {
  std::ranges::sort(*keys, {}, &WeighedKey::key);
  std::size_t last = 0;
  for (std::size_t i = 1; i < keys->size(); ++i) {
    if ((*keys)[i].key == (*keys)[last].key) {
      (*keys)[last].weight += (*keys)[i].weight;
    } else if (++last != i) {
      (*keys)[last] = std::move((*keys)[i]);
    }
  }
  if (!keys->empty()) keys->resize(last + 1);
}

// Returns the beginnings of all ranges but the first, if none may weigh more than `most`. A key that alone weighs more
// has a range of its own.
std::vector<std::size_t> Pack(const std::vector<WeighedKey>& keys, double most) {
  std::vector<std::size_t> begins;
  double weight = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0 && weight + keys[i].weight > most) {
      begins.push_back(i);
      weight = 0;
    }
    weight += keys[i].weight;
  }
  return begins;
}

std::string ToText(const std::vector<std::string>& cuts) {
  std::string text;
  std::string_view before;
  for (const std::string& cut : cuts) {
    const std::size_t shared = SharedBytes(before, cut);
    if (!text.empty()) text += ',';
    const std::size_t skip = shared > 3 ? shared : 0;  // a shorter beginning takes less room as it is
    if (skip > 0) text += std::to_string(skip) + "+";
    for (const unsigned char byte : cut.substr(skip)) {
      if (Plain(byte)) {
        text += static_cast<char>(byte);
      } else {
        text.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
      }
    }
    before = cut;
  }
  return text;
}

// Appends what the text of one cut says. Returns false if it says nothing.
bool ParseCut(std::string_view text, std::string_view before, std::string* cut) {
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    std::size_t shared = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + plus, shared);
    if (error != std::errc() || end != text.data() + plus || shared > before.size()) return false;
    cut->append(before.substr(0, shared));
    text.remove_prefix(plus + 1);
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (!Plain(static_cast<unsigned char>(text[i]))) return false;
      cut->push_back(text[i]);
      continue;
    }
    unsigned byte = 0;
    if (text.size() - i < 3) return false;
    const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
    if (error != std::errc() || end != text.data() + i + 3) return false;
    cut->push_back(static_cast<char>(byte));
    i += 2;
  }
  return !cut->empty();
}

}  // namespace

std::vector<std::string> CutKeys(std::vector<WeighedKey> keys, std::uint32_t ranges) {
  Merge(&keys);
  double least = 0, most = 0;
  for (const WeighedKey& key : keys) most += key.weight;
  // Halves the interval between a weight that is not enough and one that is, until it is as narrow as doubles allow.
  for (int i = 0; i < 64 && least < most; ++i) {
    const double middle = least + (most - least) / 2;
    (Pack(keys, middle).size() < ranges ? most : least) = middle;
  }
  std::vector<std::string> cuts;
  for (const std::size_t begin : Pack(keys, most))
    cuts.push_back(keys[begin].key.substr(0, SharedBytes(keys[begin - 1].key, keys[begin].key) + 1));
  return cuts;
}

std::string FormatCuts(std::vector<std::string> cuts) {
  std::string text = ToText(cuts);
  std::size_t longest = 0;
  for (const std::string& cut : cuts) longest = std::max(longest, cut.size());
  while (text.size() > kMostCutText && longest > 1) {
    longest /= 2;
    for (std::string& cut : cuts) cut.resize(std::min(cut.size(), longest));
    cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
    text = ToText(cuts);
  }
  return text;
}

Result<std::vector<std::string>> ParseCuts(std::string_view text) {
  std::vector<std::string> cuts;
  for (bool more = !text.empty(); more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    std::string cut;
    if (!ParseCut(text.substr(0, comma), cuts.empty() ? std::string_view() : cuts.back(), &cut)) {
      return Invalid("the cut " + Quote(text.substr(0, comma)) +
                     " is not a key; it has letters, digits, '.', '_', '-' and bytes as %3F");
    }
    if (!cuts.empty() && cut <= cuts.back())
      return Invalid("the cuts " + Quote(cuts.back()) + " and " + Quote(cut) + " do not rise");
    cuts.push_back(std::move(cut));
    if (more) text.remove_prefix(comma + 1);
  }
  return cuts;
}

KeyRanges::KeyRanges(std::vector<std::string> cuts) : cuts_(std::move(cuts)) {
  for (const std::string& cut : cuts_) prefixes_.push_back(map::PrefixOf(cut));
  Index();
}

void KeyRanges::Index() {
  for (std::size_t first = 0; first < below_.size(); ++first) {
    const auto is_below = [first](std::uint64_t prefix) { return (prefix >> 56) < first; };
    below_[first] = static_cast<std::uint32_t>(std::ranges::partition_point(prefixes_, is_below) - prefixes_.begin());
  }
}

}  // namespace millrace
