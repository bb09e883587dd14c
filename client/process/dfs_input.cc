#include "client/process/dfs_input.h"

#include "base/text.h"
#include "client/job/list_input.h"
#include "client/process/dfs_source.h"

namespace millrace {

Result<std::vector<InputFile>> DfsInput::List(const std::string& input) {
  MILLRACE_ASSIGN(dfs::DfsClient * client, storage_.Client());
  return ListInput(*client, input);
}

Result<std::unique_ptr<ByteSource>> DfsInput::Open(const InputFile& file) {
  return std::unique_ptr<ByteSource>(std::make_unique<DfsSource>(
      storage_, file.path, file.length, std::vector<dfs::LocatedBlock>(), local_, remote_, wait_));
}

Result<MappedFile> DfsInput::Map(const InputFile& file) {
  if (file.length == 0 || file.length > file.block_size) return NotFound(Quote(file.path) + " is not of one block");
  MILLRACE_ASSIGN(dfs::DfsClient * client, storage_.Client());
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::FileReader> reader, client->Open(file.path));
  MILLRACE_ASSIGN(const std::vector<dfs::LocatedBlock> blocks, reader->Blocks());
  if (blocks.size() != 1 || blocks[0].length != file.length) return NotFound(Quote(file.path) + " is not of one block");
  Result<MappedFile> mapped = storage_.MapLocal(blocks[0]);
  if (mapped.ok() && mapped->bytes().size() != file.length) return NotFound(Quote(file.path) + " is shorter here");
  // A replica that cannot be mapped, for whatever reason, is left to readers, which can use others.
  return mapped.ok() ? std::move(mapped) : NotFound(mapped.status().message());
}

}  // namespace millrace
