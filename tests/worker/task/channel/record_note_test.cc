// SPDX-License-Identifier: Apache-2.0
#include "worker/task/channel/record_note.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/file.h"

namespace millrace::task {
namespace {

class RecordNoteTest : public testing::Test {
 protected:
  void Write(const std::string& bytes) { std::ofstream(path_) << bytes; }

  TempDir directory_ = *TempDir::Make("note");
  std::string path_ = directory_.path() + "/note";
  RecordPlace place_{3, std::uint64_t{5} << 40, 0xfffffff0};
};

TEST_F(RecordNoteTest, SaysTheRecordUnderWayAndNoneBetweenThem) {
  EXPECT_EQ(ReadRecordNote(OpenFile(path_, O_RDONLY)), std::nullopt) << "there is no file";
  EXPECT_EQ(ReadRecordNote(OpenFile(directory_.path(), O_RDONLY)), std::nullopt);
  Result<RecordNote> note = RecordNote::Create(path_);
  ASSERT_TRUE(note.ok());
  EXPECT_EQ(ReadRecordNote(OpenFile(path_, O_RDONLY)), std::nullopt);
  note->Set(place_);
  EXPECT_EQ(ReadRecordNote(OpenFile(path_, O_RDONLY)), place_);
  note->Clear();
  EXPECT_EQ(ReadRecordNote(OpenFile(path_, O_RDONLY)), std::nullopt);
  note->Set({});
  EXPECT_EQ(ReadRecordNote(OpenFile(path_, O_RDONLY)), RecordPlace());
  EXPECT_TRUE(RecordNote::Create(path_).ok());
  EXPECT_EQ(ReadRecordNote(OpenFile(path_, O_RDONLY)), std::nullopt) << "a new note begins without one";
}

TEST_F(RecordNoteTest, OutlivesTheProcess) {
  const pid_t child = fork();
  if (child == 0) {
    Result<RecordNote> note = RecordNote::Create(path_);
    if (note.ok()) note->Set(place_);
    std::_Exit(3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(ReadRecordNote(OpenFile(path_, O_RDONLY)), place_);
}

TEST_F(RecordNoteTest, NoBitOfItIsBelievedUnchecked) {
  RecordNote::Create(path_)->Set(place_);
  const std::string sound = *ReadWholeFile(path_);
  for (std::size_t bit = 0; bit < sound.size() * 8; ++bit) {
    std::string bytes = sound;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    Write(bytes);
    EXPECT_EQ(ReadRecordNote(OpenFile(path_, O_RDONLY)), std::nullopt) << "bit " << bit;
  }
  for (std::size_t size = 0; size < sound.size(); ++size) {
    Write(sound.substr(0, size));
    EXPECT_EQ(ReadRecordNote(OpenFile(path_, O_RDONLY)), std::nullopt) << size << " bytes";
  }
  Write(sound + "x");
  EXPECT_EQ(ReadRecordNote(OpenFile(path_, O_RDONLY)), std::nullopt);
  Write(sound);
  EXPECT_EQ(ReadRecordNote(OpenFile(path_, O_RDONLY)), place_);
}

}  // namespace
}  // namespace millrace::task
