#include "worker/sandbox/launch_order.h"

#include <errno.h>
#include <sys/socket.h>

#include <cstring>

#include "base/bytes.h"

namespace millrace::sandbox {
namespace {

void WriteTexts(Encoder& out, const std::vector<std::string>& texts) {
  out.Varint(texts.size());
  for (const std::string& text : texts) out.Text(text);
}

std::vector<std::string> ReadTexts(Decoder& in) {
  std::vector<std::string> texts;
  for (std::uint64_t left = in.Varint(); left > 0 && !in.failed(); --left) texts.emplace_back(in.Text());
  return texts;
}

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
  Encoder out;
  out.Text(order.executable);
  WriteTexts(out, order.arguments);
  WriteTexts(out, order.environment);
  for (const bool flag : {order.user_namespace, order.user.has_value(), order.own_view, order.own_processes,
                          order.own_host_name, order.landlock, order.filter_tells})
    out.U8(flag ? 1 : 0);
  out.U32(order.user.value_or(0));
  for (const auto* texts : {&order.readable, &order.writable, &order.hidden}) WriteTexts(out, *texts);
  out.Varint(order.tmp_bytes);
  out.Varint(order.processes);
  out.U32(order.cgroups);
  out.Text(order.filter);
  return out.Take();
}

Result<LaunchOrder> DecodeLaunchOrder(std::string_view bytes) {
  Decoder in(bytes);
  LaunchOrder order;
  order.executable = in.Text();
  order.arguments = ReadTexts(in);
  order.environment = ReadTexts(in);
  bool has_user = false;
  for (bool* flag : {&order.user_namespace, &has_user, &order.own_view, &order.own_processes, &order.own_host_name,
                     &order.landlock, &order.filter_tells})
    *flag = in.U8() != 0;
  const uid_t user = in.U32();
  if (has_user) order.user = user;
  for (auto* texts : {&order.readable, &order.writable, &order.hidden}) *texts = ReadTexts(in);
  order.tmp_bytes = in.Varint();
  order.processes = in.Varint();
  order.cgroups = in.U32();
  order.filter = in.Text();
  MILLRACE_TRY(in.Finish("a launch order"));
  return order;
}

}  // namespace millrace::sandbox
