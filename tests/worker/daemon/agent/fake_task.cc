// SPDX-License-Identifier: Apache-2.0
// A task process that does what the path of a map's first input tells it to, well or badly, for tests of
// process_runner.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/program.h"
#include "base/protocol/task.capnp.h"
#include "worker/task/channel/channel.h"
#include "worker/task/channel/record_note.h"

namespace {

using namespace millrace;  // NOLINT: a small program

void Say(task::Channel& channel, capnp::MessageBuilder& message) {
  if (!channel.Write(message).ok()) _exit(9);
}

void SayReady(task::Channel& channel, const std::string& error) {
  capnp::MallocMessageBuilder message;
  message.initRoot<task::wire::FromTask>().initReady().setError(error);
  Say(channel, message);
}

void SayProgress(task::Channel& channel, task::wire::Attempt::Reader attempt, const std::string& status) {
  capnp::MallocMessageBuilder message;
  auto progress = message.initRoot<task::wire::FromTask>().initProgress();
  progress.setAttempt(attempt);
  progress.setFraction(0.5);
  progress.setStatus(status);
  Say(channel, message);
}

void SayDone(task::Channel& channel, task::wire::Attempt::Reader attempt) {
  capnp::MallocMessageBuilder message;
  auto done = message.initRoot<task::wire::FromTask>().initDone();
  done.setAttempt(attempt);
  auto counter = done.initCounters(1)[0];
  counter.setGroup("fake");
  counter.setName("pid");
  counter.setValue(getpid());
  Say(channel, message);
}

void SayFailed(task::Channel& channel, task::wire::Attempt::Reader attempt, bool permanent = false) {
  capnp::MallocMessageBuilder message;
  auto failed = message.initRoot<task::wire::FromTask>().initFailed();
  failed.setAttempt(attempt);
  failed.setError("user code threw");
  failed.setPermanent(permanent);
  Say(channel, message);
}

[[noreturn]] void Hang() {
  for (;;) pause();
}

void WriteTo(const std::string& path, const std::string& text) {
  FILE* file = fopen(path.c_str(), "a");
  if (file == nullptr) _exit(8);
  fputs(text.c_str(), file);
  fclose(file);
}

// The write end of a named pipe stays open in this process and those that it forks until all of them are dead.
void OpenAlive(task::wire::RunMap::Reader map) {
  const std::string fifo = std::string(map.getScratch().cStr()) + "/alive";
  if (open(fifo.c_str(), O_WRONLY) < 0) _exit(7);
}

[[noreturn]] void HangWithChild(task::Channel& channel, task::wire::RunMap::Reader map) {
  OpenAlive(map);
  if (fork() == 0) Hang();
  SayProgress(channel, map.getAttempt(), "hanging with a child");
  Hang();
}

// Does the same with a child and a grandchild in sessions of their own, whose parent is gone.
[[noreturn]] void HangWithRunaways(task::Channel& channel, task::wire::RunMap::Reader map) {
  OpenAlive(map);
  int ready[2];
  if (pipe(ready) != 0) _exit(7);
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      setsid();
      if (write(ready[1], "r", 1) != 1) _exit(7);
      Hang();
    }
    Hang();
  }
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) _exit(7);
  SayProgress(channel, map.getAttempt(), "hanging with runaways");
  Hang();
}

[[noreturn]] void HangWithoutParent(task::wire::RunMap::Reader map) {
  OpenAlive(map);
  kill(getppid(), SIGKILL);
  Hang();
}

// Waits until its own parent is dead and another has adopted it.
[[noreturn]] void HangWithAnOrphanThatKillsItsParent() {
  if (fork() == 0) {
    const pid_t parent = getpid();
    if (fork() != 0) _exit(0);
    while (getppid() == parent) sched_yield();
    kill(getppid(), SIGKILL);
  }
  Hang();
}

