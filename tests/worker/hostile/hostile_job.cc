// SPDX-License-Identifier: Apache-2.0
// A job that tries what it must not. Each input line is an attempt, "NAME ARGUMENT..."; the output has the line, a tab
// and what happened: what it got, or the name of the error. The work is done in the task's own process, so that it has
// whatever a job's code has.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "client/api/job.h"

namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::string Error() { return strerrorname_np(errno); }
std::string Done(long result, const std::string& done) { return result < 0 ? Error() : done; }

std::string Read(const Words& words) {
  const int fd = open(words[1].c_str(), O_RDONLY);
  char bytes[256];
  const ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
  return Done(got, "read " + std::to_string(got) + " bytes");
}

std::string Write(const Words& words) {
  const int fd = open(words[1].c_str(), O_WRONLY | O_APPEND);
  return Done(fd < 0 ? -1 : write(fd, "x", 1), "written");
}

std::string Make(const Words& words) { return Done(open(words[1].c_str(), O_WRONLY | O_CREAT, 0644), "made"); }

std::string List(const Words& words) {
  std::error_code error;
  std::string names;
  for (const auto& entry : std::filesystem::directory_iterator(words[1], error))
    names += entry.path().filename().string() + " ";
  return error ? strerrorname_np(error.value()) : "sees " + names;
}

// The processes that it sees beside itself and the first of its namespace.
std::string Processes(const Words&) {
  std::string others;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (std::atoi(name.c_str()) == getpid() || name == "1") continue;
    others += name + " ";
  }
  return others.empty() ? "none" : "sees " + others;
}

std::string Signal(const Words& words) { return Done(kill(std::atoi(words[1].c_str()), SIGKILL), "sent"); }
std::string Trace(const Words& words) {
  return Done(ptrace(PTRACE_ATTACH, std::atoi(words[1].c_str()), nullptr, nullptr), "attached");
}
std::string Peek(const Words& words) {
  char byte = 0;
  iovec here{&byte, 1}, there{reinterpret_cast<void*>(0x400000), 1};
  return Done(process_vm_readv(std::atoi(words[1].c_str()), &here, 1, &there, 1, 0), "read");
}

// Forks until it cannot. The children wait for their end.
std::string Forks(const Words& words) {
  std::vector<pid_t> children;
  const auto most = static_cast<std::size_t>(std::atoi(words[1].c_str()));
  std::string end = "no limit";
  while (children.size() < most) {
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    if (child < 0) {
      end = Error();
      break;
    }
    children.push_back(child);
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  return (children.size() < most ? "stopped by " : "not stopped: ") + end + " at " + std::to_string(children.size());
}

std::string Fill(const Words& words) {
  const std::string path = words[1] + "/fill";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  if (fd < 0) return Error();
  const std::string piece(std::size_t{1} << 20, 'x');
  const long most = std::atol(words[2].c_str());
  long written = 0;
  std::string end = "no limit";
  for (; written < most; ++written) {
    if (write(fd, piece.data(), piece.size()) == static_cast<ssize_t>(piece.size())) continue;
    end = Error();
    break;
  }
  close(fd);
  unlink(path.c_str());
  return (written < most ? "stopped by " : "not stopped: ") + end + " at " + std::to_string(written) + " MiB";
}

// Takes MiB after MiB until there are so many or no more, and returns how many it got. Each leads to the one before.
long Take(long most, void** last) {
  for (long taken = 0; taken < most; ++taken) {
    void* piece = mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) return taken;
    memset(piece, 1, kMiB);
    memcpy(piece, last, sizeof *last);
    *last = piece;
  }
  return most;
}

void GiveBack(void* last) {
  while (last != nullptr) {
    void* before = nullptr;
    memcpy(&before, last, sizeof before);
    munmap(last, kMiB);
    last = before;
  }
}

// One process that takes memory, or many that take it and hold it until all have.
std::string Memory(const Words& words) {
  const int processes = std::atoi(words[1].c_str());
  const long most = std::atol(words[2].c_str());
  if (processes == 1) {
    void* last = nullptr;
    const long taken = Take(most, &last);
    const int error = errno;
    GiveBack(last);
    errno = error;
    return (taken < most ? "stopped by " + Error() : "not stopped:") + " at " + std::to_string(taken) + " MiB";
  }
  int ready[2];
  if (pipe(ready) != 0) return Error();
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child < 0) return "fork " + Error();
    if (child == 0) {
      close(ready[0]);
      void* last = nullptr;
      Take(most, &last);
      close(ready[1]);  // the pipe ends when the last has taken, or ended
      pause();
    }
    children.push_back(child);
  }
  close(ready[1]);
  char none = 0;
  (void)!read(ready[0], &none, 1);
  close(ready[0]);
  int killed = 0, status = 0;
  for (const pid_t child : children) killed += waitpid(child, &status, WNOHANG) == child ? 1 : 0;
  for (const pid_t child : children) kill(child, SIGTERM);
  while (wait(nullptr) > 0) {
  }
  return std::to_string(killed) + " of " + std::to_string(processes) + " killed";
}

