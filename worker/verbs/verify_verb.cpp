#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>

#include <boost/json.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "storage/feeds/feeds.hpp"
#include "storage/redis/utf8.hpp"
#include "storage/upkeep/verify.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/system.hpp"
#include "worker/cli/verb.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"
#include "worker/words/moments.hpp"
#include "worker/words/record_text.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

std::string_view to_string(Violation::Outcome outcome) {
  switch (outcome) {
    case Violation::Outcome::repaired:
      return "repaired";
    case Violation::Outcome::unrepairable:
      return "not repaired: this needs a decision";
    case Violation::Outcome::changed:
      return "changed concurrently";
    case Violation::Outcome::found:
      break;
  }
  return "found";
}

json::value optional_bytes(const std::optional<std::string>& bytes) {
  return bytes ? byte_text(*bytes) : json::value();
}

/// A journal of replaced values, written to disk before each repair. The file is created with the first line.
class Journal {
 public:
  explicit Journal(std::string path) : path_(std::move(path)) {}

  /// Throws std::system_error.
  void write(const Violation& violation, const std::vector<KeyValue>& whole) {
    open();
    std::string lines;
    const auto add = [&](const json::object& object) { lines += json::serialize(object) + "\n"; };
    for (const KeyValue& value : whole) {
      json::object line = line_of(violation);
      line["done"] = "keep";
      line["key"] = byte_text(value.key);
      line["type"] = value.type;
      json::array& words = line["old"].emplace_array();
      for (const std::string& word : value.words) words.push_back(byte_text(word));
      add(line);
    }
    for (const Change& change : violation.changes) {
      json::object line = line_of(violation);
      line["done"] = change.what;
      line["key"] = byte_text(change.key);
      line["field"] = byte_text(change.field);
      line["old"] = optional_bytes(change.old_value);
      line["new"] = optional_bytes(change.new_value);
      add(line);
    }
    for (std::string_view rest = lines; !rest.empty();) {
      const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail();
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fsync(file_.get()) != 0) fail();
  }

  const std::string& path() const { return path_; }
  bool is_open() const { return file_.get() >= 0; }

 private:
  [[noreturn]] void fail() const {
    throw std::system_error(errno, std::generic_category(), "cannot write the journal " + path_);
  }
  void open() {
    if (is_open()) return;
    file_ = UniqueFd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!is_open()) fail();
    const auto parent = std::filesystem::absolute(path_).parent_path();
    const UniqueFd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.get() >= 0 && ::fsync(directory.get()) != 0) fail();
  }
  static json::object line_of(const Violation& violation) {
    json::object line = json_row();
    line["at"] = rfc3339(wall_clock());
    line["invariant"] = violation.invariant;
    line["kind"] = violation.kind;
    return line;
  }

  std::string path_;
  UniqueFd file_;
};

std::string usual_journal(const Partition& partition) {
  std::string name = rfc3339(wall_clock());
  std::erase(name, ':');
  return fmt::format("feedmill-repair-{}-{}{}.jsonl", name, ::getpid(),
                     partition.is_whole() ? "" : fmt::format("-p{}", partition.index));
}

void tell(const Violation& violation, Terminal& terminal) {
  json::array keys;
  std::string key_texts;
  for (const std::string& key : violation.keys) {
    keys.push_back(byte_text(key));
    key_texts += (key_texts.empty() ? "" : ", ") + visible(key);
  }
  const std::string_view outcome = to_string(violation.outcome);
  std::string line =
      fmt::format("{} {}: {}: {}", violation.invariant, violation.kind, key_texts, visible(violation.detail));
  if (violation.outcome != Violation::Outcome::found) line += fmt::format(" ({})", outcome);
  terminal.tell({{"result", "violation"},
                 {"invariant", violation.invariant},
                 {"kind", violation.kind},
                 {"url", byte_text(violation.feed_url)},
                 {"keys", std::move(keys)},
                 {"detail", visible(violation.detail)},
                 {"repairable", !violation.changes.empty()},
                 {"outcome", outcome.substr(0, outcome.find(':'))}},
                line);
}

