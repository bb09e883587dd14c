#include "client/job/part_name.h"

#include <cstdio>

namespace millrace {

std::string PartName(const TaskId& task, std::string_view output) {
  char end[32];
  std::snprintf(end, sizeof end, "-%c-%05u", task.reduce() ? 'r' : 'm', task.index);
  return std::string(output) + end;
}

}  // namespace millrace
