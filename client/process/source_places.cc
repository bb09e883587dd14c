#include "client/process/source_places.h"

#include <backtrace.h>
#include <link.h>

#include <string_view>

namespace millrace {
namespace {

using Places = std::vector<SourcePlaces::Place>;

void IgnoreError(void*, const char*, int) {}

int AddPlace(void* places, std::uintptr_t, const char* file, int line, const char* function) {
  if (function == nullptr) return 0;
  std::string_view name = file == nullptr ? "" : file;
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  static_cast<Places*>(places)->push_back({function, std::string(name), line, false});
  return 0;
}

// DWARF names a function without its scope here and there; the table of symbols never does.
void SetOuterFunction(void* places, std::uintptr_t, const char* function, std::uintptr_t, std::uintptr_t) {
  if (function == nullptr) return;
  auto& found = *static_cast<Places*>(places);
  if (found.empty()) found.emplace_back();
  found.back().function = function;
}

}  // namespace

SourcePlaces::SourcePlaces() : state_(backtrace_create_state("/proc/self/exe", 0, IgnoreError, nullptr)) {
  const auto first = [](dl_phdr_info* info, std::size_t, void* out) {  // the executable itself
    auto& places = *static_cast<SourcePlaces*>(out);
    places.bias_ = info->dlpi_addr;
    for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
      const auto& segment = info->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      places.code_begin_ = segment.p_vaddr;
      places.code_size_ = segment.p_memsz;
      break;
    }
    return 1;
  };
  (void)dl_iterate_phdr(first, this);
}

std::vector<SourcePlaces::Place> SourcePlaces::At(std::uint64_t address) const {
  Places places;
  // The linker gives the address 0 to lines of functions that it has left out.
  if (state_ == nullptr || address < code_begin_ || address - code_begin_ >= code_size_) return places;
  (void)backtrace_pcinfo(state_, address + bias_, AddPlace, IgnoreError, &places);
  (void)backtrace_syminfo(state_, address + bias_, SetOuterFunction, IgnoreError, &places);
  for (std::size_t i = 0; i + 1 < places.size(); ++i) places[i].inlined = true;
  return places;
}

}  // namespace millrace