void tell_summary(const VerifySummary& summary, std::uint64_t left, const std::string& journal,
                  const VerbContext& context) {
  Terminal& terminal = context.terminal;
  json::object row = {{"result", "summary"},
                      {"feeds", summary.feeds},
                      {"entries", summary.entries},
                      {"signals", summary.events},
                      {"channels", summary.channels},
                      {"violations", summary.violations},
                      {"repaired", summary.repaired},
                      {"left", left},
                      {"timelines_behind_since", nullptr},
                      {"notes", json::value_from(summary.notes)}};
  if (summary.behind_since) row["timelines_behind_since"] = rfc3339(*summary.behind_since);
  if (const Partition mine = context.config.partition(); !mine.is_whole()) row["partition"] = mine.index;
  if (!journal.empty()) row["journal"] = byte_text(journal);
  if (!terminal.json()) {
    if (summary.behind_since) {
      terminal.note(fmt::format("{}: timelines lag since {}; posts of later events were not compared", terminal.verb(),
                                rfc3339(*summary.behind_since)));
    }
    for (const std::string& note : summary.notes) terminal.note(terminal.verb() + ": " + note);
    if (!journal.empty()) {
      terminal.note(fmt::format("{}: replaced values are in {}", terminal.verb(), visible(journal)));
    }
  }
  terminal.tell(std::move(row),
                fmt::format("{}: {} feeds, {} entries, {} signals, {} channels; violations {}, repaired {}, left {}",
                            left == 0 ? "healthy" : "violated", summary.feeds, summary.entries, summary.events,
                            summary.channels, summary.violations, summary.repaired, left));
}

void check_journal(const OperationValues& given) {
  if (given.has("journal") && !given.truth("repair")) refuse("--journal needs --repair");
}

/// Whether no journal is named; a named journal is for one partition.
bool names_no_journal(const OperationValues& given) {
  return !given.has("journal");
}

int verify_store(const OperationValues& given, const VerbContext& context) {
  Terminal& terminal = context.terminal;
  const auto urls = feed_urls(terminal, given.texts("feed"), "nothing was checked");

  Journal journal(!given.has("journal") ? usual_journal(context.config.partition()) : given.text("journal"));
  std::string problem;  // of the journal
  Progress progress(terminal, "verifying", 0);
  VerifyOptions options;
  options.feed_urls = urls;
  options.progress = [&](std::uint64_t done, std::uint64_t) {
    stop_if_interrupted();
    progress.reached(done);
  };
  options.found = [&](const Violation& violation) { tell(violation, terminal); };
  if (given.truth("resanitise")) {
    options.markup = [&](const std::string& url) -> StoreResult<GivenMarkup> {
      const auto records = Feeds(context.store).records(std::vector{url});
      if (records.has_error()) return records.error();
      const std::optional<FeedRecord>& record = records->front();  // if removed since, its posts are removed too
      const auto own = record ? read_settings(record->state.settings).html_policy : std::nullopt;
      return GivenMarkup{own.value_or(context.config.html.policy), context.config.html.keep_class};
    };
  }
  if (given.truth("repair")) {
    options.journal = [&](const Violation& violation, const std::vector<KeyValue>& whole) {
      if (!problem.empty()) return false;
      try {
        journal.write(violation, whole);
      } catch (const std::system_error& error) {
        problem = error.what();
      }
      return problem.empty();
    };
  }
  auto summary = Verifier(context.store, options).run();
  if (summary.has_error()) {
    terminal.flush();
    throw failure_of(summary.error());
  }
  std::uint64_t left = summary->violations;
  if (summary->repaired > 0) {  // violations left or caused by repairs
    options.journal = nullptr;
    options.found = [&](const Violation& violation) {
      if (!violation.changes.empty()) tell(violation, terminal);
    };
    const auto again = Verifier(context.store, options).run();
    if (again.has_error()) {
      terminal.flush();
      throw failure_of(again.error());
    }
    left = again->violations;
  }
  tell_summary(*summary, left, journal.is_open() ? journal.path() : "", context);
  if (!problem.empty()) {
    terminal.flush();
    throw VerbFailure{exits::directory, visible(problem) + "; nothing more was repaired"};
  }
  return left == 0 ? exits::done : exits::no;
}

}  // namespace

VerbRow verify_verb() {
  static constexpr std::array taken{
      fields::only_feeds,
      fields::flag("--repair",
                   "Repair what can be repaired without guessing; replaced values are written to a journal first"),
      fields::flag("--resanitise",
                   "Also find posts with markup that today's policy would store differently; with --repair, store them "
                   "that way without publishing events"),
      fields::option("--journal", "FILE", "Journal file to create (default: feedmill-repair-TIME.jsonl here)")};
  return {.name = "verify",
          .about = "Check the invariants of the store while workers run",
          .example = "feedmill verify --repair --journal repair.jsonl",
          .exits = "1 when a violated invariant was not repaired",
          .fields = taken,
          .check = check_journal,
          .use = inspects,
          .is_of_each = names_no_journal,
          .run = verify_store};
}

}  // namespace feedmill
