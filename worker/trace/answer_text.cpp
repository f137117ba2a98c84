#include "worker/trace/answer_text.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "worker/base/redact.hpp"
#include "worker/base/terminal.hpp"
#include "worker/words/due_text.hpp"

namespace feedmill {

const std::vector<Hop>& Answered::hops() const {
  return response() != nullptr ? response()->hops : error().hops;
}

const std::vector<Header>& Answered::headers() const {
  return response() != nullptr ? response()->headers : error().headers;
}

const FetchTimings& Answered::timings() const {
  return response() != nullptr ? response()->timings : error().timings;
}

std::uint64_t Answered::wire_bytes() const {
  return response() != nullptr ? response()->wire_bytes : error().wire_bytes;
}

std::string_view Answered::egress() const {
  if (response() != nullptr) return response()->opened_by_allow ? "opened by egress.allow" : "public";
  return error().reason == Reason::egress_blocked || error().reason == Reason::egress_port ? "refused" : "unknown";
}

std::string Answered::peer() const {
  if (response() == nullptr) return {};
  const std::string& address = response()->peer;
  const bool v6 = address.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", address, v6 ? "]" : "", response()->peer_port);
}

void Answered::add_to(NamedLines& lines) const {
  for (const Hop& hop : hops()) {
    lines.emplace_back("answer", redact(fmt::format("{} {}{}{}", hop.status, hop.url,
                                                    hop.location.empty() ? "" : " -> ", hop.location)));
  }
  for (const auto& [name, value] : headers()) lines.emplace_back("header", redact(fmt::format("{}: {}", name, value)));
  lines.emplace_back("egress", peer().empty() ? std::string(egress()) : fmt::format("{}, {}", peer(), egress()));
  lines.emplace_back("time",
                     fmt::format("{:.3f} s, first byte after {:.3f} s, connecting {:.3f} s", timings().total.count(),
                                 timings().first_byte.count(), timings().connect.count()));
}

void Answered::add_to(boost::json::object& row) const {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? boost::json::value() : boost::json::value(text);
  };
  boost::json::array& answers = row["hops"].emplace_array();
  for (const Hop& hop : hops()) {
    answers.push_back(
        {{"url", redact(hop.url)}, {"status", hop.status}, {"location", text_or_null(redact(hop.location))}});
  }
  boost::json::array& fields = row["headers"].emplace_array();
  for (const auto& [name, value] : headers()) {
    const std::string safe = redact(fmt::format("{}:{}", name, value)).substr(name.size() + 1);
    fields.push_back({{"name", visible(name)}, {"value", visible(safe)}});
  }
  row["egress"] = {{"decision", egress()}, {"peer", text_or_null(peer())}};
  row["seconds"] = {{"connect", timings().connect.count()},
                    {"first_byte", timings().first_byte.count()},
                    {"total", timings().total.count()}};
}

std::string size_text(std::uint64_t wire_bytes, const BodyPrint& print, std::uint64_t most) {
  const auto count = [](std::uint64_t bytes) { return grouped(static_cast<std::int64_t>(bytes)); };
  return fmt::format("{} bytes received; body {} on the wire, {} decoded of at most {}", count(wire_bytes),
                     count(print.wire_bytes), count(print.body_bytes), count(most));
}

}  // namespace feedmill
