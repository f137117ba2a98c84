// `feedmill import`, `export`: lists of subscriptions in and out (OPERATIONS §9).
#pragma once

#include "worker/command_line/cli.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/subscriptions.hpp"

namespace feedmill {

/// The list that `verb` names, or the exit code after saying what is wrong with it. Needs no store: a file that cannot
/// be read is told before one is asked for.
boost::system::result<SubscriptionList, VerbFailure> read_list(const ImportVerb& verb);

int run_verb(const ImportVerb& verb, const SubscriptionList& list, const VerbContext& context);
int run_verb(const ExportVerb& verb, const VerbContext& context);

}  // namespace feedmill
