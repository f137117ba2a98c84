#include "worker/http/egress_view.hpp"

#include <deque>
#include <exception>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "worker/base/posix_signals.hpp"
#include "worker/egress/address_guard.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/http/http_shared.hpp"
#include "worker/http/request_style.hpp"

namespace feedmill {

namespace asio = boost::asio;

namespace {

EgressView refused(Reason reason, std::string detail, std::vector<std::string> addresses = {}) {
  return {EgressView::Verdict::refused, std::move(addresses), std::string(to_string(reason)), std::move(detail)};
}

/// Selects among a host's addresses as the HTTP client does (HTTP D1).
EgressView view_of(const Addresses& addresses, const EgressPolicy& policy, unsigned port) {
  EgressView view{EgressView::Verdict::allowed, {}, "", ""};
  Refusal last;
  for (const std::string& address : addresses) {
    const Egress verdict = policy.check(address, static_cast<std::uint16_t>(port));
    if (verdict == Egress::allowed) {
      view.addresses.push_back(address);
    } else {
      last = refusal_of(verdict, address, port);
    }
  }
  return view.addresses.empty() ? refused(last.reason, last.detail, addresses) : view;
}

}  // namespace

std::string_view to_string(EgressView::Verdict verdict) {
  switch (verdict) {
    case EgressView::Verdict::allowed:
      return "allowed";
    case EgressView::Verdict::refused:
      return "refused";
    case EgressView::Verdict::proxied:
      return "proxied";
    case EgressView::Verdict::unknown:
      break;
  }
  return "unknown";
}

EgressViewer::EgressViewer(FetchOptions options) : options_(std::move(options)) {
  const std::vector<std::string> own = interface_addresses().value_or(std::vector<std::string>());
  options_.egress.close_own(own);
  for (auto& [name, policy] : options_.policies) policy.close_own(own);
}

EgressView EgressViewer::of_text(const EgressQuestion& question) const {
  FetchRequest request;
  request.feed_url = request.url = question.url;
  request.settings = question.settings;
  if (names_login(request.settings.auth)) request.settings.auth.clear();  // irrelevant to addresses
  const auto style = request_style(options_, request);
  if (!style) {
    EgressView view = refused(style.error().reason, style.error().detail);
    view.unusable_settings = true;
    return view;
  }
  if (style->proxy) return {EgressView::Verdict::proxied, {}, "", ""};
  const EgressPolicy& policy = style->policy.empty() ? options_.egress : options_.policies.at(style->policy);
  const Origin origin = origin_of(question.url);
  if (is_address(origin.host)) return view_of({bare_address(origin.host)}, policy, origin.port);
  return {EgressView::Verdict::unknown, {}, "", "its name was not resolved"};
}

std::vector<EgressView> EgressViewer::of(std::span<const EgressQuestion> questions,
                                         std::chrono::milliseconds patience) const {
  const auto name_of = [](const EgressQuestion& question) {
    std::string host = origin_of(question.url).host;
    if (host.ends_with('.')) host.pop_back();
    return host;
  };
  std::vector<EgressView> views;
  std::set<std::string> names;
  for (const EgressQuestion& question : questions) {
    views.push_back(of_text(question));
    if (views.back().verdict == EgressView::Verdict::unknown) names.insert(name_of(question));
  }
  const auto answers = look_up(options_.resolver, names, patience);
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (views[i].verdict != EgressView::Verdict::unknown) continue;
    const EgressQuestion& question = questions[i];
    const LookedUp& answer = answers.at(name_of(question));
    const auto named = options_.policies.find(question.settings.policy);
    const EgressPolicy& policy = named == options_.policies.end() ? options_.egress : named->second;
    const unsigned port = origin_of(question.url).port;
    if (!answer && !policy.uses(static_cast<std::uint16_t>(port))) {  // refused whatever its name resolves to
      const Refusal no = refusal_of(Egress::blocked_port, "", port);
      views[i] = refused(no.reason, no.detail);
      continue;
    }
    if (!answer) {
      views[i].reason = to_string(answer.error().reason);
      views[i].detail = answer.error().detail;
      continue;
    }
    views[i] = view_of(*answer, policy, port);
  }
  return views;
}

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
