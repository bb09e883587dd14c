#include "client/job_client/compressed_input.h"

#include <gmock/gmock.h>

#include "tests/compress/compress.h"
#include "tests/fakes/fake_dfs.h"

namespace millrace::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CompressedInputTest : public ::testing::Test {
 protected:
  // Makes a file whose blocks have 8 bytes, or `block_size`.
  void Add(const std::string& path, const std::string& bytes, std::uint64_t block_size = 8) {
    tree_->MakeFile(path, bytes);
    tree_->entries[path].options.block_size = block_size;
  }

  std::shared_ptr<dfs::testing::FakeTree> tree_ = std::make_shared<dfs::testing::FakeTree>();
  std::unique_ptr<dfs::DfsClient> files_ = dfs::testing::MakeFakeClient(tree_);
};

TEST_F(CompressedInputTest, FindsWhatOnlyTheBytesTell) {
  const std::string gzip = CompressGzip("one two"), zstd = CompressZstd("one two"), bzip2 = CompressBzip2("one two");
  Add("/d/a", gzip);
  Add("/d/b.gz", gzip);  // the master sees that
  Add("/d/c", "one two three four");
  Add("/d/d", zstd);
  Add("/d/e", gzip, 1 << 20);  // it is not cut in any case
  Add("/d/f", "");
  Add("/d/_g", gzip);  // no input
  Add("/d/sub/h", bzip2);
  std::vector<std::string> read;
  tree_->on_read = [&](const std::string& path) {
    read.push_back(path);
    return Status::Ok();
  };
  const Result<std::vector<std::string>> found = FindCompressedInput(*files_, {"/d"});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_THAT(*found, ElementsAre("/d/a", "/d/d", "/d/sub/h"));
  EXPECT_THAT(read, ElementsAre("/d/a", "/d/c", "/d/d", "/d/sub/h")) << "no others are looked at";
  EXPECT_THAT(*FindCompressedInput(*files_, {"/d/[abc]", "/d/d"}), ElementsAre("/d/a", "/d/d"));
}

TEST_F(CompressedInputTest, AFileThatCannotBeReadIsLeftToItsMaps) {
  Add("/d/a", CompressGzip("one two"));
  Add("/d/b", CompressGzip("one two"));
  tree_->on_read = [](const std::string& path) { return path == "/d/a" ? Unavailable("no replica") : Status::Ok(); };
  EXPECT_THAT(*FindCompressedInput(*files_, {"/d"}), ElementsAre("/d/b"));
}

TEST_F(CompressedInputTest, MoreThanARequestHoldsAreRefused) {
  const std::string gzip = CompressGzip("one two");
  for (int i = 0; i < 2000; ++i) Add("/d/" + std::string(250, 'x') + std::to_string(i), gzip);
  EXPECT_TRUE(FindCompressedInput(*files_, {"/d/*1"}).ok());
  const Status status = FindCompressedInput(*files_, {"/d"}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("too many compressed files without the name of one"));
}

TEST_F(CompressedInputTest, AnInputThatIsNotThereFails) {
  EXPECT_EQ(FindCompressedInput(*files_, {"/none"}).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace millrace::job
