#include "tests/browser/chromium.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <sys/wait.h>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

namespace feedmill::test {

std::filesystem::path find_chromium() {
  if (const char* given = std::getenv("FEEDMILL_CHROMIUM")) return given;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      std::filesystem::path program = std::filesystem::path(folder) / name;
      if (access(program.c_str(), X_OK) == 0) return program;
    }
  }
  return {};
}

std::filesystem::path find_dompurify() {
  if (const char* given = std::getenv("FEEDMILL_DOMPURIFY")) return given;
  for (const char* place :
       {"/usr/share/nodejs/dompurify/dist/purify.js", "/usr/share/javascript/dompurify/purify.js"}) {
    if (std::filesystem::exists(place)) return place;
  }
  return {};
}

std::filesystem::path find_axe() {
  if (const char* given = std::getenv("FEEDMILL_AXE")) return given;
  for (const char* place :
       {"/usr/lib/node_modules/axe-core/axe.min.js", "/usr/local/lib/node_modules/axe-core/axe.min.js",
        "/usr/share/nodejs/axe-core/axe.min.js"}) {
    if (std::filesystem::exists(place)) return place;
  }
  return {};
}

Chromium::Chromium(const std::filesystem::path& program, const std::string& url, std::uint16_t port) {
  std::string pattern = (std::filesystem::temp_directory_path() / "feedmill-chromium-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
  profile_ = pattern;
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
                                 "--disable-popup-blocking",
                                 "--mute-audio",
                                 "--host-resolver-rules=MAP base.example:80 127.0.0.1:" + std::to_string(port) +
                                     ", MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                                 "--user-data-dir=" + (profile_ / "profile").string(),
                                 url};
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string err = profile_ / "err";
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawnattr_t group;
  posix_spawnattr_init(&group);
  posix_spawnattr_setflags(&group, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&group, 0);
  const int failed = posix_spawn(&pid_, program.c_str(), &files, &group, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&group);
  if (failed != 0) throw std::runtime_error("cannot start " + program.string());
}

Chromium::~Chromium() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(profile_, ignored);
}

bool Chromium::runs() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

std::string Chromium::errors() const {
  std::ifstream file(profile_ / "err");
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace feedmill::test
