#include "worker/store/store_pool.hpp"

#include <list>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace feedmill::store_pool_test {
namespace {

namespace asio = boost::asio;

asio::awaitable<void> take(StorePool& pool, std::list<StorePool::Place>& taken, std::vector<std::size_t>& order,
                           std::size_t number) {
  StorePool::Place place = co_await pool.place();
  taken.push_back(std::move(place));
  order.push_back(number);
}

TEST(StorePoolTest, DocumentsAreReadNoFasterThanTheStoreTakesThem) {
  constexpr std::size_t most = 128;
  asio::io_context loop;
  StorePool pool(loop.get_executor(), {}, 1);
  std::list<StorePool::Place> taken;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < most + 2; ++i) {
    asio::co_spawn(loop, take(pool, taken, order, i), asio::detached);
    loop.poll();
    loop.restart();
  }
  EXPECT_EQ(taken.size(), most);
  for (std::size_t stored = 0; stored < 2; ++stored) {
    taken.pop_front();
    loop.poll();
    loop.restart();
    EXPECT_EQ(taken.size(), most);
    EXPECT_EQ(order.back(), most + stored) << "in turn";
  }
}

}  // namespace
}  // namespace feedmill::store_pool_test
