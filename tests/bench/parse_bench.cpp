// Parsing speed: pugixml alone as the yardstick, parsing with raw markup, parsing with sanitising, and encoding as
// JSON. FEEDMILL_CORPUS names the folder of documents; each file in it is read once per round.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <pugixml.hpp>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/read_feed.hpp"

namespace {

using feedmill::HtmlPolicy;

const std::vector<std::string>& corpus() {
  static const std::vector<std::string> documents = [] {
    std::vector<std::filesystem::path> files;
    if (const char* folder = std::getenv("FEEDMILL_CORPUS"); folder != nullptr) {
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.is_regular_file() && entry.path().extension() != ".tsv") files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    std::vector<std::string> loaded;
    for (const auto& file : files) {
      std::ifstream in(file, std::ios::binary);
      loaded.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return loaded;
  }();
  return documents;
}

std::size_t corpus_bytes() {
  std::size_t total = 0;
  for (const std::string& document : corpus()) total += document.size();
  return total;
}

void report(benchmark::State& state, std::size_t entries) {
  if (corpus().empty()) state.SkipWithError("FEEDMILL_CORPUS names no folder of documents");
  state.SetBytesProcessed(static_cast<std::int64_t>(corpus_bytes()) * state.iterations());
  state.counters["entries/s"] = benchmark::Counter(static_cast<double>(entries), benchmark::Counter::kIsRate);
}

// Reads every child once, the least that any reader has to do.
void Pugixml(benchmark::State& state) {
  std::size_t seen = 0;
  for (auto _ : state) {
    for (const std::string& document : corpus()) {
      pugi::xml_document tree;
      tree.load_buffer(document.data(), document.size(), pugi::parse_default);
      for (pugi::xml_node node = tree.first_child(); node;) {
        seen += node.name()[0] != '\0' ? 1 : 0;
        if (node.first_child()) {
          node = node.first_child();
          continue;
        }
        while (node && !node.next_sibling()) node = node.parent();
        node = node ? node.next_sibling() : node;
      }
    }
  }
  benchmark::DoNotOptimize(seen);
  report(state, 0);
}
BENCHMARK(Pugixml)->Unit(benchmark::kMillisecond);

void read_all(benchmark::State& state, HtmlPolicy policy) {
  std::size_t entries = 0;
  feedmill::DocumentHints hints;
  hints.url = "http://example.org/feed";
  hints.html = policy;
  for (auto _ : state) {
    for (const std::string& document : corpus()) {
      const auto feed = feedmill::read_feed(document, hints);
      entries += feed.has_value() ? feed.value().entries.size() : 0;
    }
  }
  report(state, entries);
}

void ReadRaw(benchmark::State& state) {
  read_all(state, HtmlPolicy::raw);
}
BENCHMARK(ReadRaw)->Unit(benchmark::kMillisecond);

void ReadStrict(benchmark::State& state) {
  read_all(state, HtmlPolicy::strict);
}
BENCHMARK(ReadStrict)->Unit(benchmark::kMillisecond);

void ReadClassic(benchmark::State& state) {
  read_all(state, HtmlPolicy::classic);
}
BENCHMARK(ReadClassic)->Unit(benchmark::kMillisecond);

void WriteJson(benchmark::State& state) {
  std::vector<feedmill::Feed> feeds;
  for (const std::string& document : corpus()) {
    auto feed = feedmill::read_feed(document, {});
    if (feed.has_value()) feeds.push_back(std::move(feed.value()));
  }
  std::size_t entries = 0;
  for (auto _ : state) {
    for (const feedmill::Feed& feed : feeds) {
      benchmark::DoNotOptimize(feedmill::document_json(feed));
      entries += feed.entries.size();
    }
  }
  report(state, entries);
}
BENCHMARK(WriteJson)->Unit(benchmark::kMillisecond);

}  // namespace
