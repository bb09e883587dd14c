// Makes the report of a crash readable. The process that crashes knows addresses only, and may not allocate; it runs
// its own executable once more, with
//   JOB --millrace-frames HEAD PLACE [c|r]ADDRESS...
// which writes two lines on standard error: the addresses, for addr2line, and the report. HEAD is the event ("SIGSEGV,
// null pointer, in Map"), PLACE is the place in the input ("; at /in/a, byte 16"). The addresses are hexadecimal, as in
// the file, from the innermost frame on. `c` precedes an address that was executed, `r` one to which a call returns.
// Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace millrace {

// SymbolTable finds the names of an executable's functions in its .symtab (System V ABI, chapter 4, "Object Files"). A
// stripped executable has no such table. It reads the mapped file, and checks each offset before it is used.
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

struct Frame {
  std::uint64_t address = 0;
  bool returned_to = false;  // the call is before the address
};

// Reads "c1a2b" or "r1a2b". Returns kInvalid for any other text.
[[nodiscard]] Result<Frame> ParseFrame(std::string_view text);

// Returns true if the function of this mangled name is the job's own, and not of Millrace or a library.
[[nodiscard]] bool IsOfJob(std::string_view mangled);

// Returns the function's name much as the job's author wrote it: "Parse(std::string_view)". A long name is cut.
[[nodiscard]] std::string ReadableName(const std::string& mangled);

// Returns the names of the job's own functions among the frames, from the innermost on, at most 8: "Parse(int) <
// Read()". A function that calls itself is named once, with its number of frames. Empty if there are none.
[[nodiscard]] std::string OwnFrames(const SymbolTable& symbols, const std::vector<Frame>& frames);

// Writes the two lines for this executable. Returns the exit status: 0 when they are written.
[[nodiscard]] int PrintCrash(const std::vector<std::string>& words);

}  // namespace millrace
