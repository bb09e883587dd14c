#include "client/process/crash_report.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

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

// A handler is given nothing else to find them by.
std::atomic<const MapPlace*> current_place{nullptr};
alignas(64) std::array<char, std::size_t{64} << 10> handler_stack;

class Line {
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
  void Add(const MapPlace& place) { size_ += place.Write({bytes_.data() + size_, kRoom - size_}); }
  void WriteTo(int fd) {
    bytes_[size_] = '\n';
    [[maybe_unused]] const ssize_t written = ::write(fd, bytes_.data(), size_ + 1);  // nobody is left to be told
  }

 private:
  static constexpr std::size_t kRoom = 1200;
  std::array<char, kRoom + 1> bytes_{};
  std::size_t size_ = 0;
};

// SA_RESETHAND has given the signal its default action back, so a crash in here ends the process, too. The signal is
// sent again since not every one comes back by itself; it waits until the handler returns.
void OnCrash(int signal, siginfo_t* info, void*) {
  Line line;
  line.Add("millrace: ");
  for (const Crash& crash : kCrashes) {
    if (crash.signal != signal) continue;
    line.Add(crash.name);
    if (crash.address && info->si_code > 0) {  // the kernel's, and not that of kill
      line.Add(", address 0x");
      line.AddHex(reinterpret_cast<std::uintptr_t>(info->si_addr));
    }
  }
  if (const MapPlace* const place = current_place.load(std::memory_order_acquire)) line.Add(*place);
  line.WriteTo(STDERR_FILENO);
  ::raise(signal);
}

}  // namespace

void ReportCrashes() {
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
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
    ::sigaction(crash.signal, &action, nullptr);
  }
}

CrashPlace::CrashPlace(const MapPlace& place) { current_place.store(&place, std::memory_order_release); }
CrashPlace::~CrashPlace() { current_place.store(nullptr, std::memory_order_release); }

}  // namespace millrace
