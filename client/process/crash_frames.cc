// SPDX-License-Identifier: Apache-2.0
#include "client/process/crash_frames.h"

#include <backtrace.h>
#include <cxxabi.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace millrace {
namespace {

using Places = std::vector<SourcePlaces::Place>;

void IgnoreError(void*, const char*, int) {}

int AddPlace(void* places, std::uintptr_t, const char* file, int line, const char* function) {
  if (function == nullptr) return 0;
  std::string_view name = file == nullptr ? "" : file;
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  static_cast<Places*>(places)->push_back({function, std::string(name), line, false});
  return 0;
}

// DWARF names a function without its scope here and there; the table of symbols never does.
void SetOuterFunction(void* places, std::uintptr_t, const char* function, std::uintptr_t, std::uintptr_t) {
  if (function == nullptr) return;
  auto& found = *static_cast<Places*>(places);
  if (found.empty()) found.emplace_back();
  found.back().function = function;
}

constexpr unsigned kSeconds = 10;  // for the line
constexpr std::size_t kMostFrames = 8;
constexpr std::size_t kMostAddresses = 5;  // what the job's code has inlined is among them
constexpr std::size_t kLongestShown = 120;

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

SourcePlaces::SourcePlaces() : state_(backtrace_create_state("/proc/self/exe", 0, IgnoreError, nullptr)) {
  const auto first = [](dl_phdr_info* info, std::size_t, void* out) {  // the executable itself
    auto& places = *static_cast<SourcePlaces*>(out);
    places.bias_ = info->dlpi_addr;
    for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
      const auto& segment = info->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      places.code_begin_ = segment.p_vaddr;
      places.code_size_ = segment.p_memsz;
      break;
    }
    return 1;
  };
  (void)dl_iterate_phdr(first, this);
}

std::vector<SourcePlaces::Place> SourcePlaces::At(std::uint64_t address) const {
  Places places;
  // The linker gives the address 0 to lines of functions that it has left out.
  if (state_ == nullptr || address < code_begin_ || address - code_begin_ >= code_size_) return places;
  (void)backtrace_pcinfo(state_, address + bias_, AddPlace, IgnoreError, &places);
  (void)backtrace_syminfo(state_, address + bias_, SetOuterFunction, IgnoreError, &places);
  for (std::size_t i = 0; i + 1 < places.size(); ++i) places[i].inlined = true;
  return places;
}

Result<Frame> ParseFrame(std::string_view text) {
  Frame frame;
  const bool kind = text.starts_with('c') || text.starts_with('r');
  const auto [end, error] = std::from_chars(text.data() + (kind ? 1 : 0), text.data() + text.size(), frame.address, 16);
  if (!kind || error != std::errc() || end != text.data() + text.size())
    return Invalid(Quote(text) + " is not the address of a frame");
  frame.returned_to = text[0] == 'r';
  return frame;
}

bool IsOfJob(std::string_view mangled, bool inlined) {
  if (!mangled.starts_with("_Z")) return !inlined && mangled != "main" && !mangled.starts_with('_');
  std::string_view name = mangled.substr(2);
  name.remove_prefix(std::min(name.find_first_not_of('Z'), name.size()));  // what is local to a function
  if (name.starts_with("T")) return false;                                 // thunks
  if (name.starts_with("St") || name.starts_with("Ss")) return false;
  if (!name.starts_with('N')) return true;
  name.remove_prefix(1);
  name.remove_prefix(std::min(name.find_first_not_of("rVKRO"), name.size()));
  if (name.starts_with("8millrace")) return name.starts_with("8millrace8examples");
  for (const std::string_view library :
       {"S", "2kj", "5capnp", "10__cxxabiv1", "9__gnu_cxx", "3fmt", "6spdlog", "5boost"}) {
    if (name.starts_with(library)) return false;
  }
  return true;
}

std::string ReadableName(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  std::string name = status == 0 && demangled != nullptr ? demangled.get() : mangled;
  constexpr std::pair<std::string_view, std::string_view> kShorter[] = {
      {"std::basic_string_view<char, std::char_traits<char> >", "std::string_view"},
      {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
      {"(anonymous namespace)::", ""}};
  for (const auto& [from, to] : kShorter) ReplaceAll(name, from, to);
  if (name.size() > kLongestShown) name.replace(kLongestShown, std::string::npos, "...");
  return name;
}

std::string OwnFrames(const SourcePlaces& places, const std::vector<Frame>& frames) {
  struct Own {
    std::string name, line;
    std::size_t times = 1;  // frames in a row
  };
  std::vector<Own> own;
  for (const Frame& frame : frames) {
    const std::uint64_t address = frame.returned_to && frame.address > 0 ? frame.address - 1 : frame.address;
    for (const SourcePlaces::Place& place : places.At(address)) {
      if (!IsOfJob(place.function, place.inlined)) continue;
      std::string name = ReadableName(place.function);
      if (!own.empty() && own.back().name == name) {
        ++own.back().times;
      } else if (own.size() < kMostFrames) {
        const bool known = !place.file.empty() && place.line > 0;
        own.push_back({std::move(name), known ? " " + place.file + ":" + std::to_string(place.line) : ""});
      } else {
        break;
      }
    }
  }
  std::string text;
  for (const auto& [name, line, times] : own) {
    text += (text.empty() ? "" : " < ") + name + line;
    if (times > 1) text += " (" + std::to_string(times) + " times)";
  }
  return text;
}

std::string CommandForAddresses(const std::vector<Frame>& frames) {
  std::string command = "addr2line -Cfpie PROGRAM";
  std::size_t told = 0;
  for (const Frame& frame : frames) {
    std::array<char, 16> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(),
                                            frame.address - (frame.returned_to && frame.address > 0 ? 1 : 0), 16);
    const std::string address = " 0x" + std::string(digits.data(), end);
    if (command.ends_with(address) || told == kMostAddresses) continue;
    command += address;
    ++told;
  }
  return command;
}

int PrintCrash(const std::vector<std::string>& words) {
  ::alarm(kSeconds);  // the process that crashed waits
  if (words.size() < 2) return 2;
  std::vector<Frame> frames;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const Result<Frame> frame = ParseFrame(words[i]);
    if (!frame.ok()) return 2;
    frames.push_back(*frame);
  }
  const std::string own = OwnFrames(SourcePlaces(), frames);
  if (own.empty() && !frames.empty()) {
    const std::string line = "millrace: to find the source lines: " + CommandForAddresses(frames) + "\n";
    if (!WriteAll(STDERR_FILENO, line, "standard error").ok()) return 1;
  }
  const std::string line = "millrace: " + words[0] + (own.empty() ? "" : ": " + own) + words[1] + "\n";
  return WriteAll(STDERR_FILENO, line, "standard error").ok() ? 0 : 1;
}

}  // namespace millrace
