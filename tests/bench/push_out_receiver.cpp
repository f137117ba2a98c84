// Receives the deliveries of push_out.py as fast as possible on one thread: one port on all of 127.0.0.0/8.
//   feedmill_push_out_receiver PORT LOG
// POST: answers 204, after 10 s for a path that begins with /slow. Each adds a line to LOG: microseconds since 1970
// when its last byte arrived, path, webhook-id. GET: a feed with one more post each time. Ends when its parent does.
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unordered_map>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <strings.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::system_clock;
using std::chrono::duration_cast;
using std::chrono::microseconds;

constexpr std::chrono::seconds slowly{10};
constexpr std::string_view no_content = "HTTP/1.1 204 No Content\r\n\r\n";

struct Connection {
  std::string in;
  std::uint64_t number = 0;  ///< unique: a slow response may be due after its connection has closed
};

std::string_view header(std::string_view head, std::string_view name) {
  for (std::size_t line = head.find("\r\n"); line != std::string_view::npos; line = head.find("\r\n", line)) {
    line += 2;
    const std::string_view rest = head.substr(line);
    if (rest.size() <= name.size() || rest[name.size()] != ':') continue;
    if (strncasecmp(rest.data(), name.data(), name.size()) != 0) continue;
    std::string_view value = rest.substr(name.size() + 1, rest.find("\r\n") - name.size() - 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    return value;
  }
  return {};
}

class Receiver {
 public:
  Receiver(std::uint16_t port, const char* log)
      : epoll_(epoll_create1(0)),
        listener_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)),
        log_(open(log, O_WRONLY | O_CREAT | O_APPEND, 0600)) {
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener_, 4096) != 0 ||
        log_ < 0) {
      std::perror("receiver");
      std::exit(1);
    }
    watch(listener_);
  }

  [[noreturn]] void run() {
    std::vector<epoll_event> events(1024);
    for (;;) {
      const int found = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), waits());
      for (int i = 0; i < found; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == listener_)
          accept_all();
        else
          read(fd);
      }
      answer_the_slow();
      if (found == 0 || lines_.size() > 65'536) write_lines();
    }
  }

 private:
  struct Slow {
    Clock::time_point at;
    int fd;
    std::uint64_t number;
  };

  int waits() const {
    if (!lines_.empty()) return 1;
    return slow_.empty() ? -1 : 10;
  }
  void watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
  void accept_all() {
    for (int fd = 0; (fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      connections_[fd] = {"", ++numbers_};
      watch(fd);
    }
  }
  void read(int fd) {
    char bytes[65'536];
    for (;;) {
      const ssize_t size = ::read(fd, bytes, sizeof bytes);
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (size <= 0) {
        connections_.erase(fd);
        close(fd);
        return;
      }
      Connection& connection = connections_[fd];
      connection.in.append(bytes, static_cast<std::size_t>(size));
      while (take_request(fd, connection)) {
      }
      if (static_cast<std::size_t>(size) < sizeof bytes) return;
    }
  }
  bool take_request(int fd, Connection& connection) {
    const std::string_view all = connection.in;
    const std::size_t end = all.find("\r\n\r\n");
    if (end == std::string_view::npos) return false;
    const std::string_view head = all.substr(0, end + 2), length_text = header(head, "content-length");
    std::size_t length = 0;
    std::from_chars(length_text.data(), length_text.data() + length_text.size(), length);
    if (all.size() < end + 4 + length) return false;
    const std::size_t path_at = head.find(' ') + 1;
    const std::string_view path = head.substr(path_at, head.find(' ', path_at) - path_at);
    if (head.starts_with("GET ")) {
      send(fd, feed(std::string(path)));
    } else {
      const auto now = duration_cast<microseconds>(Clock::now().time_since_epoch()).count();
      lines_.append(std::to_string(now)).append(" ").append(path).append(" ");
      lines_.append(header(head, "webhook-id")).append("\n");
      if (path.starts_with("/slow"))
        slow_.push_back({Clock::now() + slowly, fd, connection.number});
      else
        send(fd, no_content);
    }
    connection.in.erase(0, end + 4 + length);
    return true;
  }
  std::string feed(const std::string& path) {
    const int newest = ++posts_[path];
    std::string body = "<rss version='2.0'><channel><title>t</title><link>http://x.example/</link>";
    for (int post = newest; post > 0 && post > newest - 10; --post) {
      const std::string name = path + "/" + std::to_string(post);
      body += "<item><guid>" + name + "</guid><title>Post " + name + "</title><description>" + std::string(300, 'x') +
              "</description></item>";
    }
    body += "</channel></rss>";
    return "HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }
  void answer_the_slow() {
    for (; !slow_.empty() && slow_.front().at <= Clock::now(); slow_.pop_front()) {
      const auto found = connections_.find(slow_.front().fd);
      if (found != connections_.end() && found->second.number == slow_.front().number) send(found->first, no_content);
    }
  }
  static void send(int fd, std::string_view text) {
    // Small compared to a socket buffer; a client that does not read gets nothing.
    [[maybe_unused]] const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
  }
  void write_lines() {
    for (std::size_t from = 0; from < lines_.size();) {
      const ssize_t size = ::write(log_, lines_.data() + from, lines_.size() - from);
      if (size <= 0) std::exit(1);
      from += static_cast<std::size_t>(size);
    }
    lines_.clear();
  }

  int epoll_, listener_, log_;
  std::uint64_t numbers_ = 0;
  std::unordered_map<int, Connection> connections_;
  std::unordered_map<std::string, int> posts_;  // posts per feed, by path
  std::deque<Slow> slow_;
  std::string lines_;
};

}  // namespace

int main(int count, char** values) {
  if (count != 3) {
    std::fputs("usage: feedmill_push_out_receiver PORT LOG\n", stderr);
    return 64;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  Receiver(static_cast<std::uint16_t>(std::atoi(values[1])), values[2]).run();
}
