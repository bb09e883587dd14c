// SPDX-License-Identifier: Apache-2.0
#include "lab/study/tables.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::sim::experiments {
namespace {

Table Sample() {
  return {"locality",
          "Locality",
          {{"jobs"}, Given("paper, %"), Measured("ours, %")},
          {{"five", 46.0, 45.64}, {"ten", {}, 26.25}}};
}

TEST(ReportTest, AlignsFiguresToTheRight) {
  EXPECT_EQ(FormatTable({"id", "Gains.", {{"jobs", false}, {"gain"}}, {{"five", "1.2 ± 0.1"}, {"ten", "-"}}}),
            "Gains.\n"
            "  jobs       gain\n"
            "  five  1.2 ± 0.1\n"
            "  ten           -\n");
}

TEST(ReportTest, WritesMarkdown) {
  EXPECT_EQ(FormatMarkdown(Summarise({Findings{{Sample()}, {}}}).at(0)),
            "Locality. One seed.\n\n"
            "| jobs | paper, % | ours, % |\n"
            "|---|---:|---:|\n"
            "| five | 46 | 45.6 |\n"
            "| ten | - | 26.2 |\n");
}

TEST(ReportTest, ABarDoesNotEndACellOfMarkdown) {
  EXPECT_EQ(FormatMarkdown({"id", "", {{"a|b", false}}, {{"c | d"}}}), "| a\\|b |\n|---|\n| c \\| d |\n");
}

TEST(ReportTest, WritesJsonOfASeedWithNullForWhatIsAbsent) {
  const Findings findings{{Sample()}, {{"gain", "about half", 0.5, Ratio(""), AtMost(1)}}};
  EXPECT_EQ(FormatJson("e", "paper", 7, findings),
            R"({"experiment":"e","paper":"paper","seed":7,"tables":[{"id":"locality","title":"Locality",)"
            R"("columns":["jobs","paper, %","ours, %"],"rows":[["five",46.0,45.64],["ten",null,26.25]]}],)"
            R"("claims":[{"claim":"gain","paper":"about half","ours":0.5}]})"
            "\n");
}

TEST(TableTest, FindsAFigureByRowAndColumn) {
  EXPECT_EQ(Sample().Number("five", "paper, %"), 46.0);
  EXPECT_EQ(Sample().Number(1, "ours, %"), 26.25);
}

}  // namespace
}  // namespace millrace::sim::experiments
