#include "tests/browser/devtools.hpp"

#include <array>
#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <sys/wait.h>
#include <utility>

#include <boost/json.hpp>
#include <fcntl.h>
#include <openssl/evp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

namespace feedmill::test {
namespace {

namespace json = boost::json;

constexpr int patience_ms = 60'000;

std::string text_of(const json::value& value) {
  return json::value_to<std::string>(value);
}

}  // namespace

DevTools::DevTools(const std::filesystem::path& program) {
  std::string pattern = (std::filesystem::temp_directory_path() / "feedmill-chromium-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
  profile_ = pattern;
  std::array<int, 2> there{}, back{};
  if (pipe2(there.data(), O_CLOEXEC) != 0 || pipe2(back.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<std::string> words{program.string(),
                                 "--headless=new",
                                 "--no-sandbox",
                                 "--disable-gpu",
                                 "--disable-quic",
                                 "--disable-dev-shm-usage",
                                 "--no-first-run",
                                 "--disable-background-networking",
                                 "--disable-component-update",
                                 "--disable-sync",
                                 "--mute-audio",
                                 "--hide-scrollbars",
                                 "--force-color-profile=srgb",
                                 "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                                 "--remote-debugging-pipe",
                                 "--user-data-dir=" + (profile_ / "profile").string(),
                                 "about:blank"};
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, (profile_ / "err").c_str(), O_WRONLY | O_CREAT, 0600);
  // Chromium reads commands from descriptor 3 and writes to 4. Move ours out of the way first.
  const int reads = fcntl(there[0], F_DUPFD_CLOEXEC, 10), writes = fcntl(back[1], F_DUPFD_CLOEXEC, 10);
  posix_spawn_file_actions_adddup2(&files, reads, 3);
  posix_spawn_file_actions_adddup2(&files, writes, 4);
  posix_spawnattr_t group;
  posix_spawnattr_init(&group);
  posix_spawnattr_setflags(&group, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&group, 0);
  const int failed = posix_spawn(&pid_, program.c_str(), &files, &group, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&group);
  for (const int end : {there[0], back[1], reads, writes}) ::close(end);
  to_ = there[1];
  from_ = back[0];
  if (failed != 0) throw std::runtime_error("cannot start " + program.string());
  const json::object made = exchange("Target.createTarget", {{"url", "about:blank"}}, "");
  const json::object attached =
      exchange("Target.attachToTarget", {{"targetId", made.at("targetId")}, {"flatten", true}}, "");
  session_ = text_of(attached.at("sessionId"));
  for (const char* const domain : {"Page", "Runtime", "Network", "Log", "Audits"})
    call(std::string(domain) + ".enable");
}

DevTools::~DevTools() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (const int end : {to_, from_}) {
    if (end >= 0) ::close(end);
  }
  std::error_code ignored;
  std::filesystem::remove_all(profile_, ignored);
}

json::object DevTools::read() {
  for (;;) {
    if (const auto end = unread_.find('\0'); end != std::string::npos) {
      const std::string message = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return json::parse(message).as_object();
    }
    pollfd wait{from_, POLLIN, 0};
    const int ready = ::poll(&wait, 1, patience_ms);
    if (ready < 0 && errno == EINTR) continue;
    std::array<char, 1 << 16> bytes;
    const ssize_t size = ready > 0 ? ::read(from_, bytes.data(), bytes.size()) : 0;
    if (size <= 0) {
      std::ifstream log(profile_ / "err");
      throw std::runtime_error("the browser says nothing: " + std::string(std::istreambuf_iterator<char>(log), {}));
    }
    unread_.append(bytes.data(), static_cast<std::size_t>(size));
  }
}

json::object DevTools::exchange(std::string_view method, json::object parameters, const std::string& session) {
  json::object command{{"id", ++last_id_}, {"method", method}, {"params", std::move(parameters)}};
  if (!session.empty()) command["sessionId"] = session;
  const std::string text = json::serialize(command) + '\0';
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t size = ::write(to_, text.data() + sent, text.size() - sent);
    if (size <= 0) throw std::runtime_error("the browser has ended");
    sent += static_cast<std::size_t>(size);
  }
  for (;;) {
    json::object message = read();
    const json::value* const id = message.if_contains("id");
    if (id == nullptr) {
      events_.push_back(std::move(message));
    } else if (id->to_number<std::int64_t>() == last_id_) {
      if (message.contains("error")) throw std::runtime_error(std::string(method) + ": " + json::serialize(message));
      return std::move(message.at("result").as_object());
    }
  }
}

json::object DevTools::call(std::string_view method, json::object parameters) {
  return exchange(method, std::move(parameters), session_);
}

void DevTools::open(const std::string& url) {
  const std::size_t before = events_.size();
  const json::object opened = call("Page.navigate", {{"url", url}});
  if (opened.contains("errorText")) throw std::runtime_error(url + ": " + text_of(opened.at("errorText")));
  std::size_t looked_at = before;
  for (;;) {
    for (; looked_at < events_.size(); ++looked_at) {
      if (text_of(events_[looked_at].at("method")) == "Page.loadEventFired") return;
    }
    events_.push_back(read());
  }
}

json::value DevTools::evaluate(const std::string& expression) {
  const json::object answer =
      call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
  if (answer.contains("exceptionDetails")) throw std::runtime_error(json::serialize(answer));
  const json::value* const value = answer.at("result").as_object().if_contains("value");
  return value == nullptr ? json::value() : *value;
}

void DevTools::look(int width, int height, bool dark) {
  call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", width < 600}});
  call("Emulation.setEmulatedMedia",
       {{"features", json::array{json::object{{"name", "prefers-color-scheme"}, {"value", dark ? "dark" : "light"}}}}});
}

void DevTools::screenshot(const std::filesystem::path& file, bool whole_page) {
  const json::object shot = call("Page.captureScreenshot", {{"format", "png"}, {"captureBeyondViewport", whole_page}});
  const std::string text = text_of(shot.at("data"));
  std::vector<unsigned char> bytes(text.size() / 4 * 3 + 1);
  const int size =
      EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) throw std::runtime_error("no picture");
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), size);
}

std::vector<json::object> DevTools::events() {
  return std::exchange(events_, {});
}

}  // namespace feedmill::test
