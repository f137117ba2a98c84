// Properties of the sanitiser on real documents and on random markup (SECURITY S8, S1). tests/browser/ checks the
// result in a browser.
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "parsers/markup/sanitise.hpp"
#include "parsers/text/charset.hpp"
#include "parsers/text/entities.hpp"
#include "tests/support/counts.hpp"
#include "tests/support/sanitized.hpp"

namespace feedmill::sanitise_corpus_test {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// Sanitising must be idempotent for every combination of options. Returns the total number of bytes kept.
std::size_t expect_idempotent(const std::string& markup, const std::filesystem::path& source) {
  std::size_t kept = 0;
  for (const HtmlPolicy policy : {HtmlPolicy::strict, HtmlPolicy::classic}) {
    for (const bool xhtml : {false, true}) {
      SanitiseOptions options{.policy = policy, .base = xhtml ? "" : "http://base.example/a/b?c", .xhtml = xhtml};
      options.max_bytes = std::size_t{64} << 20;
      const std::string once = sanitise(markup, options).html;
      const std::string twice = sanitise(once, options).html;
      kept += once.size();
      if (once == twice) continue;
      std::size_t at = 0;
      while (at < once.size() && at < twice.size() && once[at] == twice[at]) ++at;
      const std::size_t from = at < 40 ? 0 : at - 40;
      ADD_FAILURE() << source << (policy == HtmlPolicy::classic ? " classic" : " strict") << (xhtml ? " xhtml" : "")
                    << "\n  once:  " << once.substr(from, 120) << "\n  twice: " << twice.substr(from, 120);
    }
  }
  return kept;
}

/// A sanitizer makes these tests ten times slower: in a normal run they take one case in so many.
int stride() {
  return test::is_sanitized ? test::tries(10, 1, 1) : 1;
}

// Checks feeds as markup, and the markup that is escaped in them: of one document in `every`.
std::size_t expect_all_idempotent(const std::filesystem::path& folder, int every = 1) {
  std::size_t kept = 0;
  int number = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || number++ % every != 0) continue;
    const std::string text = decode_document(read_file(entry.path()), "").text;
    kept += expect_idempotent(text, entry.path());
    kept += expect_idempotent(decode_references(text), entry.path());
  }
  return kept;
}

TEST(SanitiseCorpus, IsIdempotentOverTheDocumentsOfTheTests) {
  EXPECT_GT(expect_all_idempotent(FEEDMILL_TEST_DATA), 10'000U);
}

TEST(SanitiseCorpus, IsIdempotentOverRealDocuments) {
  const std::filesystem::path real = FEEDMILL_REAL_DOCUMENTS;
  if (!std::filesystem::is_directory(real)) GTEST_SKIP() << real << " is not here";
  EXPECT_GT(expect_all_idempotent(real, stride()), stride() == 1 ? 10'000'000U : 100'000U);
}

// Markup with known visible words: a browser shows them in this order, except those in elements of SECURITY S1.
struct WordyMarkup {
  std::string markup;
  std::vector<std::string> words;
};

WordyMarkup wordy_markup(std::uint64_t seed) {
  constexpr std::string_view kept[] = {"b",  "p",  "div",   "ul", "li",    "table", "tr",      "td",      "dl", "dt",
                                       "dd", "a",  "pre",   "h1", "tbody", "th",    "caption", "details", "em", "q",
                                       "ol", "rt", "thead", "i",  "video", "span",  "figure",  "ruby"};
  constexpr std::string_view unknown[] = {"blink", "o:p",  "form", "button", "label",   "x-y",
                                          "body",  "html", "nobr", "center", "marquee", "noscript"};
  constexpr std::string_view with_content[] = {"script", "style",  "template", "textarea", "title",  "xmp",
                                               "iframe", "applet", "svg",      "math",     "select", "noembed"};
  std::mt19937_64 random(seed);
  const auto pick = [&](const auto& table) { return table[random() % std::size(table)]; };
  WordyMarkup out;
  const auto word = [&](bool visible) {
    const std::string text = "w" + std::to_string(out.markup.size());
    out.markup.append(" ").append(text).append(" ");
    if (visible) out.words.push_back(text);
  };
  for (auto pieces = random() % 400; pieces > 0; --pieces) {
    switch (random() % 9) {
      case 0:
      case 1:
        out.markup.append("<").append(pick(kept)).append(" title='a>b' onclick=c>");
        break;
      case 2:
        out.markup.append("</").append(pick(kept)).append(">");
        break;
      case 3:
        out.markup.append("<").append(pick(unknown)).append(">");
        break;
      case 4:
        out.markup.append("</").append(pick(unknown)).append(">");
        break;
      case 5: {
        const std::string_view name = pick(with_content);
        out.markup.append("<").append(name).append(">");
        word(false);
        out.markup.append("</").append(name).append(">");
        break;
      }
      case 6:
        out.markup += "<!-- ";
        word(false);
        out.markup += " -->";
        break;
      default:
        word(true);
        break;
    }
  }
  return out;
}

std::vector<std::string> words_of(const std::string& clean) {
  std::string text;
  bool tag = false;
  for (const char c : clean) {
    if (c == '<') tag = true;
    text += tag ? ' ' : c;
    if (c == '>') tag = false;
  }
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

TEST(SanitiseCorpus, KeepsAllTextThatIsNotDroppedOnPurpose) {  // SECURITY S1
  for (std::uint64_t seed = 0; seed < 3000; seed += static_cast<unsigned>(stride())) {
    const WordyMarkup wordy = wordy_markup(seed);
    for (const bool xhtml : {false, true}) {
      SanitiseOptions options;
      options.xhtml = xhtml;
      ASSERT_EQ(words_of(sanitise(wordy.markup, options).html), wordy.words) << wordy.markup;
    }
  }
}

}  // namespace
}  // namespace feedmill::sanitise_corpus_test
