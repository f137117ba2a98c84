#include "worker/base/log.hpp"

#include <sstream>
#include <vector>

#include <boost/json/parse.hpp>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/base/report.hpp"
#include "worker/base/system.hpp"

namespace feedmill::log_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct TextCase {
  const char* text;
  const char* expected;
};

class Clean : public testing::TestWithParam<TextCase> {};
TEST_P(Clean, ShowsWhatWouldDeceive) {
  EXPECT_EQ(clean(GetParam().text), GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    All, Clean,
    testing::Values(TextCase{"plain Ünïcödé 日本語 🙂", "plain Ünïcödé 日本語 🙂"}, TextCase{"", ""},
                    TextCase{"a\nb\r\t", R"(a\x0ab\x0d\x09)"}, TextCase{"\x1b[31mred\x1b[0m", R"(\x1b[31mred\x1b[0m)"},
                    TextCase{"\x7f", R"(\x7f)"}, TextCase{"\u009b31m", R"(\u{9b}31m)"},
                    TextCase{"\u202etxt.exe", R"(\u{202e}txt.exe)"}, TextCase{"\u2066x\u2069", R"(\u{2066}x\u{2069})"},
                    TextCase{"a\u200bb\ufeff", R"(a\u{200b}b\u{feff})"}, TextCase{"\u2028", R"(\u{2028})"},
                    TextCase{"\U000e0041", R"(\u{e0041})"}, TextCase{"\xff\xfe", R"(\xff\xfe)"},
                    TextCase{"\xc0\x80", R"(\xc0\x80)"}, TextCase{"\xed\xa0\x80", R"(\xed\xa0\x80)"},
                    TextCase{"\xe2\x82", R"(\xe2\x82)"}, TextCase{"\xf4\x90\x80\x80", R"(\xf4\x90\x80\x80)"}));

TEST(FeedId, IsSixteenHexDigits) {
  EXPECT_THAT(feed_id("https://example.org/feed"), testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_NE(feed_id("https://example.org/a"), feed_id("https://example.org/b"));
}

TEST(LogRate, LetsABurstThroughAndThenOneInTenSeconds) {
  LogRate rate;
  LogRate::Time now{};
  int let = 0;
  for (int i = 0; i < 100; ++i) let += rate.admit(LogLevel::warn, "refresh", "http.timeout", now).has_value();
  EXPECT_EQ(let, 20);
  EXPECT_TRUE(rate.admit(LogLevel::warn, "refresh", "dns.failed", now));  // each reason has its own bucket
  EXPECT_FALSE(rate.admit(LogLevel::warn, "refresh", "http.timeout", now + 9s));
  EXPECT_EQ(rate.admit(LogLevel::warn, "refresh", "http.timeout", now + 11s), 81u);
}

TEST(LogRate, LetsFiftyASecondThroughInAll) {
  LogRate rate;
  LogRate::Time now{};
  int let = 0;
  for (int i = 0; i < 200; ++i) let += rate.admit(LogLevel::info, "event" + std::to_string(i), "", now).has_value();
  EXPECT_EQ(let, 50);
  let = 0;
  for (int i = 0; i < 200; ++i) let += rate.admit(LogLevel::debug, "refresh", "", now + 1s).has_value();
  EXPECT_EQ(let, 50);
}

/// A log that writes into a pipe; supports one call of lines_of().
struct Piped {
  Piped() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    in = UniqueFd(ends[0]);
    out = UniqueFd(ends[1]);
    options.fd = out.get();
    options.format = LogFormat::json;
  }

  /// Lines that `work` logs.
  template <class Work>
  std::vector<std::string> lines_of(Work work) {
    std::string text;
    std::thread reader([&] {
      std::array<char, 4096> chunk;
      for (ssize_t size; (size = ::read(in.get(), chunk.data(), chunk.size())) > 0;)
        text.append(chunk.data(), static_cast<std::size_t>(size));
    });
    {
      Log log(options);
      work(log);
    }
    out.reset();
    reader.join();
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  UniqueFd in, out;
  Log::Options options;
};

class LogTest : public testing::Test, protected Piped {};

TEST_F(LogTest, WritesJson) {
  options.worker = "w1";
  const auto lines = lines_of([](Log& log) {
    log.write(
        LogLevel::warn, "feed_state", "feed is failing",
        {{"url", "https://u:p@example.org/\n\"x\""}, {"status", 500}, {"took", 1.5000123}, {"ok", true}, {"none", ""}});
  });
  ASSERT_EQ(lines.size(), 1u);
  auto object = boost::json::parse(lines[0]).as_object();
  EXPECT_THAT(std::string(object["ts"].as_string()), testing::MatchesRegex("....-..-..T..:..:..\\....Z"));
  object.erase("ts");
  EXPECT_EQ(object, boost::json::parse(R"({"level":"warn","event":"feed_state","msg":"feed is failing","worker":"w1",
      "url":"https://<redacted>@example.org/\\x0a\"x\"","status":500,"took":1.5E0,"ok":true})"));
}

TEST_F(LogTest, WritesLogfmt) {
  options.format = LogFormat::logfmt;
  const auto lines = lines_of([](Log& log) {
    log.write(LogLevel::info, "start", "", {{"url", "a b"}, {"quote", "say \"x\" \\"}, {"equals", "a=b"}, {"n", -1}});
  });
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0],
              testing::EndsWith(R"( level=info event=start url="a b" quote="say \"x\" \\" equals="a=b" n=-1)"));
}

TEST_F(LogTest, WritesForEyesOnATerminal) {
  options.format = LogFormat::console;
  options.worker = std::string(32, 'a');
  const auto lines = lines_of([](Log& log) {
    log.write(LogLevel::warn, "feed_state", "feed is failing",
              {{"feed", "0123456789abcdef"}, {"url", "https://example.org/\x1b[2J"}, {"reason", "status.server"}});
    log.write(LogLevel::info, "ready", "ready", {{"lanes", 256}});
  });
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], testing::MatchesRegex("..:..:.. warn   feed is failing  https://example.org/"
                                              "\\\\x1b\\[2J reason=status.server"));
  EXPECT_THAT(lines[1], testing::MatchesRegex("..:..:.. info   ready lanes=256"));
}