// Processes that compute for so many seconds. Says how much of the processor they had.
std::string Spin(const Words& words) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(words[2].c_str()));
  std::vector<pid_t> children;
  for (int i = 0; i < std::atoi(words[1].c_str()); ++i) {
    const pid_t child = fork();
    if (child < 0) return "fork " + Error();
    if (child == 0) {
      while (std::chrono::steady_clock::now() < end) {
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  rusage used = {};
  getrusage(RUSAGE_CHILDREN, &used);
  return "used " + std::to_string(used.ru_utime.tv_sec * 1000 + used.ru_utime.tv_usec / 1000) + " ms";
}

// A process that leaves the task's group and session, drops its mark, closes everything and goes on.
std::string Survive(const Words& words) {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() > 0) _exit(0);
    prctl(PR_SET_NAME, words[1].c_str());
    close_range(0, ~0U, 0);
    char* arguments[] = {const_cast<char*>(words[1].c_str()), const_cast<char*>("600"), nullptr};
    char* nothing[] = {nullptr};
    execve("/usr/bin/sleep", arguments, nothing);
    _exit(1);
  }
  return Done(child < 0 ? -1 : waitpid(child, nullptr, 0), "left a process behind");
}

std::string Connect(const Words& words) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = words[0] == "udp" ? SOCK_DGRAM : SOCK_STREAM;
  if (getaddrinfo(words[1].c_str(), words[2].c_str(), &hints, &found) != 0) return "no address";
  const int fd = socket(found->ai_family, found->ai_socktype, 0);
  if (fd < 0) return "socket " + Error();
  return Done(connect(fd, found->ai_addr, found->ai_addrlen), "connected");
}

// Ends while a process that it started waits for a peer.
std::string LeaveConnecting(const Words& words) {
  const pid_t child = fork();
  if (child == 0) {
    Connect(words);
    _exit(0);
  }
  return Done(child, "left");
}

// Says so in its log, and then waits for a peer, again and again.
std::string KeepConnecting(const Words& words) {
  fprintf(stderr, "connects\n");
  while (Connect(words) == "ETIMEDOUT") {
  }
  return "ended";
}

std::string Abstract(const Words& words) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, words[1].data(), words[1].size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + words[1].size());
  return Done(connect(fd, reinterpret_cast<sockaddr*>(&address), size), "connected");
}

// Sends bytes (given in hexadecimal) to an abstract socket, or by TCP to HOST:PORT, and returns what a frame that comes
// back says (base/net/bulk_server.h): its code, and the message with "_" for what would end a field.
std::string Ask(const Words& words) {
  const bool abstract = words[1][0] == '@';
  const std::size_t colon = words[1].rfind(':');
  const int fd = socket(abstract ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return "socket " + Error();
  sockaddr_un local = {};
  sockaddr_in remote = {};
  local.sun_family = AF_UNIX;
  remote.sin_family = AF_INET;
  auto size = static_cast<socklen_t>(sizeof remote);
  if (abstract) {
    memcpy(local.sun_path + 1, words[1].data() + 1, words[1].size() - 1);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + words[1].size());
  } else {
    inet_pton(AF_INET, words[1].substr(0, colon).c_str(), &remote.sin_addr);
    remote.sin_port = htons(static_cast<std::uint16_t>(std::atoi(words[1].c_str() + colon + 1)));
  }
  auto* const address = abstract ? reinterpret_cast<sockaddr*>(&local) : reinterpret_cast<sockaddr*>(&remote);
  if (connect(fd, address, size) != 0) return Error();
  std::string bytes;
  for (std::size_t i = 0; i + 1 < words[2].size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(words[2].substr(i, 2), nullptr, 16)));
  if (send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) return Error();
  unsigned char frame[12];
  if (recv(fd, frame, sizeof frame, MSG_WAITALL) != static_cast<ssize_t>(sizeof frame)) return "hung up";
  std::string message(std::min<std::size_t>(frame[4] + 256U * frame[5], 1000), '\0');
  if (recv(fd, message.data(), message.size(), MSG_WAITALL) != static_cast<ssize_t>(message.size())) return "hung up";
  for (char& c : message) c = c < ' ' ? '_' : c;
  close(fd);
  return "answered " + std::to_string(frame[0]) + " " + message;
}

