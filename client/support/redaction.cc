// SPDX-License-Identifier: Apache-2.0
#include "client/support/redaction.h"

#include <algorithm>
#include <array>
#include <span>

namespace millrace::support {
namespace {

constexpr auto kNone = std::string_view::npos;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsAlnum(char c) { return (c >= '0' && c <= '9') || (Lower(c) >= 'a' && Lower(c) <= 'z'); }
bool IsOfName(char c) { return IsAlnum(c) || c == '_' || c == '.' || c == '-'; }
bool IsSpace(char c) { return c == ' ' || c == '\t'; }
bool IsQuote(char c) { return c == '"' || c == '\'' || c == '`'; }

// Lower case, without what separates words: "api-key" and "ApiKey" are alike.
std::string Squeezed(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (IsAlnum(c)) plain += Lower(c);
  }
  return plain;
}

bool HasWord(std::string_view plain, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return plain.find(word) != kNone; });
}

constexpr std::array<std::string_view, 15> kSecretWords = {
    "secret",    "password", "passwd",     "passphrase",    "pwd",    "token",     "credential", "apikey",
    "accesskey", "authkey",  "privatekey", "authorization", "cookie", "signature", "bearer"};
constexpr std::array<std::string_view, 2> kWholeLineWords = {"authorization", "cookie"};

// A line that is being cleaned, from left to right.
class Line {
 public:
  explicit Line(std::string_view line) : line_(line) {}

