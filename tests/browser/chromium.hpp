// Runs a separate headless Chromium for a test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <sys/types.h>

namespace feedmill::test {

/// Chromium's program: $FEEDMILL_CHROMIUM, else the first of its names in $PATH; "" if there is none.
std::filesystem::path find_chromium();
/// DOMPurify's script: $FEEDMILL_DOMPURIFY, else the one of Debian's node-dompurify; "" if there is none.
std::filesystem::path find_dompurify();
/// axe.min.js of the npm package axe-core; "" if it is not installed.
std::filesystem::path find_axe();

/// Destruction kills all of Chromium's processes and removes its profile. Runs without a sandbox, because tests may run
/// as root: use it for our own pages only.
class Chromium {
 public:
  /// Opens `url`. http://base.example/ resolves to `port` on loopback and no other name resolves: nothing outside this
  /// machine is ever contacted.
  Chromium(const std::filesystem::path& program, const std::string& url, std::uint16_t port);
  ~Chromium();
  Chromium(const Chromium&) = delete;
  Chromium& operator=(const Chromium&) = delete;

  /// False once Chromium has ended by itself, which it never should.
  bool runs();
  /// Standard error so far.
  std::string errors() const;

 private:
  std::filesystem::path profile_;
  pid_t pid_ = -1;
};

}  // namespace feedmill::test
