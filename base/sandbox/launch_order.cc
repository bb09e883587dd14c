// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox/launch_order.h"

#include <errno.h>
#include <sys/socket.h>

#include <cstring>

#include "base/archive.h"

namespace millrace::sandbox {
namespace {

constexpr auto kText = [](auto& archive, auto& text) { archive.Text(text); };

// One of the flags says whether there is a user to become; the user follows the flags, and is 0 if there is none.
constexpr auto kOrder = [](auto& archive, auto& order, auto& has_user, auto& user) {
  archive.Text(order.executable);
  archive.List(order.arguments, kText);
  archive.List(order.environment, kText);
  archive.U8(order.user_namespace, has_user, order.own_view, order.own_processes, order.own_host_name);
  archive.U8(order.landlock, order.filter_tells);
  archive.U32(user);
  archive.List(order.readable, kText);
  archive.List(order.writable, kText);
  archive.List(order.hidden, kText);
  archive.Varint(order.tmp_bytes, order.processes);
  archive.U32(order.cgroups);
  archive.Text(order.filter);
};

}  // namespace

std::optional<LaunchReport> ReceiveReport(int socket, int flags) {
  char text[1024];
  iovec data{text, sizeof text};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  ssize_t got = 0;
  do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
  while (got < 0 && errno == EINTR);
  if (got <= 0) return std::nullopt;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
    return LaunchReport{Fd(), std::string(text, static_cast<std::size_t>(got))};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return LaunchReport{Fd(fd), {}};
}

std::string Encode(const LaunchOrder& order) {
  const bool has_user = order.user.has_value();
  const uid_t user = order.user.value_or(0);
  Writing archive;
  kOrder(archive, order, has_user, user);
  return archive.Take();
}

Result<LaunchOrder> DecodeLaunchOrder(std::string_view bytes) {
  Reading archive(bytes);
  LaunchOrder order;
  bool has_user = false;
  uid_t user = 0;
  kOrder(archive, order, has_user, user);
  MILLRACE_TRY(archive.Finish("a launch order"));
  if (has_user) order.user = user;
  return order;
}

}  // namespace millrace::sandbox
