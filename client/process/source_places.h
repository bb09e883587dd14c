// SourcePlaces finds which function of this executable an address belongs to, for crash reports, which know only
// addresses; and the file and the line, if the executable was compiled with -g. Functions that the compiler has inlined
// are found as well then. It reads DWARF and .symtab through libbacktrace, which comes with g++.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct backtrace_state;

namespace millrace {

class SourcePlaces {
 public:
  struct Place {
    std::string function;  // mangled
    std::string file;      // without its folders; empty if it is not known
    int line = 0;          // 0: not known
    bool inlined = false;  // in the function that comes after it
  };

  // Data that is read from the executable is kept until the process ends, since libbacktrace frees nothing.
  SourcePlaces();

  // Returns the function at this address, counted as in the file, after those that are inlined there, the innermost
  // first. Empty for an address that is in no function, and for a stripped executable.
  [[nodiscard]] std::vector<Place> At(std::uint64_t address) const;

 private:
  backtrace_state* state_;                        // null: the executable cannot be read
  std::uint64_t bias_ = 0;                        // the address at which the file's address 0 is loaded
  std::uint64_t code_begin_ = 0, code_size_ = 0;  // where functions are, counted as in the file
};

}  // namespace millrace
