// Bodies that expand to a large size. Built by hand where an encoder would not produce them.
#include <stdexcept>

#include <brotli/encode.h>

#include "tests/support/coders.hpp"
#include "tests/support/hostile_server.hpp"

namespace feedmill::test {
namespace {

std::string tight_gzip(const std::string& text) {
  return gzip(text, 9);
}

std::string brotli(const std::string& text) {
  std::size_t size = BrotliEncoderMaxCompressedSize(text.size());
  std::string coded(size, '\0');
  const auto made = BrotliEncoderCompress(5, BROTLI_MAX_WINDOW_BITS, BROTLI_MODE_GENERIC, text.size(),
                                          reinterpret_cast<const std::uint8_t*>(text.data()), &size,
                                          reinterpret_cast<std::uint8_t*>(coded.data()));
  if (made != BROTLI_TRUE) throw std::runtime_error("brotli");
  coded.resize(size);
  return coded;
}

/// A zstd frame of 128 KiB blocks that each repeat one byte: 4 bytes for 131072 (RFC 8878 §3.1.1.2).
std::string zstd_runs(std::size_t blocks, unsigned window_log = 23) {
  std::string coded("\x28\xb5\x2f\xfd\0", 5);  // content size not stated
  coded += static_cast<char>((window_log - 10) << 3);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t header = (131072u << 3) | (1u << 1) | (i + 1 == blocks ? 1u : 0u);
    for (const unsigned shift : {0u, 8u, 16u}) coded += static_cast<char>(header >> shift & 0xff);
    coded += 'x';
  }
  return coded;
}

}  // namespace

std::vector<Behaviour> bombs() {
  std::vector<Behaviour> all;
  const auto add = [&all](std::string name, std::string coding, std::string body, std::string expected) {
    Response response{.headers = {{"Content-Encoding", std::move(coding)}, {"Content-Type", "application/xml"}},
                      .body = std::move(body)};
    all.push_back(Behaviour{"bomb", std::move(name), std::move(response), std::move(expected)});
  };
  const std::string large(100u << 20, 'x');
  const std::string medium(12u << 20, 'x');
  const std::string gzip_large = tight_gzip(large), zstd_large = zstd(large);
  add("gzip_100_mib", "gzip", gzip_large, "limit.body");
  add("gzip_12_mib", "gzip", tight_gzip(medium), "limit.ratio");
  add("x_gzip", "x-gzip", gzip_large, "limit.body");
  std::string members;
  for (int i = 0; i < 50; ++i) members += tight_gzip(std::string(1u << 20, 'x'));
  add("gzip_50_members", "gzip", members, "limit.ratio");
  members.clear();
  for (int i = 0; i < 100'000; ++i) members += tight_gzip("");
  add("gzip_100000_empty_members", "gzip", members, "parse.empty");
  add("gzip_then_bomb", "gzip", tight_gzip("<rss/>") + gzip_large, "limit.body");
  std::string liar = tight_gzip(medium);
  liar.replace(liar.size() - 4, 4, "\x05\0\0\0", 4);
  add("gzip_that_says_it_is_small", "gzip", liar, "limit.ratio");
  std::string boaster = tight_gzip("<rss/>");
  boaster.replace(boaster.size() - 4, 4, "\xff\xff\xff\xff", 4);
  add("gzip_that_says_it_is_large", "gzip", boaster, "http.truncated");
  add("gzip_cut", "gzip", gzip_large.substr(0, gzip_large.size() / 2), "limit.ratio");
  add("zstd_100_mib", "zstd", zstd_large, "limit.ratio");
  add("zstd_runs_of_100_mib", "zstd", zstd_runs(800), "limit.ratio");
  add("zstd_runs_of_2_gib", "zstd", zstd_runs(16384), "limit.ratio");
  add(
      "zstd_50_frames", "zstd",
      [] {
        std::string frames;
        for (int i = 0; i < 50; ++i) frames += zstd(std::string(1u << 20, 'x'));
        return frames;
      }(),
      "limit.ratio");
  add("zstd_window_of_128_mib", "zstd", zstd_runs(8, 27), "http.truncated");
  add("zstd_window_of_1_gib", "zstd", zstd_runs(8, 30), "http.truncated");
  add("zstd_that_says_it_is_large", "zstd",
      std::string("\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\x7f\x01\0\0", 16), "http.truncated");
  add("zstd_cut", "zstd", zstd_runs(800).substr(0, 1000), "limit.ratio");
  const std::string brotli_large = brotli(large);
  add("brotli_100_mib", "br", brotli_large, "limit.ratio");
  add("brotli_12_mib", "br", brotli(medium), "limit.ratio");
  add("brotli_cut", "br", brotli_large.substr(0, brotli_large.size() - 3), "limit.ratio");
  add("gzip_in_gzip", "gzip, gzip", tight_gzip(gzip_large), "parse.not_a_feed");
  add("gzip_in_brotli", "gzip, br", gzip_large, "limit.body");
  add("gzip_ten_times", "gzip,gzip,gzip,gzip,gzip,gzip,gzip,gzip,gzip,gzip", gzip_large, "limit.body");
  add("gzip_in_gzip_said_once", "gzip", tight_gzip(gzip_large), "parse.not_a_feed");
  add("deflate", "deflate", gzip_large, "limit.body");
  add("compress", "compress", gzip_large, "limit.body");
  add("unknown_coding", "x-mystery", gzip_large, "limit.body");
  add("no_coding_said", "", gzip_large, "limit.body");
  return all;
}

}  // namespace feedmill::test
