#include "schedulers/sim/experiments/report.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace millrace::sim::experiments {
namespace {

Table Sample() {
  return {"locality", {{"jobs"}, {"paper, %", 0}, {"ours, %", 1}}, {{"five", 46.0, 45.64}, {"ten", {}, 26.25}}};
}

TEST(ReportTest, AlignsFiguresToTheRight) {
  EXPECT_EQ(FormatTable(Sample()),
            "locality\n"
            "  jobs  paper, %  ours, %\n"
            "  five        46     45.6\n"
            "  ten          -     26.2\n");
}

TEST(ReportTest, WritesMarkdown) {
  EXPECT_EQ(FormatMarkdown(Sample()),
            "locality:\n\n"
            "| jobs | paper, % | ours, % |\n"
            "|---|---:|---:|\n"
            "| five | 46 | 45.6 |\n"
            "| ten | - | 26.2 |\n");
}

TEST(ReportTest, WritesJsonWithNullForWhatIsAbsent) {
  const Experiment experiment{"e", "title", "paper", nullptr};
  EXPECT_EQ(FormatJson(experiment, {.seed = 7}, {Sample()}),
            R"({"experiment":"e","paper":"paper","seed":7,"tables":[{"title":"locality",)"
            R"("columns":["jobs","paper, %","ours, %"],"rows":[["five",46.0,45.64],["ten",null,26.25]]}]})"
            "\n");
}

TEST(TableTest, FindsAFigureByRowAndColumn) {
  EXPECT_EQ(Sample().Number("five", "paper, %"), 46.0);
  EXPECT_EQ(Sample().Number(1, "ours, %"), 26.25);
}

TEST(ListTest, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const Experiment& experiment : ListExperiments()) {
    EXPECT_TRUE(names.insert(experiment.name).second) << experiment.name;
  }
}

}  // namespace
}  // namespace millrace::sim::experiments