TEST_F(LogTest, OmitsLinesBelowItsLevel) {
  options.level = LogLevel::warn;
  EXPECT_EQ(lines_of([](Log& log) {
              log.write(LogLevel::info, "start", "");
              log.write(LogLevel::error, "bug", "");
            }).size(),
            1u);
}

TEST_F(LogTest, KeepsEveryLineToEightKibibytes) {
  const std::string huge(100'000, '\x01');
  const std::string wide = std::string(2047, 'a') + "ü";
  for (const LogFormat format : {LogFormat::json, LogFormat::logfmt}) {
    Piped test;
    test.options.format = format;
    const auto lines = test.lines_of([&](Log& log) {
      log.write(LogLevel::error, "bug", huge,
                {{"url", huge}, {"detail", huge}, {"host", huge}, {"wide", wide}, {"n", 1}});
    });
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_LE(lines[0].size(), 8u << 10);
    EXPECT_THAT(lines[0], HasSubstr("n"));
    EXPECT_TRUE(format == LogFormat::logfmt || boost::json::parse(lines[0]).is_object());
  }
}

// SECURITY K1: truncation may remove the text that marks a secret.
TEST_F(LogTest, HidesSecretsThatTheCutGoesThrough) {
  const std::string token = "abcdefghijklmnopqrstuvwxyz";
  for (std::size_t before = 1900; before < 2100; ++before) {
    Piped test;
    const std::string filler(before, 'x');
    const auto lines = test.lines_of([&](Log& log) {
      log.write(LogLevel::error, "bug", "",
                {{"url", filler + " https://user:CANARY" + std::string(300, 'p') + "@example.org/"},
                 {"detail", filler + " https://example.org/w/" + token}});
    });
    ASSERT_EQ(lines.size(), 1u);
    ASSERT_EQ(lines[0].find("CANARY"), std::string::npos) << before;
    ASSERT_EQ(lines[0].find("abcd"), std::string::npos) << before;
  }
}

TEST_F(LogTest, CountsSuppressedLines) {
  std::uint64_t suppressed = 0;
  const auto lines = lines_of([&](Log& log) {
    for (int i = 0; i < 1000; ++i) log.write(LogLevel::error, "bug", "again", {{"reason", "worker.bug"}});
    suppressed = log.suppressed();
  });
  EXPECT_GE(lines.size(), 20u);
  EXPECT_EQ(lines.size() + suppressed, 1000u);
}

TEST_F(LogTest, NeverBlocksItsCallers) {
  // Without a reader, the pipe and then the queue fill up; the calls and the destructor return nevertheless.
  const std::string large(2000, 'x');
  Log log(options);
  for (int i = 0; i < 5000; ++i) log.write(LogLevel::info, "event" + std::to_string(i), large);
  EXPECT_GT(log.suppressed(), 0u);
}

TEST_F(LogTest, IsThreadSafe) {
  const auto lines = lines_of([](Log& log) {
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&log, t] {
        for (int i = 0; i < 10; ++i) log.write(LogLevel::info, "event" + std::to_string(t), "", {{"i", i}});
      });
    }
    for (auto& thread : threads) thread.join();
  });
  EXPECT_EQ(lines.size(), 40u);
  for (const auto& line : lines) EXPECT_NO_THROW(boost::json::parse(line));
}

TEST_F(LogTest, LogsOnlyTheChangesOfARefresh) {
  Report report;
  report.feed_url = "https://example.org/feed.xml";
  report.outcome = Outcome::failed;
  report.reason = Reason::http_timeout;
  report.state_from = report.state_to = "failing";
  report.due_reason = "backoff";
  EXPECT_THAT(lines_of([&](Log& log) { log_refresh(log, report); }), testing::IsEmpty());
  Piped changed;
  report.state_from = "healthy";
  const auto lines = changed.lines_of([&](Log& log) { log_refresh(log, report); });
  ASSERT_EQ(lines.size(), 1u);
  auto object = boost::json::parse(lines[0]).as_object();
  EXPECT_EQ(object["event"], "feed_state");
  EXPECT_EQ(object["level"], "warn");
  EXPECT_EQ(object["reason"], "http.timeout");
  EXPECT_EQ(object["state_from"], "healthy");
  EXPECT_EQ(object["state_to"], "failing");
  EXPECT_EQ(object["why"], "backoff");
  EXPECT_TRUE(object.contains("next_due"));
}

TEST_F(LogTest, LogsEveryRefreshAtDebug) {
  options.level = LogLevel::debug;
  Report report;
  report.feed_url = "https://example.org/feed.xml";
  report.outcome = Outcome::updated;
  report.statuses = {301, 200};
  report.created = 3;
  const auto lines = lines_of([&](Log& log) {
    for (int i = 0; i < 30; ++i) log_refresh(log, report);
  });
  ASSERT_EQ(lines.size(), 30u);
  auto object = boost::json::parse(lines[0]).as_object();
  EXPECT_EQ(object["event"], "refresh");
  EXPECT_EQ(object["status"], 200);
  EXPECT_EQ(object["hops"], 2);
  EXPECT_EQ(object["entries_new"], 3);
}

}  // namespace
}  // namespace feedmill::log_test
