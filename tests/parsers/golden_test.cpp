// Whole documents: reading tests/data/<format>/<case>.xml (or .json.in) must give <case>.json, compared as JSON values.
// A document that needs hints has them in comments at its top: "url: …". FEEDMILL_UPDATE_GOLDEN=1 rewrites the expected
// files, for review in the diff.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "parsers/feed/document_json.hpp"
#include "parsers/feed/read_feed.hpp"

namespace feedmill::golden_test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> documents() {
  std::vector<fs::path> found;
  for (const auto& file : fs::recursive_directory_iterator(FEEDMILL_TEST_DATA)) {
    if (file.path().string().find("/polls/") != std::string::npos) continue;  // read in sequence by other tests
    if (file.path().extension() == ".xml" || file.path().extension() == ".in") found.push_back(file.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string slurp(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string hint(const std::string& document, const std::string& name) {
  const std::size_t at = document.find(name + ": ");
  if (at > 400) return {};  // or npos
  const std::size_t start = at + name.size() + 2;
  return document.substr(start, document.find_first_of("\" \n", start) - start);
}

class Golden : public testing::TestWithParam<fs::path> {};

TEST_P(Golden, IsReadAsExpected) {
  const std::string document = slurp(GetParam());
  const std::string url = hint(document, "url");
  DocumentHints hints;
  hints.url = url;
  const auto feed = read_feed(document, hints);
  ASSERT_TRUE(feed.has_value()) << feed.error().detail;
  const std::string json = document_json(feed.value());
  fs::path expected = GetParam();
  expected.replace_extension(".json");
  if (std::getenv("FEEDMILL_UPDATE_GOLDEN") != nullptr) std::ofstream(expected) << json << '\n';
  EXPECT_EQ(boost::json::parse(json), boost::json::parse(slurp(expected)));
}

INSTANTIATE_TEST_SUITE_P(All, Golden, testing::ValuesIn(documents()), [](const auto& test) {
  std::string name = test.param.parent_path().filename().string() + "_" + test.param.stem().string();
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
});

}  // namespace
}  // namespace feedmill::golden_test
