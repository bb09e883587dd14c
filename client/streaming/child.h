// SPDX-License-Identifier: Apache-2.0
// Child is a program that a task feeds and whose output it takes, both at once: whoever gives it bytes takes what it
// writes meanwhile, so that neither waits for the other for ever.
//
// The program runs by /bin/sh -c in a process group of its own, which is killed when the Child is destroyed. It gets
// SIGKILL when the task's thread ends. What it writes to standard error comes to `error`.
// Requires: the process ignores SIGPIPE, as RunProgram makes it (base/program.h).
// Thread rule: one thread, which lives as long as the child.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::streaming {

// How a child reads and writes.
enum class ChildLine {
  kStandard,  // standard input and output, by pipes
  kChannel,   // one stream socket, at descriptor 3; its standard output goes where its standard error goes
};

struct ChildCommand {
  std::string words;                                             // for the shell
  std::string directory;                                         // in which it starts
  std::vector<std::pair<std::string, std::string>> environment;  // all of it
  ChildLine line = ChildLine::kStandard;
};

class Child {
 public:
  // Takes bytes that the child has written. What it throws passes through.
  using Take = std::function<void(std::string_view)>;

  // Starts the program. Fails if the shell cannot be started; a program that the shell does not find ends with status
  // 127.
  [[nodiscard]] static Result<Child> Start(const ChildCommand& command, Take output, Take error);
  Child(Child&&) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();  // kills it, with its group, if it has not ended

  // Gives the child the bytes, and takes what comes meanwhile. Once the child reads no more, the rest is dropped and
  // counted; that is no failure here.
  Status Give(std::string_view bytes);
  // Takes what has come, without waiting.
  Status Look();
  // Takes what comes until `enough` returns true or the child's output ends. Waits.
  Status TakeUntil(const std::function<bool()>& enough);
  // Ends the child's input, takes the rest of its output and waits for its end. Returns its status as waitpid(2) gives
  // it. If it ended well, processes that it left behind may go on writing; if nothing comes for kPatienceMillis after
  // its end while somebody still holds its output open, the call returns kTimeout. If not `patient`, the child itself
  // has no more time than that either.
  [[nodiscard]] Result<int> Finish(bool patient = true);

  // Returns the number of bytes that were given and not taken by the child.
  [[nodiscard]] std::uint64_t left() const { return left_; }
  // The child has closed its output, or has ended.
  [[nodiscard]] bool output_ended() const { return !output_.valid(); }

  static constexpr int kPatienceMillis = 10'000;

 private:
  Child(pid_t pid, Take take_output, Take take_error);

  // Writes as much of the bytes as fits without waiting, and takes it off. Closes the input if the child reads no more.
  Status WriteSome(std::string_view* bytes);
  // Waits until a descriptor is ready, or `millis` have passed (-1: for ever), and takes what has come. Sets *writable
  // if the input can be written. Returns false if nothing happened in that time.
  Result<bool> Turn(bool write, int millis, bool* writable);
  // Reads what there is. Closes the descriptor at its end.
  Status Drain(Fd* fd, const Take& take);
  [[nodiscard]] bool HasFailed() const;  // it has ended, and not with status 0
  void CloseInput();

  pid_t pid_ = -1;  // -1: reaped
  ChildLine line_ = ChildLine::kStandard;
  Fd input_, output_, error_;
  Fd end_;               // a pidfd; closed once the child has ended
  bool watched_ = true;  // there was a pidfd
  Take take_output_, take_error_;
  std::string buffer_;
  std::uint64_t left_ = 0;
};

// Returns how a child ended, in words: "ended with status 1", "was ended by signal 9 (Killed)". `wait_status` is
// waitpid's. The statuses with which a shell tells of what it was to run are explained as such.
[[nodiscard]] std::string EndInWords(int wait_status);

}  // namespace millrace::streaming
