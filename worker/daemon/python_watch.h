// SPDX-License-Identifier: Apache-2.0
// PythonWatch knows which Python the command `python3` means to tasks, so that whoever submits a job in Python can be
// told beforehand that no worker can run it. Nothing is executed for that, since anyone may have put a python3 into the
// PATH, and a program may hang: installations make python3 a link to a name with the version, python3.11, and the links
// are read. Where python3 is no such link (a script of pyenv's, say) it is not known.
// Thread rule: the control thread; links are read on `background`, which should have no other work, since a directory
// of the PATH may be on a server that does not answer.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rpc/background.h"

namespace millrace::worker {

// What tasks can reach of the machine's programs.
struct TaskView {
  std::optional<std::vector<std::string>> places = {};  // files and directories that they see; nothing: they see all
  bool own_users = false;                               // they run as users of their own, not as the worker's
};

// Returns the first name of the form DIRECTORY/python3.N to which python3 in the first directory of `path` (as PATH has
// them) that has one which tasks can run leads. Empty: there is none, its version is in no such name, or the name is
// longer than 255 bytes.
[[nodiscard]] std::string FindPython(const std::string& path, const TaskView& view = {});

class PythonWatch {
 public:
  // Looks at once, and again every five minutes: another Python may be installed while the worker runs. Requires:
  // `timer` and `background` outlive this.
  PythonWatch(kj::Timer& timer, rpc::Background& background, std::string path, TaskView view = {});
  ~PythonWatch() { *self_ = nullptr; }
  PythonWatch(const PythonWatch&) = delete;
  PythonWatch& operator=(const PythonWatch&) = delete;

  // Returns what FindPython returned the last time; empty before that.
  [[nodiscard]] const std::string& found() const { return found_; }

 private:
  void Look();

  kj::Timer& timer_;
  rpc::Background& background_;
  const std::string path_;
  const TaskView view_;
  std::string found_;
  kj::Promise<void> next_ = kj::READY_NOW;
  std::shared_ptr<PythonWatch*> self_ = std::make_shared<PythonWatch*>(this);
};

}  // namespace millrace::worker
