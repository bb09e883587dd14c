// SPDX-License-Identifier: Apache-2.0
#include "client/top/top_command.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/console/arguments.h"
#include "base/units.h"
#include "client/top/keys.h"
#include "client/top/screen.h"
#include "client/top/terminal.h"
#include "client/top/watch.h"

namespace millrace::top {
namespace {

using cli::Invocation;

constexpr Micros kPatience = 5 * kSecond;  // after which a master that does not answer counts as lost
constexpr int kEscapeMillis = 50;          // an ESC that stands alone for so long is the key Escape
constexpr int kTickMillis = 500;           // ages, and the time for which the master is lost, go on
constexpr Micros kUsual = kSecond;  // an answer that takes longer than this, and than twice the last one, is late
constexpr std::size_t kNarrowest = 20, kWidest = 1000;

// Returns the width for a script: that of COLUMNS, or 80.
std::size_t ColumnsFromEnvironment() {
  const char* text = std::getenv("COLUMNS");
  std::size_t columns = 80;
  if (text == nullptr) return columns;
  const char* const end = text + std::strlen(text);
  std::size_t read = 0;
  const auto [rest, wrong] = std::from_chars(text, end, read);
  return wrong != std::errc() || rest != end || read == 0 ? columns : std::clamp(read, kNarrowest, kWidest);
}

// One user at one terminal.
class Session {
 public:
  Session(const Invocation& invocation, Signals& signals, Watch& watch)
      : signals_(signals), watch_(watch), terminal_(invocation.console), in_(invocation.console.in) {
    picture_.master = invocation.master;
  }

  // Returns once the user quits, or a signal ends the command.
  [[nodiscard]] Status Run() {
    MILLRACE_TRY(terminal_.Enter());
    while (!state_.quit) {
      Await();
      MILLRACE_TRY(Show());
      MILLRACE_TRY(Step());
    }
    terminal_.Leave();
    return Status::Ok();
  }
  [[nodiscard]] int signal() const { return signal_; }  // that ended the command; 0: none
  void Leave() { terminal_.Leave(); }

 private:
  Status Show() {
    if (!known_ && !picture_.lost) return terminal_.Write("\x1b[H\x1b[2JThe master is being asked.");
    const Size size = terminal_.size();
    return terminal_.Write(Paint(Draw(picture_, state_, size, SystemClock().Now()), size));
  }

  // Notes how long the answer that is under way takes already.
  void Await() {
    const Micros now = SystemClock().Now();
    const bool asks = watch_.asking();
    if (!asks) asked_ = 0;
    if (asks && asked_ == 0) asked_ = now;
    const bool late = asks && now - asked_ >= std::max(kUsual, 2 * took_);
    picture_.awaits = late ? std::optional(asked_) : std::nullopt;
  }

  Status Step() {
    pollfd waited[] = {{in_, POLLIN, 0}, {signals_.fd(), POLLIN, 0}, {watch_.fd(), POLLIN, 0}};
    const int ready = ::poll(waited, std::size(waited), keys_.waits() ? kEscapeMillis : kTickMillis);
    if (ready == 0) Press(keys_.Pause());
    if (ready <= 0) return Status::Ok();
    if (waited[1].revents != 0) MILLRACE_TRY(Signal(signals_.Next()));
    if (waited[2].revents != 0) Take(watch_.News());
    if (waited[0].revents != 0) {
      MILLRACE_ASSIGN(const std::string bytes, terminal_.Read());
      Press(keys_.Take(bytes));
    }
    return Status::Ok();
  }

  Status Signal(int signal) {
    switch (signal) {
      case SIGINT:
      case SIGTERM:
      case SIGHUP:
        signal_ = signal;
        state_.quit = true;
        return Status::Ok();
      case SIGTSTP:
        return terminal_.Suspend();
      case SIGCONT:  // whoever ran meanwhile may have changed the mode
        return terminal_.Enter();
      default:
        return terminal_.Write("\x1b[2J");  // another size: the terminal may have moved lines
    }
  }

  void Take(std::optional<Result<Picture>> news) {
    if (!news) return;
    const Micros asked = std::exchange(asked_, 0);
    if (news->ok()) {
      took_ = asked == 0 ? 0 : SystemClock().Now() - asked;
      // What is not asked for now is kept, so that another view has something to show at once.
      Picture picture = **std::move(news);
      if (!picture.nodes_known && picture_.nodes_known) {
        picture.nodes = std::move(picture_.nodes);
        picture.nodes_known = true;
      }
      if (picture.opened && state_.opened != picture.opened->status.job) picture.opened.reset();
      picture.heard = heard_ = SystemClock().Now();
      picture_ = std::move(picture);
      known_ = true;
    } else {
      if (!picture_.lost) picture_.lost = Picture::Lost{heard_ == 0 ? SystemClock().Now() : heard_, {}};
      picture_.lost->why = news->status().message();
    }
  }

