#include "tests/browser/rendering.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <boost/json.hpp>

#include "tests/browser/chromium.hpp"

namespace feedmill::test {
namespace {

namespace json = boost::json;

constexpr std::size_t batch_size = 512;
constexpr std::chrono::minutes patience{2};  // per batch

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// A one-pixel GIF.
constexpr std::string_view picture(
    "GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\4\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;", 43);

}  // namespace

Rendering::Rendering(std::filesystem::path chromium, const std::filesystem::path& dompurify, Source source)
    : chromium_(std::move(chromium)), source_(std::move(source)) {
  // A report-only policy: it blocks nothing and makes the browser report every script that is not one of the page's own
  // files, also in frames.
  const std::string policy = "script-src 'self'";
  const auto serve = [&](const std::string& path, const std::string& type, const std::filesystem::path& file) {
    server_.serve(path, Response{.headers = {{"Content-Type", type}, {"Content-Security-Policy-Report-Only", policy}},
                                 .body = read_file(file)});
  };
  const std::filesystem::path pages = FEEDMILL_BROWSER_TEST_PAGES;
  serve("/", "text/html", pages / "index.html");
  for (const char* script : {"policies.js", "tree.js", "check.js"}) {
    serve(std::string("/") + script, "text/javascript;charset=utf-8", pages / script);
  }
  serve("/purify.js", "text/javascript;charset=utf-8", dompurify);
  server_.serve("/next", [this](const ServedRequest&) { return next(); });
  server_.serve("/report", [this](const ServedRequest& request) { return report(request); });
  server_.serve_rest([](const ServedRequest&) {
    return Response{.headers = {{"Content-Type", "image/gif"}, {"Cache-Control", "max-age=3600"}},
                    .body = std::string(picture)};
  });
  server_.forget_requests();
}

void Rendering::run() {
  Chromium browser(chromium_, server_.url("/"), server_.port());
  std::unique_lock lock(mutex_);
  while (!done_) {
    const std::size_t before = reports_;
    const bool moved =
        changed_.wait_for(lock, patience, [&] { return done_ || !failed_.empty() || reports_ > before; });
    if (!failed_.empty()) throw std::runtime_error("the page failed: " + failed_);
    if (!moved) {
      throw std::runtime_error((browser.runs() ? "the browser says nothing: " : "the browser ended: ") +
                               browser.errors());
    }
  }
}

Response Rendering::next() {
  const std::lock_guard lock(mutex_);
  json::array items;
  batch_.clear();
  while (batch_.size() < batch_size) {
    std::optional<Rendered> one = source_();
    if (!one) break;
    items.push_back({{"id", batch_.size()},
                     {"policy", one->policy == HtmlPolicy::classic ? "classic" : "strict"},
                     {"html", one->html}});
    batch_.push_back(std::move(*one));
  }
  if (batch_.empty()) {
    done_ = true;
    changed_.notify_all();
  }
  return {.headers = {{"Content-Type", "application/json"}},
          .body = json::serialize(json::object{{"items", std::move(items)}})};
}

Response Rendering::report(const ServedRequest& request) {
  const std::lock_guard lock(mutex_);
  const json::object said = json::parse(request.body).as_object();
  if (const auto* failed = said.if_contains("failed")) {
    failed_ = json::value_to<std::string>(*failed);
  } else {
    outputs += said.at("outputs").to_number<std::size_t>();
    documents += said.at("rendered").to_number<std::size_t>();
    for (const auto& [kind, count] : said.at("kinds").as_object()) kinds[kind] += count.to_number<std::size_t>();
    for (const json::value& found : said.at("findings").as_array()) {
      findings.push_back(
          {batch_.at(found.at("id").to_number<std::size_t>()), json::value_to<std::string>(found.at("context")),
           json::value_to<std::string>(found.at("kind")), json::value_to<std::string>(found.at("detail"))});
    }
    ++reports_;
  }
  changed_.notify_all();
  return {.status = 204};
}

}  // namespace feedmill::test