std::string Listen(const Words&) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return "socket " + Error();
  return Done(listen(fd, 1), "listens");
}

std::string Raw(const Words&) { return Done(socket(AF_PACKET, SOCK_RAW, 0), "made"); }

// A stream through a unix socket of its own, as libraries make them: this must work.
std::string OwnSocket(const Words&) {
  const int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const char path[] = "/tmp/own-socket";
  memcpy(address.sun_path, path, sizeof path);
  unlink(path);
  if (bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return "bind " + Error();
  if (listen(server, 1) != 0) return "listen " + Error();
  return Done(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), "connected");
}

std::string Mount(const Words&) { return Done(mount("none", "/tmp", "tmpfs", 0, nullptr), "mounted"); }
std::string Unshare(const Words&) { return Done(unshare(CLONE_NEWUSER), "unshared"); }
std::string CloneSpace(const Words&) {
  const long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) _exit(0);
  return Done(child, "cloned");
}
std::string Module(const Words&) { return Done(syscall(SYS_finit_module, -1, "", 0), "loaded"); }
std::string Bpf(const Words&) { return Done(syscall(SYS_bpf, 0, nullptr, 0), "loaded"); }
std::string Keys(const Words&) { return Done(syscall(SYS_keyctl, 0, -3, 1), "got a key ring"); }
std::string Kexec(const Words&) { return Done(syscall(SYS_kexec_load, 0, 0, nullptr, 0), "loaded"); }
std::string Ring(const Words&) { return Done(syscall(SYS_io_uring_setup, 1, nullptr), "made"); }
std::string Device(const Words&) { return Done(mknod("/tmp/device", S_IFBLK | 0600, 0x800), "made"); }
std::string Become(const Words&) { return Done(setuid(0), getuid() == 0 ? "is root" : "nothing"); }
std::string User(const Words&) { return std::to_string(getuid()); }

std::string Environment(const Words&) {
  std::string names;
  for (char** at = environ; *at != nullptr; ++at)
    names += std::string(*at).substr(0, std::string_view(*at).find('=')) + " ";
  return names;
}

// Describes the open descriptors from 3 on.
std::string Descriptors(const Words&) {
  std::string all;
  for (int fd = 3; fd < 64; ++fd) {
    char target[256];
    const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
    if (length > 0) all += std::to_string(fd) + "=" + std::string(target, static_cast<std::size_t>(length)) + " ";
  }
  return all;
}

// Puts a link to a file of the worker in the place of its own log, which the worker reads for users.
std::string LinkLog(const Words& words) {
  char log[4096];
  const ssize_t length = readlink("/proc/self/fd/2", log, sizeof log - 1);
  if (length <= 0) return Error();
  log[length] = '\0';
  unlink(log);
  return Done(symlink(words[1].c_str(), log), "linked");
}

std::filesystem::path OwnLog() {
  char log[4096];
  const ssize_t length = readlink("/proc/self/fd/2", log, sizeof log);
  return std::string(log, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
}

// The job's directory on its worker, as the path of its log tells it.
std::string OwnPlace() {
  const std::filesystem::path job = OwnLog().parent_path();
  return (job.parent_path().parent_path() / "jobs" / job.filename()).string();
}

// Puts a link to a file of the worker where the worker will write what it copies for the job's reduce.
std::string Plant(const Words& words) {
  const std::string place = OwnPlace() + "/reduce";
  mkdir(place.c_str(), 0777);
  return Done(symlink(words[1].c_str(), (place + "/planted").c_str()), "planted");
}

// Puts a directory of its own in the place of one that the worker made.
std::string Swap(const Words&) {
  return Done(rename((OwnPlace() + "/scratch").c_str(), (OwnPlace() + "/mine").c_str()), "swapped");
}

std::string OwnDirectories(const Words&) {
  const std::string scratch = "/scratch/" + OwnLog().stem().string() + "/x";
  for (const std::string& name : {std::string("/map/x"), scratch, std::string("/shared/x")}) {
    const std::string path = OwnPlace() + name;
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0) return name + " " + Error();
    close(fd);
    unlink(path.c_str());
  }
  return "made";
}

