#include "worker/listener/request_head.hpp"

#include <string>

#include <gtest/gtest.h>

namespace feedmill::request_head_test {
namespace {

namespace http = boost::beast::http;
using http::status;

std::string head_of(const std::string& fields) {
  return "GET / HTTP/1.1\r\n" + fields + "\r\n";
}

TEST(HeadScan, FindsTheEndInWhateverPiecesItComes) {
  const std::string head = head_of("Host: x\r\nA:\tb\r\n"), all = head + "body\n\n";
  for (std::size_t first = 1; first <= all.size(); ++first) {
    HeadScan scan(HeadLimits{});
    auto found = scan.look(all.substr(0, first));
    EXPECT_EQ(found.has_value(), first >= head.size()) << first;
    if (!found) found = scan.look(all);
    EXPECT_EQ(found, status::ok) << first;
    EXPECT_EQ(scan.size(), head.size()) << first;
  }
}

TEST(HeadScan, RefusesAsSoonAsItSees) {
  const std::pair<std::string, status> rows[] = {
      {"\x16", status::bad_request},
      {"\r", status::bad_request},
      {"GET / HTTP/1.1\r\n ", status::bad_request},
      {"GET / HTTP/1.1\r\nA: b\r\n\t", status::bad_request},
      {"GET / HTTP/1.1\n", status::bad_request},
      {"GET / HTTP/1.1\rH", status::bad_request},
      {"GET /\x7f", status::bad_request},
      {"GET /" + std::string(8 << 10, 'x'), status::uri_too_long},
      {head_of("A: " + std::string(16 << 10, 'x')), status::request_header_fields_too_large}};
  for (const auto& [bytes, expected] : rows) {
    HeadScan scan(HeadLimits{});
    EXPECT_EQ(scan.look(bytes).value_or(status::ok), expected) << bytes.substr(0, 30);
  }
}

TEST(HeadScan, CountsFieldsAndBytes) {
  const HeadLimits limits{.bytes = 64, .line = 32, .fields = 2};
  EXPECT_EQ(HeadScan(limits).look(head_of("A: 1\r\nB: 2\r\n")), status::ok);
  EXPECT_EQ(HeadScan(limits).look(head_of("A: 1\r\nB: 2\r\nC: 3\r\n")), status::request_header_fields_too_large);
  const std::string most = head_of("A: " + std::string(41, 'x') + "\r\n");
  ASSERT_EQ(most.size(), 64U);
  EXPECT_EQ(HeadScan(limits).look(most), status::ok);
  EXPECT_EQ(HeadScan(limits).look(head_of("A: " + std::string(42, 'x') + "\r\n")),
            status::request_header_fields_too_large);
}

http::request_header<> fields(std::initializer_list<std::pair<const char*, const char*>> given, unsigned version = 11) {
  http::request_header<> head;
  head.version(version);
  for (const auto& [name, value] : given) head.insert(name, value);
  return head;
}

TEST(ObjectionTo, FieldsGivenTwiceThatHaveOneValue) {
  for (const char* name : {"Authorization", "Content-Type", "idempotency-key", "Last-Event-ID", "Origin"}) {
    EXPECT_EQ(objection_to(fields({{"Host", "x"}, {name, "1"}})), std::nullopt) << name;
    EXPECT_EQ(objection_to(fields({{"Host", "x"}, {name, "1"}, {name, "1"}})), status::bad_request) << name;
  }
  EXPECT_EQ(objection_to(fields({{"Host", "x"}, {"Accept", "a"}, {"Accept", "b"}})), std::nullopt);
}

TEST(ObjectionTo, WhatDoesNotSayWhereItsBodyEnds) {
  EXPECT_EQ(objection_to(fields({{"Host", "x"}})), std::nullopt);
  EXPECT_EQ(objection_to(fields({{"Host", "x"}, {"Content-Length", "17"}})), std::nullopt);
  EXPECT_EQ(objection_to(fields({{"Host", "x"}, {"Transfer-Encoding", "Chunked"}})), std::nullopt);
  EXPECT_EQ(objection_to(fields({}, 10)), std::nullopt) << "HTTP/1.0 need not name its host";
  EXPECT_EQ(objection_to(fields({})), status::bad_request);
  EXPECT_EQ(objection_to(fields({{"Host", "x"}, {"Host", "x"}}, 10)), status::bad_request);
  EXPECT_EQ(objection_to(fields({{"Host", "x"}, {"Transfer-Encoding", "chunked"}}, 10)), status::bad_request);
  EXPECT_EQ(objection_to(fields({{"Host", "x"}, {"Content-Length", "1"}, {"Transfer-Encoding", "chunked"}})),
            status::bad_request);
  EXPECT_EQ(objection_to(fields({{"Host", "x"}, {"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}})),
            status::bad_request);
  for (const char* length : {"", "-1", "+1", "1, 1", "1 1", "0x1", "1.0"})
    EXPECT_EQ(objection_to(fields({{"Host", "x"}, {"Content-Length", length}})), status::bad_request) << length;
  for (const char* coding : {"", "identity", "xchunked", "chunked, identity", "chunked,chunked", "chunked;a"})
    EXPECT_EQ(objection_to(fields({{"Host", "x"}, {"Transfer-Encoding", coding}})), status::bad_request) << coding;
  for (const char* coding : {"gzip, chunked", "x , CHUNKED"})
    EXPECT_EQ(objection_to(fields({{"Host", "x"}, {"Transfer-Encoding", coding}})), status::not_implemented) << coding;
}

}  // namespace
}  // namespace feedmill::request_head_test
