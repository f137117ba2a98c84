// A headless Chromium of its own for a test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <sys/types.h>

namespace feedmill::test {

/// Where Chromium is: $FEEDMILL_CHROMIUM, else the first of its names in $PATH; "" when there is none.
std::filesystem::path find_chromium();
/// Where DOMPurify's script is: $FEEDMILL_DOMPURIFY, else where Debian's node-dompurify puts it; "" when nowhere.
std::filesystem::path find_dompurify();

/// Killed with the object, all of its processes, and its profile removed. Sandbox off, because tests run as root too:
/// only for pages of our own.
class Chromium {
 public:
  /// Opens `url`. http://base.example/ leads to `port` on loopback and no other name anywhere: nothing outside of the
  /// machine is ever asked.
  Chromium(const std::filesystem::path& program, const std::string& url, std::uint16_t port);
  ~Chromium();
  Chromium(const Chromium&) = delete;
  Chromium& operator=(const Chromium&) = delete;

  /// False once it has ended by itself, which it never should.
  bool runs();
  /// Its standard error so far.
  std::string errors() const;

 private:
  std::filesystem::path profile_;
  pid_t pid_ = -1;
};

}  // namespace feedmill::test
