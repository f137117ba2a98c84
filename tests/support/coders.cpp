#include "tests/support/coders.hpp"

#include <memory>

#include <libdeflate.h>
#include <zstd.h>

namespace feedmill::test {

std::string gzip(const std::string& text, int level) {
  const std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> coder(
      libdeflate_alloc_compressor(level), libdeflate_free_compressor);
  std::string coded(libdeflate_gzip_compress_bound(coder.get(), text.size()), '\0');
  coded.resize(libdeflate_gzip_compress(coder.get(), text.data(), text.size(), coded.data(), coded.size()));
  return coded;
}

std::string zstd(const std::string& text) {
  std::string coded(ZSTD_compressBound(text.size()), '\0');
  coded.resize(ZSTD_compress(coded.data(), coded.size(), text.data(), text.size(), 3));
  return coded;
}

}  // namespace feedmill::test
