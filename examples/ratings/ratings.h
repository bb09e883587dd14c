// SPDX-License-Identifier: Apache-2.0
// Reads movie ratings in the form of the PUMA suite. There is a line for each movie,
// "movie:user_rating,user_rating,...", with decimal numbers below 2^32.
// Thread rule: values.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

namespace millrace::examples {

struct Rating {
  std::uint32_t user = 0;
  std::uint32_t rating = 0;
};

struct Movie {
  std::uint32_t id = 0;
  std::vector<Rating> ratings;  // may be empty
};

namespace internal {

// Reads a number, and the one character after it if `behind` is not '\0'.
template <class Number>
bool TakeNumber(const char** at, const char* end, char behind, Number* number) {
  const auto [next, error] = std::from_chars(*at, end, *number);
  if (error != std::errc() || (behind != '\0' && (next == end || *next != behind))) return false;
  *at = behind == '\0' ? next : next + 1;
  return true;
}

}  // namespace internal

// Reads a line into *movie and reuses its memory. Returns false for a line of another form. A space after the colon and
// a carriage return at the end are allowed.
inline bool ParseMovie(std::string_view line, Movie* movie) {
  movie->ratings.clear();
  if (line.ends_with('\r')) line.remove_suffix(1);
  const char* at = line.data();
  const char* const end = at + line.size();
  if (!internal::TakeNumber(&at, end, ':', &movie->id)) return false;
  if (at != end && *at == ' ') ++at;
  while (at != end) {
    Rating rating;
    if (!internal::TakeNumber(&at, end, '_', &rating.user)) return false;
    if (!internal::TakeNumber(&at, end, '\0', &rating.rating)) return false;
    movie->ratings.push_back(rating);
    if (at != end && *at++ != ',') return false;
  }
  return true;
}

}  // namespace millrace::examples
