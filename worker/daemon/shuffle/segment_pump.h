// SegmentPump sends the answer to one fetch: segment headers, and the segments' bytes from their files. Thread rule:
// one thread at a time; Step is for a disk thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/net/outlet.h"
#include "base/status.h"
#include "worker/daemon/shuffle/fetch_wire.h"

namespace millrace::shuffle {

// A run file that is being served. It stays open while somebody holds it, removed or not.
struct ServedRun {
  std::string path;
  Fd file;
  std::vector<run::SegmentInfo> segments;  // by partition
};

class SegmentPump {
 public:
  // What answers one request for a segment.
  struct Answer {
    SegmentHeader header;
    std::shared_ptr<const ServedRun> run;  // none if the header's status is a failure
  };
  explicit SegmentPump(std::vector<Answer> items);

  // Sends until the outlet has taken all (returns true) or takes no more for now (returns false).
  Result<bool> Step(net::Outlet& outlet);

 private:
  void Load();  // loads the current item
  Result<bool> SendHeader(net::Outlet& outlet);
  Result<bool> SendBytes(net::Outlet& outlet);

  std::vector<Answer> items_;
  std::size_t item_ = 0;
  std::string header_;
  std::size_t header_sent_ = 0;
  std::uint64_t at_ = 0, end_ = 0;  // in the item's file
};

}  // namespace millrace::shuffle
