// Recent dates for documents that must count as news.
#pragma once

#include <chrono>
#include <ctime>
#include <string>

namespace feedmill::test {

/// The time so many days before the program began, as Atom writes it. Repeated calls return an equal text.
inline std::string days_ago(int days) {
  static const std::time_t start = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  const std::time_t then = start - std::time_t{days} * 24 * 3600;
  std::tm parts{};
  ::gmtime_r(&then, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace feedmill::test
