// SPDX-License-Identifier: Apache-2.0
#include "client/process/crash_report.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "client/job/lent_views.h"

namespace millrace {
namespace {

struct Crash {
  int signal;
  std::string_view name;
  bool address;  // si_addr says what was touched
};
constexpr std::array<Crash, 5> kCrashes = {{{SIGSEGV, "SIGSEGV", true},
                                            {SIGBUS, "SIGBUS", true},
                                            {SIGFPE, "SIGFPE", false},
                                            {SIGILL, "SIGILL", false},
                                            {SIGABRT, "SIGABRT", false}}};

constexpr std::uintptr_t kFirstPage = 4096;
// The distances from the stack pointer that an overflow may touch: pushes of a call below it, a frame's variables
// above.
constexpr std::uintptr_t kBelowStack = std::uintptr_t{64} << 10, kAboveStack = std::uintptr_t{1} << 20;

// These are globals because a signal handler can reach nothing else.
std::atomic<const Place*> current_place{nullptr};
alignas(64) std::array<char, std::size_t{64} << 10> handler_stack;
const char* namer_path = nullptr;
std::uintptr_t load_bias = 0;  // of the executable
std::uintptr_t code_begin = 0, code_end = 0;
std::atomic<bool> reporting{false};

// Text that ends with a zero byte. Text that does not fit is dropped.
template <std::size_t kRoom>
class Text {
 public:
  void Add(std::string_view text) {
    text = text.substr(0, kRoom - size_);
    std::memcpy(bytes_.data() + size_, text.data(), text.size());
    size_ += text.size();
  }
  void AddHex(std::uintptr_t number) {
    std::array<char, 16> digits{};
    Add({digits.begin(), std::to_chars(digits.begin(), digits.end(), number, 16).ptr});
  }
  void Add(const Place& place) { size_ += place.Write({bytes_.data() + size_, kRoom - size_}); }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }
  [[nodiscard]] char* c_str() { return bytes_.data(); }

