// SPDX-License-Identifier: Apache-2.0
#include "lab/measure/csv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lab/measure/report.h"

namespace millrace::sim {
namespace {

TEST(CsvField, WhatASpreadsheetWouldCalculateIsText) {
  for (const std::string begin : {"=", "+", "-", "@", "\t"}) EXPECT_EQ(csv::Field(begin + "A1"), "'" + begin + "A1");
  EXPECT_EQ(csv::Field("\rx"), "\"'\rx\"");
  EXPECT_EQ(csv::Field("=HYPERLINK(\"http://h\",\"x\")"), "\"'=HYPERLINK(\"\"http://h\"\",\"\"x\"\")\"");
}

TEST(CsvField, OtherTextStaysAsItIsOrInQuotes) {
  for (const std::string text : {"", "word count", "a=b", "'", "1"}) EXPECT_EQ(csv::Field(text), text);
  EXPECT_EQ(csv::Field("a,b"), "\"a,b\"");
}

// These come from whoever submits a job.
TEST(CsvField, EveryNameOfAJobIsOne) {
  JobRow row;
  row.name = row.user = row.pool = row.group = "=1+1";
  const std::vector<std::string> cells = JobCells(row);
  EXPECT_EQ(std::ranges::count(cells, "'=1+1"), 4);
  EXPECT_EQ(std::ranges::count(cells, "=1+1"), 0);
}

}  // namespace
}  // namespace millrace::sim
