#include "worker/http/content_coding.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/coders.hpp"

namespace feedmill::content_coding_test {
namespace {

using test::gzip;
using test::zstd;

/// Brotli without its encoder: uncompressed metablocks (RFC 7932 §9.2) of at most 64 KiB.
std::string brotli(const std::string& text) {
  std::string coded;
  std::uint64_t bits = 0;
  unsigned count = 0;
  const auto put = [&](std::uint64_t value, unsigned width) {
    bits |= value << count;
    for (count += width; count >= 8; count -= 8, bits >>= 8) coded += static_cast<char>(bits & 0xff);
  };
  const auto align = [&] {
    if (count > 0) put(0, 8 - count);
  };
  put(0, 1);  // WBITS 16
  for (std::size_t at = 0; at < text.size(); at += 65536) {
    const std::size_t size = std::min<std::size_t>(65536, text.size() - at);
    put(0, 1);  // not the last metablock
    put(0, 2);  // the length has four nibbles
    put(size - 1, 16);
    put(1, 1);  // uncompressed
    align();
    coded.append(text, at, size);
  }
  put(3, 2);  // the last metablock, empty
  align();
  return coded;
}

std::string lifelike(std::size_t size) {
  std::string text;
  for (unsigned i = 0; text.size() < size; ++i) {
    text += "<item><title>Number " + std::to_string(i * 2654435761u) + "</title></item>\n";
  }
  text.resize(size);
  return text;
}

Reason refused(std::string body, std::string_view coding, DecodeLimits limits = {}) {
  const auto decoded = decode_content(std::move(body), coding, limits);
  return decoded ? Reason::none : decoded.error().reason;
}

class Codings : public testing::TestWithParam<const char*> {
 protected:
  std::string code(const std::string& text) const {
    const std::string name = GetParam();
    return name == "gzip" ? gzip(text) : name == "br" ? brotli(text) : zstd(text);
  }
};

TEST_P(Codings, AreTakenOff) {
  for (const std::size_t size : {0u, 1u, 255u, 256u, 257u, 4000u, 65536u, 1000000u}) {
    const std::string text = lifelike(size);
    const auto decoded = decode_content(code(text), GetParam(), {});
    ASSERT_TRUE(decoded) << size << ": " << decoded.error().detail;
    EXPECT_EQ(*decoded, text);
  }
}

TEST_P(Codings, MayFillTheLimitButNotMore) {
  DecodeLimits limits;
  limits.max_bytes = 100000;
  EXPECT_EQ(refused(code(lifelike(100000)), GetParam(), limits), Reason::none);
  EXPECT_EQ(refused(code(lifelike(100001)), GetParam(), limits), Reason::limit_body);
  EXPECT_EQ(refused(code(lifelike(2000000)), GetParam(), limits), Reason::limit_body);
}

TEST_P(Codings, AreBrokenWhenCutAnywhere) {
  const std::string whole = code(lifelike(3000));
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    EXPECT_EQ(refused(whole.substr(0, cut), GetParam()), Reason::http_truncated) << cut;
  }
}

TEST_P(Codings, AreTakenOffAsFarAsTheyGo) {
  const std::string text = lifelike(300000), whole = code(text);
  DecodeLimits limits;
  limits.as_far_as_it_goes = true;
  EXPECT_EQ(*decode_content(std::string(whole), GetParam(), limits), text);
  for (const std::size_t parts : {2U, 3U, 10U}) {
    const auto start = decode_content(whole.substr(0, whole.size() - whole.size() / parts), GetParam(), limits);
    ASSERT_TRUE(start) << start.error().detail;
    EXPECT_GT(start->size(), text.size() / 4) << parts;
    EXPECT_TRUE(text.starts_with(*start)) << parts;
  }
  for (std::size_t cut = 1; cut < 200; ++cut) {
    const auto start = decode_content(whole.substr(0, cut), GetParam(), limits);
    if (start) {
      EXPECT_TRUE(text.starts_with(*start)) << cut;
    }
  }
  limits.max_bytes = 100000;
  EXPECT_EQ(*decode_content(std::string(whole), GetParam(), limits), text.substr(0, 100000));
  limits.granted_bytes = 50000;
  EXPECT_EQ(refused(whole, GetParam(), limits), Reason::worker_memory);
}

TEST_P(Codings, YieldNothingFromUncodedBytes) {
  DecodeLimits limits;
  limits.as_far_as_it_goes = true;
  EXPECT_EQ(refused(std::string(5000, '\xff'), GetParam(), limits), Reason::http_truncated);
}

TEST_P(Codings, RejectUncodedBytes) {
  EXPECT_EQ(refused(std::string(5000, '\xff'), GetParam()), Reason::http_truncated);
}

INSTANTIATE_TEST_SUITE_P(All, Codings, testing::Values("gzip", "br", "zstd"),
                         [](const auto& test) { return std::string(test.param); });

TEST(ContentCoding, ReadsTheField) {
  for (const char* name : {"", " ", "identity", "Identity", "identity, identity", ","}) {
    EXPECT_EQ(*decode_content("plain", name, {}), "plain");
  }
  for (const char* name : {"gzip", "GZIP", "x-gzip", " gzip ", "identity, gzip", "gzip,"}) {
    EXPECT_EQ(*decode_content(gzip("plain"), name, {}), "plain");
  }
  EXPECT_EQ(*decode_content("", "gzip", {}), "");
}

TEST(ContentCoding, TakesOneCodingOnly) {
  EXPECT_EQ(refused("x", "gzip, gzip"), Reason::limit_coding);
  EXPECT_EQ(*decode_content(gzip(gzip("x")), "gzip, gzip", {}), gzip("x"));
  EXPECT_EQ(refused("x", "deflate"), Reason::limit_coding);
  EXPECT_EQ(refused("x", "compress"), Reason::limit_coding);
  EXPECT_EQ(refused("x", "utf-8"), Reason::limit_coding);
}

TEST(ContentCoding, PlainBodiesHaveTheSameLimit) {
  DecodeLimits limits;
  limits.max_bytes = 10;
  EXPECT_EQ(refused(std::string(10, 'x'), "", limits), Reason::none);
  EXPECT_EQ(refused(std::string(11, 'x'), "", limits), Reason::limit_body);
}

TEST(ContentCoding, JoinsGzipMembers) {
  const std::string big = lifelike(300000);
  EXPECT_EQ(*decode_content(gzip("one ") + gzip("") + gzip(big) + gzip(" end"), "gzip", {}), "one " + big + " end");
  EXPECT_EQ(*decode_content(gzip("one") + std::string(100, '\0'), "gzip", {}), "one");
  EXPECT_EQ(refused(gzip("one") + gzip("two").substr(0, 10), "gzip"), Reason::http_truncated);
}

TEST(ContentCoding, JoinsZstdFrames) {
  EXPECT_EQ(*decode_content(zstd("one ") + zstd("two"), "zstd", {}), "one two");
  EXPECT_EQ(refused(zstd("one ") + "rubbish", "zstd"), Reason::http_truncated);
}

// SECURITY T8
TEST(ContentCoding, DefusesBombs) {
  const std::string zeros(8 << 20, '\0');
  EXPECT_EQ(refused(gzip(zeros), "gzip"), Reason::limit_ratio);
  EXPECT_EQ(refused(zstd(zeros), "zstd"), Reason::limit_ratio);
  std::string members;
  for (int i = 0; i < 20; ++i) members += gzip(std::string(1 << 20, 'a'));
  EXPECT_EQ(refused(members, "gzip"), Reason::limit_ratio);
  const std::string small_but_fine = gzip(std::string(1 << 20, 'a'));
  EXPECT_EQ(refused(small_but_fine, "gzip"), Reason::none);
}

TEST(ContentCoding, RejectsDamagedInput) {
  std::string damaged = gzip(lifelike(100000));
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 0x55);  // in the checksum
  DecodeLimits limits;
  limits.as_far_as_it_goes = true;
  EXPECT_EQ(refused(damaged, "gzip", limits), Reason::http_truncated);
  EXPECT_EQ(refused(gzip(std::string(8 << 20, '\0')), "gzip", limits), Reason::limit_ratio);
}

