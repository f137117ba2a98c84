#include "storage/queues/requests.hpp"

#include <algorithm>
#include <array>

#include <openssl/sha.h>

#include "storage/records/event_record.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

/// How an operation ends: the script that ends it, and the meaning of its replies (storage/lua/shared/requests.lua).
struct OpRow {
  RequestOp op{};
  std::string_view word;
  Script script{};
  std::string_view outcomes;
};

constexpr std::array op_rows{
    OpRow{RequestOp::add, "add", Script::add, "1 done added\n0 done present"},
    OpRow{RequestOp::remove, "remove", Script::remove,
          "1 begun begun\n3 begun begun\n2 done removed\n0 failed no_such_feed\n0+ done removed"},
    OpRow{RequestOp::set, "set", Script::settings, "1 done set\n-1 failed no_such_feed"},
    OpRow{RequestOp::pause, "pause", Script::pause, "1 done paused\n0 done paused_already\n-1 failed no_such_feed"},
    OpRow{RequestOp::resume, "resume", Script::resume,
          "resumed done resumed due\nrunning done not_paused due\nunknown failed no_such_feed"},
    OpRow{RequestOp::refresh, "refresh", Script::wake,
          "due done due due\nnoted done noted due\ntoo_early failed too_early due\npaused failed paused\n"
          "unknown failed no_such_feed"},
    OpRow{RequestOp::move, "move", Script::move, "ok done moved\ntaken failed taken\nunknown failed no_such_feed"},
    OpRow{RequestOp::channel_follow, "channel_follow", Script::channel_follow,
          "1 done followed\n0 done followed_already\n-1 failed no_such_channel\n-2 failed no_such_feed"},
    // Ends once the posts have left the timeline, too.
    OpRow{RequestOp::channel_unfollow, "channel_unfollow", Script::channel_unfollow,
          "1 begun begun\n-1 failed no_such_channel"},
    OpRow{RequestOp::channel_mark, "channel_mark", Script::channel_mark,
          "-1 failed no_such_channel\n* done marked =changed"},
    OpRow{RequestOp::entry_put, "entry_put", Script::entry_save,
          "created done created id\nmodified done modified id\nunknown failed no_such_feed"},
    OpRow{RequestOp::entry_remove, "entry_remove", Script::entry_remove, "1 done removed\n0 failed no_such_entry"},
    OpRow{RequestOp::channel_add, "channel_add", Script::channel_add, "1 done added\n0 done present"},
    // Ends once nothing of the channel is left.
    OpRow{RequestOp::channel_remove, "channel_remove", Script::channel_remove,
          "1 begun begun\n0 failed no_such_channel\n0+ done removed"},
    OpRow{RequestOp::channel_order, "channel_order", Script::channel_order,
          "-1 failed no_such_channel\n* done ordered"},
    OpRow{RequestOp::notice_mark, "notice_mark", Script::notify_edit, "* done marked =changed"},
    OpRow{RequestOp::watch_add, "watch_add", Script::watch, "0 failed too_many\n* done watching =id"},
    OpRow{RequestOp::watch_remove, "watch_remove", Script::watch, "1 done removed\n0 failed no_such_rule"},
};

// request_word() and Step index the rows by operation.
static_assert([] {
  std::size_t position = 0;
  return std::ranges::all_of(op_rows, [&](const OpRow& row) { return row.op == static_cast<RequestOp>(position++); });
}());

constexpr std::string_view mark_all = "-1 failed no_such_channel\n0 done marked\n* begun ";

Begun::State state_of(std::string_view word) {
  if (word == "go") return Begun::State::go;
  if (word == "repeated") return Begun::State::repeated;
  if (word == "reused") return Begun::State::reused;
  return word == "poison" ? Begun::State::poison : Begun::State::gone;
}

}  // namespace

std::optional<RequestOp> request_op(std::string_view word) {
  const auto row = std::ranges::find(op_rows, word, &OpRow::word);
  return row == op_rows.end() ? std::nullopt : std::optional(row->op);
}

std::string_view request_word(RequestOp op) {
  return op_rows[static_cast<std::size_t>(op)].word;
}

std::string content_hash(const Fields& fields) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : fields) {
    if (name == "ref") continue;
    std::string& part = parts.emplace_back(std::to_string(name.size()));
    part.append(" ").append(std::to_string(value.size())).append(" ").append(name).append(value);
  }
  std::sort(parts.begin(), parts.end());
  std::string all;
  for (const std::string& part : parts) all += part;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(all.data()), all.size(), digest.data());
  std::string hex;
  for (std::size_t i = 0; i < 16; ++i) {
    hex += "0123456789abcdef"[digest[i] >> 4U];
    hex += "0123456789abcdef"[digest[i] & 15U];
  }
  return hex;
}

