// SPDX-License-Identifier: Apache-2.0
#include "client/cli/wait_job.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/console/json_output.h"
#include "base/console/progress.h"
#include "base/console/table.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/foretold.h"
#include "client/cli/report.h"
#include "client/job_client/job_client.h"
#include "client/job_client/job_watch.h"

namespace millrace::cli {
namespace {

sigset_t Interrupt() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

void Mask(int how) {
  const sigset_t set = Interrupt();
  MILLRACE_CHECK(::pthread_sigmask(how, &set, nullptr) == 0, "SIGINT can be blocked");
}

constexpr std::chrono::seconds kAskAgain{10};
constexpr Micros kPatience = 120 * kSecond;  // enough for a master that is restarted

struct Waited {
  // This is absent if Ctrl-C ended the wait. The job then runs on, or was killed if that was wished.
  std::optional<JobStatus> ended;
  int exit_status = 0;  // if `ended` is absent
};

class Waiter {
 public:
  using Clock = std::chrono::steady_clock;

  Waiter(const Invocation& invocation, dfs::DfsClient& files, JobId job, SigintHold& sigint,
         std::optional<Clock::time_point> until)
      : invocation_(invocation),
        console_(invocation.console),
        client_(files),
        job_(job),
        sigint_(sigint),
        until_(until),
        line_(invocation.console) {}

  Result<Waited> Run(job::JobWatch& watch) {
    while (true) {
      std::array<pollfd, 2> waited{pollfd{watch.fd(), POLLIN, 0}, pollfd{sigint_.fd(), POLLIN, 0}};
      const int ready = ::poll(waited.data(), waited.size(), MillisToWait());
      if (ready < 0 && errno != EINTR) return FromErrno(errno, "wait for the job");
      ShowAway(watch.AwaySince());
      if (ready == 0 && MillisLeft() == 0) return TimeIsUp();
      if (ready == 0 && renews_ && !away_ && Clock::now() >= *renews_) Show(JobStatus(*shown_));
      if (waited[1].revents != 0) {
        sigint_.Consume();
        if (const std::optional<Waited> left = Interrupted()) return *left;
      }
      if (std::optional<Result<JobStatus>> news = watch.Take()) {
        if (!news->ok() || Ended((*news)->state)) line_.Clear();
        MILLRACE_TRY(news->status());
        if (Ended((*news)->state)) return Waited{std::move(*news).value(), 0};
        Show(**news);
      }
    }
  }

 private:
  // Returns the milliseconds until the wait ends, or -1 if it does not end.
  [[nodiscard]] int MillisLeft() const {
    constexpr std::chrono::hours kLongestPoll(1);
    if (!until_) return -1;
    const auto left = std::clamp<Clock::duration>(*until_ - Clock::now(), Clock::duration::zero(), kLongestPoll);
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
  }

  // Returns how long to wait for news: until the line on the terminal is to be renewed that tells how long the master
  // has been away, or when the job starts.
  [[nodiscard]] int MillisToWait() const {
    const int left = MillisLeft();
    if (!away_ && !renews_) return left;
    std::chrono::milliseconds renew(1000);
    if (!away_)
      renew = std::chrono::ceil<std::chrono::milliseconds>(std::max(*renews_ - Clock::now(), Clock::duration::zero()));
    const int wait = static_cast<int>(renew.count());
    return left < 0 ? wait : std::min(left, wait);
  }

  // Tells that the master is away once that has lasted, for how long, and when it is back.
  void ShowAway(const std::optional<Clock::time_point>& since) {
    away_ = since.has_value();
    const auto away =
        std::chrono::duration_cast<std::chrono::seconds>(since ? Clock::now() - *since : Clock::duration());
    if (since) away_since_ = *since;
    const std::string upto = "; waiting up to " + FormatDuration(kPatience) + " for it";
    if (away.count() >= 1 && console_.err_is_terminal) {
      told_away_ = true;
      line_.Show(ToText(job_) + ": no word from the master for " + std::to_string(away.count()) + " s" + upto);
    } else if (away.count() >= 1 && !told_away_) {
      told_away_ = true;
      console::SayLine(console_, "millrace: " + ToText(job_) + ": the master cannot be reached" + upto);
    } else if (!since && std::exchange(told_away_, false)) {
      line_.Clear();
      const auto lasted = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - away_since_);
      console::SayLine(console_, "millrace: " + ToText(job_) + ": the master is back after " +
                                     std::to_string(lasted.count()) + " s");
    }
  }