// Leaves what is hard to remove: directories that may not be entered, a tree of 3,000 levels, long names, pipes,
// links.
std::string Leave(const Words&) {
  const std::string top = OwnPlace() + "/shared/left";
  if (mkdir(top.c_str(), 0700) != 0 || chdir(top.c_str()) != 0) return Error();
  const std::string longest(255, 'n');
  if (mkfifo("pipe", 0) != 0 || symlink("/", "root") != 0 || mkdir("closed", 0700) != 0) return Error();
  if (open("closed/file", O_WRONLY | O_CREAT, 0600) < 0 || chmod("closed", 0555) != 0) return Error();
  if (mkdir("none", 0) != 0 || mkdir(longest.c_str(), 0) != 0) return Error();
  for (int i = 0; i < 3'000; ++i) {
    if (mkdir("d", 0700) != 0 || chdir("d") != 0) return Error();
  }
  if (chdir("/tmp") != 0 || chmod(top.c_str(), 0555) != 0) return Error();
  return "left";
}

std::string Family(const Words& words) {
  return Done(syscall(SYS_socket, std::strtoull(words[1].c_str(), nullptr, 10), SOCK_STREAM, 0), "made");
}

std::string Bind(const Words&) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  return Done(fd < 0 ? -1 : bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any), "bound");
}

std::string Sctp(const Words&) { return Done(socket(AF_INET, SOCK_STREAM, 132), "made"); }

// Asks for what it sends to pass by an address of its choice.
std::string Route(const Words&) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const unsigned char loose[8] = {131, 7, 4, 192, 0, 2, 1, 0};
  return Done(fd < 0 ? -1 : setsockopt(fd, IPPROTO_IP, IP_OPTIONS, loose, sizeof loose), "routed");
}

std::string OwnPair(const Words&) {
  int ends[2];
  return Done(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "connected");
}

// Takes a lease of each file that the worker opens for the job, and keeps them: whoever opens one waits.
std::string Lease(const Words&) {
  signal(SIGIO, SIG_IGN);
  const std::filesystem::path log = OwnLog();
  std::string results;
  for (const std::string& path :
       {(log.parent_path() / "process.err").string(), std::filesystem::path(log).replace_extension("out").string(),
        OwnPlace() + "/map/leased"}) {
    unlink(path.c_str());
    const int fd = open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0) return path + " " + Error();
    for (const int kind : {F_RDLCK, F_WRLCK}) results += Done(fcntl(fd, F_SETLEASE, kind), "leased") + " ";
  }
  return results;
}

// The descriptors of blocks that the worker has passed.
std::vector<int> passed;

// Makes a block that it may read one that nobody can read.
std::string Spoil(const Words& words) {
  if (passed.empty()) return "no block was passed";
  const int fd = passed.back();
  const std::string path = "/proc/self/fd/" + std::to_string(fd), how = words[1];
  // The owner, the group and all others may do nothing (in the kernel's format of access lists).
  const unsigned char nothing[] = {2, 0, 0,   0,   1,   0,   0,  0, 255, 255, 255, 255, 4,   0,
                                   0, 0, 255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255};
  if (how == "fchmod") return Done(fchmod(fd, 0), "done");
  if (how == "chmod") return Done(chmod(path.c_str(), 0), "done");
  if (how == "acl") return Done(fsetxattr(fd, "system.posix_acl_access", nothing, sizeof nothing, 0), "done");
  if (how == "times") return Done(futimens(fd, nullptr), "done");
  if (how == "lease") return Done(fcntl(fd, F_SETLEASE, F_WRLCK), "done");
  if (how == "truncate") return Done(truncate(path.c_str(), 0), "done");
  const int again = open(path.c_str(), O_WRONLY);
  return Done(again < 0 ? -1 : pwrite(again, "spoilt", 6, 0), "done");
}

sockaddr_un AbstractAddress(const std::string& name, socklen_t* size) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);  // of "@name"
  *size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return address;
}

// Connects to the worker's socket, and gives its own end the name of another socket of the machine.
std::string TakeName(const Words& words) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  socklen_t size = 0;
  const sockaddr_un worker = AbstractAddress(words[1], &size);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&worker), size) != 0) return "connect " + Error();
  const sockaddr_un other = AbstractAddress(words[2], &size);
  return Done(bind(fd, reinterpret_cast<const sockaddr*>(&other), size), "taken");
}

