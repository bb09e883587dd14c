#include "worker/sandbox/launch_order.h"

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
