#include "storage/events/traces.hpp"

#include "parsers/text/strings.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {

StoreResult<std::optional<Milliseconds>> Traces::follow(const std::string& feed_url, Milliseconds span) {
  Args args;
  args.add(std::string_view(feed_url));
  args.add(span);
  args.add(Milliseconds(0));
  const auto reply = impl_.run(Script::follow, args);
  if (!reply) return reply.error();
  const Milliseconds until(reply->integer());
  return until.count() == 0 ? std::optional<Milliseconds>() : until;
}

StoreResult<void> Traces::leave(const std::string& feed_url, Milliseconds until) {
  Args args;
  args.add(std::string_view(feed_url));
  args.add(Milliseconds(0));
  args.add(until);
  if (const auto reply = impl_.run(Script::follow, args); !reply) return reply.error();
  return {};
}

StoreResult<void> Traces::append(const std::string& feed_url, std::span<const TraceLine> lines) {
  if (lines.empty()) return {};
  const std::string key = impl_.keys.trace(feed_url);
  std::vector<std::string> times;
  times.reserve(lines.size());
  std::vector<Words> commands;
  for (const TraceLine& line : lines) {
    times.push_back(std::to_string(line.ms));
    commands.push_back(
        {"XADD", key, "MAXLEN", "~", "5000", "*", "ms", times.back(), "step", line.step, "text", line.text});
  }
  commands.push_back({"PEXPIRE", key, "600000"});
  const auto done = impl_.pipeline(commands);
  if (!done) return done.error();
  return {};
}

StoreResult<std::string> Traces::last(const std::string& feed_url) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto reply = impl_.redis.command({"XREVRANGE", impl_.keys.trace(feed_url), "+", "-", "COUNT", "1"});
  if (!reply) return reply.error();
  return reply->size() == 0 ? std::string("0-0") : std::string((*reply)[0][0].text());
}

StoreResult<std::vector<TraceRecord>> Traces::read(const std::string& feed_url, const std::string& after,
                                                   std::size_t count, Milliseconds block) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.trace(feed_url), count_text = std::to_string(count);
  const std::string block_text = std::to_string(block.count());
  const auto reply = impl_.redis.command({"XREAD", "COUNT", count_text, "BLOCK", block_text, "STREAMS", key, after});
  if (!reply) return reply.error();
  std::vector<TraceRecord> records;
  const ReplyView rows = (*reply)[0][1];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    TraceRecord& record = records.emplace_back();
    record.id = rows[i][0].text();
    for (auto& [name, value] : rows[i][1].pairs()) {
      if (name == "ms")
        record.line.ms = leading_number(value, record.line.ms);
      else if (name == "step")
        record.line.step = std::move(value);
      else if (name == "text")
        record.line.text = std::move(value);
    }
  }
  return records;
}

}  // namespace feedmill
