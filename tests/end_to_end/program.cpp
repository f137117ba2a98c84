#include "tests/end_to_end/program.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include "storage/events/event_stream.hpp"

namespace feedmill::test {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::filesystem::path make_directory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "feedmill-run-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
  return pattern;
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments, const Environment& environment, const std::string& limits,
                 const std::string& path)
    : directory_(make_directory()) {
  std::vector<std::string> words;
  if (!limits.empty()) words = {"/bin/sh", "-c", limits + " && exec \"$0\" \"$@\""};
  words.push_back(path.empty() ? FEEDMILL_PROGRAM : path);
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> settings;
  for (const auto& [name, value] : environment) settings.push_back(name + "=" + value);
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& setting : settings) envp.push_back(setting.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const std::string out = directory_ / "out", err = directory_ / "err";
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  // Otherwise a later child would keep open a connection that we close.
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  const int failed = posix_spawn(&pid_, argv.front(), &files, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot start " + words.front());
}

Program::~Program() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void Program::signal(int number) const {
  ::kill(pid_, number);
}

bool Program::ended() const {
  siginfo_t state{};
  return waitid(P_PID, static_cast<id_t>(pid_), &state, WEXITED | WNOHANG | WNOWAIT) == 0 && state.si_pid == pid_;
}

bool Program::stopped() const {
  return eventually([&] {
    siginfo_t state{};
    return waitid(P_PID, static_cast<id_t>(pid_), &state, WSTOPPED | WNOHANG | WNOWAIT) == 0 && state.si_pid == pid_;
  });
}

Finished Program::wait() {
  Finished finished;
  int status = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  pid_t ended = 0;
  rusage used{};
  while ((ended = wait4(pid_, &status, WNOHANG, &used)) == 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // waitpid has no time limit
  }
  if (ended == 0) {
    ::kill(pid_, SIGKILL);
    wait4(pid_, &status, 0, &used);
  }
  finished.peak_bytes = static_cast<std::uint64_t>(used.ru_maxrss) << 10U;
  pid_ = -1;
  finished.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  finished.out = out();
  finished.err = err();
  return finished;
}

std::string Program::out() const {
  return read_file(directory_ / "out");
}
std::string Program::err() const {
  return read_file(directory_ / "err");
}

std::string get(const std::string& host_and_port, const std::string& target) {
  namespace asio = boost::asio;
  asio::io_context loop;
  asio::ip::tcp::socket socket(loop);
  const auto colon = host_and_port.rfind(':');
  asio::ip::tcp::resolver resolver(loop);
  asio::connect(socket, resolver.resolve(host_and_port.substr(0, colon), host_and_port.substr(colon + 1)));
  asio::write(socket, asio::buffer("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
  std::string answer;
  boost::system::error_code end;
  asio::read(socket, asio::dynamic_buffer(answer), end);
  return answer;
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

std::string listening_at(const Program& worker) {
  std::string address;
  eventually([&] {
    const std::string log = worker.err();
    const auto at = log.find("http://127.0.0.1:");
    if (at == std::string::npos || log.find('\n', at) == std::string::npos) return false;
    address = log.substr(at + 7, log.find_first_of(" ,\"\n", at) - at - 7);
    return true;
  });
  return address;
}

World::World(const std::vector<std::string>& redis_arguments)
    : redis(redis_arguments), store(StoreOptions{.url = redis.url()}) {
  environment = {{"FEEDMILL_REDIS_URL", redis.url()}, {"FEEDMILL_EGRESS_ALLOW", "127.0.0.0/8:1024-65535"},
                 {"FEEDMILL_ADMIN_LISTEN", "off"},    {"FEEDMILL_HOST_SPACING", "0ms"},
                 {"FEEDMILL_HOST_CONCURRENCY", "64"}, {"FEEDMILL_SCHEDULE_MIN_FLOOR", "1s"},
                 {"FEEDMILL_SCHEDULE_FLOOR", "1s"},   {"FEEDMILL_SCHEDULE_CEILING", "1s"},
                 {"FEEDMILL_LOG_FORMAT", "logfmt"},   {"HOME", redis.directory().string()},
                 {"PATH", std::getenv("PATH")}};
  if (const char* options = std::getenv("ASAN_OPTIONS")) environment["ASAN_OPTIONS"] = options;
  if (const char* options = std::getenv("TSAN_OPTIONS")) environment["TSAN_OPTIONS"] = options;
}

Environment World::with(const Environment& more) const {
  Environment all = more;
  all.insert(environment.begin(), environment.end());
  return all;
}

Finished World::run(const std::vector<std::string>& arguments, const Environment& more) const {
  return Program(arguments, with(more)).wait();
}

std::vector<EventRecord> World::signals() {
  auto records = EventStream(store).read("0", 1'000'000, Milliseconds(0));
  if (!records) throw std::runtime_error(records.error().detail);
  return *records;
}

std::size_t World::count(const std::string& type) {
  std::size_t found = 0;
  for (const EventRecord& record : signals()) found += record.type == type ? 1 : 0;
  return found;
}

std::string rss(const std::vector<std::pair<std::string, std::string>>& posts, const std::string& title) {
  std::string text = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>" + title +
                     "</title><link>https://example.org/</link><description>d</description>";
  int minute = 59;
  for (const auto& [guid, name] : posts) {
    const std::string digits = std::to_string(minute > 0 ? minute-- : 0);
    text += "<item><guid isPermaLink=\"false\">" + guid + "</guid><title>" + name +
            "</title><pubDate>Sat, 01 Nov 2025 10:" + (digits.size() < 2 ? "0" : "") + digits +
            ":00 GMT</pubDate></item>";
  }
  return text + "</channel></rss>";
}

}  // namespace feedmill::test
