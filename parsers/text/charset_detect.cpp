#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "parsers/text/charset.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_examined = std::size_t{256} << 10;

using Byte = unsigned char;

// How well bytes fit a double-byte encoding: `pairs` well-formed characters, `common` of them from its everyday rows.
struct PairScore {
  std::size_t pairs = 0, common = 0, bad = 0;
};

struct PairEncoding {
  std::string_view label;
  bool (*lead)(Byte);
  bool (*trail)(Byte);
  bool (*common)(Byte lead, Byte trail);
};

constexpr bool in(Byte c, int low, int high) {
  return c >= low && c <= high;
}

constexpr PairEncoding pair_encodings[] = {
    // Hangul syllables
    {"euc-kr", [](Byte c) { return in(c, 0xA1, 0xFE); }, [](Byte c) { return in(c, 0xA1, 0xFE); },
     [](Byte lead, Byte) { return in(lead, 0xB0, 0xC8); }},
    // kana; the text also contains kanji of level 1
    {"euc-jp", [](Byte c) { return in(c, 0xA1, 0xFE) || c == 0x8E; }, [](Byte c) { return in(c, 0xA1, 0xFE); },
     [](Byte lead, Byte) { return lead == 0xA4 || lead == 0xA5; }},
    // hanzi of level 1
    {"gb18030", [](Byte c) { return in(c, 0x81, 0xFE); }, [](Byte c) { return in(c, 0x40, 0xFE) && c != 0x7F; },
     [](Byte lead, Byte trail) { return in(lead, 0xB0, 0xD7) && in(trail, 0xA1, 0xFE); }},
    {"big5", [](Byte c) { return in(c, 0x81, 0xFE); }, [](Byte c) { return in(c, 0x40, 0x7E) || in(c, 0xA1, 0xFE); },
     [](Byte lead, Byte) { return in(lead, 0xA4, 0xC6); }},
    {"shift_jis", [](Byte c) { return in(c, 0x81, 0x9F) || in(c, 0xE0, 0xFC); },
     [](Byte c) { return in(c, 0x40, 0xFC) && c != 0x7F; },
     [](Byte lead, Byte trail) { return (lead == 0x82 && trail >= 0x9F) || (lead == 0x83 && trail <= 0x96); }},
};

PairScore score(const PairEncoding& encoding, std::string_view bytes) {
  PairScore result;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto c = static_cast<Byte>(bytes[i]);
    if (c < 0x80) continue;
    if (encoding.label == "shift_jis" && in(c, 0xA1, 0xDF)) continue;  // halfwidth kana: one byte
    if (!encoding.lead(c) || i + 1 >= bytes.size() || !encoding.trail(static_cast<Byte>(bytes[i + 1]))) {
      ++result.bad;
      continue;
    }
    ++result.pairs;
    if (encoding.common(c, static_cast<Byte>(bytes[i + 1]))) ++result.common;
    ++i;
  }
  return result;
}

struct Likely {
  std::string_view label;  ///< "" if none is likely
  double share = 0;        ///< share of everyday characters in the text
};

// The best double-byte encoding.
Likely detect_pairs(std::string_view bytes, std::size_t high) {
  std::string_view best;
  double best_share = 0;
  for (const PairEncoding& encoding : pair_encodings) {
    const PairScore found = score(encoding, bytes);
    if (found.pairs < 2 || found.bad * 20 > found.pairs || found.pairs * 3 < high) continue;
    double share = static_cast<double>(found.common) / static_cast<double>(found.pairs);
    if (encoding.label == "euc-jp" || encoding.label == "shift_jis") share *= 2;  // kana never occurs alone
    if (encoding.label == "euc-kr") share *= 1.02;
    if (share > best_share) {
      best_share = share;
      best = encoding.label;
    }
  }
  return best_share > 0.6 ? Likely{best, best_share} : Likely{};
}

