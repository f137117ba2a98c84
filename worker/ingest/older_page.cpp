#include "worker/ingest/older_page.hpp"

#include "worker/policy/older_pages.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

Claim claim_of_page(Claim claim) {
  FeedState& state = claim.state;
  state.address.fetch_url = state.older.walk.next;
  state.validators = KnownValidators();
  state.document = NewestDocument();
  state.refused = RefusedDocument();
  state.identity.unfit_documents = 0;  // a page must not change the posts' identity
  return claim;
}

}  // namespace

OlderPage::OlderPage(Fetcher& fetcher, ReadingThreads& threads, StorePool& store, MemoryBudget& memory,
                     const RefreshOptions& options, const Claim& claim)
    : options_(options), page_(claim_of_page(claim)), document_(fetcher, threads, store, memory, options, page_) {}

asio::awaitable<Attempt> OlderPage::attempt(const Claim&, RefreshObserver& seen) {
  co_return co_await document_.attempt(page_, seen);
}

asio::awaitable<void> OlderPage::read_all(const Claim&, Attempt& attempt) {
  co_await document_.read_all(page_, attempt);
}

DecisionResult OlderPage::decide(const Claim& claim, Attempt& attempt, const StoredSnapshot& known, Milliseconds now) {
  return decide_page(claim, std::move(attempt.reading), attempt.exchange, known, options_.policy, now);
}

}  // namespace feedmill
