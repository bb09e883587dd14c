#include "client/api/describe.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/api/job.h"
#include "examples/grep/grep.h"
#include "examples/wordcount/wordcount.h"

namespace millrace {
namespace {

struct Fixed {
  using Input = FixedRecords<>;
  using Output = FixedOutput<4>;
  void Map(std::string_view record, auto& emit) { emit(record); }
};
struct Hundred : Fixed {
  using Input = FixedRecords<100>;
};
struct Files {
  using Input = WholeFiles;
  void Map(const WholeFile& file, auto& emit) { emit(file.name, file.bytes.size()); }
};
struct Counting {
  using Input = Numbers;
  void Map(std::uint64_t number, auto& emit) { emit(number); }
};
struct NoMap {};
struct OtherRecord {
  void Map(int, auto&) {}
};
struct Point {
  std::string name;
};
struct BadValue {
  using Key = std::string_view;
  using Value = Point;
  void Map(std::string_view, auto&) {}
};
struct ViewCombine {
  using Key = std::string_view;
  using Value = std::string_view;
  void Map(std::string_view, auto&) {}
  static std::string_view Combine(std::string_view a, std::string_view) { return a; }
};

static_assert(Job<Fixed> && Job<Hundred> && Job<Files> && Job<Counting> && Job<examples::WordCount> &&
              Job<examples::Grep>);
static_assert(!Job<NoMap> && !Job<OtherRecord> && !Job<BadValue> && !Job<ViewCombine> && !Job<int>);

nlohmann::json Describe(const JobBinding& binding, const std::vector<std::string>& arguments) {
  const auto line = DescribeJob(binding, "job", arguments);
  EXPECT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(line->find('\n'), std::string::npos);
  return nlohmann::json::parse(*line);
}

TEST(DescribeTest, SaysWhatTheJobIs) {
  const auto words = Describe(internal::BindJob<examples::WordCount>(), {});
  EXPECT_EQ(words["millrace_job"], 1);
  EXPECT_EQ(words["name"], "job");
  EXPECT_EQ(words["split_by"], "block");
  EXPECT_EQ(words["has_reduce"], true);
  EXPECT_EQ(words["combines"], true);
  const auto files = Describe(internal::BindJob<Files>(), {});
  EXPECT_EQ(files["split_by"], "file");
  EXPECT_EQ(files["has_reduce"], false);
  EXPECT_EQ(Describe(internal::BindJob<Hundred>(), {})["record_bytes"], 100);
}

TEST(DescribeTest, ListsOptions) {
  const auto grep = Describe(internal::BindJob<examples::Grep>(), {});
  bool pattern = false, memory = false;
  for (const auto& option : grep["options"]) {
    if (option["name"] == "grep.pattern")
      pattern = option["required"] == true && option["engine"] == false && option["type"] == "text";
    if (option["name"] == "task.memory")
      memory = option["required"] == false && option["engine"] == true && option["type"] == "bytes";
  }
  EXPECT_TRUE(pattern && memory);
}

TEST(DescribeTest, TheLengthOfRecordsComesFromAnOption) {
  const JobBinding binding = internal::BindJob<Fixed>();
  EXPECT_EQ(Describe(binding, {})["record_bytes"], 0);
  EXPECT_EQ(Describe(binding, {"--", "input.record_bytes=24"})["record_bytes"], 24);
  EXPECT_EQ(DescribeJob(binding, "job", {"--"}).status().code(), StatusCode::kInvalid);
}

TEST(DescribeTest, NumbersComeFromOptions) {
  const JobBinding binding = internal::BindJob<Counting>();
  const auto alone = Describe(binding, {});
  EXPECT_EQ(alone["split_by"], "numbers");
  EXPECT_EQ(alone["maps"], 1);
  EXPECT_EQ(alone["records"], 1);
  EXPECT_EQ(Describe(binding, {"--", "input.maps=7"})["records"], 7) << "one each";
  const auto given = Describe(binding, {"--", "input.maps=7", "input.records=10000000000"});
  EXPECT_EQ(given["maps"], 7);
  EXPECT_EQ(given["records"], 10000000000);
  EXPECT_FALSE(DescribeJob(binding, "job", {"input.maps=0"}).ok());
  EXPECT_FALSE(DescribeJob(internal::BindJob<examples::WordCount>(), "job", {"input.maps=2"}).ok())
      << "the splits of files are their blocks";
}

TEST(DescribeTest, RefusesWrongOptions) {
  const JobBinding grep = internal::BindJob<examples::Grep>();
  const auto error = [&](const std::vector<std::string>& arguments) {
    return DescribeJob(grep, "grep", arguments).status().message();
  };
  EXPECT_NE(error({"grep.patern=x"}).find("grep.pattern"), std::string::npos);
  EXPECT_NE(error({"grep.pattern=(x"}).find("missing )"), std::string::npos);
  EXPECT_NE(error({"--"}).find("-D grep.pattern="), std::string::npos);
  EXPECT_NE(error({"grep.pattern=x", "task.memory=1"}).find("task.memory"), std::string::npos);
  EXPECT_EQ(error({"grep.pattern=x", "grep.lines=true"}), "");
}

}  // namespace
}  // namespace millrace