  std::string Clean() {
    while (at_ < line_.size()) {
      if (Url() || Scheme() || JobOption() || KeyId() || Name()) continue;
      out_ += line_[at_++];
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] char Before() const { return at_ == 0 ? ' ' : line_[at_ - 1]; }
  [[nodiscard]] char At(std::size_t at) const { return at < line_.size() ? line_[at] : ' '; }
  [[nodiscard]] bool Begins(std::size_t at, std::string_view word) const {
    return at + word.size() <= line_.size() &&
           std::equal(word.begin(), word.end(), line_.begin() + static_cast<std::ptrdiff_t>(at),
                      [](char a, char b) { return a == Lower(b); });
  }
  [[nodiscard]] std::size_t EndOfWord(std::size_t from) const {
    while (from < line_.size() && !IsSpace(line_[from]) && !IsQuote(line_[from])) ++from;
    return from;
  }
  // Returns true for a quote that ends a text of JSON. Other quotes may belong to a secret.
  [[nodiscard]] bool EndsText(std::size_t at) const {
    constexpr std::string_view kAfter = ",}]:";
    return At(at) == '"' && at < line_.size() && (at + 1 == line_.size() || kAfter.find(line_[at + 1]) != kNone);
  }
  void Copy(std::size_t to) {
    out_ += line_.substr(at_, to - at_);
    at_ = to;
  }
  void HideTo(std::size_t to) {
    if (to == at_) return;
    out_ += kHidden;
    at_ = to;
  }

  // Hides the value that begins here: to the quote that ends it, or to the next space. A backslash before the quote, as
  // in a text within a text, ends it before the next quote with a backslash.
  void HideValue() {
    const bool escaped = At(at_) == '\\' && IsQuote(At(at_ + 1));
    if (escaped || IsQuote(At(at_))) {
      const char quote = At(at_ + (escaped ? 1 : 0));
      Copy(at_ + (escaped ? 2 : 1));
      std::size_t end = at_;
      while (end < line_.size()) {
        if (escaped && line_[end] == '\\' && At(end + 1) == quote && At(end - 1) != '\\') break;
        if (!escaped && line_[end] == quote) break;
        end += !escaped && line_[end] == '\\' ? 2 : 1;
      }
      return HideTo(std::min(end, line_.size()));
    }
    std::size_t end = at_;
    while (end < line_.size() && !IsSpace(line_[end]) && !EndsText(end)) ++end;
    HideTo(end);
  }

  // "://user:password@host"
  bool Url() {
    constexpr std::string_view kMark = "://";
    if (!Begins(at_, kMark)) return false;
    Copy(at_ + kMark.size());
    const std::size_t end = EndOfWord(at_);
    const std::size_t host = line_.substr(0, end).rfind('@');
    if (host != kNone && host >= at_) HideTo(host);
    return true;
  }

  // "Bearer TOKEN"
  bool Scheme() {
    if (IsAlnum(Before())) return false;
    for (const std::string_view scheme : {"bearer ", "basic "}) {
      if (!Begins(at_, scheme)) continue;
      Copy(at_ + scheme.size());
      while (IsSpace(At(at_)) && at_ < line_.size()) Copy(at_ + 1);
      HideTo(EndOfWord(at_));
      return true;
    }
    return false;
  }

  // "-D NAME=VALUE" and "-DNAME=VALUE"
  bool JobOption() {
    if (At(at_) != '-' || At(at_ + 1) != 'D' || IsOfName(Before())) return false;
    std::size_t name = at_ + 2;
    while (name < line_.size() && (IsSpace(line_[name]) || IsQuote(line_[name]) || line_[name] == ',')) ++name;
    std::size_t end = name;
    while (end < line_.size() && IsOfName(line_[end])) ++end;
    if (end == name || At(end) != '=') return false;
    const char quote = At(name - 1);
    Copy(end + 1);
    if (!IsQuote(quote)) {
      HideValue();
    } else {
      HideTo(std::min(line_.find(quote, at_), line_.size()));
    }
    return true;
  }

  // The id of a key of AWS.
  bool KeyId() {
    constexpr std::size_t kSize = 20;
    if (IsAlnum(Before()) || at_ + kSize > line_.size()) return false;
    const std::string_view id = line_.substr(at_, kSize);
    if (!id.starts_with("AKIA") && !id.starts_with("ASIA")) return false;
    if (!std::ranges::all_of(id, [](char c) { return IsAlnum(c) && (c < 'a' || c > 'z'); })) return false;
    HideTo(at_ + kSize);
    return true;
  }

  // "name=VALUE", "name: VALUE", "name":"VALUE" and "--name VALUE"
  bool Name() {
    if (!IsOfName(At(at_)) || IsOfName(Before())) return false;
    std::size_t end = at_;
    while (end < line_.size() && IsOfName(line_[end])) ++end;
    const std::string_view name = line_.substr(at_, end - at_);
    const bool option = name.starts_with('-');
    Copy(end);
    if (!NamesASecret(name)) return true;
    std::size_t value = end;
    while (value < line_.size() && (IsQuote(line_[value]) || line_[value] == '\\')) ++value;
    while (value < line_.size() && IsSpace(line_[value])) ++value;
    const bool assigned = At(value) == '=' || At(value) == ':';
    if (!assigned && !(option && value > end && At(value) != '-' && At(value) != ' ')) return true;
    if (assigned) {
      ++value;
      if (At(value) == '=' || At(value) == '>') ++value;
      while (value < line_.size() && IsSpace(line_[value])) ++value;
    }
    Copy(std::min(value, line_.size()));
    if (Squeezed(name).ends_with("key") && At(at_) == '/') return true;  // a path
    if (HasWord(Squeezed(name), kWholeLineWords) && !IsQuote(At(at_))) {
      std::size_t end_of_text = at_;
      while (end_of_text < line_.size() && !EndsText(end_of_text)) ++end_of_text;
      HideTo(end_of_text);
    } else {
      HideValue();
    }
    return true;
  }

  const std::string_view line_;
  std::size_t at_ = 0;
  std::string out_;
};

constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ", kKey = "PRIVATE KEY-----";

// Takes the private keys out of the text, also those that stand on one line with "\n" between their lines.
std::string WithoutKeys(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t key = text.find(kKey);
    const std::size_t begin = key == kNone ? kNone : text.substr(0, key).rfind(kBegin);
    if (key == kNone) break;
    if (begin == kNone || text.substr(begin, key - begin).find('\n') != kNone) {
      out += text.substr(0, key + kKey.size());
      text.remove_prefix(key + kKey.size());
      continue;
    }
    const std::size_t end = text.find(kEnd, key);
    const std::size_t last = end == kNone ? kNone : text.find(kKey, end);
    out += text.substr(0, begin);
    out += kHidden;
    if (last == kNone) return out;  // it may go on to the end
    text.remove_prefix(last + kKey.size());
  }
  return out += text;
}

}  // namespace

bool NamesASecret(std::string_view name) {
  const std::string plain = Squeezed(name);
  if (HasWord(plain, kSecretWords)) return true;
  const std::size_t last = name.find_last_of("._-");
  return Squeezed(name.substr(last == kNone ? 0 : last + 1)) == "key" || plain == "auth";
}

void Redactor::Hide(std::string_view secret) {
  for (std::size_t begin = 0; begin <= secret.size();) {
    const std::size_t end = std::min(secret.find('\n', begin), secret.size());
    std::string_view line = secret.substr(begin, end - begin);
    while (!line.empty() && (IsSpace(line.back()) || line.back() == '\r')) line.remove_suffix(1);
    if (line.size() >= kShortest && !line.starts_with("-----")) known_.emplace_back(line);
    begin = end + 1;
  }
  std::ranges::sort(known_, [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

std::string Redactor::Clean(std::string_view given) const {
  std::string text(given);
  for (const std::string& secret : known_) {
    for (std::size_t at = text.find(secret); at != kNone; at = text.find(secret, at + kHidden.size()))
      text.replace(at, secret.size(), kHidden);
  }
  text = WithoutKeys(text);
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += Line(std::string_view(text).substr(begin, end - begin)).Clean();
    if (end < text.size()) out += '\n';
    begin = end + 1;
  }
  return out;
}

}  // namespace millrace::support
