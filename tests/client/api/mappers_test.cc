// SPDX-License-Identifier: Apache-2.0
// Jobs with a mapper for each INPUT.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "client/process/describe.h"
#include "client/solo/solo.h"
#include "tests/client/api/task_driver.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Lines of "id TAB name".
struct MapUsers {
  using Input = KeyValueText;
  static void Options(JobOptions& options) { options.Text("users.title", "Mx", "what stands before a name"); }
  Status Start(TaskContext& context) {
    title_ = context.options().text("users.title");
    return Status::Ok();
  }
  void Map(const KeyValue& user, auto& emit) { emit(user.key, "u" + title_ + " " + std::string(user.value)); }

 private:
  std::string title_;
};

// Whole files, each an order whose bytes begin with one byte of an id.
struct MapOrders {
  using Input = WholeFiles;
  explicit MapOrders(TaskContext& context) : context_(context) {}
  void Map(const WholeFile& order, auto& emit) {
    emit(order.bytes.substr(0, 1), "o" + std::string(order.bytes.substr(1)));
    indexes_ += std::to_string(context_.input_index());
  }
  void FinishMap(auto& emit) { emit("~orders", indexes_); }

 private:
  TaskContext& context_;
  std::string indexes_;
};

struct Join {
  using Mappers = millrace::Mappers<MapUsers, MapOrders>;
  using Key = std::string_view;
  using Value = std::string_view;
  static std::uint32_t Partition(std::string_view key, std::uint32_t n) { return key.size() > 1 ? n - 1 : 0; }
};

// The same without reduces.
struct MapUsersOut {
  void Map(std::string_view line, auto& emit) { emit("user", line); }
};
struct MapOrdersOut {
  using Input = FixedRecords<3>;
  void Map(std::string_view record, auto& emit) { emit("order", record); }
  void FinishMap(auto& emit) { emit("end"); }
};
struct Both {
  using Mappers = millrace::Mappers<MapUsersOut, MapOrdersOut>;
};

struct MapAnyLength : MapOrdersOut {
  using Input = FixedRecords<>;
};
struct AnyLength {
  using Mappers = millrace::Mappers<MapUsersOut, MapAnyLength>;
};

TaskDriver::Piece Of(std::uint32_t input, TaskDriver::Piece piece) {
  piece.input = input;
  return piece;
}

TEST(MappersTest, EachInputHasItsMapper) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<Join>(), files);
  ASSERT_EQ(driver.SetUpJob(1, {{"users.title", "Dr"}}), "");
  // Small files of both inputs in one map, in any order.
  driver.LaunchMap(0,
                   {Of(1, AddLocal(files, 1, "a", "2book")), Of(0, AddLocal(files, 2, "b", "1\tAda\n2\tBob\n")),
                    Of(1, AddLocal(files, 3, "c", "1pen"))},
                   driver.Path("m0"));
  EXPECT_EQ(driver.WaitForEnd().error, "");
  driver.LaunchMap(1, {Of(0, AddLocal(files, 4, "d", "3\tCyd\n"))}, driver.Path("m1"));
  TaskDriver::End end = driver.WaitForEnd();
  EXPECT_EQ(end.error, "");
  EXPECT_EQ(end.counters["millrace.map_output_records"], 1) << "the mapper of another input does not finish";
  driver.LaunchReduce(0, {driver.Path("m0"), driver.Path("m1")});
  EXPECT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.tree->written["/out/_temporary/job3.r.0.0/part-r-00000"],
            "1\tuDr Ada\n1\topen\n2\tobook\n2\tuDr Bob\n3\tuDr Cyd\n~orders\t11\n");
}

TEST(MappersTest, WithoutReducesToo) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<Both>(), files);
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(0, {Of(0, AddLocal(files, 1, "a", "x\ny z\n")), Of(1, AddLocal(files, 2, "b", "abc\ndx"))}, "");
  EXPECT_EQ(driver.WaitForEnd().error, "");
  EXPECT_EQ(files.tree->written["/out/_temporary/job3.m.0.0/part-m-00000"],
            "user\tx\nuser\ty z\norder\tabc\norder\t\ndx\nend\n");
}

TEST(MappersTest, AnInputWithoutAMapperFailsTheMap) {
  TaskFiles files;
  TaskDriver driver(internal::BindJob<Both>(), files);
  ASSERT_EQ(driver.SetUpJob(0), "");
  driver.LaunchMap(0, {Of(2, AddLocal(files, 1, "a", "x"))}, "");
  EXPECT_EQ(driver.WaitForEnd().error,
            "the map reads INPUT 3, and the job has 2 mappers; name one INPUT for each mapper");
}

TEST(MappersTest, TheDescriptionHasTheRulesOfEach) {
  const auto describe = [](const JobBinding& binding) {
    return nlohmann::json::parse(*DescribeJob(binding, "join", {"--"}));
  };
  const nlohmann::json join = describe(internal::BindJob<Join>());
  EXPECT_EQ(join["millrace_job"], 2) << "a client that knows nothing of mappers refuses it";
  EXPECT_EQ(join["mappers"], nlohmann::json::parse(R"([{"split_by":"block","decompresses":true,"text":true},
                                                       {"split_by":"file","decompresses":true,"text":false}])"));
  EXPECT_EQ(join["split_by"], "file") << "right for both";
  EXPECT_NE(join["options"].dump().find("users.title"), std::string::npos) << "a mapper's option is the job's";
  const nlohmann::json both = describe(internal::BindJob<Both>());
  EXPECT_EQ(both["mappers"][1]["split_by"], "fixed");
  EXPECT_EQ(both["map_only"], true);
  EXPECT_THAT(DescribeJob(internal::BindJob<AnyLength>(), "any", {"--"}).status().message(),
              HasSubstr("give -D input.record_bytes=N"));
  EXPECT_EQ(describe(internal::BindJob<MapUsersOut>())["mappers"], nlohmann::json::array());
  EXPECT_EQ(describe(internal::BindJob<MapUsersOut>())["millrace_job"], 1);
}

TEST(MappersTest, InOneProcess) {
  const TempDir directory = *TempDir::Make("mappers");
  const auto in = [&](const char* name, const char* bytes) {
    const std::string path = directory.path() + "/" + name;
    EXPECT_TRUE(WriteFileDurably(path, bytes).ok());
    return path;
  };
  EXPECT_TRUE(MakeDirectories(directory.path() + "/orders").ok());
  in("orders/1", "1pen");
  in("orders/2", "2book");
  solo::SoloRun run;
  run.output = directory.path() + "/out";
  run.reduces = 2;
  run.inputs = {in("users", "1\tAda\n2\tBob\n"), directory.path() + "/orders"};
  run.split_length = 4;  // so the lines are cut, and the whole files are not
  ASSERT_TRUE(solo::RunSolo(internal::BindJob<Join>(), "join", run).ok());
  EXPECT_EQ(*ReadWholeFile(run.output + "/part-r-00000"), "1\tuMx Ada\n1\topen\n2\tuMx Bob\n2\tobook\n");
  EXPECT_EQ(*ReadWholeFile(run.output + "/part-r-00001"), "~orders\t1\n~orders\t1\n");
  run.output += "2";
  run.inputs.pop_back();
  EXPECT_THAT(solo::RunSolo(internal::BindJob<Join>(), "join", run).status().message(),
              HasSubstr("the job has 2 mappers, one for each INPUT, and 1 INPUTs are given"));
}

}  // namespace
}  // namespace millrace
