// SPDX-License-Identifier: Apache-2.0
// Runs `millrace fs ...` over a file system in memory and captures its output.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "dfs/tools/fs_command.h"
#include "tests/fakes/fake_dfs.h"

namespace millrace::dfs::testing {

struct Ran {
  int status = 0;
  std::string out, err;
};

class FsTest : public ::testing::Test {
 protected:
  FsTest();
  // Runs the command with `in` as its standard input.
  Ran Run(const std::vector<std::string>& args, const std::string& in = {});
  Ran RunFrom(const std::vector<std::string>& args, int in);
  // Expects that the command ends with `status`, and one line on standard error that contains all of `mentions`.
  void Refuses(int status, const std::vector<std::string>& args, const std::vector<std::string>& mentions);

  [[nodiscard]] std::string Local(const std::string& name) const { return dir_.path() + "/" + name; }
  std::string MakeLocal(const std::string& name, const std::string& data);
  [[nodiscard]] std::vector<std::string> LocalNames(const std::string& directory = {}) const;

  TempDir dir_;
  std::shared_ptr<FakeTree> tree_ = std::make_shared<FakeTree>();
  bool out_is_terminal_ = false;
  bool reachable_ = true;
  int connects_ = 0;
};

}  // namespace millrace::dfs::testing
