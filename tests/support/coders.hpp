// Content codings, as servers apply them.
#pragma once

#include <string>

namespace feedmill::test {

/// `level`: 0 (stored) to 12.
std::string gzip(const std::string& text, int level = 6);

std::string zstd(const std::string& text);

}  // namespace feedmill::test
