// SPDX-License-Identifier: Apache-2.0
// ConsolePipe is a console whose output a test reads. Thread rule: one thread.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/file.h"
#include "client/cli/invocation.h"

namespace millrace::cli {

class ConsolePipe {
 public:
  ConsolePipe() : directory_(TempDir::Make("console-test-").value()) {
    for (Fd* fd : {&out_, &err_}) *fd = OpenFile(Path(fd), O_RDWR | O_CREAT).value();
  }
  [[nodiscard]] Invocation Make(const std::string& self = "/nowhere/millrace") const {
    return {{.in = 0, .out = out_.get(), .err = err_.get()}, self, "127.0.0.1:1", "tester"};
  }
  [[nodiscard]] std::string out() const { return ReadWholeFile(Path(&out_)).value(); }
  [[nodiscard]] std::string err() const { return ReadWholeFile(Path(&err_)).value(); }
  [[nodiscard]] const std::string& directory() const { return directory_.path(); }

 private:
  [[nodiscard]] std::string Path(const Fd* fd) const { return directory_.path() + (fd == &out_ ? "/out" : "/err"); }

  TempDir directory_;
  Fd out_, err_;
};

}  // namespace millrace::cli
