// SPDX-License-Identifier: Apache-2.0
#include "client/ui/ui_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/console/arguments.h"
#include "base/file.h"
#include "base/tls/tls_files.h"
#include "client/ui/journal_view.h"
#include "client/ui/master_view.h"
#include "client/ui/ui_server.h"

namespace millrace::ui {
namespace {

using cli::kDone;
using cli::kFailed;
using cli::kUnreachable;
using cli::kWrongUsage;

// How long a call to a master that is away goes on; the page says meanwhile that it is.
constexpr Micros kCallTimeout = 4 * kSecond;

// A file that sends a browser to the address. The words of a command are seen by everybody on the machine, so the
// address, with its token, is not among them.
class AddressFile {
 public:
  static Result<AddressFile> Make(const std::string& address) {
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
    const char* const temporary = std::getenv("TMPDIR");
    std::string path = runtime != nullptr && *runtime != '\0'       ? runtime
                       : temporary != nullptr && *temporary != '\0' ? temporary
                                                                    : "/tmp";
    path += "/millrace-ui-XXXXXX.html";
    constexpr int kEnding = 5;
    const Fd fd(::mkostemps(path.data(), kEnding, O_CLOEXEC));  // for its owner alone
    if (fd.get() < 0) return FromErrno(errno, "make " + path);
    AddressFile file(path);
    const std::string text =
        "<!DOCTYPE html><meta charset=\"utf-8\"><title>Millrace</title>\n"
        "<meta http-equiv=\"refresh\" content=\"0; url=" +
        address + "\">\n";
    if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      return FromErrno(errno, "write " + path);
    return file;
  }
  AddressFile(AddressFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  AddressFile& operator=(AddressFile&&) = delete;
  ~AddressFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit AddressFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Starts the user's browser. Nothing is said if there is none: the address has been printed.
void OpenBrowser(const std::string& path) {
  const char* const words[] = {"xdg-open", path.c_str(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);  // Ctrl-C ends this program and not the browser
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  (void)::posix_spawnp(&pid, words[0], &actions, &attributes, const_cast<char* const*>(words), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
}

// Signals that end the command become readable. Requires: made before other threads start, which then leave them alone.
class EndSignals {
 public:
  EndSignals() {
    ::sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals_, signal);
    Hold();
    fd_ = Fd(::signalfd(-1, &signals_, SFD_CLOEXEC));
  }
  void Hold() { ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr); }
  void Pass() { ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr); }  // they end the program as usual
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  sigset_t signals_{};
  Fd fd_;
};

// Serves until a signal ends it. Enter on a terminal prints another address, if there are any.
int Serve(const cli::Invocation& invocation, const EndSignals& signals, UiServer& server, bool has_addresses) {
  console::Printer out(invocation.console);
  bool reads = has_addresses && invocation.console.in_is_terminal;
  while (true) {
    pollfd waited[] = {{signals.fd(), POLLIN, 0}, {reads ? invocation.console.in : -1, POLLIN, 0}};
    if (::poll(waited, 2, -1) < 0 && errno != EINTR) return kFailed;
    if (waited[0].revents != 0) return kDone;
    if (waited[1].revents == 0) continue;
    char line[4096];
    if (::read(invocation.console.in, line, sizeof line) <= 0) {
      reads = false;
      continue;
    }
    out << server.NewAddress() << "\n";
    if (const Status written = out.Flush(); !written.ok()) return invocation.Fail("ui", written);
  }
}

Result<ReverseProxy> ReadProxy(const std::string& address, const std::string& secret_file) {
  MILLRACE_ASSIGN(std::string secret, tls::ReadKeyFile(secret_file));
  while (secret.ends_with('\n') || secret.ends_with('\r')) secret.pop_back();
  return ReverseProxy::Make(address, secret);
}

// What the words of the command say about how the page is served.
struct Serving {
  std::uint16_t port = 0;
  bool no_open = false;
  std::optional<ReverseProxy> proxy;
};

// Prints the address, opens the browser, and serves until a signal ends it.
int Show(const cli::Invocation& invocation, const EndSignals& signals, View& view, const Serving& serving) {
  const Result<std::unique_ptr<UiServer>> server = UiServer::Start(serving.port, view, serving.proxy);
  if (!server.ok()) return invocation.Fail("ui", server.status());
  const std::string address = serving.proxy ? "" : (*server)->NewAddress();
  console::Printer out(invocation.console);
  if (serving.proxy) {
    out << "http://127.0.0.1:" << std::to_string((*server)->port()) << ", for the proxy of " << serving.proxy->origin
        << "\n";
  } else {
    out << address << "\n";
  }
  if (const Status written = out.Flush(); !written.ok()) return invocation.Fail("ui", written);
  std::optional<AddressFile> file;
  if (!serving.no_open && !serving.proxy) {
    Result<AddressFile> made = AddressFile::Make(address);
    if (!made.ok()) {
      invocation.Fail("ui: open the browser", made.status());
    } else {
      file.emplace(*std::move(made));
      OpenBrowser(file->path());
    }
  }
  return Serve(invocation, signals, **server, !serving.proxy);
}

}  // namespace

int UiCommand(const cli::Invocation& invocation, const cli::Words& args) {
  console::Arguments arguments(
      "ui", "",
      "Serves the page of the cluster at an address of this machine, with your rights, until Ctrl-C, and opens it in "
      "the browser. The address that it prints opens the page once; Enter on the terminal prints another one. The page "
      "only shows: it changes nothing.");
  arguments.Example("");
  arguments.Example("--port 8700 --no-open    # at the other end of `ssh -L 8700:127.0.0.1:8700`");
  arguments.Example("--journal cluster.journal    # of `millrace job history >cluster.journal`");
  arguments.Example(
      "--port 8700 --behind https://cluster.example.org --proxy-secret /etc/millrace/proxy-secret    # for several "
      "people: a reverse proxy of this machine says who may look");
  std::int64_t port = 0;
  Serving serving;
  std::string journal, behind, secret_file;
  constexpr std::int64_t kHighestPort = 65535;
  arguments.Integer("--port", &port, 1, kHighestPort, "the port of 127.0.0.1 to listen at (default: any free one)");
  arguments.Text("--journal", &journal,
                 "show the cluster at the end of this journal, which `millrace job history` writes, and ask no master");
  arguments.Flag("--no-open", &serving.no_open, "print the address only, and open no browser");
  arguments.Text(
      "--behind", &behind,
      "serve a reverse proxy of this machine that browsers reach at this address, and nobody else; everybody "
      "whom the proxy lets in sees what you may see");
  arguments.Text("--proxy-secret", &secret_file,
                 "the file with what the proxy sends in the header Millrace-Proxy; readable by you alone");
  arguments.options().get_option("--behind")->needs("--proxy-secret");
  arguments.options().get_option("--proxy-secret")->needs("--behind");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  serving.port = static_cast<std::uint16_t>(port);
  if (arguments.options().count("--behind") > 0) {
    Result<ReverseProxy> proxy = ReadProxy(behind, secret_file);
    if (!proxy.ok()) return invocation.Fail("ui", proxy.status(), kWrongUsage);
    serving.proxy = *std::move(proxy);
  }
  EndSignals signals;
  // A name that is empty is that of no file, and no reason to ask a master.
  if (std::ranges::any_of(args,
                          [](const auto& word) { return word == "--journal" || word.starts_with("--journal="); })) {
    signals.Pass();
    const Result<std::unique_ptr<JournalView>> read = JournalView::Read(journal);
    signals.Hold();
    if (!read.ok()) return invocation.Fail("ui", read.status());
    return Show(invocation, signals, **read, serving);
  }
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect([&] { signals.Pass(); }, kCallTimeout);
  signals.Hold();
  if (!files.ok()) return invocation.Fail("ui", files.status(), kUnreachable);
  MasterView view(**files, Monotonic);
  return Show(invocation, signals, view, serving);
}

}  // namespace millrace::ui
