// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/pack.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "client/streaming/options.h"

namespace millrace::streaming {
namespace {

class PackTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }
  void Write(const std::string& name, const std::string& bytes, mode_t mode = 0644) const {
    ASSERT_TRUE(MakeDirectories(Path(name).substr(0, Path(name).rfind('/'))).ok());
    ASSERT_TRUE(WriteFileDurably(Path(name), bytes).ok());
    ASSERT_EQ(::chmod(Path(name).c_str(), mode), 0);
  }
  // Packs what lies below `from` with a program.
  void Pack(const std::string& from, const std::string& to) const {
    Write("program", "ELF and so on");
    ASSERT_TRUE(WritePack(Path("program"), Path(to), {{"stream.mapper", "map.py"}}, *FilesBelow(Path(from), "")).ok());
  }
  // A program with this index behind it, whatever the index says.
  void Forge(const std::string& index) const {
    std::string bytes = "program" + index;
    for (const std::uint64_t number : {std::uint64_t{7}, std::uint64_t{index.size()}})
      for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(number >> shift));
    Write("forged", bytes + std::string(kPackMark));
  }

  TempDir directory_ = *TempDir::Make("pack");
};

TEST_F(PackTest, FilesLinksAndSettingsComeBack) {
  Write("in/map.py", "print()", 0644);
  Write("in/lib/deep/a.txt", std::string(3'000'000, 'a'));
  ASSERT_EQ(::symlink("lib/deep", Path("in/short").c_str()), 0);
  Pack("in", "packed");
  const millrace::streaming::Pack pack = *ReadPack(Path("packed"));
  ASSERT_EQ(pack.options.size(), 1U);
  EXPECT_EQ(pack.options[0].second, "map.py");
  const std::string files = *Unpack(pack, Path("packed"), Path("out"));
  EXPECT_EQ(*ReadWholeFile(files + "/map.py"), "print()");
  EXPECT_EQ(*ReadWholeFile(files + "/short/a.txt"), std::string(3'000'000, 'a'));
  EXPECT_EQ(::access((files + "/map.py").c_str(), X_OK), 0) << "a shipped script can be run, as with Hadoop";
  EXPECT_EQ(*Unpack(pack, Path("packed"), Path("out")), files) << "a second time";
  EXPECT_TRUE(ReadWholeFile(Path("packed"))->starts_with("ELF and so on"));
  EXPECT_TRUE(ReadPack(Path("program"))->files.empty());
}

TEST_F(PackTest, PackingAPackedProgramReplacesThePack) {
  Write("one/a", "first");
  Write("two/b", "second");
  Pack("one", "packed");
  ASSERT_TRUE(WritePack(Path("packed"), Path("again"), {}, *FilesBelow(Path("two"), "")).ok());
  const millrace::streaming::Pack pack = *ReadPack(Path("again"));
  ASSERT_EQ(pack.files.size(), 1U);
  EXPECT_EQ(pack.files[0].path, "b");
  EXPECT_EQ(pack.files[0].offset, std::string("ELF and so on").size());
}

TEST_F(PackTest, ThoseWhoUnpackAtOnceGetWholeFiles) {
  Write("in/a", std::string(5'000'000, 'x'));
  Pack("in", "packed");
  const millrace::streaming::Pack pack = *ReadPack(Path("packed"));
  std::vector<std::thread> threads;
  std::vector<std::size_t> sizes(4);
  for (std::size_t& size : sizes)
    threads.emplace_back([&] { size = ReadWholeFile(*Unpack(pack, Path("packed"), Path("out")) + "/a")->size(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sizes, std::vector<std::size_t>(4, 5'000'000));
}

TEST_F(PackTest, ADamagedPackIsRefused) {
  Write("in/a", "bytes of a file");
  Pack("in", "packed");
  std::string bytes = *ReadWholeFile(Path("packed"));
  const std::size_t at = bytes.find("bytes of");
  bytes[at] = 'B';
  Write("damaged", bytes);
  const Result<std::string> unpacked = Unpack(*ReadPack(Path("damaged")), Path("damaged"), Path("out"));
  ASSERT_FALSE(unpacked.ok());
  EXPECT_NE(unpacked.status().message().find("\"a\" is not as it was packed"), std::string::npos);
  EXPECT_FALSE(ListDirectory(Path("out/files")).ok()) << "nothing that is damaged looks whole";
}

TEST_F(PackTest, HostileIndexesAreRefused) {
  const auto file = [](const std::string& path) {
    return R"({"path":")" + path + R"(","mode":420,"offset":0,"size":3,"crc":0})";
  };
  for (const std::string& files :
       {file("/etc/passwd"), file("../up"), file("a/../b"), file("a//b"), file(""), file("a/./b"), file("a/"),
        file("a") + "," + file("a"), file("a") + "," + file("a/b"), R"({"path":"l","link":"/tmp"},)" + file("l/x"),
        std::string(R"({"path":"a","mode":420,"offset":0,"size":8,"crc":0})"),
        std::string(R"({"path":"a","mode":420,"offset":18446744073709551615,"size":2,"crc":0})"),
        std::string(R"({"path":"a"})"), std::string(R"({"path":7,"link":"x"})"),
        std::string(R"({"path":"l","link":""})")}) {
    Forge(R"({"options":{},"files":[)" + files + "]}");
    EXPECT_FALSE(ReadPack(Path("forged")).ok()) << files;
  }
  for (const char* index : {"", "{", "[]", R"({"files":[]})", R"({"options":{"a":1},"files":[]})"}) {
    Forge(index);
    EXPECT_FALSE(ReadPack(Path("forged")).ok()) << index;
  }
}

TEST(StreamOptionsTest, PairsComeBack) {
  const std::vector<std::pair<std::string, std::string>> pairs{
      {"a", ""}, {"b.c", "x=y"}, {"d", "two\nlines\\n and \\"}, {"e", "\\\\"}};
  EXPECT_EQ(*SplitPairs(JoinPairs(pairs)), pairs);
  EXPECT_FALSE(SplitPairs("nothing").ok());
  EXPECT_FALSE(SplitPairs("=x").ok());
  EXPECT_EQ(EnvironmentName("mapreduce.job-name.1"), "mapreduce_job_name_1");
}

}  // namespace
}  // namespace millrace::streaming
