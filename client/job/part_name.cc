#include "client/job/part_name.h"

#include <cstdio>

namespace millrace {

std::string PartName(const TaskId& task) {
  char name[32];
  std::snprintf(name, sizeof name, "part-%c-%05u", task.reduce() ? 'r' : 'm', task.index);
  return name;
}

}  // namespace millrace
