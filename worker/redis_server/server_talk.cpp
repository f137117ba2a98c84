#include "worker/redis_server/server_talk.hpp"

#include <algorithm>
#include <array>
#include <sys/socket.h>
#include <sys/time.h>

#include "parsers/text/strings.hpp"

namespace feedmill {

std::optional<ServerTalk> ServerTalk::connect(const std::filesystem::path& path, std::chrono::seconds one_answer) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& name = path.native();
  if (name.empty() || name.size() > longest_socket_path) return std::nullopt;
  std::ranges::copy(name, address.sun_path);
  ServerTalk talk;
  talk.socket_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{one_answer.count(), 0};
  ::setsockopt(talk.socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(talk.socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(talk.socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return std::nullopt;
  return talk;
}

int ServerTalk::peer() const {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  return ::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 ? credentials.pid : 0;
}

std::optional<ServerReply> ServerTalk::ask(std::initializer_list<std::string_view> words) {
  std::string request = "*" + std::to_string(words.size()) + "\r\n";
  for (const auto word : words) request.append("$" + std::to_string(word.size()) + "\r\n").append(word).append("\r\n");
  if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return std::nullopt;
  const auto line = read_line();
  if (!line || line->empty()) return std::nullopt;
  ServerReply reply{line->front(), line->substr(1)};
  if (reply.type != '$') return reply;
  const long size = leading_number(reply.text, -1L);
  if (size < 0) return ServerReply{'_', ""};
  while (buffer_.size() < static_cast<std::size_t>(size) + 2)
    if (!read_more()) return std::nullopt;
  reply.text = buffer_.substr(0, static_cast<std::size_t>(size));
  buffer_.erase(0, static_cast<std::size_t>(size) + 2);
  return reply;
}

bool ServerTalk::read_more() {
  std::array<char, 4096> chunk;
  const auto size = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
  if (size <= 0) return false;
  buffer_.append(chunk.data(), static_cast<std::size_t>(size));
  return true;
}

std::optional<std::string> ServerTalk::read_line() {
  for (;;) {
    if (const auto end = buffer_.find("\r\n"); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 2);
      return line;
    }
    if (!read_more()) return std::nullopt;
  }
}

std::string info_field(const std::string& info, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ":";
  const auto found = info.find(start);
  if (found == std::string::npos) return {};
  const auto value = found + start.size();
  return info.substr(value, info.find_first_of("\r\n", value) - value);
}

}  // namespace feedmill
