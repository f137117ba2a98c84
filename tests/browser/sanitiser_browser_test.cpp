// The sanitiser's output in a real browser (SECURITY S1, S4, S5, S7, S8, S14).
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>
#include <unordered_set>

#include <gtest/gtest.h>

#include "parsers/markup/sanitise.hpp"
#include "parsers/text/charset.hpp"
#include "parsers/text/strings.hpp"
#include "tests/browser/chromium.hpp"
#include "tests/browser/rendering.hpp"
#include "tests/browser/stored_texts.hpp"
#include "tests/browser/vectors.hpp"

namespace feedmill::test {

std::ostream& operator<<(std::ostream& out, const Finding& found) {
  return out << (found.rendered.policy == HtmlPolicy::classic ? "classic " : "strict ") << found.context << " "
             << found.kind << ": " << found.detail << "\n  vector: " << found.rendered.source
             << "\n  output: " << found.rendered.html;
}

namespace {

constexpr std::string_view base = "http://base.example/dir/page.html";

class InBrowser : public testing::Test {
 protected:
  void SetUp() override {
    if (!chromium.empty() && !dompurify.empty()) return;
    const char* missing = chromium.empty() ? "no Chromium" : "no DOMPurify";
    if (std::getenv("FEEDMILL_BROWSER_WANTED") != nullptr) {
      FAIL() << missing << ": scripts/install-packages --browser";
    }
    GTEST_SKIP() << missing << " here: scripts/install-packages --browser installs what this test needs";
  }

  const std::filesystem::path chromium = find_chromium(), dompurify = find_dompurify();
};

SanitiseOptions options_for(HtmlPolicy policy, bool xhtml) {
  SanitiseOptions options;
  options.policy = policy;
  options.xhtml = xhtml;
  if (!xhtml) options.base = base;
  return options;
}

// Sanitises vectors by both policies, as HTML and as XHTML, and returns outputs that have not been rendered before.
class Outputs {
 public:
  /// `vector(i)` for i < count; each as HTML and XHTML, or alternating between the two.
  Outputs(std::size_t count, bool as_both, std::function<std::string(std::size_t)> vector)
      : count_(count), as_both_(as_both), vector_(std::move(vector)) {}

  std::optional<Rendered> next() {
    for (; ready_.empty() && at_ < count_; ++at_) {
      const std::string vector = vector_(at_);
      if (as_both_ || at_ % 2 == 0) sanitise_by_both(vector, false);
      if (as_both_ || at_ % 2 == 1) sanitise_by_both(vector, true);
    }
    if (ready_.empty()) return std::nullopt;
    Rendered one = std::move(ready_.back());
    ready_.pop_back();
    return one;
  }

 private:
  void sanitise_by_both(const std::string& bytes, bool xhtml) {
    const std::string markup = decode_document(bytes, "text/html;charset=utf-8").text;
    for (const HtmlPolicy policy : {HtmlPolicy::strict, HtmlPolicy::classic}) {
      Rendered rendered{sanitise(markup, options_for(policy, xhtml)).html, policy, markup};
      if (seen_.insert((policy == HtmlPolicy::classic ? "c" : "s") + rendered.html).second) {
        ready_.push_back(std::move(rendered));
      }
    }
  }

