// Response headers, line by line.
#include "worker/http/answer_head.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace feedmill::answer_head_test {
namespace {

using Fields = std::vector<Header>;

TEST(AnswerHead, KeepsTheFinalAnswersFieldsAlone) {
  const HttpClientOptions options;
  AnswerHead head(options);
  EXPECT_FALSE(head.take("HTTP/1.1 103 Early Hints\r\n", 103));
  EXPECT_FALSE(head.take("Link: </style.css>\r\n", 103));
  EXPECT_FALSE(head.take("\r\n", 103));
  EXPECT_FALSE(head.is_whole());
  EXPECT_FALSE(head.take("HTTP/1.1 200 OK\r\n", 200));
  EXPECT_FALSE(head.take("Content-Type:\t text/xml \r\n", 200));
  EXPECT_FALSE(head.take("X-Folded: one\r\n", 200));
  EXPECT_FALSE(head.take("  two\r\n", 200));
  EXPECT_FALSE(head.take("no colon here\r\n", 200));
  EXPECT_FALSE(head.take("\r\n", 200));
  EXPECT_TRUE(head.is_whole());
  EXPECT_FALSE(head.take("ETag: \"trailer\"\r\n", 200));
  EXPECT_EQ(head.status(), 200);
  EXPECT_EQ(head.take_fields(), (Fields{{"content-type", "text/xml"}, {"x-folded", "one two"}}));
}

TEST(AnswerHead, RefusesMoreThanIsRead) {
  HttpClientOptions options;
  options.max_header_bytes = 60;
  options.max_header_lines = 3;
  options.max_header_line_bytes = 40;
  const std::string line = "A: b\r\n";
  const std::string status = "HTTP/1.1 200\r\n";
  AnswerHead lines(options), bytes(options), one(options);
  for (AnswerHead* head : {&lines, &bytes, &one}) EXPECT_FALSE(head->take(status, 200));
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(lines.take(line, 200));
  ASSERT_TRUE(lines.take(line, 200));
  EXPECT_EQ(lines.bytes(), status.size() + 3 * line.size());
  EXPECT_FALSE(bytes.take(std::string(38, 'a') + "\r\n", 200));
  EXPECT_EQ(bytes.take(std::string(5, 'a') + "\r\n", 200).value().reason, Reason::limit_header);
  EXPECT_EQ(one.take(std::string(39, 'a') + "\r\n", 200).value().reason, Reason::limit_header);
}

// SECURITY T11: decided here, because libcurl 7.88 and 8.14 decide differently.
TEST(AnswerHead, BeginsWithAStatusLineAndAWholeHeader) {
  const HttpClientOptions options;
  for (const char* const line :
       {"HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 OK\n", "http/1.1 404 No\r\n", "HTTP/1.1 200\r\n", "HTTP/1.1 200 \r\n",
        "HTTP/2 200\r\n", "HTTP/2 200 \r\n", "HTTP/1.1 999 Go Away\r\n"}) {
    EXPECT_FALSE(AnswerHead(options).take(line, 200)) << line;
  }
  for (const char* const line :
       {"HTTP/1.1 2000 OK\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 000 None\r\n", "HTTP/1.1 099 OK\r\n", "HTTP/3 200\r\n",
        "HTTP/1.2 200 OK\r\n", "HTTP/1 200 OK\r\n", "HTTP/2.0 200 OK\r\n", "HTTP/1.1200 OK\r\n", "HTTP/1.1  200 OK\r\n",
        "HTTP/1.1 200-OK\r\n", "HTTP/1.1\r\n", "HTTP/1.1 200", "HTTP/", "ICY 200 OK\r\n", "Content-Type: text/xml\r\n",
        " \r\n", "\r\n"}) {
    const auto refusal = AnswerHead(options).take(line, 200);
    ASSERT_TRUE(refusal) << line;
    EXPECT_EQ(refusal->reason, Reason::http_malformed) << line;
  }
  for (const char* const first : {" folded: first\r\n", "\tfolded: first\r\n"}) {
    AnswerHead head(options);
    EXPECT_FALSE(head.take("HTTP/1.1 200 OK\r\n", 200));
    const auto refusal = head.take(first, 200);
    ASSERT_TRUE(refusal) << first;
    EXPECT_EQ(refusal->reason, Reason::http_malformed) << first;
  }
}

TEST(AnswerHead, RejectsAnswersWithAnAmbiguousEnd) {
  struct Case {
    const char* fields;
    bool is_clear;
  };
  for (const Case& c :
       {Case{"Content-Length: 5", true}, Case{"Content-Length: +5", false},
        Case{"Content-Length: 5\nContent-Length: 5", true}, Case{"Content-Length: 5\nContent-Length: 6", false},
        Case{"Transfer-Encoding: Chunked", true}, Case{"Transfer-Encoding: gzip, chunked", false},
        Case{"Content-Length: 5\nTransfer-Encoding: chunked", false}}) {
    const HttpClientOptions options;
    AnswerHead head(options);
    EXPECT_FALSE(head.take("HTTP/1.1 200 OK\r\n", 200));
    std::string_view rest = c.fields;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      EXPECT_FALSE(head.take(std::string(rest.substr(0, end)) + "\r\n", 200)) << c.fields;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const auto refusal = head.take("\r\n", 200);
    EXPECT_EQ(!refusal, c.is_clear) << c.fields;
    if (refusal) {
      EXPECT_EQ(refusal->reason, Reason::http_malformed) << c.fields;
    }
  }
}

}  // namespace
}  // namespace feedmill::answer_head_test