  Result<Waited> TimeIsUp() {
    line_.Clear();
    MILLRACE_ASSIGN(JobStatus status, client_.GetStatus(job_));
    if (Ended(status.state)) return Waited{std::move(status), 0};
    return Timeout(ToText(job_) + " has not ended yet, and continues; `millrace job status " +
                   std::to_string(job_.value) + "` shows its progress");
  }

  void Show(const JobStatus& status) {
    const Micros now = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
    if (status.first_launch != 0 && !watched_) watched_ = {now, status.bytes_read};
    if (watched_) {
      renews_ = std::nullopt;
    } else if (!shown_ || shown_->reason != status.reason || (renews_ && Clock::now() >= *renews_)) {
      AskWhen();
    }
    shown_ = status;
    if (!console_.err_is_terminal) {
      if (status.first_launch == 0 && std::exchange(told_reason_, status.reason) != status.reason &&
          !status.reason.empty())
        console::SayLine(console_, ToText(job_) + ": " + Printable(status.reason));
      if (!watched_) TellPipe();
      if (const std::string line = plain_.Update(status); !line.empty()) console::SayLine(console_, line);
    } else if (!watched_) {
      const std::string why = status.reason.empty() ? "waits for a slot" : Printable(status.reason);
      line_.Show(WaitingLine(job_, why, when_ ? &*when_ : nullptr, console::TerminalWidth(console_.err) - 1));
    } else {
      const Pace pace{.bytes = status.bytes_read - std::min(status.bytes_read, watched_->bytes_read),
                      .time = now - watched_->since,
                      .left = left_.Update(OverallFraction(status), now)};
      line_.Show(BarLine(status, pace, console::TerminalWidth(console_.err)));
    }
  }

  // Asks when a job that waits will start and be done, and keeps the answer if that is known with some surety. A master
  // that does not answer will be heard of by the watch.
  void AskWhen() {
    when_ = std::nullopt;
    if (console_.err_is_terminal) renews_ = Clock::now() + kAskAgain;
    std::string problem;
    Result<std::vector<job::Foretold>> foretold = client_.Foretell({job_}, &problem);
    if (!foretold.ok() || foretold->empty()) return;
    job::Foretold& said = foretold->front();
    if (said.start && said.start->at && !said.start->intervals.empty()) when_ = std::move(said);
  }

  // Tells a pipe what was said, once, and again after the job's reason to wait has changed.
  void TellPipe() {
    if (when_) console::SayLine(console_, ToText(job_) + ": " + ForetoldText(*when_) + " (UTC)");
    when_ = std::nullopt;
  }

  std::optional<Waited> Interrupted() {
    const bool asked = console_.in_is_terminal && console_.err_is_terminal;
    line_.Clear();
    const Answer answer = asked ? Ask() : Answer::kKill;
    if (answer == Answer::kGoOn) {
      console::SayLine(console_, ToText(job_) + " goes on, and is waited for");
      return std::nullopt;
    }
    if (answer == Answer::kLeave) {
      console::SayLine(console_, ToText(job_) + " goes on; follow it with: millrace job wait " + ToText(job_));
      return Waited{std::nullopt, kFailed};
    }
    const Status killed = client_.Kill(job_, "interrupted by its user");
    if (!killed.ok()) return Waited{std::nullopt, invocation_.Fail("kill " + ToText(job_), killed)};
    if (asked) return std::nullopt;  // the watch will tell of the end
    console::SayLine(console_, "millrace: " + ToText(job_) + ": killed, because it was interrupted");
    return Waited{std::nullopt, 128 + SIGINT};
  }

  enum class Answer { kKill, kGoOn, kLeave };

  // Asks whether to kill the job. Another Ctrl-C, or the end of the input, leaves the job; any other answer than yes
  // goes on waiting for it.
  Answer Ask() {
    (void)WriteAll(console_.err, "\nkill " + ToText(job_) + "? [y/N; Ctrl-C leaves it running] ", "standard error");
    std::array<pollfd, 2> waited{pollfd{console_.in, POLLIN, 0}, pollfd{sigint_.fd(), POLLIN, 0}};
    while (::poll(waited.data(), waited.size(), -1) < 0 && errno == EINTR) {
    }
    if (waited[1].revents != 0) {
      sigint_.Consume();
      (void)WriteAll(console_.err, "\n", "standard error");
      return Answer::kLeave;
    }
    std::array<char, 256> line{};  // a terminal gives one line
    if (::read(console_.in, line.data(), line.size()) <= 0) return Answer::kLeave;
    return line[0] == 'y' || line[0] == 'Y' ? Answer::kKill : Answer::kGoOn;
  }

