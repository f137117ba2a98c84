// Hostile sizes (SECURITY §3, L1): what is deep, wide or long costs no more than it weighs and ends in an answer.
#include <cstdint>
#include <ctime>
#include <sys/syscall.h>

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include "parsers/document_json.hpp"
#include "parsers/read_feed.hpp"
#include "parsers/sanitise.hpp"
#include "parsers/text.hpp"

namespace feedmill {
namespace {

std::string repeat(std::string_view part, std::size_t times) {
  std::string out;
  out.reserve(part.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += part;
  return out;
}

const std::string head = "<rss version='2.0'><channel><item><title>first</title></item>";

TEST(Limits, AMillionNestedElementsKeepTheEntriesBefore) {
  const auto feed = read_feed(head + repeat("<a>", 1'000'000), {});
  ASSERT_TRUE(feed.has_value());
  EXPECT_EQ(feed.value().entries.size(), 1U);
  EXPECT_EQ(feed.value().bozo, Bozo::truncated);
}

TEST(Limits, AMillionSiblingsAreRead) {
  const auto feed = read_feed(head + repeat("<a/>", 900'000) + "</channel></rss>", {});
  ASSERT_TRUE(feed.has_value());
  EXPECT_EQ(feed.value().entries.size(), 1U);
}

TEST(Limits, TenThousandEntriesAreKept) {
  const auto feed = read_feed("<rss version='2.0'><channel>" + repeat("<item><title>x</title></item>", 12'000), {});
  EXPECT_EQ(feed.value().entries.size(), 10'000U);
}

TEST(Limits, TheNewestEntriesAreKept) {
  std::string document = "<rss version='2.0'><channel>";
  for (int i = 0; i < 13'000; ++i) {
    document += "<item><guid>" + std::to_string(i) + "</guid><pubDate>" + std::to_string(1'500'000'000 + i) +
                "</pubDate></item>";
  }
  const auto feed = read_feed(document + "</channel></rss>", {});
  ASSERT_EQ(feed.value().entries.size(), 10'000U);
  EXPECT_EQ(feed.value().entries.front().id, "3000");
  EXPECT_EQ(feed.value().entries.back().id, "12999");
}

TEST(Limits, DeepJsonKeepsWhatIsBesideIt) {
  const std::string deep = repeat("[", 100'000) + repeat("]", 100'000);
  const auto feed =
      read_feed("{\"version\":\"https://jsonfeed.org/version/1\",\"x\":" + deep + ",\"items\":[{\"id\":\"1\"}]}", {});
  ASSERT_TRUE(feed.has_value());
  EXPECT_EQ(feed.value().entries.size(), 1U);
}

struct ShapeCase {
  const char* name;
  std::string (*make)(std::size_t);
};

// Counts the instructions that this thread runs in user space; where the kernel does not allow that, its CPU time in
// microseconds, which the neighbours on a machine hardly touch.
class Effort {
 public:
  Effort() {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof(attributes);
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    counter_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
    if (counter_ >= 0 && spent() == 0) {  // virtual machines may have a counter that never counts
      close(counter_);
      counter_ = -1;
    }
  }
  ~Effort() {
    if (counter_ >= 0) close(counter_);
  }
  Effort(const Effort&) = delete;
  Effort& operator=(const Effort&) = delete;

  bool exact() const { return counter_ >= 0; }
  double spent() const {
    std::uint64_t count = 0;
    if (exact() && ::read(counter_, &count, sizeof(count)) == sizeof(count)) return static_cast<double>(count);
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
  }

 private:
  int counter_ = -1;
};

// Shapes that make careless readers quadratic: ten times the size may cost at most twelve times as much (and three
// times more where only a clock is at hand, for clocks on shared machines are no instruments).
class Shapes : public testing::TestWithParam<ShapeCase> {};

double cost(const std::string& document) {
  const Effort effort;
  double least = 0;
  for (int round = 0; round < (effort.exact() ? 1 : 5); ++round) {
    const double before = effort.spent();
    const auto feed = read_feed(document, {});
    if (feed.has_value()) document_json(feed.value());
    sanitise(document, {});
    plain_text(document);
    looks_like_html(document);
    const double spent = effort.spent() - before;
    if (round == 0 || spent < least) least = spent;
  }
  return least;
}

TEST_P(Shapes, CostInProportionToTheirSize) {
  cost(GetParam().make(1'000));  // tables are built at their first use
  const double small = cost(GetParam().make(20'000));
  const double large = cost(GetParam().make(200'000));
  EXPECT_LE(large, (Effort().exact() ? 12 : 36) * small);
}

std::string in_item(const std::string& content) {
  return head + "<item><description>" + content;
}

INSTANTIATE_TEST_SUITE_P(
    All, Shapes,
    testing::Values(
        ShapeCase{"OpenTags", [](std::size_t n) { return in_item(repeat("<b>", n)); }},
        ShapeCase{"CloseTags", [](std::size_t n) { return in_item(repeat("</b>", n)); }},
        ShapeCase{"OpenComments", [](std::size_t n) { return in_item(repeat("<!--", n)); }},
        ShapeCase{"OpenCdata", [](std::size_t n) { return in_item(repeat("<![CDATA[", n)); }},
        ShapeCase{"OpenInstructions", [](std::size_t n) { return in_item(repeat("<?x ", n)); }},
        ShapeCase{"OpenDeclarations", [](std::size_t n) { return in_item(repeat("<!x ", n)); }},
        ShapeCase{"OpenQuotes", [](std::size_t n) { return in_item(repeat("<a b='", n)); }},
        ShapeCase{"OpenScripts", [](std::size_t n) { return in_item(repeat("<script>", n)); }},
        ShapeCase{"OpenSvg", [](std::size_t n) { return in_item(repeat("<svg>", n)); }},
        ShapeCase{"LessThan", [](std::size_t n) { return in_item(repeat("<", n)); }},
        ShapeCase{"Ampersands", [](std::size_t n) { return in_item(repeat("&", n)); }},
        ShapeCase{"Entities", [](std::size_t n) { return in_item(repeat("&unknown;", n)); }},
        ShapeCase{"Attributes", [](std::size_t n) { return in_item("<a " + repeat("b=c ", n)); }},
        ShapeCase{"Namespaces", [](std::size_t n) { return in_item(repeat("<x:y/>", n)); }},
        ShapeCase{"Declarations", [](std::size_t n) { return in_item(repeat("<a xmlns:x='u'>", n)); }},
        ShapeCase{"Categories", [](std::size_t n) { return head + "<item>" + repeat("<category>x</category>", n); }},
        ShapeCase{"Links", [](std::size_t n) { return head + "<item>" + repeat("<link>http://a/</link>", n); }},
        ShapeCase{"Extensions", [](std::size_t n) { return head + repeat("<z:a b='c'/>", n); }},
        ShapeCase{"Enclosures", [](std::size_t n) { return head + "<item>" + repeat("<enclosure url='/a'/>", n); }},
        ShapeCase{"Items", [](std::size_t n) { return head + repeat("<item>", n); }},
        ShapeCase{"Roots", [](std::size_t n) { return repeat("<rss>", n); }},
        ShapeCase{"Paragraphs", [](std::size_t n) { return in_item(repeat("&lt;p&gt;", n)); }},
        ShapeCase{"Cells", [](std::size_t n) { return in_item(repeat("&lt;td&gt;", n)); }},
        ShapeCase{"Crossed", [](std::size_t n) { return in_item(repeat("<b><i></b></i>", n)); }},
        ShapeCase{"CarriageReturns", [](std::size_t n) { return in_item(repeat("x\r\n", n)); }},
        ShapeCase{"Controls", [](std::size_t n) { return in_item(repeat("x\x01", n)); }},
        ShapeCase{"BrokenUtf8", [](std::size_t n) { return in_item(repeat("\xC3\xA9\xFF", n)); }},
        ShapeCase{"Srcset", [](std::size_t n) { return in_item("<img srcset='" + repeat("a 1x,", n) + "'>"); }},
        ShapeCase{"Styles", [](std::size_t n) { return in_item("<p style='" + repeat("a:b;", n) + "'>"); }},
        ShapeCase{"Dots", [](std::size_t n) { return head + "<item><link>" + repeat("/..", n) + "</link>"; }},
        ShapeCase{"AtSigns", [](std::size_t n) { return head + "<item><author>" + repeat("a@", n) + "</author>"; }},
        ShapeCase{"Brackets", [](std::size_t n) { return "{\"items\":[" + repeat("[", n); }},
        ShapeCase{"JsonKeys", [](std::size_t n) { return "{\"items\":[{" + repeat("\"a\":1,", n); }},
        ShapeCase{"Backslashes", [](std::size_t n) { return "{\"items\":[\"" + repeat("\\", n); }}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace feedmill
