// SPDX-License-Identifier: Apache-2.0
// The line of a terminal that is rewritten in place.
#include "base/console/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>

#include "base/file.h"

namespace millrace::console {
namespace {

// A file is no terminal, so its lines have 80 columns, of which the last one stays free.
TEST(StatusLineTest, ShowsThatTheTextIsCut) {
  const TempDir directory = TempDir::Make("status-line-").value();
  const std::string path = directory.path() + "/err";
  const Fd err = OpenFile(path, O_RDWR | O_CREAT).value();
  StatusLine line({.err = err.get()});
  const std::string fits(79, 'x');
  line.Show(fits);
  line.Show(fits + "y");
  line.Show("日" + std::string(40, 'x') + std::string(40, 'y'));
  EXPECT_EQ(ReadWholeFile(path).value(), "\r" + fits + "\x1b[K\r" + std::string(77, 'x') + "..\x1b[K\r日" +
                                             std::string(40, 'x') + std::string(35, 'y') + "..\x1b[K");
}

}  // namespace
}  // namespace millrace::console