  void Press(const std::vector<Key>& keys) {
    const std::size_t page = std::max<std::size_t>(terminal_.size().rows / 2, 1);
    for (const Key& key : keys) {
      const std::optional<JobId> before = state_.opened;
      top::Press(key, picture_, page, &state_);
      if (state_.opened != before) picture_.opened.reset();
    }
    if (std::exchange(state_.ask, false)) watch_.Want({state_.view == View::kNodes, state_.opened});
  }

  Signals& signals_;
  Watch& watch_;
  Terminal terminal_;
  const int in_;
  KeyReader keys_;
  Picture picture_;
  bool known_ = false;  // a picture has come
  Micros heard_ = 0;    // when the last one came
  Micros asked_ = 0;    // when the answer that is under way was seen to be; 0: none is
  Micros took_ = 0;     // about how long the last answer took
  State state_;
  int signal_ = 0;
};

int Once(const Invocation& invocation) {
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("top", files.status(), cli::kUnreachable);
  job::Mirror mirror(true);
  const Result<Picture> picture = TakePicture(**files, invocation.master, {.nodes = true, .opened = {}}, &mirror);
  if (!picture.ok()) return invocation.Fail("top", picture.status());
  console::Printer out(invocation.console);
  out << Whole(*picture, ColumnsFromEnvironment());
  const Status written = out.Flush();
  return written.ok() ? cli::kDone : invocation.Fail("top", written);
}

int Live(const Invocation& invocation, Micros delay) {
  Signals signals;
  const Result<std::unique_ptr<dfs::DfsClient>> files =
      invocation.Connect([&signals] { signals.Release(); }, kPatience);
  if (!files.ok()) {
    signals.Release();
    return invocation.Fail("top", files.status(), cli::kUnreachable);
  }
  signals.Hold();
  Watch watch(**files, invocation.master, delay);
  Session session(invocation, signals, watch);
  const Status ran = session.Run();
  session.Leave();
  int status = cli::kDone;
  if (session.signal() == SIGINT) {
    status = console::kInterrupted;
  } else if (session.signal() != 0 || ran.code() == StatusCode::kUnavailable) {
    constexpr int kShellsBase = 128;  // as a shell tells of a signal; a terminal that is gone is a hang-up
    status = kShellsBase + (session.signal() != 0 ? session.signal() : SIGHUP);
  } else if (!ran.ok()) {
    status = invocation.Fail("top", ran);
  }
  // The user has left. A call to a master that is away would hold the process for kPatience, and nothing here has to be
  // cleaned up.
  if (watch.asking()) ::_exit(status);
  return status;
}

}  // namespace

int TopCommand(const Invocation& invocation, const cli::Words& args) {
  console::Arguments arguments("top", "",
                               "Shows what the cluster does, on the whole terminal: slots, jobs and why they wait, "
                               "pools, nodes, and the tasks of a job. The key h lists the keys, q quits. --once "
                               "prints one picture and needs no terminal.");
  arguments.Example("");
  arguments.Example("--delay 10s");
  arguments.Example("--once");
  bool once = false;
  std::string delay = "2s";
  arguments.Flag("--once", &once, "print one picture without escapes, as wide as COLUMNS says (80), and end");
  arguments.Text("-d,--delay", &delay, "the time between two pictures, such as 5s (default: 2s)");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  const Result<Micros> pause = ParseDuration(delay);
  constexpr Micros kShortest = 100 * kMillisecond, kLongest = 3600 * kSecond;
  if (!pause.ok()) return invocation.Fail("top", pause.status().Within("--delay"), cli::kWrongUsage);
  if (*pause < kShortest || *pause > kLongest) {
    return invocation.Fail("top", Invalid("--delay " + delay + " is not between 100ms and 1h"), cli::kWrongUsage);
  }
  if (once) return Once(invocation);
  if (!invocation.console.in_is_terminal || !invocation.console.out_is_terminal) {
    return invocation.Fail("top",
                           Invalid("standard input and output are not a terminal; --once prints one picture instead"),
                           cli::kWrongUsage);
  }
  return Live(invocation, *pause);
}

}  // namespace millrace::top
