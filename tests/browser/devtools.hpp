// Controls a headless Chromium over its DevTools pipe, for pages into which a test must not load its own scripts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <boost/json/object.hpp>

namespace feedmill::test {

/// Destruction kills all of Chromium's processes and removes its profile. Runs without a sandbox, because tests may run
/// as root: use it for our own pages only.
class DevTools {
 public:
  /// Starts Chromium with an empty tab. Only addresses in 127.0.0.0/8 are reachable. Throws std::runtime_error.
  explicit DevTools(const std::filesystem::path& program);
  ~DevTools();
  DevTools(const DevTools&) = delete;
  DevTools& operator=(const DevTools&) = delete;

  /// Executes a command in the tab; throws std::runtime_error if it fails or gets no answer within a minute.
  boost::json::object call(std::string_view method, boost::json::object parameters = {});
  /// Opens a URL and waits until it has loaded.
  void open(const std::string& url);
  /// The value of an expression evaluated in the page, regardless of the page's own policy.
  boost::json::value evaluate(const std::string& expression);
  /// Emulates a screen of this size, in the light or dark colour scheme.
  void look(int width, int height, bool dark);
  /// Writes a screenshot as PNG, of the whole page or of the visible part.
  void screenshot(const std::filesystem::path& file, bool whole_page = true);

  /// The tab's events since the last call: {"method":…,"params":…}.
  std::vector<boost::json::object> events();

 private:
  boost::json::object exchange(std::string_view method, boost::json::object parameters, const std::string& session);
  boost::json::object read();

  std::filesystem::path profile_;
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::string session_, unread_;
  std::int64_t last_id_ = 0;
  std::vector<boost::json::object> events_;
};

}  // namespace feedmill::test
