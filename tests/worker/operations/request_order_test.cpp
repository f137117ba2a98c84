// Which requests wait for which (RELIABILITY Q3).
#include <algorithm>

#include <gtest/gtest.h>

#include "worker/operations/request_work.hpp"

namespace feedmill::request_order_test {
namespace {

Request request_of(RequestOp op, const std::string& url, const std::string& channel = {}, const std::string& to = {}) {
  Request request;
  request.op = op;
  for (const OperationFamily& family : operation_families()) {
    const auto row = std::ranges::find_if(family.operations,
                                          [&](const Operation& one) { return one.is_request() && one.request == op; });
    if (row != family.operations.end()) request.operation = &*row;
  }
  const auto put = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) request.given.put(name, boost::json::string(text));
  };
  put("url", url);
  put("channel", channel);
  put("to", to);
  return request;
}

bool any(const RequestOrder::Waiting&) {
  return true;
}

/// Runs one round and returns the ids in its order; those in `unfinished` stay in the queue.
std::string round_of(RequestOrder& order, const std::string& unfinished = {}, bool short_of_memory = false) {
  std::string ids;
  while (const auto* next =
             order.next([&](const RequestOrder::Waiting& one) { return !(short_of_memory && one.needs_memory); })) {
    const std::string id = next->id;
    ids += id;
    unfinished.find(id) == std::string::npos ? order.ended() : order.stays();
  }
  return ids;
}

TEST(RequestOrder, RequestsOfTheSameNamesRunInStreamOrderAndDelayNoOther) {
  RequestOrder order;
  const auto put = [&](const char* id, const Request& request) { order.put({id, names_of(request)}); };
  put("a", request_of(RequestOp::remove, "http://x/1"));
  put("b", request_of(RequestOp::add, "http://x/1", "news"));
  put("c", request_of(RequestOp::channel_mark, "", "news"));
  put("d", request_of(RequestOp::move, "http://x/2", "", "http://x/1"));
  put("e", request_of(RequestOp::pause, "http://x/2"));
  put("f", request_of(RequestOp::pause, "http://x/3"));
  put("g", request_of(RequestOp::channel_mark, "", "http://x/3"));
  EXPECT_TRUE(order.comes_before(names_of(request_of(RequestOp::pause, "http://x/1"))));
  EXPECT_TRUE(order.comes_before(names_of(request_of(RequestOp::channel_mark, "", "news"))));
  EXPECT_FALSE(order.comes_before(names_of(request_of(RequestOp::pause, "http://x/4"))));
  EXPECT_EQ(round_of(order, "a"), "afg") << "what names the feed waits, and what names what that names";
  EXPECT_FALSE(order.comes_before(names_of(request_of(RequestOp::pause, "http://x/3")))) << "it has ended";
  EXPECT_EQ(round_of(order, "a"), "a");
  EXPECT_EQ(round_of(order), "abcde");
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(round_of(order), "");
}

TEST(RequestOrder, TheSameRefAndThePostsFeedAreWaitedFor) {
  RequestOrder order;
  Request asked = request_of(RequestOp::remove, "http://x/1");
  asked.asked.app = "reader";
  asked.asked.ref = "1";
  order.put({"a", names_of(asked)});
  Request other = request_of(RequestOp::pause, "http://x/2");
  other.asked.app = "reader";
  other.asked.ref = "1";
  EXPECT_TRUE(order.comes_before(names_of(other)));
  other.problem = OperationRefused{"bad_value", ""};
  EXPECT_TRUE(order.comes_before(names_of(other))) << "it may have been answered";
  other.asked.app = "mailer";
  EXPECT_FALSE(order.comes_before(names_of(other)));
  const Request entry = request_of(RequestOp::entry_remove, "");
  EXPECT_FALSE(order.comes_before(names_of(entry)));
  EXPECT_TRUE(order.comes_before(names_of(entry, "http://x/1")));
}

TEST(RequestOrder, WhatNeedsNoMemoryPassesWhatDoes) {
  RequestOrder order;
  order.put({"a", names_of(request_of(RequestOp::add, "http://x/1")), true});
  order.put({"b", names_of(request_of(RequestOp::remove, "http://x/1")), false});
  order.put({"c", names_of(request_of(RequestOp::remove, "http://x/2")), false});
  EXPECT_EQ(round_of(order, "", true), "c");
  EXPECT_EQ(round_of(order, "", false), "ab");
}

TEST(RequestOrder, RequestsArrivingDuringARoundJoinIt) {
  RequestOrder order;
  order.put({"a", names_of(request_of(RequestOp::add, "http://x/1"))});
  order.put({"b", names_of(request_of(RequestOp::add, "http://x/2"))});
  ASSERT_EQ(order.next(any)->id, "a");
  EXPECT_EQ(order.next(any)->id, "a") << "until it is said what came of it";
  order.stays();
  order.put({"c", names_of(request_of(RequestOp::add, "http://x/1"))});
  order.put({"d", names_of(request_of(RequestOp::add, "http://x/3"))});
  EXPECT_EQ(round_of(order, "bd"), "bd");
  EXPECT_EQ(round_of(order), "abcd") << "from the first again";
}

TEST(RequestOrder, IsBoundedAndOneRoundIsLinear) {
  RequestOrder order;
  for (std::size_t i = 0; i < RequestOrder::most; ++i) {
    EXPECT_FALSE(order.full());
    order.put({std::to_string(i), names_of(request_of(RequestOp::pause, "http://x/1"))});
  }
  EXPECT_TRUE(order.full());
  EXPECT_EQ(round_of(order, "0"), "0");
  std::size_t all = 0;
  for (; order.next(any) != nullptr; ++all) order.ended();
  EXPECT_EQ(all, RequestOrder::most);
}

}  // namespace
}  // namespace feedmill::request_order_test
