// SPDX-License-Identifier: Apache-2.0
#include "client/process/describe.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/api/job.h"
#include "client/job/list_input.h"
#include "client/process/dfs_source.h"
#include "examples/grep/grep.h"
#include "examples/load/dfsio.h"
#include "examples/words/wordcount.h"
#include "tests/client/api/task_files.h"

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
struct StoredBytes {
  using Input = RecordFiles;
  void Map(const KeyValue& record, auto& emit) { emit(record.key); }
};
struct NoMap {};
struct OtherRecord {
  void Map(int, auto&) {}
};
struct Point {
  const char* name;  // of which nobody knows the length
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

// A job whose Prepare takes the first byte of each file and sets the number of reduces.
struct Looks {
  void Map(std::string_view line, auto& emit) { emit(line); }
  static void Options(JobOptions& options) {
    options.Text("looks.first", "", "first bytes");
    options.Bool("looks.fail", false, "cannot be prepared");
  }
  static Status Prepare(Preparation& job) {
    if (job.options().boolean("looks.fail")) return NotFound("nothing to look at");
    MILLRACE_ASSIGN(const std::vector<InputFile> files, job.Inputs());
    std::string first = std::to_string(job.reduces());
    for (const InputFile& file : files) {
      MILLRACE_ASSIGN(const std::string byte, job.Read(file, 0, 1));
      first += byte;
    }
    return job.Set("looks.first", first);
  }
};
struct BadPrepare {
  void Map(std::string_view, auto&) {}
  void Prepare(int) {}
};

static_assert(Job<Looks> && internal::Prepares<Looks> && !internal::Prepares<BadPrepare>);
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

TEST(DescribeTest, SaysWhetherCompressedFilesAreOpened) {
  EXPECT_EQ(Describe(internal::BindJob<examples::WordCount>(), {})["decompresses"], true);
  EXPECT_EQ(Describe(internal::BindJob<Files>(), {"--"})["decompresses"], true);
  EXPECT_EQ(Describe(internal::BindJob<Hundred>(), {"input.decompress=false"})["decompresses"], false);
  EXPECT_EQ(Describe(internal::BindJob<StoredBytes>(), {})["decompresses"], false) << "record files are no text";
  EXPECT_EQ(Describe(internal::BindJob<examples::DfsioRead>(), {})["decompresses"], false) << "it measures storage";
  EXPECT_EQ(Describe(internal::BindJob<examples::WordCount>(), {})["text"], true);
  EXPECT_EQ(Describe(internal::BindJob<examples::Grep>(), {})["text"], true);
  EXPECT_EQ(Describe(internal::BindJob<Files>(), {"--"})["text"], false);
  EXPECT_EQ(Describe(internal::BindJob<Hundred>(), {})["text"], false);
  EXPECT_EQ(Describe(internal::BindJob<StoredBytes>(), {})["text"], false);
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

TEST(DescribeTest, SaysWhatTheClientDoesBefore) {
  EXPECT_EQ(Describe(internal::BindJob<Looks>(), {})["prepares"], true);
  EXPECT_EQ(Describe(internal::BindJob<Looks>(), {})["map_only"], true);
  EXPECT_EQ(Describe(internal::BindJob<examples::WordCount>(), {})["prepares"], false);
  EXPECT_EQ(Describe(internal::BindJob<examples::WordCount>(), {})["map_only"], false);
}

class PrepareTest : public ::testing::Test {
 protected:
  PrepareTest() {
    for (const char* path : {"/d/b", "/d/sub/a", "/d/_SUCCESS", "/d/.x/y", "/e/2019/a.txt", "/e/2020/a.txt",
                             "/e/2020/b.log", "/e/2021/a.txt/inner"}) {
      tree_->MakeFile(path, path);
    }
  }
  std::vector<std::string> Listed(const std::string& input) {
    const Result<std::vector<InputFile>> found = ListInput(*client_, input);
    if (!found.ok()) return {"! " + found.status().message()};
    std::vector<std::string> paths;
    for (const InputFile& file : *found) {
      EXPECT_EQ(file.length, file.path.size());
      paths.push_back(file.path);
    }
    return paths;
  }

  TaskFiles files_;
  const std::shared_ptr<dfs::testing::FakeTree> tree_ = files_.tree;
  const std::unique_ptr<dfs::DfsClient> client_ = dfs::testing::MakeFakeClient(tree_);
  const StorageAccess access_ = TaskStorage(files_, "");
  Storage storage_{access_, {}};
  DfsInput input_{storage_};
};

TEST_F(PrepareTest, InputsAreWhatTheMasterWouldSplit) {
  using Paths = std::vector<std::string>;
  EXPECT_EQ(Listed("/d"), (Paths{"/d/b", "/d/sub/a"}));
  EXPECT_EQ(Listed("/d/_SUCCESS"), (Paths{"/d/_SUCCESS"})) << "named itself it is meant";
  EXPECT_EQ(Listed("/e/202?/*.txt"), (Paths{"/e/2020/a.txt", "/e/2021/a.txt/inner"}));
  EXPECT_EQ(Listed("/*/2020"), (Paths{"/e/2020/a.txt", "/e/2020/b.log"}));
  EXPECT_EQ(Listed("/e/20[12]?"), (Paths{"/e/2019/a.txt", "/e/2020/a.txt", "/e/2020/b.log", "/e/2021/a.txt/inner"}));
  EXPECT_NE(Listed("/e/19*")[0].find("matches no file"), std::string::npos);
  EXPECT_NE(Listed("/nope")[0].find("/nope"), std::string::npos);
}

TEST_F(PrepareTest, FilesAreNamedByThePathBelowTheInput) {
  const auto names = [&](const std::string& input) {
    std::string all;
    const std::vector<InputFile> files = ListInput(*client_, input).value();
    for (const InputFile& file : files) all += file.name + " ";
    return all;
  };
  EXPECT_EQ(names("/d"), "b sub/a ");
  EXPECT_EQ(names("/d/sub/a"), "a ");
  EXPECT_EQ(names("/e/202?/*.txt"), "a.txt inner ") << "below what the pattern matches";
  EXPECT_EQ(names("/e/20[12]?"), "a.txt a.txt b.log a.txt/inner ");
  EXPECT_EQ(names("/").substr(0, 12), "d/b d/sub/a ");
}

TEST_F(PrepareTest, GivesWhatTheJobSets) {
  tree_->MakeFile("/d/b", "Quote\"s");
  const auto line = PrepareJob(internal::BindJob<Looks>(), input_, 7, {"looks.fail=false", "--", "/d", "/e/2020"});
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(*line, R"({"millrace_prepared":{"looks.first":"7Q///"}})");
  EXPECT_EQ(PrepareJob(internal::BindJob<Looks>(), input_, 7, {"looks.fail=true", "--", "/d"}).status().message(),
            "nothing to look at");
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
