#include "worker/config/secret_file.hpp"

#include <fstream>
#include <sstream>

namespace feedmill {

namespace fs = std::filesystem;

std::optional<std::string> read_secret(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream content;
  if (!in || fs::is_directory(file) || (in.peek() != EOF && !(content << in.rdbuf()))) return std::nullopt;
  std::string text = content.str();
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

bool readable_by_all(const fs::path& file) {
  std::error_code error;
  const auto permissions = fs::status(file, error).permissions();
  return !error && (permissions & fs::perms::others_read) != fs::perms::none;
}

std::string readable_warning(const fs::path& file) {
  return file.string() + " holds a secret and every user may read it; chmod 600 it";
}

}  // namespace feedmill
