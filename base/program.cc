// SPDX-License-Identifier: Apache-2.0
#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "base/text.h"

namespace millrace {
namespace {

// The lowest number that is free is the one that is given. Without /dev a directory serves: it takes no bytes either.
void OpenIfClosed(int fd, int mode) {
  if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) return;
  if (::open("/dev/null", mode) == fd || ::open("/", O_RDONLY | O_DIRECTORY) == fd) return;
  ::_exit(125);
}

void Fail(const std::string& name, const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), Printable(why).c_str());
}

int Guarded(const std::string& name, const std::function<int()>& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    Fail(name, "the system gives no more memory; is the limit of the shell or service (ulimit -v) too low?");
  } catch (const std::system_error& error) {
    Fail(name, std::string("the system refuses: ") + error.what() +
                   (error.code() == std::errc::resource_unavailable_try_again
                        ? "; is a limit of processes and threads (ulimit -u) too low?"
                        : ""));
  } catch (const std::exception& error) {
    Fail(name, error.what());
  }
  return 1;
}

}  // namespace

void SetInheritedRight() {
  OpenIfClosed(STDIN_FILENO, O_WRONLY);
  OpenIfClosed(STDOUT_FILENO, O_RDONLY);
  OpenIfClosed(STDERR_FILENO, O_WRONLY);
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void KeepOthersFromWriting() { ::umask(::umask(0) | S_IWGRP | S_IWOTH); }

int RunProgram(const std::string& name, const std::function<int()>& body) {
  SetInheritedRight();
  const int status = Guarded(name, body);
  errno = 0;
  std::cout.flush();
  const bool printed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (printed || status != 0) return status;
  Fail(name, std::string("cannot write to standard output") + (errno != 0 ? ": " : "") +
                 (errno != 0 ? std::strerror(errno) : ""));
  return 1;
}

}  // namespace millrace
