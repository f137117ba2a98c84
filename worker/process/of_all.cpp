#include "worker/process/of_all.hpp"

#include <functional>
#include <utility>

#include <curl/curl.h>

#include "worker/process/run_options.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

Api::Options api_options_of_all(const ServedParts& first) {
  Api::Options options = api_options(first.config, first.redis_url);
  options.store.of_all = true;
  return options;
}

}  // namespace

OfAllPartitions::OfAllPartitions(ServedStores stores, Log& log)
    : first_(*stores.front()),
      metrics_({FEEDMILL_VERSION, curl_version_info(CURLVERSION_NOW)->version, ""}),
      api_(
          first_.parts().loop.get_executor(), api_options_of_all(first_.parts()), first_.parts().config,
          first_.parts().looks, first_.parts().memory, [](bool) {},
          [this](const char* what) { first_.parts().report_bug("api", what); }),
      push_out_(push_out(stores, log)) {}

std::unique_ptr<PushOut> OfAllPartitions::push_out(ServedStores stores, Log& log) {
  ServedParts& first = first_.parts();
  auto options = push_out_options(first.config, first.id, first.mode, first.descriptors, 1);
  if (!options) return nullptr;
  options->fetch = first.push_out_fetch_options(*egress_policies(first.config));
  options->tells_of_store = false;
  options->streams.partition = {};
  if (options->outside) options->outside->public_url.clear();  // topics and the hub belong to one partition each
  FeedHomes& homes = options->homes.emplace();
  homes.partitions = static_cast<unsigned>(stores.size());
  homes.at = [&first](unsigned partition, std::function<void(Store&)> work) {
    return first.ingest.store.call_at(partition, std::move(work));
  };
  StoreOptions store = store_options(first.config, first.redis_url);
  store.of_all = true;
  return std::make_unique<PushOut>(first.loop.get_executor(), store, std::move(*options), first.shared.push_out,
                                   metrics_, log);
}

asio::awaitable<void> OfAllPartitions::run() {
  if (push_out_) co_await first_.guarded("push_out", push_out_->run());
}

void OfAllPartitions::stop() {
  if (push_out_) push_out_->stop();
}

void OfAllPartitions::hurry() {
  if (push_out_) push_out_->hurry();
}

void OfAllPartitions::reload() {
  ServedParts& first = first_.parts();
  api_.set_config(first.config);
  if (push_out_) push_out_->set_fetch_options(first.push_out_fetch_options(*egress_policies(first.config)));
}

}  // namespace feedmill
