#include "worker/discovery/looks.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/post.hpp>

#include "worker/base/posix_signals.hpp"

namespace feedmill {

LookUnderWay::LookUnderWay(Looks& looks, MemoryBudget& memory) : looks_(looks), share_(memory, 0) {
  ++looks_.under_way_;
}

LookUnderWay::~LookUnderWay() {
  found_->given_up = true;
  --looks_.under_way_;
}

Looks::Looks(Options options, MemoryBudget& memory)
    : options_(std::move(options)), memory_(memory), threads_(options_.at_once) {
  set_probe(options_.probe);
}

Looks::~Looks() {
  ending_ = true;
  threads_.join();
}

void Looks::set_probe(ProbeOptions probe) {
  probe.turns = options_.probe.turns;
  probe.fetch.max_body_bytes = std::min(probe.fetch.max_body_bytes, longest_document);
  probe.reading.max_body_bytes = probe.fetch.max_body_bytes;
  options_.probe = std::move(probe);
}

std::unique_ptr<LookUnderWay> Looks::begin(const std::string& url) {
  if (under_way_ >= options_.at_once) return nullptr;
  std::unique_ptr<LookUnderWay> look(new LookUnderWay(*this, memory_));
  if (!look->share_.cover_reading(longest_document)) return nullptr;
  ProbeOptions options = options_.probe;
  const auto until = std::chrono::steady_clock::now() + options_.patience;
  options.gives_up = [this, found = look->found_, until] {
    return ending_ || found->given_up || std::chrono::steady_clock::now() >= until;
  };
  boost::asio::post(threads_.get_executor(), [found = look->found_, url, options = std::move(options)] {
    try {
      Probe probe(options);
      discover(probe, url, found->discovery);
      found->complete = true;
    } catch (const Interrupted&) {  // keep the results so far
    } catch (const std::exception& error) {
      found->bug = error.what();
    }
    found->done = true;
  });
  return look;
}

}  // namespace feedmill
