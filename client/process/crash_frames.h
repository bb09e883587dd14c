// SPDX-License-Identifier: Apache-2.0
// Makes the report of a crash readable: the names and places of its frames. The process that crashes knows addresses
// only, and may not allocate; it runs its own executable once more, with
//   JOB --millrace-frames HEAD PLACE [c|r]ADDRESS...
// which writes the report, a line, on standard error. HEAD is the event ("SIGSEGV,
// null pointer, in Map"), PLACE is the place in the input ("; at /in/a, byte 16"). The addresses are hexadecimal, as in
// the file, from the innermost frame on. `c` precedes an address that was executed, `r` one to which a call returns.
// Thread rule: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

struct backtrace_state;

namespace millrace {

// SourcePlaces finds which function of this executable an address belongs to, for crash reports, which know only
// addresses; and the file and the line, if the executable was compiled with -g. Functions that the compiler has inlined
// are found as well then. It reads DWARF and .symtab through libbacktrace, which comes with g++.
// Thread rule: one thread.
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

struct Frame {
  std::uint64_t address = 0;
  bool returned_to = false;  // the call is before the address
};

// Reads "c1a2b" or "r1a2b". Returns kInvalid for any other text.
[[nodiscard]] Result<Frame> ParseFrame(std::string_view text);

// Returns true if the function of this mangled name is the job's own, and not of Millrace or a library. A function of C
// that the compiler has `inlined` is taken for one of the headers of the C library (memcpy, say).
[[nodiscard]] bool IsOfJob(std::string_view mangled, bool inlined);

// Returns the function's name much as the job's author wrote it: "Parse(std::string_view)". A long name is cut.
[[nodiscard]] std::string ReadableName(const std::string& mangled);

// Returns the job's own functions among the frames, from the innermost on, at most 8, with file and line where they are
// known: "Parse(int) words.h:7 < Read() words.h:20". A function that calls itself is named once, with its number of
// frames. Empty if there are none.
[[nodiscard]] std::string OwnFrames(const SourcePlaces& places, const std::vector<Frame>& frames);

// Returns the command that finds the lines of the frames in a copy of the program that has its symbols, if no frame of
// the program itself can be named: "addr2line -Cfpie PROGRAM 0x12ab 0x34cd". Equal frames in a row are given once, 5 at
// most.
[[nodiscard]] std::string CommandForAddresses(const std::vector<Frame>& frames);

// Writes the line for this executable. Returns the exit status: 0 when it is written.
[[nodiscard]] int PrintCrash(const std::vector<std::string>& words);

}  // namespace millrace
