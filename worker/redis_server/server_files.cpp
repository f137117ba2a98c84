#include "worker/redis_server/server_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>

#include <boost/json.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "storage/records/json_members.hpp"
#include "worker/redis_server/private_server.hpp"

namespace feedmill {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

/// Quotes a word for the server's configuration file.
std::string config_word(std::string_view text) {
  std::string word = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      word += c;
    } else {
      word += fmt::format("\\x{:02x}", byte);
    }
  }
  return word + "\"";
}

}  // namespace

void Patience::wait() {
  std::this_thread::sleep_for(pause_);
  pause_ = std::min<std::chrono::milliseconds>(pause_ * 2, std::chrono::milliseconds(50));
}

UniqueFd open_lock_file(const fs::path& path) {
  return UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
}

bool try_lock(const UniqueFd& file, int kind) {
  return ::flock(file.get(), kind | LOCK_NB) == 0;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in && in.peek() != EOF) text << in.rdbuf();
  return text.str();
}

bool write_file(const fs::path& path, const std::string& text) {
  const fs::path fresh = path.string() + ".new";
  ::unlink(fresh.c_str());  // left by an earlier try; never follows a link
  {
    UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return false;
    ::fsync(file.get());
  }
  return ::rename(fresh.c_str(), path.c_str()) == 0;
}

std::optional<uid_t> owner_of(const fs::path& directory) {
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  return status.st_uid;
}

bool is_own_private_directory(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

namespace {

void close_file_to_others(const fs::path& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const mode_t mode = status.st_mode & 07777U;
  if (status.st_uid == ::geteuid() && (mode & 077U) != 0) ::fchmod(file.get(), mode & ~077U);
}

}  // namespace

void close_to_others(const fs::path& directory) {
  std::error_code ignored;
  for (const fs::path& place : {directory, directory / "appendonlydir"}) {
    for (fs::directory_iterator file(place, ignored), end; file != end; file.increment(ignored)) {
      const std::string extension = file->path().extension();
      const bool is_its_own = extension == ".rdb" || extension == ".aof" || extension == ".manifest";
      if (is_its_own || file->path().filename() == "server.json") close_file_to_others(file->path());
    }
  }
}

bool is_open_to_others(const fs::path& directory) {
  struct stat status {};
  return ::stat(directory.c_str(), &status) == 0 && (status.st_mode & (S_IROTH | S_IXOTH)) != 0;
}

std::string hex_of(std::uint64_t number) {
  return fmt::format("{:016x}", number);
}

fs::path default_runtime_dir() {
  if (const char* directory = std::getenv("RUNTIME_DIRECTORY"); directory != nullptr && *directory != '\0') {
    const std::string_view listed = directory;
    return listed.substr(0, listed.find(':'));
  }
  if (const char* directory = std::getenv("XDG_RUNTIME_DIR"); directory != nullptr && *directory == '/')
    if (is_own_private_directory(directory)) return fs::path(directory) / "feedmill";
  return "/tmp/feedmill-" + std::to_string(::geteuid());
}

ServerRecord ServerRecord::read(const fs::path& file) {
  boost::system::error_code error;
  const json::value value = json::parse(read_file(file), error);
  ServerRecord record;
  if (error || !value.is_object()) return record;
  const auto text = [&](const char* key) { return std::string(string_member(value.get_object(), key)); };
  record.name = text("name");
  record.version = text("version");
  record.run_id = text("run_id");
  record.marker = text("marker");
  record.socket = text("socket");
  return record;
}

bool ServerRecord::write(const fs::path& file) const {
  const json::object object{
      {"name", name}, {"version", version}, {"run_id", run_id}, {"marker", marker}, {"socket", socket.string()}};
  return write_file(file, json::serialize(object) + "\n");
}

std::string server_configuration(const fs::path& socket, const fs::path& data_dir, const fs::path& pid_file,
                                 const fs::path& log_file, std::uint64_t max_memory) {
  std::string text = "port 0\n";
  text += "unixsocket " + config_word(socket.native()) + "\n";
  text += "unixsocketperm 700\n";
  text += "dir " + config_word(data_dir.native()) + "\n";
  text += "pidfile " + config_word(pid_file.native()) + "\n";
  text += "logfile " + config_word(log_file.native()) + "\n";
  text +=
      "loglevel notice\n"
      "daemonize no\n"
      "supervised no\n"
      "appendonly yes\n"
      "appendfsync everysec\n"
      "aof-load-truncated yes\n"
      "save \"\"\n"
      "maxmemory-policy noeviction\n"
      "hash-max-listpack-value 65536\n"  // a post as one listpack takes a third less memory
      "hash-max-listpack-entries 128\n"  // looking up guids in longer ones takes too long
      "protected-mode yes\n"
      "enable-debug-command no\n"
      "enable-module-command no\n";
  if (max_memory > 0) text += "maxmemory " + std::to_string(max_memory) + "\n";
  return text;
}

}  // namespace feedmill
