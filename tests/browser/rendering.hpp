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

/// Markup to render, and its origin.
struct Rendered {
  std::string html;
  HtmlPolicy policy = HtmlPolicy::strict;
  std::string source;  ///< shown in failures: the vector
};

/// Something in a page that its policy does not allow.
struct Finding {
  Rendered rendered;
  std::string context;  ///< div, td, template; "" = any
  std::string kind;     ///< execution, element, attribute, url, style, node, markers, grammar, purify, unfinished
  std::string detail;
};

/// Serves the page, its scripts and one batch after another; answers every other request with a picture, so that
/// elements that wait for a load or an error get their event.
class Rendering {
 public:
  /// Returns the next markup to render, nothing at the end; called on the server's thread.
  using Source = std::function<std::optional<Rendered>()>;

  Rendering(std::filesystem::path chromium, const std::filesystem::path& dompurify, Source source);

  /// Renders everything in a browser. Throws std::runtime_error if the browser ends or reports nothing for two minutes.
  void run();

  std::size_t outputs = 0;                     ///< number of markups rendered
  std::size_t documents = 0;                   ///< number of renderings, over all contexts
  std::map<std::string, std::size_t> kinds{};  ///< number of findings by kind; `findings` has the first of them
  std::vector<Finding> findings{};

 private:
  Response next();
  Response report(const ServedRequest& request);

  const std::filesystem::path chromium_;
  const Source source_;
  std::mutex mutex_;  ///< guards the members below and the results
  std::condition_variable changed_;
  std::vector<Rendered> batch_;
  std::string failed_;
  std::size_t reports_ = 0;
  bool done_ = false;
  HttpServer server_;
};

}  // namespace feedmill::test
