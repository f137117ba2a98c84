#include "worker/ingest/poison.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "worker/base/log.hpp"
#include "worker/base/unique_fd.hpp"

namespace feedmill {

bool keep_poison(const std::filesystem::path& directory, std::string_view feed_url, std::string_view body) {
  const std::filesystem::path file = directory / (feed_id(feed_url) + ".poison");
  const UniqueFd out(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out) return false;
  const std::string_view kept = body.substr(0, most_kept_of_poison);
  return ::write(out.get(), kept.data(), kept.size()) == static_cast<ssize_t>(kept.size());
}

}  // namespace feedmill
