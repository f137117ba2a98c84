// A headless Chromium controlled over its DevTools pipe, for pages that must not run a test's own scripts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <boost/json/object.hpp>

namespace feedmill::test {

/// Killed with the object, all of its processes, and its profile removed. Sandbox off, because tests run as root too:
/// only for pages of our own.
class DevTools {
 public:
  /// Starts it with one empty tab. No name leads anywhere but the addresses of 127.0.0.0/8. Throws std::runtime_error.
  explicit DevTools(const std::filesystem::path& program);
  ~DevTools();
  DevTools(const DevTools&) = delete;
  DevTools& operator=(const DevTools&) = delete;

  /// Carries out a command in the tab; throws std::runtime_error when it is refused, or not answered for a minute.
  boost::json::object call(std::string_view method, boost::json::object parameters = {});
  /// Opens an address and waits until it has loaded.
  void open(const std::string& url);
  /// The value of an expression in the page; the page's own policy does not stop it.
  boost::json::value evaluate(const std::string& expression);
  /// As a phone or a desk shows it, light or dark.
  void look(int width, int height, bool dark);
  /// The whole page as PNG.
  void screenshot(const std::filesystem::path& file, bool whole_page = true);

  /// What the tab told of itself, since the last call: {"method":…,"params":…}.
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
