// SymbolTable finds the names of an executable's functions in its .symtab (System V ABI, chapter 4, "Object Files"),
// for crash reports, which know only addresses. A stripped executable has no such table.
// Thread rule: values. It reads the mapped file, and checks each offset before it is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace millrace {

class SymbolTable {
 public:
  struct Function {
    std::string_view name;     // mangled; it lives as long as the file's bytes
    std::uint64_t offset = 0;  // of the address, from the function's first byte
  };

  // Reads an ELF file of 64 bits and of this machine's byte order. Returns kInvalid for other bytes, and for an
  // executable without symbols. Requires: the bytes outlive this.
  [[nodiscard]] static Result<SymbolTable> Read(std::string_view file);

  // Returns the function at this address, counted as in the file; nothing if there is none.
  [[nodiscard]] std::optional<Function> Find(std::uint64_t address) const;

 private:
  SymbolTable(std::string_view symbols, std::string_view names) : symbols_(symbols), names_(names) {}
  std::string_view symbols_, names_;
};

}  // namespace millrace
