#include "dfs/data/write_fate.h"

#include <utility>

namespace millrace::dfs {

Status WriteFate::Take(WriteStep step, Status ended) {
  const bool spoils = !ended.ok() && (step != WriteStep::kWrite || ended.code() == StatusCode::kIo);
  if (spoils && !spoiled()) why_ = Status(StatusCode::kIo, ended.message() + "; what was written there is spoiled");
  return ended;
}

}  // namespace millrace::dfs
