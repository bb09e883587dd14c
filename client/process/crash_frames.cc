#include "client/process/crash_frames.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace millrace {
namespace {

constexpr unsigned kSeconds = 10;  // for both lines
constexpr std::size_t kMostFrames = 8;
constexpr std::size_t kMostAddresses = 5;  // what the job's code has inlined is among them
constexpr std::size_t kLongestShown = 120;

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string Hex(std::uint64_t number) {
  std::array<char, 16> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr};
}

std::string Report(const std::string& head, const std::string& own, const std::string& place) {
  return "millrace: " + head + (own.empty() ? "" : ": " + own) + place + "\n";
}

// Returns `size` bytes from `offset`; nothing if the file has not so many.
std::optional<std::string_view> Slice(std::string_view file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) return std::nullopt;
  return file.substr(offset, size);
}

// Reads a struct of the file, whose alignment is not relied on.
template <class T>
std::optional<T> Load(std::string_view file, std::uint64_t offset) {
  const std::optional<std::string_view> bytes = Slice(file, offset, sizeof(T));
  if (!bytes) return std::nullopt;
  T loaded;
  std::memcpy(&loaded, bytes->data(), sizeof loaded);
  return loaded;
}

std::optional<Elf64_Shdr> Section(std::string_view file, const Elf64_Ehdr& header, std::uint64_t number) {
  if (number >= header.e_shnum || header.e_shentsize != sizeof(Elf64_Shdr)) return std::nullopt;
  if (header.e_shoff > file.size()) return std::nullopt;
  return Load<Elf64_Shdr>(file, header.e_shoff + number * sizeof(Elf64_Shdr));
}

}  // namespace

Result<SymbolTable> SymbolTable::Read(std::string_view file) {
  const std::optional<Elf64_Ehdr> header = Load<Elf64_Ehdr>(file, 0);
  constexpr unsigned char kOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != kOrder)
    return Invalid("not an ELF file of this machine");
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const std::optional<Elf64_Shdr> section = Section(file, *header, i);
    if (!section || section->sh_type != SHT_SYMTAB) continue;
    const std::optional<Elf64_Shdr> strings = Section(file, *header, section->sh_link);
    const std::optional<std::string_view> symbols = Slice(file, section->sh_offset, section->sh_size);
    if (!strings || !symbols) break;
    const std::optional<std::string_view> names = Slice(file, strings->sh_offset, strings->sh_size);
    if (!names) break;
    return SymbolTable(*symbols, *names);
  }
  return Invalid("an executable without symbols");
}

std::optional<SymbolTable::Function> SymbolTable::Find(std::uint64_t address) const {
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols_.size(); at += sizeof(Elf64_Sym)) {
    const Elf64_Sym symbol = *Load<Elf64_Sym>(symbols_, at);
    const bool holds = address >= symbol.st_value && address - symbol.st_value < symbol.st_size;
    if (!holds || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_name >= names_.size()) continue;
    const std::string_view rest = names_.substr(symbol.st_name);
    return Function{rest.substr(0, rest.find('\0')), address - symbol.st_value};
  }
  return std::nullopt;
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

bool IsOfJob(std::string_view mangled) {
  if (!mangled.starts_with("_Z")) return mangled != "main" && !mangled.starts_with('_');
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

std::string OwnFrames(const SymbolTable& symbols, const std::vector<Frame>& frames) {
  std::vector<std::pair<std::string, std::size_t>> own;  // name, frames in a row
  for (const Frame& frame : frames) {
    const auto function = symbols.Find(frame.returned_to && frame.address > 0 ? frame.address - 1 : frame.address);
    if (!function || !IsOfJob(function->name)) continue;
    std::string name = ReadableName(std::string(function->name));
    if (!own.empty() && own.back().first == name) {
      ++own.back().second;
    } else if (own.size() < kMostFrames) {
      own.emplace_back(std::move(name), 1);
    } else {
      break;
    }
  }
  std::string text;
  for (const auto& [name, times] : own) {
    text += (text.empty() ? "" : " < ") + name;
    if (times > 1) text += " (" + std::to_string(times) + " times)";
  }
  return text;
}

namespace {

// Looks the frames up in this executable.
Result<std::string> OwnFramesHere(const std::vector<Frame>& frames) {
  const std::string path = "/proc/self/exe";
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, O_RDONLY));
  MILLRACE_ASSIGN(const std::uint64_t size, FileSize(file.get(), path));
  MILLRACE_ASSIGN(const MappedFile mapped, MappedFile::Map(file.get(), 0, size, path));
  MILLRACE_ASSIGN(const SymbolTable symbols, SymbolTable::Read(mapped.bytes()));
  return OwnFrames(symbols, frames);
}

}  // namespace

int PrintCrash(const std::vector<std::string>& words) {
  ::alarm(kSeconds);  // the process that crashed waits
  if (words.size() < 2) return 2;
  std::vector<Frame> frames;
  std::string addresses;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const Result<Frame> frame = ParseFrame(words[i]);
    if (!frame.ok()) return 2;
    frames.push_back(*frame);
    const std::string address = " 0x" + Hex(frame->address - (frame->returned_to ? 1 : 0));
    if (frames.size() <= kMostAddresses && !addresses.ends_with(address)) addresses += address;
  }
  const Result<std::string> own = OwnFramesHere(frames);
  std::string lines;
  if (!addresses.empty()) lines = "millrace: where that is: addr2line -Cfpie PROGRAM" + addresses + "\n";
  lines += Report(words[0], own.ok() ? *own : "", words[1]);
  return WriteAll(STDERR_FILENO, lines, "standard error").ok() ? 0 : 1;
}

}  // namespace millrace
