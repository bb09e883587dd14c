// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "schedulers/events/event_text.h"

namespace millrace::sched {
namespace {

TEST(JournalText, MarksReadAsTheyAreWritten) {
  const std::pair<JournalMark, const char*> marks[] = {
      {JournalMark::kDecide, "18 decide"}, {JournalMark::kWoken, "18 woken"}, {JournalMark::kRestart, "18 restart"}};
  for (const auto& [mark, line] : marks) {
    EXPECT_EQ(FormatMark(18, mark), line);
    const auto parsed = ParseJournalLine(line);
    ASSERT_TRUE(parsed.has_value()) << line;
    EXPECT_EQ(parsed->time, 18);
    EXPECT_EQ(std::get<JournalMark>(parsed->content), mark);
  }
}

TEST(JournalText, EventsReadAsEvents) {
  const auto parsed = ParseJournalLine("5 NodeLost node=n7");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->time, 5);
  EXPECT_EQ(std::get<NodeLost>(std::get<Event>(parsed->content)).node, NodeId{7});
}

TEST(JournalText, WhatIsNeitherIsNothing) {
  for (const char* line : {"", "18", "18 ", " decide", "decide", "18  decide", "18 decided", "18 decide now",
                           "x decide", "99999999999999999999 decide", "18 Decide", "18 NodeLost"}) {
    EXPECT_FALSE(ParseJournalLine(line).has_value()) << line;
  }
}

}  // namespace
}  // namespace millrace::sched
