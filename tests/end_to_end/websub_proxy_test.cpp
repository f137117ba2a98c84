// Callbacks through nginx with the shipped server block.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>

#include "tests/end_to_end/push_world.hpp"

namespace feedmill::test::websub_proxy_test {
namespace {

constexpr const char* nginx_program = "/usr/sbin/nginx";

std::uint16_t free_port() {
  boost::asio::io_context context;
  boost::asio::ip::tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
  return acceptor.local_endpoint().port();
}

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void replace(std::string& text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  ASSERT_NE(at, std::string::npos) << what;
  text.replace(at, what.size(), with);
}

/// An nginx process in `directory`, stopped on destruction.
class Nginx {
 public:
  explicit Nginx(const std::filesystem::path& directory) {
    const std::string config = directory / "nginx.conf", log = directory / "nginx.log";
    std::vector<std::string> words{nginx_program, "-p", directory, "-e", log, "-c", config};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (const int out : {1, 2}) posix_spawn_file_actions_addopen(&files, out, log.c_str(), O_WRONLY | O_CREAT, 0600);
    char* environment[] = {nullptr};
    EXPECT_EQ(posix_spawn(&pid_, nginx_program, &files, nullptr, arguments.data(), environment), 0);
    posix_spawn_file_actions_destroy(&files);
  }
  ~Nginx() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Nginx(const Nginx&) = delete;
  Nginx& operator=(const Nginx&) = delete;

 private:
  pid_t pid_ = -1;
};

TEST(SubscribingThroughNginx, TheShippedServerBlockServes) {
  if (!std::filesystem::exists(nginx_program)) GTEST_SKIP() << "nginx is not installed";
  PushWorld world;
  const std::filesystem::path directory = world.redis.directory() / "nginx";
  std::filesystem::create_directory(directory);
  const Identity identity = world.authority.issue({.names = {"DNS:feeds.example.org"}});
  std::ofstream(directory / "certificate.pem") << identity.certificate;
  std::ofstream(directory / "key.pem") << identity.key;
  const std::string secure = std::to_string(free_port()), plain = std::to_string(free_port()),
                    callbacks = std::to_string(free_port());
  std::string block = read(FEEDMILL_NGINX_BLOCK);
  // This test's hub speaks plain http: it gets a port of its own in addition to https.
  replace(block, "listen 443 ssl;", "listen 127.0.0.1:" + secure + " ssl; listen 127.0.0.1:" + plain + ";");
  replace(block, "ssl_certificate /etc/ssl/certs/feeds.example.org.pem;",
          "ssl_certificate " + (directory / "certificate.pem").string() + ";");
  replace(block, "/etc/ssl/private/feeds.example.org.key", directory / "key.pem");
  replace(block, "proxy_pass http://127.0.0.1:9811;", "proxy_pass http://127.0.0.1:" + callbacks + ";");
  std::ofstream config(directory / "nginx.conf");
  config << "daemon off; master_process off; pid " << (directory / "pid").string() << ";\nevents {}\nhttp {\n";
  for (const std::string kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
    config << kind << "_temp_path " << (directory / kind).string() << ";\n";
  }
  config << block << "}\n";
  config.close();
  const Nginx nginx(directory);
  const std::string base = "http://127.0.0.1:" + plain;
  ASSERT_TRUE(eventually([&] { return ask({.url = base + "/"}).status == 404; })) << read(directory / "nginx.log");

  world.environment["FEEDMILL_WEBSUB_PUBLIC_URL"] = base;
  world.environment["FEEDMILL_WEBSUB_LISTEN"] = "127.0.0.1:" + callbacks;
  const std::string url = world.subscribed_feed();
  const HubSubscriber to = world.subscriber(url);
  EXPECT_TRUE(to.callback.starts_with(base + "/w/"));
  EXPECT_TRUE(world.push_and_wait(url, {"2", "through nginx"}));
  EXPECT_EQ(PushWorld::push(to, atom({{"3", std::string(3U << 20U, 'x')}})).status, 202);
  EXPECT_EQ(PushWorld::deliver(to.callback, std::string((4U << 20U) + 1, 'x')).status, 413);
  EXPECT_EQ(ask({.url = base + "/metrics"}).status, 404);
  EXPECT_EQ(ask({.url = base + "/w/" + std::string(26, 'a')}).status, 404);
  EXPECT_EQ(world.worker().deliveries("fat"), 2);
}

}  // namespace
}  // namespace feedmill::test::websub_proxy_test
