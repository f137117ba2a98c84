// What a refresh writes into its report on its way, step by step.
#pragma once

#include "storage/store/store.hpp"
#include "worker/base/report.hpp"
#include "worker/http/fetch.hpp"
#include "worker/policy/attempt.hpp"
#include "worker/policy/decide.hpp"

namespace feedmill {

/// One answer, or what came instead: hops, bytes, connections, times. Adds to what an earlier attempt has noted.
void note_fetched(Report& report, const FetchResult& fetched);

/// What the document was, and what not fetching it again has saved.
void note_reading(Report& report, const Claim& claim, const Reading& reading);

/// What is to come to pass: note_committed() or note_nothing_written() says whether it has.
void note_decision(Report& report, const Claim& claim, const Decision& decision);

/// What the store has made of it: entries, signals, moves, the host, the subscription.
void note_committed(Report& report, const Decision& decision, const Committed& done);

/// Nothing was written: what was decided has not come to pass.
void note_nothing_written(Report& report);

/// note_nothing_written(), because of the store.
void note_store_error(Report& report, const StoreError& error);

}  // namespace feedmill
