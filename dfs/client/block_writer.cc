#include "dfs/client/block_writer.h"

#include <string>
#include <utility>

#include "dfs/client/pipeline_writer.h"

namespace millrace::dfs {

Result<std::unique_ptr<BlockWriter>> BlockWriter::Open(std::uint64_t block, const std::vector<ReplicaHost>& pipeline,
                                                       Micros stall, std::vector<NodeId>* failed_nodes,
                                                       const std::optional<BlockContent>& expected,
                                                       const std::shared_ptr<tls::Credentials>& credentials,
                                                       const std::string& token) {
  MILLRACE_CHECK(!pipeline.empty() && pipeline.size() <= kMaxPipeline, std::to_string(pipeline.size()));
  failed_nodes->clear();
  auto writer = std::make_unique<PipelineWriter>(block, pipeline, stall, expected, std::chrono::steady_clock::now,
                                                 credentials, token);
  if (const Status begun = writer->Begin(); !begun.ok()) {
    *failed_nodes = writer->failed_nodes();
    // A node that refused the block may hold a finished one of the same id, which this writer must not touch. The
    // other nodes drop a block without bytes by themselves.
    writer->KeepNothing();
    return begun;
  }
  return std::unique_ptr<BlockWriter>(std::move(writer));
}

}  // namespace millrace::dfs