// Sends descriptors that nobody takes, until it cannot or they are so many. It says so in its log, and stays.
std::string SendDescriptors(const Words& words) {
  constexpr long kAtOnce = 253;
  const int null = open("/dev/null", O_RDONLY);
  const std::vector<int> all(kAtOnce, null);
  std::vector<char> space(CMSG_SPACE(kAtOnce * sizeof(int)));
  char byte = 0;
  iovec data{&byte, 1};
  int ends[2] = {-1, -1};
  long sent = 0;
  for (bool fresh = true; sent < std::atol(words[1].c_str()); sent += kAtOnce) {
    if (fresh && socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) break;
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(kAtOnce * sizeof(int));
    memcpy(CMSG_DATA(header), all.data(), kAtOnce * sizeof(int));
    if (sendmsg(ends[0], &message, 0) == 1) {
      fresh = false;
    } else if (errno == EAGAIN && !fresh) {
      fresh = true;
      sent -= kAtOnce;
    } else {
      break;
    }
  }
  fprintf(stderr, "sent %ld descriptors, then %s\n", sent, Error().c_str());
  while (true) pause();
}

// Stays until it is killed.
std::string Hold(const Words&) {
  while (true) pause();
}

const std::map<std::string, std::string (*)(const Words&)> kAttempts = {{"read", Read},
                                                                        {"write", Write},
                                                                        {"make", Make},
                                                                        {"list", List},
                                                                        {"processes", Processes},
                                                                        {"signal", Signal},
                                                                        {"trace", Trace},
                                                                        {"peek", Peek},
                                                                        {"forks", Forks},
                                                                        {"fill", Fill},
                                                                        {"memory", Memory},
                                                                        {"spin", Spin},
                                                                        {"survive", Survive},
                                                                        {"connect", Connect},
                                                                        {"udp", Connect},
                                                                        {"leave-connecting", LeaveConnecting},
                                                                        {"keep-connecting", KeepConnecting},
                                                                        {"abstract", Abstract},
                                                                        {"ask", Ask},
                                                                        {"listen", Listen},
                                                                        {"raw", Raw},
                                                                        {"own-socket", OwnSocket},
                                                                        {"mount", Mount},
                                                                        {"unshare", Unshare},
                                                                        {"clone", CloneSpace},
                                                                        {"module", Module},
                                                                        {"bpf", Bpf},
                                                                        {"keys", Keys},
                                                                        {"kexec", Kexec},
                                                                        {"ring", Ring},
                                                                        {"device", Device},
                                                                        {"become", Become},
                                                                        {"user", User},
                                                                        {"environment", Environment},
                                                                        {"descriptors", Descriptors},
                                                                        {"link-log", LinkLog},
                                                                        {"plant", Plant},
                                                                        {"swap", Swap},
                                                                        {"own-directories", OwnDirectories},
                                                                        {"leave", Leave},
                                                                        {"family", Family},
                                                                        {"bind", Bind},
                                                                        {"sctp", Sctp},
                                                                        {"route", Route},
                                                                        {"own-pair", OwnPair},
                                                                        {"lease", Lease},
                                                                        {"spoil", Spoil},
                                                                        {"take-name", TakeName},
                                                                        {"send-descriptors", SendDescriptors},
                                                                        {"hold", Hold}};

struct Hostile {
  void Map(std::string_view line, auto& emit) {
    std::istringstream in{std::string(line)};
    Words words;
    for (std::string word; in >> word;) words.push_back(word);
    const auto attempt = words.empty() ? kAttempts.end() : kAttempts.find(words[0]);
    const std::string result = attempt == kAttempts.end() ? "unknown" : attempt->second(words);
    emit(std::string(line) + "\t" + result);
  }
};

}  // namespace

// What the client library calls, too: files that can only be read are the blocks that the job reads.
extern "C" ssize_t recvmsg(int fd, msghdr* message, int flags) {
  const ssize_t got = syscall(SYS_recvmsg, fd, message, flags);
  for (cmsghdr* at = got < 0 ? nullptr : CMSG_FIRSTHDR(message); at != nullptr; at = CMSG_NXTHDR(message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    int file = -1;
    memcpy(&file, CMSG_DATA(at), sizeof file);
    struct stat info = {};
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY)
      passed.push_back(dup(file));
  }
  return got;
}

int main(int argc, char** argv) { return millrace::Run<Hostile>(argc, argv); }
