// SPDX-License-Identifier: Apache-2.0
// A paper's file. Numbers are kept small, as in simulation.cc: each variation of the workload is drawn when it is read.
#include "lab/study/paper.h"

#include "tests/fuzz/fuzz.h"

using namespace millrace;

namespace {

// Digits behind the second of a row go.
std::string Small(std::string_view text) {
  std::string out;
  std::size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits <= 2 && c != 'E') out += c;
  }
  return out;
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() {
  return {
      "name = \"p\"\n[paper]\ntitle = \"t\"\nschedulers = [\"fifo\", \"fair+delay\"]\ndraws = 2\n"
      "[settings.delay]\nrack_wait = 9\n[cluster]\nnodes = 3\n[[jobs]]\nname = \"a\"\ncount = 2\nmaps = 4\n"
      "[[sweep]]\nname = \"s\"\nkeys = [\"jobs.a.maps\", \"cluster.racks\"]\nvalues = [[1, 1], [2, 2]]\n"
      "labels = [\"x\", \"y\"]\nset = { \"placement.kind\" = \"random\", block_size = \"1M\" }\n"
      "[[tables]]\nid = \"i\"\nhead = \"h\"\npoints = [\"x\", \"y\"]\nof = \"fifo\"\nmetric = \"makespan\"\n"
      "columns = [{ name = \"c\" }, { name = \"g\", given = [1, \"\"] },\n"
      "  { name = \"r\", as = \"ratio\", against = { of = \"fair+delay\" } }]\n"
      "[[claims]]\nsection = \"f\"\ntext = \"c\"\nsays = \"1\"\nmetric = \"node_local\"\nclass = \"a\"\n"
      "of = \"fifo\"\nover = \"mean\"\neffect = [1, 2]\n",
      "[paper]\n[[schedulers]]\npolicy = \"fair\"\nname = \"l\"\nsettings = { fair = { order = \"sjf\" } }\n"
      "set = { \"cluster.nodes\" = 2 }\n[[jobs]]\nmaps = 1\n[[claims]]\ntext = \"t\"\nsays = \"s\"\n"
      "metric = \"makespan\"\nwithin = [1, 2]\n",
      "[paper]\nwhere = \"testbed\"\nmetrics = \"turnaround\"\ntestbed = \"t\"\ntimes = 2\n"
      "schedulers = [\"fair\"]\n[[jobs]]\nmaps = 1\n"};
}

// Every paper that is read names only what it has.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto paper = sim::experiments::ParsePaper(Small(fuzz::View(data, size)), "p.toml");
  if (!paper.ok()) return 0;
  const auto check = [&](const sim::experiments::Reckoning& reckoning) {
    for (const auto* side : {&reckoning.ours, &reckoning.theirs, &reckoning.ranked_by}) {
      for (const sim::experiments::Operand& operand : *side) {
        fuzz::Require(operand.metric != nullptr, "an operand without a metric");
        fuzz::Require(!operand.schedulers.empty() && !operand.points.empty(),
                      "an operand without a scheduler or point");
        for (const std::uint32_t point : operand.points) {
          const auto& from = paper->points.at(point).drawn_from;
          for (const std::uint32_t scheduler : operand.schedulers)
            fuzz::Require(from.at(scheduler) < paper->workloads.size(), "a point without a workload");
        }
      }
    }
    fuzz::Require(!reckoning.rank || reckoning.ranked_by.size() == reckoning.ours.size(), "an order of the draws");
    fuzz::Require(reckoning.theirs.empty() || reckoning.theirs.size() == reckoning.ours.size(), "pairs");
    fuzz::Require(!reckoning.ours.empty(), "a figure of nothing");
  };
  for (const auto& table : paper->tables) {
    for (const auto& row : table.rows) {
      fuzz::Require(row.size() == table.columns.size(), "a row of another length");
      for (const auto& cell : row) {
        if (cell.ours) check(*cell.ours);
      }
    }
  }
  for (const auto& claim : paper->claims) check(claim.ours);
  return 0;
}
