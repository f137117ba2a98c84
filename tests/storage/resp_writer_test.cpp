#include <array>

#include <gtest/gtest.h>

#include "storage/redis/resp.hpp"

namespace feedmill::resp_writer_test {
namespace {

/// Takes all pending output, at most `step` bytes and `room` pieces at a time.
std::string taken(RespWriter& writer, std::size_t step, std::size_t room = 3) {
  std::string all;
  std::array<iovec, 8> pieces{};
  while (writer.waiting() > 0) {
    std::string next;
    for (const iovec& piece : writer.pieces(std::span(pieces).first(room))) {
      EXPECT_GT(piece.iov_len, 0U);
      next.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    }
    next.resize(std::min(next.size(), step));
    writer.sent(next.size());
    all += next;
  }
  return all;
}

void add(RespWriter& writer, std::initializer_list<std::string_view> words) {
  writer.begin(words.size());
  for (const std::string_view word : words) writer.add(word);
}

TEST(RespWriterTest, WritesArraysOfBulkStrings) {
  RespWriter writer;
  EXPECT_EQ(writer.waiting(), 0U);
  const std::string odd("\0\r\n$", 4);
  add(writer, {"SET", std::string_view(), odd});
  add(writer, {"PING"});
  EXPECT_EQ(taken(writer, 1000), "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\n" + odd + "\r\n*1\r\n$4\r\nPING\r\n");
}

TEST(RespWriterTest, KeepsTheOrderHoweverLittleIsSentAtOnce) {
  const std::string longest(RespWriter::longest_copied, 'a'), longer(RespWriter::longest_copied + 1, 'b'),
      large(100'000, 'c');
  const auto fill = [&](RespWriter& writer) {
    add(writer, {longer, large});
    add(writer, {"x", longest, large, "", longer});
  };
  RespWriter writer;
  fill(writer);
  const std::size_t waiting = writer.waiting();
  const std::string whole = taken(writer, 1'000'000, 8);
  EXPECT_EQ(whole.size(), waiting);
  const std::string expected = "*2\r\n$4097\r\n" + longer + "\r\n$100000\r\n" + large +
                               "\r\n*5\r\n$1\r\nx\r\n$4096\r\n" + longest + "\r\n$100000\r\n" + large +
                               "\r\n$0\r\n\r\n$4097\r\n" + longer + "\r\n";
  EXPECT_TRUE(whole == expected);
  for (const std::size_t step : {1, 7, 4097, 65'536}) {
    fill(writer);
    EXPECT_TRUE(taken(writer, step, 1) == expected) << step;
  }
}

TEST(RespWriterTest, RefersToLongWordsAndCopiesShortOnes) {
  std::string brief(RespWriter::longest_copied, 'a'), large(RespWriter::longest_copied + 1, 'b');
  RespWriter writer;
  add(writer, {brief, large});
  std::array<iovec, 4> room{};
  const auto pieces = writer.pieces(room);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[1].iov_base, large.data());
  brief.assign(brief.size(), 'x');
  EXPECT_EQ(taken(writer, 1'000'000).find('x'), std::string::npos);
}

TEST(RespWriterTest, IsEmptyAfterForgetting) {
  const std::string large(RespWriter::longest_copied + 1, 'b');
  RespWriter writer;
  add(writer, {"GET", large});
  writer.sent(10);
  writer.clear();
  EXPECT_EQ(writer.waiting(), 0U);
  add(writer, {"PING"});
  EXPECT_EQ(taken(writer, 1000), "*1\r\n$4\r\nPING\r\n");
}

TEST(RespWriterTest, WritesMoreThanItKeepsAllocated) {
  RespWriter writer;
  const std::string word(RespWriter::longest_copied, 'a');
  for (int round = 0; round < 2; ++round) {
    const std::size_t words = RespWriter::most_kept / word.size() + 1;
    writer.begin(words);
    for (std::size_t i = 0; i < words; ++i) writer.add(word);
    const std::string all = taken(writer, 1'000'000);
    EXPECT_EQ(all.size(), 6 + words * (word.size() + 9));
    EXPECT_TRUE(all.ends_with("aa\r\n"));
  }
}

}  // namespace
}  // namespace feedmill::resp_writer_test
