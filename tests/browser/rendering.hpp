// Feeds pages to a browser and collects its findings: the server side of page/check.js.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "parsers/feed/read_feed.hpp"
#include "tests/support/http_server.hpp"

namespace feedmill::test {

/// Markup to be rendered, and where it comes from.
struct Rendered {
  std::string html;
  HtmlPolicy policy = HtmlPolicy::strict;
  std::string source;  ///< for people: the vector
};

/// Something in a page that its policy has no place for.
struct Finding {
  Rendered rendered;
  std::string context;  ///< div, td, template; "" when it does not matter
  std::string kind;     ///< execution, element, attribute, url, style, node, markers, grammar, purify, unfinished
  std::string detail;
};

/// Serves the page, its scripts and one batch after the other; answers every other request by a picture, so that what
/// waits for one to load or to fail gets its event.
class Rendering {
 public:
  /// The next markup to render, nothing at the end; called on the server's thread.
  using Source = std::function<std::optional<Rendered>()>;

  Rendering(std::filesystem::path chromium, const std::filesystem::path& dompurify, Source source);

  /// Runs a browser over all of it. Throws std::runtime_error when the browser ends or says nothing for two minutes.
  void run();

  std::size_t outputs = 0;                     ///< how many markups were rendered,
  std::size_t documents = 0;                   ///< and how often, over all contexts
  std::map<std::string, std::size_t> kinds{};  ///< how many findings of each kind; the first of them:
  std::vector<Finding> findings{};

 private:
  Response next();
  Response report(const ServedRequest& request);

  const std::filesystem::path chromium_;
  const Source source_;
  std::mutex mutex_;  ///< over all below and the results
  std::condition_variable changed_;
  std::vector<Rendered> batch_;
  std::string failed_;
  std::size_t reports_ = 0;
  bool done_ = false;
  HttpServer server_;
};

}  // namespace feedmill::test
