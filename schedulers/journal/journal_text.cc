#include "schedulers/journal/journal_text.h"

#include <array>
#include <charconv>
#include <utility>

#include "schedulers/journal/event_text.h"

namespace millrace::sched {
namespace {

constexpr std::array<std::string_view, 3> kMarks = {" decide", " woken", " restart"};  // by JournalMark

}  // namespace

std::string FormatMark(Micros time, JournalMark mark) {
  return std::to_string(time).append(kMarks[static_cast<std::size_t>(mark)]);
}

std::optional<JournalLine> ParseJournalLine(std::string_view line) {
  Micros time = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), time);
  const std::string_view rest(end, static_cast<std::size_t>(line.data() + line.size() - end));
  for (std::size_t mark = 0; error == std::errc() && mark < kMarks.size(); ++mark) {
    if (rest == kMarks[mark]) return JournalLine{time, static_cast<JournalMark>(mark)};
  }
  auto event = ParseEvent(line);
  if (!event) return std::nullopt;
  return JournalLine{event->time, std::move(event->event)};
}

}  // namespace millrace::sched
