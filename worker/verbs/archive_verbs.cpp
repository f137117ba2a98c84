#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "storage/upkeep/archive.hpp"
#include "worker/base/posix_signals.hpp"
#include "worker/base/system.hpp"
#include "worker/cli/verb.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/verbs/input_file.hpp"
#include "worker/verbs/open_store.hpp"
#include "worker/verbs/table.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// A file that appears under its name only when it is complete (OPERATIONS U5). Throws std::system_error.
class NewFile {
 public:
  explicit NewFile(const std::string& name) : name_(name), scratch_(fmt::format("{}.{}.part", name, ::getpid())) {
    file_ = UniqueFd(::open(scratch_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file_) fail();
  }
  ~NewFile() {
    if (file_) ::unlink(scratch_.c_str());  // incomplete
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= (std::size_t{1} << 20U)) drain();
  }
  void complete() {
    drain();
    if (::fsync(file_.get()) != 0 || std::rename(scratch_.c_str(), name_.c_str()) != 0) fail();
    file_.reset();
    const auto parent = std::filesystem::absolute(name_).parent_path();
    const UniqueFd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory && ::fsync(directory.get()) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const { throw std::system_error(errno, std::generic_category(), "cannot write " + name_); }
  void drain() {
    for (std::string_view rest = buffer_; !rest.empty();) {
      const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail();
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    buffer_.clear();
  }

  std::string name_, scratch_, buffer_;
  UniqueFd file_;
};

/// Lines of a file. Reading of an overlong line stops at most one block past an archive's limit.
class Lines {
 public:
  explicit Lines(const std::string& name) : file_(name) {}

  bool next(std::string& line) {
    line.clear();
    for (;;) {
      const std::size_t end = rest_.find('\n');
      line.append(rest_.substr(0, end));
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      if (end != std::string_view::npos || line.size() > Archive::max_line) return true;
      rest_ = file_.next();
      if (rest_.empty()) return !line.empty();
    }
  }

 private:
  InputFile file_;
  std::string_view rest_;  // of its block
};

json::object row_of(std::string_view result, const ArchiveFigures& figures) {
  return {{"result", result}, {"feeds", figures.feeds}, {"entries", figures.entries}, {"channels", figures.channels}};
}

/// Throws VerbFailure if any of these feeds does not exist.
void refuse_unknown(std::span<const VerbContext> partitions, const std::vector<std::string>& urls) {
  for (const auto& [partition, places] : shares_of(urls, static_cast<unsigned>(partitions.size()))) {
    std::vector<std::string> own;
    for (const std::size_t place : places) own.push_back(urls[place]);
    known_records(partitions[partition], own, "nothing was written");
  }
}

int export_store(const OperationValues& given, std::span<const VerbContext> partitions) try {
  Terminal& terminal = partitions.front().terminal;
  const std::string name = given.has("FILE") ? given.text("FILE") : "-";
  const auto urls = feed_urls(terminal, given.texts("feed"), "nothing was written");
  refuse_unknown(partitions, urls);
  Archive archive(deployment_of(partitions));
  Progress progress(terminal, "exporting", 0);
  ExportOptions options;
  options.feed_urls = urls;
  options.progress = [&](std::uint64_t done, std::uint64_t) {
    stop_if_interrupted();
    progress.reached(done);
  };
  const auto note_if_empty = [&](const ArchiveFigures& done) {
    if (done.feeds == 0)
      terminal.note("the store has no feeds; `feedmill config show --changed --origin` says which store it is");
  };
  if (name == "-") {
    const auto done =
        or_fail(archive.write(options, [&](std::string_view line) { terminal.line(line.substr(0, line.size() - 1)); }));
    note_if_empty(done);
    terminal.note(
        fmt::format("{}: {} feeds, {} entries, {} channels", terminal.verb(), done.feeds, done.entries, done.channels));
    return exits::done;
  }
  NewFile file(name);
  const auto done = or_fail(archive.write(options, [&](std::string_view line) { file.write(line); }));
  file.complete();
  note_if_empty(done);
  terminal.tell(row_of("exported", done), fmt::format("exported {} feeds, {} entries, {} channels to {}", done.feeds,
                                                      done.entries, done.channels, visible(name)));
  return exits::done;
} catch (const std::system_error& error) {
  throw VerbFailure{exits::directory, visible(error.what())};
}

int import(const OperationValues& given, const std::string& first, Lines& lines,
           std::span<const VerbContext> partitions) {
  Terminal& terminal = partitions.front().terminal;
  const bool replace = given.truth("replace"), dry_run = given.truth("dry-run");
  if (replace && !given.truth("yes") && !dry_run) {
    confirm(terminal, "Remove the existing feeds and restore those in the file?",
            "--replace removes existing feeds; add --yes to do so without a prompt", "");
  }
  Progress progress(terminal, "importing, line", 0);
  ImportOptions options;
  options.dry_run = dry_run;
  options.replace = replace;
  options.is_feed_url = [](const std::string& url) {
    const auto canonical = canonical_feed_url(url);
    return !canonical.has_error() && *canonical == url;
  };
  options.progress = [&](std::uint64_t number) {
    stop_if_interrupted();
    progress.reached(number);
  };
  bool begun = false;
  const auto done = Archive(deployment_of(partitions)).read(options, [&](std::string& line) {
    if (std::exchange(begun, true)) return lines.next(line);
    line = first;
    return true;
  });
  if (done.has_error()) {
    const ArchiveError& wrong = done.error();
    if (!wrong.bad_input) throw failure_of(wrong.error);
    throw VerbFailure{exits::bad_input,
                      fmt::format("line {} {}; feeds before it are complete{}", wrong.line, visible(wrong.error.detail),
                                  dry_run ? ", nothing was written" : "")};
  }
  const std::string_view result = dry_run ? "would import" : "imported";
  json::object row = row_of(result, *done);
  row["present"] = done->present;
  row["replaced"] = done->replaced;
  row["kept_ids"] = done->kept_numbers;
  if (done->elsewhere > 0) row["elsewhere"] = done->elsewhere;
  terminal.tell(
      row, fmt::format("{} {} feeds, {} entries, {} channels; skipped {}, replaced {}{}{}", result, done->feeds,
                       done->entries, done->channels, done->present, done->replaced,
                       done->kept_numbers ? "; entries kept their numbers" : "", in_other_partitions(done->elsewhere)));
  return exits::done;
}

int import_store(const OperationValues& given, const Config& config, Terminal& terminal) {
  note_interrupts();
  // Reject a file that is not an export before a store is created.
  Lines lines(given.text("FILE"));
  std::string first;
  const bool any = lines.next(first);
  if (const std::string wrong = any ? Archive::objection_to(first) : "the file is empty"; !wrong.empty())
    throw VerbFailure{exits::bad_input, fmt::format("line 1 {}; nothing was written", visible(wrong))};
  return with_stores(store_import_verb(), given, config, terminal,
                     [&](std::span<const VerbContext> stores) { return import(given, first, lines, stores); });
}

void check_replace(const OperationValues& given) {
  if (given.truth("yes") && !given.truth("replace")) refuse("--yes needs --replace");
}

StoreUse use_of_store_import(const OperationValues& given) {
  return given.truth("dry-run") ? StoreUse::inspect : StoreUse::change;
}

}  // namespace

VerbRow store_export_verb() {
  static constexpr std::array taken{
      fields::optional(fields::argument("FILE", "File to create; it appears once complete (-: stdout, the default)")),
      fields::only_feeds};
  return {.name = "store export",
          .about = "Write the store, or some feeds, as JSON lines while workers run",
          .example = "feedmill store export store.jsonl",
          .fields = taken,
          .use = inspects,
          .run = export_store};
}

VerbRow store_import_verb() {
  static constexpr std::array taken{
      fields::argument("FILE",
                       "Export file; - for stdin. A whole store imported into an empty one keeps its entry numbers, "
                       "whatever its number of "
                       "partitions. Otherwise entries get new numbers, and read marks, notices, rules and the order of "
                       "channels are not imported"),
      fields::flag("--dry-run", "Only check the file and show what would be restored"),
      fields::flag("--replace",
                   "Empty known feeds first; they stay in their channels (default: known feeds are left unchanged)"),
      fields::flag("--yes", "Do not ask before replacing")};
  return {.name = "store import",
          .about = "Restore a store export; safe to repeat; continues where it stopped",
          .example = "feedmill store import store.jsonl --dry-run",
          .fields = taken,
          .check = check_replace,
          .use = use_of_store_import,
          .run = import_store};
}

}  // namespace feedmill
