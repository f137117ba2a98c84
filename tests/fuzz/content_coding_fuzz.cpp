// Any body in any coding → at most as many bytes as the limits allow, or an error that names the limit (SECURITY T8).
#include <string>

#include "tests/fuzz/invariants.hpp"
#include "tests/fuzz/target.hpp"
#include "worker/http/content_coding.hpp"

FEEDMILL_FUZZ_TARGET(content_coding_fuzz, data, size) {
  using namespace feedmill;
  if (size == 0) return 0;
  static constexpr std::string_view codings[] = {"gzip", "br",       "zstd",           "x-gzip",
                                                 "",     "gzip, br", "identity, zstd", "deflate"};
  const std::string_view coding = codings[data[0] % std::size(codings)];
  const std::string_view body = fuzz::view(data + 1, size - 1);
  DecodeLimits limits;
  limits.max_bytes = 1 << 20;
  limits.ratio_free_bytes = 64 << 10;
  stated_size(body, coding);
  looks_compressed(body);
  const auto whole = decode_content(std::string(body), coding, limits);
  fuzz::require(!whole || whole->size() <= limits.max_bytes);

  limits.granted_bytes = 4096;
  std::string kept(body);
  const auto part = decode_content(std::move(kept), coding, limits);
  if (!part && part.error().reason == Reason::worker_memory) {
    fuzz::require(kept == body);  // NOLINT(bugprone-use-after-move): a failed body must be intact for the retry
    limits.granted_bytes = limits.max_bytes + 1;
    const auto again = decode_content(std::move(kept), coding, limits);
    fuzz::require(again.has_value() == whole.has_value());
  } else {
    fuzz::require(!part || part->size() <= 4096);
  }
  return 0;
}
