#include "client/process/symbol_table.h"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace millrace {
namespace {

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

}  // namespace millrace
