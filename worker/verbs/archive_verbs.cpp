#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "storage/upkeep/archive.hpp"
#include "worker/base/interrupt.hpp"
#include "worker/base/unique_fd.hpp"
#include "worker/command_line/operation_verbs.hpp"
#include "worker/egress/web_url.hpp"
#include "worker/verbs/open_store.hpp"

namespace feedmill {
namespace {

namespace json = boost::json;

/// A file that appears under its name once complete (OPERATIONS U5). Throws std::system_error.
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

/// Lines of a file; overlong ones end at most a block past an archive's limit. Throws std::system_error.
class Lines {
 public:
  explicit Lines(const std::string& name) : name_(name) {
    if (name != "-") file_ = UniqueFd(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    if (name != "-" && !file_) fail();
  }

  bool next(std::string& line) {
    line.clear();
    for (;;) {
      const std::string_view rest = std::string_view(block_.data(), filled_).substr(at_);
      const std::size_t end = rest.find('\n');
      line.append(rest.substr(0, end));
      at_ = end == std::string_view::npos ? filled_ : at_ + end + 1;
      if (end != std::string_view::npos || line.size() > Archive::max_line) return true;
      if (!fill()) return !line.empty();
    }
  }

 private:
  [[noreturn]] void fail() const {
    throw std::system_error(errno, std::generic_category(), "cannot read " + (name_ == "-" ? "stdin" : name_));
  }
  bool fill() {
    for (;;) {
      const ssize_t got = ::read(file_ ? file_.get() : STDIN_FILENO, block_.data(), block_.size());
      stop_if_interrupted();
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail();
      at_ = 0;
      filled_ = static_cast<std::size_t>(got);
      return got > 0;
    }
  }

  std::string name_;
  UniqueFd file_;
  std::array<char, std::size_t{64} << 10> block_;
  std::size_t at_ = 0, filled_ = 0;
};

json::object row_of(std::string_view result, const ArchiveFigures& figures) {
  return {{"result", result}, {"feeds", figures.feeds}, {"entries", figures.entries}, {"channels", figures.channels}};
}

Archive archive_of(std::span<const VerbContext> partitions) {
  std::vector<Store*> stores;
  for (const VerbContext& at : partitions) stores.push_back(&at.store);
  return Archive(std::move(stores));
}

/// Throws if one of these feeds does not exist.
void refuse_unknown(std::span<const VerbContext> partitions, const std::vector<std::string>& urls) {
  for (const auto& [partition, places] : shares_of(urls, static_cast<unsigned>(partitions.size()))) {
    std::vector<std::string> own;
    for (const std::size_t place : places) own.push_back(urls[place]);
    known_records(partitions[partition], own, "nothing was written");
  }
}

}  // namespace

int run_verb(const StoreExportVerb& verb, std::span<const VerbContext> partitions) try {
  Terminal& terminal = partitions.front().terminal;
  const auto urls = feed_urls(terminal, verb.feeds, "nothing was written");
  refuse_unknown(partitions, urls);
  Archive archive = archive_of(partitions);
  Progress progress(terminal, "exporting", 0);
  ExportOptions options;
  options.feed_urls = urls;
  options.progress = [&](std::uint64_t done, std::uint64_t) {
    stop_if_interrupted();
    progress.reached(done);
  };
  if (verb.file == "-") {
    const auto done =
        or_fail(archive.write(options, [&](std::string_view line) { terminal.line(line.substr(0, line.size() - 1)); }));
    terminal.note(
        fmt::format("{}: {} feeds, {} entries, {} channels", terminal.verb(), done.feeds, done.entries, done.channels));
    return exits::done;
  }
  NewFile file(verb.file);
  const auto done = or_fail(archive.write(options, [&](std::string_view line) { file.write(line); }));
  file.complete();
  terminal.tell(row_of("exported", done), fmt::format("exported {} feeds, {} entries, {} channels to {}", done.feeds,
                                                      done.entries, done.channels, visible(verb.file)));
  return exits::done;
} catch (const std::system_error& error) {
  throw VerbFailure{exits::directory, visible(error.what())};
}

namespace {

int import(const StoreImportVerb& verb, const std::string& first, Lines& lines,
           std::span<const VerbContext> partitions) {
  Terminal& terminal = partitions.front().terminal;
  if (verb.replace && !verb.yes && !verb.dry_run) {
    confirm(terminal, "Remove the existing feeds and restore those in the file?",
            "--replace removes existing feeds; add --yes to do so without a prompt", "");
  }
  Progress progress(terminal, "importing, line", 0);
  ImportOptions options;
  options.dry_run = verb.dry_run;
  options.replace = verb.replace;
  options.is_feed_url = [](const std::string& url) {
    const auto canonical = canonical_feed_url(url);
    return !canonical.has_error() && *canonical == url;
  };
  options.progress = [&](std::uint64_t number) {
    stop_if_interrupted();
    progress.reached(number);
  };
  bool begun = false;
  const auto done = archive_of(partitions).read(options, [&](std::string& line) {
    if (std::exchange(begun, true)) return lines.next(line);
    line = first;
    return true;
  });
  if (done.has_error()) {
    const ArchiveError& wrong = done.error();
    if (!wrong.bad_input) throw failure_of(wrong.error);
    throw VerbFailure{exits::bad_input,
                      fmt::format("line {} {}; feeds before it are complete{}", wrong.line, visible(wrong.error.detail),
                                  verb.dry_run ? ", nothing was written" : "")};
  }
  const std::string_view result = verb.dry_run ? "would import" : "imported";
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

}  // namespace

int run_verb(const StoreImportVerb& verb, const Config& config, Terminal& terminal) try {
  note_interrupts();
  // Reject a file that is not an export before a store is created.
  Lines lines(verb.file);
  std::string first;
  const bool any = lines.next(first);
  if (const std::string wrong = any ? Archive::objection_to(first) : "the file is empty"; !wrong.empty())
    throw VerbFailure{exits::bad_input, fmt::format("line 1 {}; nothing was written", visible(wrong))};
  return with_stores(verb, config, terminal,
                     [&](std::span<const VerbContext> stores) { return import(verb, first, lines, stores); });
} catch (const std::system_error& error) {
  throw VerbFailure{exits::bad_input, visible(error.what())};
}

}  // namespace feedmill
