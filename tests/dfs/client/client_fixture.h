// SPDX-License-Identifier: Apache-2.0
// ClientTest has a DfsClient that is connected to a FakeNameServer and to real block servers.
#pragma once

#include "dfs/client/dfs_client.h"
#include "tests/dfs/client/fake_name_server.h"
#include "tests/dfs/data/nodes.h"

namespace millrace::dfs {

class ClientTest : public NodesTest {
 protected:
  explicit ClientTest(int nodes = 3) {
    for (int i = 0; i < nodes; ++i) master_.places.push_back(AddNode().place);
    ClientOptions options;
    options.master = master_.address();
    options.owner = "tester";
    client_ = DfsClient::Connect(options).value();
  }

  std::unique_ptr<FileWriter> Create(const std::string& path) {
    Result<std::unique_ptr<FileWriter>> writer = client_->Create(path, {});
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    return std::move(*writer);
  }
  void WriteFile(const std::string& path, const std::string& data) {
    const auto writer = Create(path);
    Ok(writer->Write(data));
    Ok(writer->Close());
  }
  std::string ReadFile(const std::string& path) {
    std::string data;
    Result<std::unique_ptr<FileReader>> reader = client_->Open(path);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    if (reader.ok()) Ok((*reader)->ReadAt(0, ~std::uint64_t{0}, &data));
    return data;
  }
  static void Ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.message(); }
  // Returns the blocks of a file, as the master has them.
  std::vector<WrittenBlock> BlocksOf(const std::string& path) {
    const std::lock_guard lock(master_.mutex);
    return master_.files.at(path).blocks;
  }

  FakeNameServer master_;
  std::unique_ptr<DfsClient> client_;
};

}  // namespace millrace::dfs