StoreResult<std::optional<std::string>> RequestStream::ask(const Fields& fields, std::uint64_t most) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.requests();
  const auto length = impl_.redis.command({"XLEN", key});
  if (!length) return length.error();
  if (static_cast<std::uint64_t>(length->integer()) >= most) return std::optional<std::string>();
  Words words{"XADD", key, "*"};
  for (const auto& [name, value] : fields) words.insert(words.end(), {name, value});
  auto id = impl_.redis.command(words);
  if (!id && id.error().detail.find("exhausted the last possible ID") != std::string::npos) {
    if (const auto renewed = renew(); !renewed) return renewed.error();
    id = impl_.redis.command(words);
  }
  if (!id) return id.error();
  return std::optional<std::string>(id->text());
}

StoreResult<void> RequestStream::renew() {
  Args args;
  args.add("");  // no worker's token: another worker's right to take requests is kept
  args.add(0);
  const auto reply = impl_.run(Script::requests_take, args);
  if (!reply) return reply.error();
  return {};
}

StoreResult<std::optional<RequestStream::Answer>> RequestStream::answer(const std::string& app,
                                                                        const std::string& ref) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto known = impl_.redis.command({"GET", impl_.keys.request_answer(app, ref)});
  if (!known) return known.error();
  const std::string_view text = known->text();
  const std::size_t kind = text.find(' '), data = text.find(' ', kind + 1);
  if (kind == std::string_view::npos || data == std::string_view::npos) return std::optional<Answer>();
  return std::optional<Answer>({std::string(text.substr(0, kind)),
                                text.substr(kind + 1, data - kind - 1) == "request_done",
                                std::string(text.substr(data + 1))});
}

StoreResult<void> RequestStream::vouch(const Asked& asked, Milliseconds keep) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.vouched(asked.app, asked.ref), time = std::to_string(keep.count());
  const auto done = impl_.redis.command({"SET", key, asked.hash, "PX", time});
  if (!done) return done.error();
  return {};
}

StoreResult<bool> RequestStream::is_vouched(const Asked& asked) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.vouched(asked.app, asked.ref);
  const auto hash = impl_.redis.command({"GET", key});
  if (!hash) return hash.error();
  return !asked.hash.empty() && hash->text() == asked.hash;
}

StoreResult<bool> RequestStream::waits(const std::string& id, const std::string& app, const std::string& ref) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto record = impl_.redis.command({"XRANGE", impl_.keys.requests(), id, id});
  if (!record) return record.error();
  if (record->size() == 0) return false;
  const Fields fields = (*record)[0][1].pairs();
  const auto is = [&](std::string_view name, const std::string& value) {
    return std::ranges::find(fields, Fields::value_type(name, value)) != fields.end();
  };
  return is("app", app) && is("ref", ref);
}

Requests::Requests(Store& store, Options options) : impl_(store.impl()), options_(std::move(options)) {}

StoreResult<std::uint64_t> Requests::waiting() {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const auto length = impl_.redis.command({"XLEN", impl_.keys.requests()});
  if (!length) return length.error();
  return static_cast<std::uint64_t>(length->integer());
}

StoreResult<ServerWait> Requests::begin_to_wait(Milliseconds longest) {
  if (auto connected = impl_.ready(); !connected) return connected.error();
  const std::string key = impl_.keys.requests(), block = std::to_string(longest.count());
  return impl_.redis.begin_wait({"XREAD", "COUNT", "1", "BLOCK", block, "STREAMS", key, "0-0"}, longest);
}

StoreResult<bool> Requests::has_come() {
  const auto reply = impl_.redis.end_wait(2 * longest_request);  // requests_take.lua cuts long requests; here they fail
  if (!reply) return reply.error();
  return !reply->is_nil();
}

StoreResult<RequestFigures> Requests::figures() {
  RequestFigures figures;
  const auto waiting_now = waiting();
  if (!waiting_now) return waiting_now.error();
  figures.waiting = *waiting_now;
  const auto set_aside = impl_.redis.command({"XLEN", impl_.keys.requests_set_aside()});
  if (!set_aside) return set_aside.error();
  figures.set_aside = static_cast<std::uint64_t>(set_aside->integer());
  if (figures.waiting == 0) return figures;
  const std::string key = impl_.keys.requests();
  const auto bytes = impl_.redis.command({"MEMORY", "USAGE", key});
  if (!bytes) return bytes.error();
  if (!bytes->is_nil()) figures.bytes = static_cast<std::uint64_t>(bytes->integer());
  return figures;
}

StoreResult<TakenRequests> Requests::take(const std::string& after) {
  return take_from(after.empty() ? "-" : "(" + after, options_.batch_records);
}

StoreResult<TakenRequests> Requests::take_again(const std::string& id) {
  auto taken = take_from(id, 1);
  if (taken) std::erase_if(taken->records, [&](const RequestRecord& record) { return record.id != id; });
  return taken;
}