  const Invocation& invocation_;
  const Console console_;
  job::JobClient client_;
  const JobId job_;
  SigintHold& sigint_;
  const std::optional<Clock::time_point> until_;
  console::StatusLine line_;
  PlainProgress plain_;
  std::string told_reason_;  // why the job waits, as last told
  TimeLeft left_;
  bool away_ = false, told_away_ = false;
  std::optional<JobStatus> shown_;           // what Show showed last
  std::optional<job::Foretold> when_;        // it will start and be done, if that is known, and was not told to a pipe
  std::optional<Clock::time_point> renews_;  // when to ask again, and to renew the line on the terminal
  Clock::time_point away_since_;
  // Since when the job is watched that runs, and how much it had read by then.
  struct Watched {
    Micros since = 0;
    std::uint64_t bytes_read = 0;
  };
  std::optional<Watched> watched_;
};

// Returns the job's counters; none, after a line that says so, if the master does not give them.
Counters CountersOf(const Invocation& invocation, dfs::DfsClient& files, JobId job) {
  Result<Counters> counters = job::JobClient(files).Counters(job);
  if (counters.ok()) return std::move(counters).value();
  console::SayLine(invocation.console,
                   "millrace: " + ToText(job) + ": cannot get its counters: " + counters.status().message());
  return {};
}

int Report(const Invocation& invocation, dfs::DfsClient& files, JobStatus status, const Reporting& reporting) {
  if (!reporting.shown_output.empty()) status.output = reporting.shown_output;
  console::Printer out(invocation.console);
  if (reporting.json) {
    nlohmann::ordered_json json = cli::ToJson(status);
    json["counters"] = nlohmann::ordered_json::array();
    for (const auto& counter : CountersOf(invocation, files, status.job))
      json["counters"].push_back(cli::ToJson(counter));
    out << console::Dump(json) << "\n";
  }
  if (status.state != JobState::kSucceeded && reporting.of_step) return kFailed;
  if (status.state != JobState::kSucceeded) {
    const std::string reason = status.reason.empty() ? "no reason was given" : status.reason;
    return invocation.Fail(ToText(status.job), Invalid(std::string(ToString(status.state)) + ": " + reason));
  }
  if (!reporting.json) out << Summary(status) << OwnCounterLines(CountersOf(invocation, files, status.job));
  return kDone;
}

Result<Waited> WaitForJob(const Invocation& invocation, dfs::DfsClient& files, JobId job, SigintHold& sigint,
                          std::optional<std::chrono::steady_clock::time_point> until) {
  sigint.Catch();
  MILLRACE_ASSIGN(const std::unique_ptr<job::JobWatch> watch, job::JobWatch::Start(files, job, kPatience));
  return Waiter(invocation, files, job, sigint, until).Run(*watch);
}

}  // namespace

SigintHold::SigintHold() {
  const sigset_t set = Interrupt();
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.valid()) throw std::system_error(errno, std::generic_category(), "wait for SIGINT");
}

SigintHold::~SigintHold() { Mask(SIG_UNBLOCK); }
void SigintHold::BeginThreads() { Mask(SIG_BLOCK); }
void SigintHold::EndThreads() { Mask(SIG_UNBLOCK); }
void SigintHold::Catch() { Mask(SIG_BLOCK); }

void SigintHold::Consume() {
  signalfd_siginfo info{};
  (void)!::read(fd_.get(), &info, sizeof info);
}

int WaitAndReport(const Invocation& invocation, dfs::DfsClient& files, JobId job, SigintHold& sigint,
                  const Reporting& reporting) {
  const Result<Waited> waited = WaitForJob(invocation, files, job, sigint, reporting.until);
  if (!waited.ok()) return invocation.Fail(reporting.what, waited.status());
  return waited->ended ? Report(invocation, files, *waited->ended, reporting) : waited->exit_status;
}

}  // namespace millrace::cli
