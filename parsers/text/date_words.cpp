#include "parsers/text/date_words.hpp"

#include <algorithm>
#include <string>

#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

struct Month {
  std::string_view name;
  int number;
};

// Lower case; longer names are matched by their beginning when they have at least the letters given here.
// Languages: English, French, German, Spanish, Italian, Portuguese, Dutch, Nordic, Polish, Czech, Hungarian, Greek,
// Russian, Turkish.
constexpr Month months[] = {
    {"jan", 1},  {"feb", 2},   {"mar", 3},  {"apr", 4},   {"may", 5},   {"jun", 6},     {"jul", 7},   {"aug", 8},
    {"sep", 9},  {"oct", 10},  {"nov", 11}, {"dec", 12},  {"janv", 1},  {"fév", 2},     {"fev", 2},   {"mars", 3},
    {"avr", 4},  {"mai", 5},   {"juin", 6}, {"jui", 6},   {"juil", 7},  {"août", 8},    {"aoû", 8},   {"aou", 8},
    {"déc", 12}, {"jän", 1},   {"mär", 3},  {"mrz", 3},   {"okt", 10},  {"dez", 12},    {"ene", 1},   {"abr", 4},
    {"ago", 8},  {"dic", 12},  {"gen", 1},  {"mag", 5},   {"giu", 6},   {"lug", 7},     {"set", 9},   {"ott", 10},
    {"out", 10}, {"maj", 5},   {"maa", 3},  {"mei", 5},   {"des", 12},  {"ianu", 1},    {"sty", 1},   {"lut", 2},
    {"kwi", 4},  {"cze", 6},   {"lip", 7},  {"sie", 8},   {"wrz", 9},   {"paź", 10},    {"lis", 11},  {"gru", 12},
    {"led", 1},  {"únor", 2},  {"úno", 2},  {"bře", 3},   {"dub", 4},   {"kvě", 5},     {"čer", 6},   {"srp", 8},
    {"zář", 9},  {"říj", 10},  {"pro", 12}, {"márc", 3},  {"már", 3},   {"ápr", 4},     {"máj", 5},   {"jún", 6},
    {"júl", 7},  {"szept", 9}, {"sze", 9},  {"ιαν", 1},   {"φεβ", 2},   {"μάώ", 3},     {"μαώ", 3},   {"μάρ", 3},
    {"μαρ", 3},  {"απρ", 4},   {"μάι", 5},  {"μαϊ", 5},   {"μαι", 5},   {"μάϊ", 5},     {"ιούν", 6},  {"ιον", 6},
    {"ιουν", 6}, {"ιούλ", 7},  {"ιολ", 7},  {"ιουλ", 7},  {"αύγ", 8},   {"αυγ", 8},     {"σεπ", 9},   {"οκτ", 10},
    {"νοέ", 11}, {"νοε", 11},  {"νον", 11}, {"δεκ", 12},  {"янв", 1},   {"фев", 2},     {"мар", 3},   {"апр", 4},
    {"май", 5},  {"мая", 5},   {"июн", 6},  {"июл", 7},   {"авг", 8},   {"сен", 9},     {"окт", 10},  {"ноя", 11},
    {"дек", 12}, {"oca", 1},   {"şub", 2},  {"nis", 4},   {"haz", 6},   {"tem", 7},     {"ağu", 8},   {"eyl", 9},
    {"eki", 10}, {"kas", 11},  {"ara", 12}, {"tammi", 1}, {"helmi", 2}, {"maalis", 3},  {"huhti", 4}, {"touko", 5},
    {"kesä", 6}, {"heinä", 7}, {"elo", 8},  {"syys", 9},  {"loka", 10}, {"marras", 11}, {"joulu", 12}};

struct Zone {
  std::string_view name;
  int minutes;
};

constexpr Zone zones[] = {{"ut", 0},
                          {"utc", 0},
                          {"gmt", 0},
                          {"wet", 0},
                          {"z", 0},
                          {"zulu", 0},
                          {"adt", -180},
                          {"ast", -240},
                          {"at", -240},
                          {"edt", -240},
                          {"est", -300},
                          {"et", -300},
                          {"cdt", -300},
                          {"cst", -360},
                          {"ct", -360},
                          {"mdt", -360},
                          {"mst", -420},
                          {"mt", -420},
                          {"pdt", -420},
                          {"pst", -480},
                          {"pt", -480},
                          {"akdt", -480},
                          {"akst", -540},
                          {"hst", -600},
                          {"hdt", -540},
                          {"nst", -210},
                          {"ndt", -150},
                          {"brt", -180},
                          {"art", -180},
                          {"clt", -240},
                          {"bst", 60},
                          {"ist", 330},
                          {"west", 60},
                          {"cet", 60},
                          {"met", 60},
                          {"mez", 60},
                          {"cest", 120},
                          {"mest", 120},
                          {"mesz", 120},
                          {"eet", 120},
                          {"sast", 120},
                          {"cat", 120},
                          {"eest", 180},
                          {"msk", 180},
                          {"msd", 240},
                          {"trt", 180},
                          {"eat", 180},
                          {"gst", 240},
                          {"pkt", 300},
                          {"ict", 420},
                          {"wib", 420},
                          {"hkt", 480},
                          {"sgt", 480},
                          {"awst", 480},
                          {"jst", 540},
                          {"kst", 540},
                          {"acst", 570},
                          {"acdt", 630},
                          {"aest", 600},
                          {"aedt", 660},
                          {"nzst", 720},
                          {"nzdt", 780},
                          {"europe/brussels", 60},
                          {"europe/paris", 60},
                          {"europe/berlin", 60},
                          {"europe/london", 0},
                          {"america/los_angeles", -480},
                          {"america/new_york", -300}};