  const std::size_t count_;
  const bool as_both_;
  const std::function<std::string(std::size_t)> vector_;
  std::size_t at_ = 0;
  std::vector<Rendered> ready_;
  std::unordered_set<std::string> seen_;
};

// Renders everything and expects no findings; shows the first of each kind.
void expect_clean(Rendering& rendering, std::size_t vectors) {
  EXPECT_NO_THROW(rendering.run());
  EXPECT_GT(rendering.outputs, vectors / 3);
  EXPECT_EQ(rendering.documents, 3 * rendering.outputs);
  EXPECT_TRUE(rendering.kinds.empty());
  std::map<std::string, int> shown;
  for (const Finding& found : rendering.findings) {
    if (++shown[found.kind + found.detail.substr(0, 24)] <= 2) ADD_FAILURE() << found;
  }
  const auto count = [&](std::initializer_list<const char*> kinds) {
    std::size_t sum = 0;
    for (const char* kind : kinds) sum += rendering.kinds[kind];
    return sum;
  };
  std::cout << "sanitiser in Chromium: " << vectors << " vectors, " << rendering.outputs << " different outputs, "
            << rendering.documents << " renderings (both policies; div, td, template): " << count({"execution"})
            << " scripts run, " << count({"element", "attribute", "node", "style", "url", "markers", "unfinished"})
            << " foreign nodes, attributes or URLs, " << count({"grammar"}) << " not well-formed, " << count({"purify"})
            << " removed by DOMPurify\n";
}

// Findings that the page must report for unsanitised markup, which proves that the check works.
struct RawCase {
  const char* markup;
  HtmlPolicy policy;
  std::set<std::string> kinds;
};
const RawCase raw_cases[] = {
    {"<script>alert(1)</script>", HtmlPolicy::strict, {"execution", "element", "purify"}},
    {"<script>top.alert(1)</script>", HtmlPolicy::classic, {"execution", "element", "purify"}},
    {"<script>window.quiet = 1</script>", HtmlPolicy::strict, {"execution", "element"}},
    {"<img src=x.png onload=alert(1)>", HtmlPolicy::strict, {"execution", "attribute", "purify"}},
    {"<img src=//[ onerror=alert(1)>", HtmlPolicy::classic, {"execution", "attribute", "purify"}},
    {"<svg onload=alert(1)></svg>", HtmlPolicy::strict, {"execution", "element"}},
    {"<noscript><!--</noscript><img src=//[ onerror=alert(1)>--></noscript>", HtmlPolicy::classic, {"execution"}},
    {"<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=//[ onerror=alert(1)&gt;\">",
     HtmlPolicy::strict,
     {"element", "grammar"}},
    {"<template><script>alert(1)</script></template>", HtmlPolicy::strict, {"element", "purify"}},
    {"<blink>x</blink>", HtmlPolicy::strict, {"element"}},
    {"<form></form>", HtmlPolicy::strict, {"element"}},
    {"<p class=\"x\">y</p>", HtmlPolicy::strict, {"attribute"}},
    {"<p href=\"http://base.example/\">y</p>", HtmlPolicy::strict, {"attribute"}},
    {"<p onclick=\"\">y</p>", HtmlPolicy::classic, {"attribute", "purify"}},
    {"<a href=\"javascript:alert(1)\">x</a>", HtmlPolicy::strict, {"url", "purify"}},
    {"<a href=\"jav&#9;ascript:alert(1)\">x</a>", HtmlPolicy::classic, {"url", "purify"}},
    {"<img src=\"data:image/png;base64,AA\" />", HtmlPolicy::strict, {"url"}},
    {"<img srcset=\"http://base.example/a 1x, data:x 2x\" />", HtmlPolicy::strict, {"url"}},
    {"<a href=\"http://u:p@base.example/\">x</a>", HtmlPolicy::strict, {"url"}},
    {"<a href=\"relative\">x</a>", HtmlPolicy::strict, {"url"}},
    {"<p style=\"background: url(x)\">y</p>", HtmlPolicy::classic, {"style"}},
    {"<p style=\"position: fixed\">y</p>", HtmlPolicy::classic, {"style"}},
    {"x<!-- y -->", HtmlPolicy::strict, {"node", "purify"}},
    {"x<!-- never ends", HtmlPolicy::classic, {"markers"}},
    {"<plaintext>", HtmlPolicy::strict, {"markers", "element"}},
    {"<p title=\"x", HtmlPolicy::strict, {"markers", "grammar"}},
    {"<b>x", HtmlPolicy::strict, {"grammar"}},
    {"<br>", HtmlPolicy::strict, {"grammar"}},
    {"<form><input name=\"attributes\"></form>", HtmlPolicy::classic, {"purify"}},
    {"<p>fine</p>", HtmlPolicy::strict, {}},
    {"<form><input name=\"x\"></form><!-- fine -->", HtmlPolicy::classic, {}},
};

TEST_F(InBrowser, ThePageDetectsUnsafeMarkup) {
  std::size_t at = 0;
  Rendering rendering(chromium, dompurify, [&]() -> std::optional<Rendered> {
    if (at == std::size(raw_cases)) return std::nullopt;
    const RawCase& raw = raw_cases[at++];
    return Rendered{raw.markup, raw.policy, raw.markup};
  });
  rendering.run();
  EXPECT_EQ(rendering.outputs, std::size(raw_cases));
  for (const RawCase& raw : raw_cases) {
    std::map<std::string, std::set<std::string>> contexts;  // by kind
    for (const Finding& found : rendering.findings) {
      if (found.rendered.html == raw.markup) contexts[found.kind].insert(found.context);
    }
    if (raw.kinds.empty()) {
      EXPECT_TRUE(contexts.empty()) << raw.markup;
    }
    for (const std::string& kind : raw.kinds) {
      const bool everywhere = kind != "purify" && kind != "grammar";
      const std::set<std::string> wanted =
          everywhere ? std::set<std::string>{"div", "td", "template"} : std::set<std::string>{""};
      EXPECT_EQ(contexts[kind], wanted) << raw.markup << " is not reported as " << kind;
    }
  }
}

std::vector<std::string> known_vectors() {
  std::vector<std::string> vectors = cheat_sheet_vectors();
  EXPECT_GT(vectors.size(), 500U);
  for (std::string& vector : systematic_vectors()) vectors.push_back(std::move(vector));
  return vectors;
}

TEST(Vectors, AreNotChangedBySanitisingAgain) {  // SECURITY S8, without a browser
  std::vector<std::string> vectors = known_vectors();
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) vectors.push_back(generated_vector(seed));
  for (const std::string& vector : vectors) {
    const std::string markup = decode_document(vector, "text/html;charset=utf-8").text;
    for (const HtmlPolicy policy : {HtmlPolicy::strict, HtmlPolicy::classic}) {
      for (const bool xhtml : {false, true}) {
        const SanitiseOptions options = options_for(policy, xhtml);
        const std::string once = sanitise(markup, options).html;
        EXPECT_EQ(sanitise(once, options).html, once) << vector;
      }
    }
  }
}

/// Stored fields, rendered as the README says: fields of an HTML type unchanged, all others escaped.
std::vector<Rendered> shown_texts() {
  std::vector<Rendered> shown;
  std::unordered_set<std::string> seen;
  for (const StoredText& text : stored_texts()) {
    const bool markup = text.type == "text/html" || text.type == "application/xhtml+xml";
    std::string html = text.value;
    if (!markup) {
      html.clear();
      for (const char c : text.value) html += html_reference(c).empty() ? std::string(1, c) : html_reference(c);
    }
    if (seen.insert(html).second)
      shown.push_back({std::move(html), HtmlPolicy::classic, text.field + ": " + text.source});
  }
  return shown;
}

TEST(Stored, TypesAreOfAClosedSet) {
  EXPECT_GE(declared_types().size(), 30U);
  const std::set<std::string> closed{"", "text/plain", "text/html", "application/xhtml+xml"};
  std::map<std::string, std::size_t> fields;
  for (const StoredText& text : stored_texts()) {
    ++fields[text.field];
    ASSERT_TRUE(closed.contains(text.type)) << text.field << " has the type " << text.type << ", " << text.source;
    if (text.type.empty() || text.type == "text/plain") continue;
    for (const char* bad : {"<script", "<svg", "<a href=\"javascript:"}) {
      ASSERT_EQ(text.value.find(bad), std::string::npos) << text.field << ": " << text.source << "\n" << text.value;
    }
  }
  for (const char* name :
       {"title", "summary", "content", "description", "media", "extensions", "categories", "generator"}) {
    EXPECT_GT(fields[name], 0U) << name << " is never there";
  }
}

TEST_F(InBrowser, NothingRunsInStoredTextOfAnyType) {
  const std::vector<Rendered> shown = shown_texts();
  std::size_t at = 0;
  Rendering rendering(chromium, dompurify, [&]() -> std::optional<Rendered> {
    if (at == shown.size()) return std::nullopt;
    return shown[at++];
  });
  expect_clean(rendering, shown.size());
}

TEST_F(InBrowser, NothingRunsAndNothingForeignIsInKnownVectors) {
  const std::vector<std::string> vectors = known_vectors();
  EXPECT_GT(vectors.size(), 5000U);
  Outputs outputs(vectors.size(), true, [&](std::size_t i) { return vectors[i]; });
  Rendering rendering(chromium, dompurify, [&] { return outputs.next(); });
  expect_clean(rendering, vectors.size());
}

TEST_F(InBrowser, NothingRunsAndNothingForeignIsInGeneratedVectors) {
  const char* wanted = std::getenv("FEEDMILL_BROWSER_VECTORS");
  const std::size_t count = wanted == nullptr ? 2000 : std::strtoul(wanted, nullptr, 10);
  Outputs outputs(count, false, [](std::size_t i) { return generated_vector(i); });
  Rendering rendering(chromium, dompurify, [&] { return outputs.next(); });
  expect_clean(rendering, count);
}

}  // namespace
}  // namespace feedmill::test
