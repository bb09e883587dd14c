// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox/alone.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "base/file.h"
#include "base/sandbox/call_filter.h"
#include "base/sandbox/environment.h"
#include "base/text.h"

namespace millrace::sandbox {
namespace {

constexpr Micros kLongestProbe = 20 * kSecond;
constexpr std::size_t kProbeBytes = 4096;
constexpr int kFree = kFirstCgroupFd + 8;  // descriptors from here on are none that the launcher is started with
constexpr uid_t kNobody = 65534;

// Returns the path of the file that this word runs.
Result<std::string> FindExecutable(const std::string& word) {
  if (word.find('/') != std::string::npos) {
    char* const whole = ::realpath(word.c_str(), nullptr);
    if (whole == nullptr) return FromErrno(errno, "start " + Quote(word));
    std::string path = whole;
    ::free(whole);
    return path;
  }
  const char* const path = ::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string file = std::string(rest.substr(0, end)) + "/" + word;
    if (file.starts_with('/') && ::access(file.c_str(), X_OK) == 0) return file;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return NotFound("start " + Quote(word) + ": there is no such program in PATH");
}

Result<Fd> Above(Fd fd, std::string_view what) {
  Fd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFree));
  if (!moved.valid()) return FromErrno(errno, what);
  return moved;
}

Result<Fd> FileWith(const std::string& bytes) {
  Fd file(::memfd_create("millrace-order", MFD_CLOEXEC));
  if (!file.valid()) return FromErrno(errno, "cannot make a file for a launch order");
  MILLRACE_TRY(WriteAll(file.get(), bytes, "a launch order"));
  return Above(std::move(file), "cannot duplicate a launch order");
}

// Waits until the program begins, or the launcher says why it does not.
Status AwaitBegin(int report) {
  pollfd polled{report, POLLIN, 0};
  int ready = 0;
  do ready = ::poll(&polled, 1, static_cast<int>(kLongestProbe / kMillisecond));
  while (ready < 0 && errno == EINTR);
  if (ready <= 0) return Unavailable("the launcher says nothing");
  const auto said = ReceiveReport(report, MSG_DONTWAIT);
  return said ? Unavailable(said->failure) : Status::Ok();
}

}  // namespace

Result<std::unique_ptr<Alone>> Alone::Open(AloneOptions options) {
  SandboxSettings settings{.parts = Parts::All(),
                           .privileged = IsPrivileged(),
                           .users = {kNobody, 1},
                           .readable = options.readable,
                           .hidden = options.hidden,
                           .tmp_bytes = options.tmp_bytes,
                           .processes = options.processes};
  std::unique_ptr<Alone> alone(new Alone(std::move(options), std::move(settings)));
  FoundParts& found = alone->found_;
  if (!found.settings().privileged) found.Drop(Part::kUser, "this process may not change users");
  auto filter = MakeCallFilter(Sockets::kNone);
  if (filter.ok()) alone->filter_ = std::move(*filter);
  if (!filter.ok()) found.Drop(Part::kFilter, filter.status().message());
  if (alone->options_.cgroups) {
    auto cgroups = TaskCgroups::Open();
    if (cgroups.ok()) alone->cgroups_ = std::move(*cgroups);
    if (!cgroups.ok()) found.Drop(Part::kCgroup, cgroups.status().message());
  } else {
    found.Drop(Part::kCgroup, "not asked for");
  }
  std::vector<std::string> reach;
  MILLRACE_TRY(found.Find([&] { return alone->Try(&reach); }, ""));
  if (reach.empty()) return alone;
  std::string could;
  for (const std::string& what : reach) could += (could.empty() ? "" : ", ") + what;
  return Unsupported("a program cannot be confined on this machine: it could " + could + "; there are " +
                     found.Describe());
}

Result<std::string> Alone::Try(std::vector<std::string>* reach) {
  reach->clear();
  MILLRACE_ASSIGN(const TempDir directory, TempDir::Make("millrace-alone"));
  const std::string secret = directory.path() + "/file";
  MILLRACE_TRY(OpenFile(secret, O_WRONLY | O_CREAT).status());
  const std::string launcher = options_.directory + "/millrace-launch";
  auto started = Start("the probe", {launcher, "--probe-alone", std::to_string(::getpid()), secret}, {});
  if (!started.ok()) return started.status().message();
  std::string said;
  const auto before = (*started)->Ask("", "reaches", kLongestProbe, kProbeBytes, &said);
  if (!before.ok()) return before.status();
  for (const auto& [word, what] : {std::pair{" parent", "signal its parent"}, std::pair{" files", "read its files"},
                                   std::pair{" network", "use the network"}}) {
    if (said.find(word) != std::string::npos) reach->push_back(what);
  }
  return std::string();
}

Result<std::unique_ptr<LineChild>> Alone::Start(const std::string& name, std::vector<std::string> argv,
                                                const std::vector<std::string>& files) const {
  JobPlace place;
  MILLRACE_ASSIGN(place.executable, FindExecutable(argv.front()));
  place.readable = files;
  LaunchOrder order = PlanLaunch(found_.settings(), place);
  order.filter_tells = false;  // there is nobody to be asked, and nothing to ask for
  if (found_.parts().Has(Part::kFilter)) order.filter = filter_;
  argv.front() = place.executable;
  order.arguments = std::move(argv);
  order.environment = PlainEnvironment();
  Confine(order, &order.environment);
  order.environment.insert(order.environment.end(), options_.variables.begin(), options_.variables.end());

  LineCommand command;
  command.name = name;
  std::vector<Fd> kept;
  const auto hand = [&](Result<Fd> fd, int number) -> Status {
    MILLRACE_ASSIGN(Fd own, std::move(fd));
    command.descriptors.emplace_back(own.get(), number);
    kept.push_back(std::move(own));
    return Status::Ok();
  };
  if (found_.parts().Has(Part::kCgroup)) {
    MILLRACE_ASSIGN(auto cgroup, cgroups_->Make(++serial_, {options_.memory, options_.processes}));
    MILLRACE_ASSIGN(std::vector<Fd> doors, cgroup.Doors());
    order.cgroups = static_cast<std::uint32_t>(doors.size());
    int number = kFirstCgroupFd;
    for (Fd& door : doors) MILLRACE_TRY(hand(Above(std::move(door), "cannot duplicate a cgroup's file"), number++));
    command.kept = std::make_shared<const TaskCgroup>(std::move(cgroup));
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return FromErrno(errno, "cannot make a socket pair");
  const Fd report(ends[0]);
  MILLRACE_TRY(hand(FileWith(Encode(order)), kOrderFd));
  MILLRACE_TRY(hand(Above(Fd(ends[1]), "cannot duplicate a socket"), kReportFd));
  command.argv = {options_.directory + "/millrace-launch", "--alone", std::to_string(::getpid()),
                  std::to_string(NamespacesOf(found_.settings(), place)), std::to_string(options_.memory)};
  command.environment.emplace();
  MILLRACE_ASSIGN(auto child, LineChild::Start(std::move(command)));
  kept.clear();
  MILLRACE_TRY(AwaitBegin(report.get()));
  return child;
}

}  // namespace millrace::sandbox