constexpr std::string_view weekdays[] = {
    "mon", "tue", "wed", "thu", "fri", "sat", "sun", "lun", "mar", "mer", "mié", "mie",  "jeu", "jue",
    "gio", "ven", "vie", "sam", "sáb", "sab", "dim", "dom", "mo",  "di",  "mi",  "do",   "fr",  "sa",
    "so",  "die", "don", "fre", "sön", "søn", "lør", "lör", "tor", "ons", "tis", "tirs", "man", "mån",
    "пн",  "вт",  "ср",  "чт",  "пт",  "сб",  "вс",  "пон", "вто", "сре", "чет", "пят",  "суб", "вос",
    "κυρ", "δευ", "τρι", "τετ", "πεμ", "παρ", "σαβ", "mit", "seg", "ter", "qua", "qui",  "sex"};

// The place of an English abbreviation, three letters each, that `word` begins with; -1 when it begins with none.
int english(std::string_view word, std::string_view abbreviations) {
  if (word.size() < 3 || word.size() > 9) return -1;
  for (std::size_t at = 0; at < abbreviations.size(); at += 3) {
    if (iequals(word.substr(0, 3), abbreviations.substr(at, 3))) return static_cast<int>(at / 3);
  }
  return -1;
}

// Lower case for the letters that names above may begin with in capitals: Latin-1, Greek, Cyrillic.
std::string lower_word(std::string_view word) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const auto c = static_cast<unsigned char>(word[i]);
    const auto next = i + 1 < word.size() ? static_cast<unsigned char>(word[i + 1]) : 0U;
    if (c < 0x80) {
      out += to_lower(word[i]);
      continue;
    }
    std::uint32_t code = 0;
    if (c >= 0xC2 && c < 0xE0 && next >= 0x80) {
      code = ((c & 0x1FU) << 6) | (next & 0x3FU);
      if ((code >= 0xC0 && code <= 0xDE && code != 0xD7) || (code >= 0x391 && code <= 0x3A9) ||
          (code >= 0x410 && code <= 0x42F)) {
        code += 32;
      }
      append_utf8(out, code);
      ++i;
    } else {
      out += word[i];
    }
  }
  return out;
}

}  // namespace

int month_of(std::string_view word) {
  // By far the most frequent; "mar" and others begin names in other languages too, with the same meaning.
  if (word.size() == 3) {
    if (const int place = english(word, "janfebmaraprmayjunjulaugsepoctnovdec"); place >= 0) return place + 1;
  }
  const std::string name = lower_word(word);
  int number = 0;
  std::size_t longest = 0;
  for (const Month& month : months) {
    if (month.name.size() > longest && name.starts_with(month.name)) {
      longest = month.name.size();
      number = month.number;
    }
  }
  return number;
}

std::optional<int> zone_of(std::string_view word) {
  if (word.size() == 1 && is_alpha(word[0])) {  // RFC 822 §5.1, with its signs
    const char letter = to_lower(word[0]);
    if (letter == 'z') return 0;
    if (letter == 'j') return std::nullopt;
    if (letter >= 'n') return (letter - 'n' + 1) * 60;
    return -(letter - 'a' + (letter < 'j' ? 1 : 0)) * 60;
  }
  const auto* zone = std::find_if(std::begin(zones), std::end(zones),
                                  [&](const Zone& candidate) { return iequals(candidate.name, word); });
  if (zone == std::end(zones)) return std::nullopt;
  return zone->minutes;
}

bool is_weekday(std::string_view word) {
  if (english(word, "montuewedthufrisatsun") >= 0) return true;
  if (word.size() == 3 && english(word, "janfebaprmayjunjulaugsepoctnovdec") >= 0) return false;
  const std::string name = lower_word(word);
  return std::any_of(std::begin(weekdays), std::end(weekdays),
                     [&](std::string_view day) { return name.starts_with(day) && (day.size() > 2 || name == day); });
}

}  // namespace feedmill
