#include "worker/http/look_up.hpp"

#include <deque>
#include <exception>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "worker/base/posix_signals.hpp"

namespace feedmill {

namespace asio = boost::asio;

std::map<std::string, LookedUp> look_up(const ResolverOptions& options, const std::set<std::string>& names,
                                        std::chrono::milliseconds patience) {
  asio::io_context loop(1);
  Resolver resolver(loop.get_executor(), options);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::map<std::string, LookedUp> answers;
  for (const std::string& name : names) answers.emplace(name, ResolveError{Reason::dns_failed, "no answer"});
  std::deque<asio::cancellation_signal> cancels;
  std::size_t waiting = answers.size();
  for (auto& [name, answer] : answers) {
    asio::co_spawn(
        loop, resolver.resolve(name, deadline),
        asio::bind_cancellation_slot(cancels.emplace_back().slot(),
                                     [&answer = answer, &waiting](const std::exception_ptr& failed, LookedUp given) {
                                       if (!failed) answer = std::move(given);
                                       --waiting;
                                     }));
  }
  for (bool told = false; waiting > 0;) {
    loop.run_one_for(interrupt_interval);
    if (!interrupted() || std::exchange(told, true)) continue;
    for (auto& cancel : cancels) cancel.emit(asio::cancellation_type::terminal);  // the resolver outlives its waiters
  }
  stop_if_interrupted();
  return answers;
}

}  // namespace feedmill