StoreResult<TakenRequests> Requests::hold() {
  return take_from("-", 0);
}

StoreResult<TakenRequests> Requests::take_from(const std::string& place, std::uint64_t most) {
  Args args;
  args.add(std::string_view(options_.token));
  args.add(options_.lease);
  args.add(options_.batch_bytes);
  args.add(longest_request);
  args.add(most);
  args.add(std::string_view(place));
  const auto reply = impl_.run(Script::requests_take, args);
  if (!reply) return reply.error();
  TakenRequests taken;
  taken.waiting = (*reply)[0].text() == "waiting";
  for (std::size_t i = 1; i < reply->size(); ++i) {
    const ReplyView row = (*reply)[i];
    taken.records.push_back({std::string(row[0].text()), row[1].integer() == 1, row[2].pairs()});
  }
  return taken;
}

StoreResult<void> Requests::let_go() {
  Args args;
  args.add(std::string_view(options_.token));
  args.add(0);
  const auto reply = impl_.run(Script::requests_take, args);
  if (!reply) return reply.error();
  return {};
}

std::vector<std::string> Requests::words_of(const Asked& asked) const {
  std::string head;
  if (!asked.feed_url.empty()) head += ",\"feed_url\":" + json_string(asked.feed_url);
  if (!asked.app.empty()) head += ",\"app\":" + json_string(asked.app);
  if (!asked.ref.empty()) head += ",\"ref\":" + json_string(asked.ref);
  return {asked.id,
          asked.ref.empty() || asked.hash.empty() ? std::string() : asked.app + ":" + asked.ref,
          asked.hash,
          std::to_string(options_.keep.count()),
          std::move(head),
          "\"op\":" + json_string(asked.op) + "," + asked.members,
          impl_.keys.channel_prefix(),
          impl_.options.stream_cap()};
}

StoreResult<Begun> Requests::begin(const Asked& asked) {
  Args args;
  for (std::string& word : words_of(asked)) args.own(std::move(word));
  args.add(std::string_view(options_.token));
  args.add(options_.most_deaths);
  const auto reply = impl_.run(Script::request_begin, args);
  if (!reply) return reply.error();
  Begun begun{state_of((*reply)[0].text()), ""};
  if (begun.state == Begun::State::go) begun.note = (*reply)[1].text();
  return begun;
}

StoreResult<void> Requests::release(const std::string& id) {
  Args args;
  args.add(std::string_view(id));
  args.add(std::string_view(options_.token));
  const auto reply = impl_.run(Script::request_release, args);
  if (!reply) return reply.error();
  return {};
}

StoreResult<void> Requests::end(Asked asked, const std::string& how, const std::string& members) {
  asked.members += members;
  const Step step(*this, asked, "end " + how);
  const auto reply = impl_.run(Script::request_end, Args());
  if (!reply) return reply.error();
  return {};
}

StoreResult<void> Requests::done(const Asked& asked, std::string_view result, const std::string& members) {
  return end(asked, "done " + std::string(result), members);
}

StoreResult<void> Requests::fail(const Asked& asked, std::string_view reason, std::string_view detail) {
  return end(asked, "failed " + std::string(reason), detail.empty() ? "" : "\"detail\":" + json_string(detail) + ",");
}

Requests::Step::Step(Requests& requests, const Asked& asked, std::string end)
    : impl_(requests.impl_),
      in_hand_(std::make_unique<RequestInHand>(
          RequestInHand{requests.words_of(asked), Script::request_end, std::move(end)})) {
  in_hand_->words.push_back(requests.options_.token);
  impl_.request = in_hand_.get();
}

Requests::Step::Step(Requests& requests, const Asked& asked, RequestOp op, const std::string& note)
    : Step(requests, asked, "") {
  const OpRow& row = op_rows[static_cast<std::size_t>(op)];
  in_hand_->ended_by = row.script;
  in_hand_->outcomes = note.empty() ? std::string(row.outcomes) : std::string(mark_all) + note;
}

Requests::Step::~Step() {
  impl_.request = nullptr;
}

bool Requests::is_one_step(RequestOp op) {
  return op_rows[static_cast<std::size_t>(op)].outcomes.find(" begun ") == std::string_view::npos;
}

bool Requests::needs_memory(RequestOp op) {
  const Script script = op_rows[static_cast<std::size_t>(op)].script;
  return !std::string_view(script_rows[static_cast<std::size_t>(script)].text).starts_with("#!lua flags=allow-oom\n");
}

bool Requests::must_queue(const StoreError& error) {
  return error.code == StoreError::Code::refused && error.detail.starts_with("QUEUE");
}

bool Requests::is_in_other_hands(const StoreError& error) {
  return error.code == StoreError::Code::refused && error.detail.starts_with("ANSWERED");
}

}  // namespace feedmill