std::string Environment() {
  std::string all;
  for (char** variable = environ; *variable != nullptr; ++variable) all += std::string(*variable) + " ";
  return all;
}

std::string certificate;  // the newest that it was given

void RunMap(task::Channel& channel, task::wire::RunMap::Reader map) {
  const auto path = map.getInputs()[0].getPath().asChars();
  const std::string order(path.begin(), path.size());
  if (order == "exit 3") {
    WriteTo(map.getStderr(), "first line\nlast words\n");
    _exit(3);
  }
  if (order == "early words") {
    fputs("said before there was a log\n", stderr);
    _exit(4);
  }
  if (order == "crash at a record" || order == "fail at a record") {
    auto note = task::RecordNote::Create(map.getRecordNote());
    if (!note.ok()) _exit(6);
    note->Set({1, 4096, 2});
    if (order == "fail at a record") return SayFailed(channel, map.getAttempt());
    abort();
  }
  if (order == "fail for good") return SayFailed(channel, map.getAttempt(), true);
  if (order == "crash") {
    signal(SIGSEGV, SIG_DFL);
    kill(getpid(), SIGSEGV);
  }
  if (order == "leave a child") {
    OpenAlive(map);
    if (fork() == 0) Hang();
    _exit(3);
  }
  if (order == "kill the parent") HangWithoutParent(map);
  if (order == "stop the parent") {
    kill(getppid(), SIGSTOP);
    SayProgress(channel, map.getAttempt(), "without a parent that runs");
    Hang();
  }
  if (order == "an orphan kills its parent") HangWithAnOrphanThatKillsItsParent();
  if (order == "family") HangWithChild(channel, map);
  if (order == "runaways") HangWithRunaways(channel, map);
  if (order == "certificate") SayProgress(channel, map.getAttempt(), certificate);
  if (order == "environment") SayProgress(channel, map.getAttempt(), Environment());
  if (order == "close") {
    close(channel.fd());
    Hang();
  }
  if (order == "garbage") {
    if (write(channel.fd(), "this is no message at all", 25) < 0) _exit(6);
    Hang();
  }
  if (order == "talk without end") {
    for (;;) SayProgress(channel, map.getAttempt(), std::string(10'000, 'x'));
  }
  if (order == "a message that is too long") SayProgress(channel, map.getAttempt(), std::string(5'000'000, 'x'));
  if (order == "a long error") {
    capnp::MallocMessageBuilder message;
    auto failed = message.initRoot<task::wire::FromTask>().initFailed();
    failed.setAttempt(map.getAttempt());
    failed.setError(std::string(3'000'000, 'x'));
    return Say(channel, message);
  }
  if (order == "fail") return SayFailed(channel, map.getAttempt());
  if (order == "progress") SayProgress(channel, map.getAttempt(), "half way");
  SayDone(channel, map.getAttempt());
}

}  // namespace

int main(int count, char** arguments) {
  millrace::SetInheritedRight();
  if (count != 2 || std::string(arguments[1]) != "--millrace-task") return 2;
  if (fcntl(4, F_GETFD) >= 0 || fcntl(0, F_GETFD) < 0) return 5;  // nothing of the daemon is held but 0 to 3
  task::Channel channel{Fd(3)};
  for (;;) {
    auto received = channel.Read();
    if (!received.ok() || !*received) return 0;
    const auto message = (*received)->Root<task::wire::ToTask>();
    if (message.isSetUp()) {
      const std::string name = message.getSetUp().getJob().getName();
      certificate = message.getSetUp().getCredentials().getCertificate();
      if (name == "silent") Hang();
      SayReady(channel, name == "refused" ? "unknown option wordcount.x" : "");
    }
    if (message.isMap()) RunMap(channel, message.getMap());
    if (message.isReduce()) SayDone(channel, message.getReduce().getAttempt());
    if (message.isExit()) return 0;
    if (message.isCredentials()) certificate = message.getCredentials().getCertificate();
  }
}
