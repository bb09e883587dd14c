// Makes the report of a crash readable. The process that crashes knows addresses only, and may not allocate; it runs
// its own executable once more, with
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
#include "client/process/source_places.h"

namespace millrace {

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
