#include "worker/daemon/spot/spot_notice.h"

#include <time.h>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace millrace::worker {

Result<SpotNotice> ParseSpotNotice(std::string_view json) {
  constexpr std::size_t kMostShown = 200;
  const Status bad = Corrupt("not a spot notice: " + Quote(json, kMostShown));
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) return bad;
  const auto text = [&parsed](const char* key) {
    const auto found = parsed.find(key);
    return found != parsed.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  SpotNotice notice;
  notice.action = text("action");
  const std::string when = text("time");
  tm parts{};
  const char* const end = ::strptime(when.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (notice.action.empty() || end == nullptr || *end != '\0') return bad;
  notice.at = static_cast<Micros>(::timegm(&parts)) * kSecond;
  return notice;
}

}  // namespace millrace::worker