// A single-byte encoding, and the class of each byte from 0x80 to 0xFF: l(ower) and u(pper) letters, 'p' common
// punctuation, '.' rare or unassigned; in rows of sixteen.
struct ByteEncoding {
  std::string_view label;
  std::string_view classes;
  std::string_view frequent;  ///< the encoding's most frequent letters, as bytes
};

constexpr ByteEncoding byte_encodings[] = {
    {"windows-1251",
     "..p.ppp.......u."
     ".pppppppp......l"
     "...............u"
     ".......lp......l"
     "uuuuuuuuuuuuuuuu"
     "uuuuuuuuuuuuuuuu"
     "llllllllllllllll"
     "llllllllllllllll",
     "\xEE\xE5\xE0\xE8\xED\xF2\xF1\xF0\xE2\xEB\xEA\xEC\xE4\xEF\xF3"},
    {"koi8-r",
     "................"
     "................"
     "...l............"
     "...u............"
     "llllllllllllllll"
     "llllllllllllllll"
     "uuuuuuuuuuuuuuuu"
     "uuuuuuuuuuuuuuuu",
     "\xCF\xC5\xC1\xC9\xCE\xD4\xD3\xD2\xD7\xCC\xCB\xCD\xC4\xD0\xD5"},
    {"windows-1255",
     "..p.ppp........."
     ".pppppppp......."
     "................"
     "................"
     "................"
     "................"
     "llllllllllllllll"
     "lllllllllll.....",
     "\xE5\xE9\xE4\xEC\xE0\xF8\xF9\xFA\xEE\xE1\xF0\xF2\xE7\xE3"},
    {"windows-1253",
     "..p.ppp........."
     ".pppppppp......."
     ".pu............."
     "........uuup.pu."
     "luuuuuuuuuuuuuuu"
     "uu.uuuuuuullllll"
     "llllllllllllllll"
     "lllllllllllllll.",
     "\xE1\xEF\xE9\xF4\xE5\xED\xF3\xF2\xF1\xF0\xF5\xEC\xEB\xEA\xDF"},
    {"windows-1256",
     "..p.ppp........."
     ".pppppppp......."
     ".p............."
     ".........p....p"
     "..llllllllllllll"
     "lllllll.llllllll"
     ".l.l.ll........."
     "................",
     "\xC7\xE1\xED\xE3\xE6\xE4\xD1\xCA\xC8\xC9\xDA\xCF\xD3\xE5\xDD"},
    {"tis-620",
     "................"
     "................"
     ".lllllllllllllll"
     "llllllllllllllll"
     "llllllllllllllll"
     "lllllllllll....."
     "llllllllllllllll"
     "llllllllllll....",
     "\xD2\xB9\xC3\xE0\xCD\xA1\xE8\xC7\xE9\xC1\xA7\xC2\xB5\xCA\xB7\xD5\xD1"},
};

// Whether there are capitals, accents or letters from 0xFB on: Russian and Greek texts of more than a few words contain
// some, Hebrew ones never do.
bool has_capitals(std::string_view bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<Byte>(c);
    return in(byte, 0xC0, 0xDF) || byte >= 0xFB;
  });
}

double score(const ByteEncoding& encoding, std::string_view bytes) {
  double points = 0;
  std::size_t high = 0;
  char before = ' ';
  for (const char raw : bytes) {
    const auto c = static_cast<Byte>(raw);
    if (c < 0x80) {
      before = is_alpha(raw) ? 'a' : ' ';
      continue;
    }
    ++high;
    const std::size_t index = c - 0x80U;
    const char kind = index < encoding.classes.size() ? encoding.classes[index] : '.';
    if (kind == 'l' || kind == 'u') {
      points += encoding.frequent.find(raw) != std::string_view::npos ? 1.0 : 0.3;
      if (before == 'a') points -= 1.5;                 // letters of two scripts in a word
      if (kind == 'u' && before == 'l') points -= 0.8;  // a capital inside a word
    } else if (kind == '.') {
      points -= 1.0;
    }
    before = kind;
  }
  const bool capitals = encoding.label == "windows-1251" || encoding.label == "windows-1253";
  if (capitals && !has_capitals(bytes)) points -= 0.4 * static_cast<double>(high);
  return high == 0 ? 0 : points / static_cast<double>(high);
}

