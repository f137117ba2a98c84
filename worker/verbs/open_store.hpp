// The store as verbs reach it: the configured Redis, or the private server, kept up while the verb lasts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "storage/records/feed_record.hpp"
#include "storage/store/store.hpp"
#include "worker/base/terminal.hpp"
#include "worker/command_line/verb_row.hpp"
#include "worker/config/config.hpp"
#include "worker/observe/store_failure.hpp"
#include "worker/redis_server/private_server.hpp"

namespace feedmill {

/// A connected store. The private server is started or adopted first when the configuration asks for it, and lives at
/// least as long as this.
class StoreSession {
 public:
  /// Blocks until the store answers or the attempt failed.
  static boost::system::result<StoreSession, VerbFailure> open(const Config& config, StoreUse use = StoreUse::change);

  /// The same, without a word to the server yet: whether it is one that we can use shows later.
  static boost::system::result<StoreSession, VerbFailure> connect(const Config& config,
                                                                  StoreUse use = StoreUse::change);

  Store& store() { return *store_; }

 private:
  std::unique_ptr<EmbeddedRedis> server_;  // stopped, unless others use it, after the store has let go
  std::unique_ptr<Store> store_;
};

/// What a verb works with; all of it outlives the verb.
struct VerbContext {
  const Config& config;
  Store& store;
  Terminal& terminal;
};

/// Opens the store as `verb` needs it, and returns what `work`, given a VerbContext, returns; when it cannot be opened,
/// says why and returns the exit code for that.
template <class Kind, class Work>
int with_store(const Kind& verb, const Config& config, Terminal& terminal, Work work);

/// The canonical spelling of addresses given as arguments, each once. Every one that is no absolute http(s) address is
/// told on stderr, with `consequence` behind it; then there is no value, and the exit code is 65.
std::optional<std::vector<std::string>> feed_urls(Terminal& terminal, std::string_view verb,
                                                  const std::vector<std::string>& arguments,
                                                  std::string_view consequence);

/// Tells who has added feeds that nobody fetches them yet, and where they are.
void note_without_worker(const VerbContext& context);

/// feed_records in bounded steps; stops when interrupted.
StoreResult<std::vector<std::optional<FeedRecord>>> all_records(Store& store,
                                                                const std::vector<std::string>& feed_urls);

/// The records of feeds that a verb changes. Those that are unknown are told on stderr, with `consequence` behind;
/// then, and when the store fails, there is the exit code instead.
boost::system::result<std::vector<FeedRecord>, int> known_records(const VerbContext& context, std::string_view verb,
                                                                  const std::vector<std::string>& feed_urls,
                                                                  std::string_view consequence);

/// Prints the line and returns the code: `return fail(terminal, "add", failure)`.
int fail(Terminal& terminal, std::string_view verb, const VerbFailure& failure);
int fail(Terminal& terminal, std::string_view verb, const StoreError& error);

template <class Kind, class Work>
int with_store(const Kind& verb, const Config& config, Terminal& terminal, Work work) {
  StoreUse use = StoreUse::change;
  if constexpr (requires { verb.use(); }) use = verb.use();
  auto session = StoreSession::open(config, use);
  if (session.has_error()) return fail(terminal, name_in_failures(verb), session.error());
  const int code = work(VerbContext{config, session->store(), terminal});
  terminal.flush();  // before a private server is stopped, which takes its time
  return code;
}

}  // namespace feedmill

namespace boost::system {
[[noreturn]] void throw_exception_from_error(const feedmill::VerbFailure& failure, const boost::source_location& where);
}  // namespace boost::system