TEST(ContentCoding, BelievesNoStatedSize) {
  std::string lying = gzip(lifelike(1000));
  lying.replace(lying.size() - 4, 4, "\xff\xff\xff\x7f");
  EXPECT_EQ(refused(lying, "gzip"), Reason::http_truncated);
}

// HTTP §4
TEST(ContentCoding, IsWhatTheBytesAre) {
  for (const std::string& text : {std::string("<rss/>"), std::string("\xef\xbb\xbf \n{}"), std::string("[1]"),
                                  std::string("\xff\xfe<\0?\0", 6), std::string("\0<\0?", 4)}) {
    for (const char* name : {"gzip", "br", "zstd", "deflate", "utf-8", "none", "gzip, br"}) {
      DecodeLimits limits;
      for (limits.as_far_as_it_goes = false;; limits.as_far_as_it_goes = true) {
        std::string fault;
        EXPECT_EQ(*decode_content(std::string(text), name, limits, &fault), text) << name;
        EXPECT_NE(fault, "") << name;
        if (limits.as_far_as_it_goes) break;
      }
    }
  }
  for (const char* name : {"", "br", "zstd", "utf-8", "gzip, br"}) EXPECT_EQ(*decode_content(gzip("x"), name, {}), "x");
  for (const char* name : {"", "br", "gzip", "none"}) EXPECT_EQ(*decode_content(zstd("x"), name, {}), "x");
  EXPECT_EQ(refused(gzip(std::string(20u << 20, 'x')), ""), Reason::limit_ratio) << "what nobody named is bounded, too";
}

TEST(ContentCoding, SeesUndeclaredCompression) {
  EXPECT_TRUE(looks_compressed(gzip("x")));
  EXPECT_TRUE(looks_compressed(zstd("x")));
  EXPECT_FALSE(looks_compressed("<rss/>"));
  EXPECT_FALSE(looks_compressed(""));
}

}  // namespace
}  // namespace feedmill::content_coding_test