 private:
  std::array<char, kRoom + 1> bytes_{};
  std::size_t size_ = 0;
};

// The registers of the code that the signal stopped.
struct Registers {
  std::uintptr_t pc = 0, sp = 0;
};

Registers RegistersOf(const void* context) {
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
  Registers registers;
#if defined(__x86_64__)
  registers.pc = static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
  registers.sp = static_cast<std::uintptr_t>(machine.gregs[REG_RSP]);
#elif defined(__aarch64__)
  registers.pc = machine.pc;
  registers.sp = machine.sp;
#endif
  return registers;
}

// Returns the return address of a function that has just been called. Requires: `registers` are of its first
// instruction.
std::uintptr_t CallerOf([[maybe_unused]] const void* context, [[maybe_unused]] const Registers& registers) {
#if defined(__x86_64__)
  return *reinterpret_cast<const std::uintptr_t*>(registers.sp);
#elif defined(__aarch64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.regs[30];
#else
  return 0;
#endif
}

bool InExecutable(std::uintptr_t address) { return address >= code_begin && address < code_end; }

// Calls visit(begin, end) for each piece of code of an object that the dynamic linker has loaded.
template <typename Visit>
void ForCode(const dl_phdr_info& info, Visit visit) {
  for (const ElfW(Phdr) & segment : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    visit(begin, begin + segment.p_memsz);
  }
}

// Returns true if some loaded object has code at the address. glibc's own answer, _dl_find_object, is of 2.35, and a
// job may run where glibc is older.
bool IsCode(std::uintptr_t address) {
  const auto holds = [](dl_phdr_info* info, std::size_t, void* wanted) {
    int found = 0;
    ForCode(*info, [&found, at = *static_cast<std::uintptr_t*>(wanted)](std::uintptr_t begin, std::uintptr_t end) {
      if (at >= begin && at < end) found = 1;
    });
    return found;
  };
  return ::dl_iterate_phdr(holds, &address) != 0;
}

std::string_view WhatIsGone(Lent lent) {
  switch (lent) {
    case Lent::kNothing:
      return "";
    case Lent::kRecord:
      return ", a view of a record was kept after its Map; keep a std::string";
    case Lent::kKey:
      return ", a view of a key was kept after its Reduce; keep a std::string";
    case Lent::kValue:
      return ", a view of a value was kept after the next one was taken; keep a std::string";
  }
  return "";
}

void Describe(const Crash& crash, const siginfo_t& info, const Registers& registers, Text<256>* text) {
  text->Add(crash.name);
  if (!crash.address || info.si_code <= 0) return;                    // sent by kill, and not by the kernel
  if (info.si_code == SI_KERNEL) return text->Add(", wild pointer");  // no address that there could be; si_addr is 0
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  const bool near_stack = address + kBelowStack >= registers.sp && address < registers.sp + kAboveStack;
  if (address < kFirstPage) text->Add(", null pointer");
  if (crash.signal == SIGSEGV && near_stack) text->Add(", stack overflow");
  text->Add(WhatIsGone(WhatWasLent(info.si_addr)));
  text->Add(" (address 0x");
  text->AddHex(address);
  text->Add(")");
}

// The words of a command, as execve takes them.
class Command {
 public:
  void Add(char* word) {
    if (size_ < kMost) words_[size_++] = word;
  }
  void AddFrame(char kind, std::uintptr_t address) {
    if (size_ == kMost || !InExecutable(address)) return;
    Text<24>& word = frames_[size_];
    word.Add({&kind, 1});
    word.AddHex(address - load_bias);
    Add(word.c_str());
  }
  // Unwinds the stack, from the code that the signal stopped on.
  void AddFrames(const void* context, const Registers& registers) {
    AddFrame('c', registers.pc);
    if (!IsCode(registers.pc)) {
      // Unwinding reads the code, which is not there: a call through a bad pointer.
      return AddFrame('r', CallerOf(context, registers));
    }
    std::array<void*, kMost> stack{};
    const int depth = ::backtrace(stack.data(), static_cast<int>(stack.size()));
    int at = 0;  // the frames before it are the handler's
    while (at < depth && reinterpret_cast<std::uintptr_t>(stack[static_cast<std::size_t>(at)]) != registers.pc) ++at;
    for (int i = at + 1; i < depth; ++i)
      AddFrame('r', reinterpret_cast<std::uintptr_t>(stack[static_cast<std::size_t>(i)]));
  }
  // Returns true if the command has run and ended well.
  [[nodiscard]] bool Run(const char* program) {
    const pid_t child = ::vfork();
    if (child == 0) {
      ::execve(program, words_.data(), environ);
      ::_exit(127);
    }
    if (child < 0) return false;
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
      if (errno != EINTR) return true;  // the job has its children reaped by itself
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  static constexpr std::size_t kMost = 64;
  std::array<char*, kMost + 1> words_{};
  std::array<Text<24>, kMost> frames_{};
  std::size_t size_ = 0;
};

void WriteLine(std::string_view head, std::string_view place) {
  Text<1400> line;
  line.Add("millrace: ");
  line.Add(head);
  line.Add(place);
  line.Add("\n");
  // There is nobody left to report a failure to.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.view().data(), line.view().size());
}

// Ends the process. The signal is sent again since not every one comes back by itself.
void EndBy(int signal) {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(signal, &plain, nullptr);
  ::raise(signal);
}

constinit Text<256> what_text;    // what happened
constinit Text<1100> where_text;  // where in the input
constinit Command command;

// Fills the two texts.
void NoteWhatAndWhere(int signal, const siginfo_t& info, const Registers& registers) {
  for (const Crash& crash : kCrashes) {
    if (crash.signal == signal) Describe(crash, info, registers, &what_text);
  }
  const Place* const current = current_place.load(std::memory_order_acquire);
  if (current == nullptr) return;
  if (current->hook() != Hook::kNone) what_text.Add(", in ");
  what_text.Add(ToString(current->hook()));
  where_text.Add(*current);
}

// Has another process write the report, with names. Returns false if it could not.
bool ReportWithNames(const void* context, const Registers& registers) {
  if (namer_path == nullptr) return false;
  static char name[] = "millrace-frames", mode[] = "--millrace-frames";
  command.Add(name);
  command.Add(mode);
  command.Add(what_text.c_str());
  command.Add(where_text.c_str());
  command.AddFrames(context, registers);
  return command.Run(namer_path);
}

// A crash in here, on a stack that cannot be unwound, say, is reported without frames.
void OnCrash(int signal, siginfo_t* info, void* context) {
  const bool first = !reporting.exchange(true);
  const Registers registers = RegistersOf(context);
  if (first) NoteWhatAndWhere(signal, *info, registers);
  if (!first || !ReportWithNames(context, registers)) WriteLine(what_text.view(), where_text.view());
  EndBy(signal);
}

// Called by the dynamic linker for the executable, which comes first, and not for the libraries.
int NoteExecutable(dl_phdr_info* info, std::size_t, void*) {
  load_bias = info->dlpi_addr;
  ForCode(*info, [](std::uintptr_t begin, std::uintptr_t end) {
    code_begin = code_end == 0 ? begin : std::min(code_begin, begin);
    code_end = std::max(code_end, end);
  });
  return 1;
}

}  // namespace

void ReportCrashes(const char* namer) {
  namer_path = namer;
  ::dl_iterate_phdr(NoteExecutable, nullptr);
  std::array<void*, 1> loaded{};
  ::backtrace(loaded.data(), 1);  // the first call loads a library, which no handler may
  stack_t before{};
  if (::sigaltstack(nullptr, &before) == 0 && (before.ss_flags & SS_DISABLE) != 0) {
    stack_t stack{};
    stack.ss_sp = handler_stack.data();
    stack.ss_size = handler_stack.size();
    ::sigaltstack(&stack, nullptr);
  }
  for (const Crash& crash : kCrashes) {
    struct sigaction action {};
    if (::sigaction(crash.signal, nullptr, &action) != 0) continue;
    if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_sigaction = OnCrash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    ::sigaction(crash.signal, &action, nullptr);
  }
}

CrashPlace::CrashPlace(const Place& place) { current_place.store(&place, std::memory_order_release); }
CrashPlace::~CrashPlace() { current_place.store(nullptr, std::memory_order_release); }

}  // namespace millrace