// Distinguishes the Latin code pages by letters that are frequent in central European languages or in Turkish.
std::string_view detect_latin(std::string_view bytes) {
  std::array<std::size_t, 256> count{};
  for (const char c : bytes) ++count[static_cast<Byte>(c)];
  const auto sum = [&](std::string_view set) {
    std::size_t total = 0;
    for (const char c : set) total += count[static_cast<Byte>(c)];
    return total;
  };
  const std::size_t central = sum("\xB9\x9C\x9F\xBF\xB3\xEA\xE6\xF1\x9A\x9E\xE8\xF8\xEC\xF9\xEF\x9D\xF2\xF5\xFB");
  const std::size_t western = sum("\xE9\xE8\xE0\xEA\xE7\xE4\xF6\xFC\xDF\xF1\xE5\xE6\xF8\xE3\xF5\xF4\xEE\xEF\xFB\xF9");
  // Polish, Czech, Slovak, Croatian: letters at the bytes of windows-1252's signs, plus s and z with caron, which are
  // rare elsewhere.
  const std::size_t only_central = sum("\xB9\x9C\x9F\xB3\x9D\x9A\x9E\x8A\x8E");
  const std::size_t turkish = sum("\xFD\xFE\xF0\xDD\xDE\xD0");
  // Hungarian: long umlauts and acutes without the letters that accompany these in Portuguese or French.
  const bool hungarian = sum("\xF5\xFB") > 0 && sum("\xE1") > 0 && sum("\xE3\xE7\xEA\xE0\xE8") == 0;
  if (turkish * 3 > western && turkish > only_central) return "windows-1254";
  if ((only_central * 6 > western && central * 2 > western) || hungarian) return "windows-1250";
  return "windows-1252";
}

// The document's text without its tags, which would otherwise count as words.
std::string text_of(std::string_view bytes) {
  std::string out;
  bool in_tag = false;
  for (const char c : bytes.substr(0, max_examined)) {
    if (c == '<') in_tag = true;
    if (!in_tag) out += c;
    if (c == '>') in_tag = false;
  }
  return out;
}

}  // namespace

std::string_view detect_charset(std::string_view bytes) {
  const std::string text = text_of(bytes);
  std::size_t high = 0;
  for (const char c : text) high += is_ascii(c) ? 0 : 1;
  if (high == 0) return "windows-1252";
  const Likely pairs = detect_pairs(text, high);
  // Runs of Thai with an even length look like rare Chinese characters.
  const ByteEncoding& thai = byte_encodings[std::size(byte_encodings) - 1];
  if (!pairs.label.empty() && (pairs.share > 0.85 || score(thai, text) < 0.65)) return pairs.label;
  std::string_view best;
  double best_score = 0.45;
  for (const ByteEncoding& encoding : byte_encodings) {
    const double points = score(encoding, text);
    if (points > best_score) {
      best_score = points;
      best = encoding.label;
    }
  }
  return best.empty() ? detect_latin(text) : best;
}

std::string hz_to_gb2312(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  bool pairs = false;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char c = bytes[at];
    const char next = at + 1 < bytes.size() ? bytes[at + 1] : '\0';
    if (c == '\n') pairs = false;
    if (c == '~' && (next == '{' || next == '}')) {
      pairs = next == '{';
      ++at;
    } else if (c == '~' && !pairs && (next == '~' || next == '\n')) {
      if (next == '~') out += '~';
      ++at;
    } else if (pairs && c > ' ' && next > ' ') {
      out += static_cast<char>(static_cast<unsigned char>(c) | 0x80U);
      out += static_cast<char>(static_cast<unsigned char>(next) | 0x80U);
      ++at;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace feedmill
