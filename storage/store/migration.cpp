// Brings a store of an older schema to the current one, before anything is written to it (RELIABILITY L35).
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "storage/redis/test_point.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr std::size_t feeds_a_step = 100;

}  // namespace

StoreResult<void> Store::Impl::migrate() {
  const auto step = [this](std::string_view what, std::span<const std::string> urls = {}) {
    Args args;
    args.add(what);
    for (const std::string& url : urls) args.add(std::string_view(url));
    auto done = run(Script::migrate, args);
    test_point("S25");
    return done;
  };
  const auto begun = step("begin");
  if (!begun) return begun.error();
  if (begun->integer() > 0) {
    return StoreError{StoreError::Code::loading,
                      "its schema is older, and " + std::to_string(begun->integer()) +
                          " workers of an earlier version are running; stop them, so that this version can migrate it"};
  }
  const auto migrate_feeds = [&](const std::vector<std::string>& urls) -> StoreResult<bool> {
    for (std::span<const std::string> left(urls); !left.empty();) {
      const auto done = step("feeds", left.first(std::min(left.size(), feeds_a_step)));
      if (!done) return done.error();
      left = left.subspan(std::clamp<std::size_t>(static_cast<std::size_t>(done->integer()), 1, left.size()));
    }
    return true;
  };
  for (const std::string& key : {keys.feeds(), keys.removals()}) {
    if (const auto done = each_page(key, migrate_feeds); !done) return done.error();
  }
  const auto imports = redis.command({"ZRANGE", keys.imports(), "0", "-1"});
  if (!imports) return imports.error();
  if (const auto done = migrate_feeds(imports->texts()); !done) return done.error();
  const auto ended = step("end");
  if (!ended) return ended.error();
  return {};
}

}  // namespace feedmill
