#include "parsers/text/date_words.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <string>

#include <date/tz.h>

#include "parsers/text/date_word_table.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

struct Month {
  std::string_view name;
  int number;
};

// Words that begin like this are months, if the table (scripts/date-words) lacks the whole word. Languages: English,
// French, German, Spanish, Italian, Portuguese, Dutch, Nordic, Polish, Czech, Hungarian, Greek, Russian, Turkish.
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

// An abbreviation that several countries use means the zone that is most common in feeds.
constexpr Zone zones[] = {
    {"gmt", 0},     {"utc", 0},     {"ut", 0},      {"z", 0},      {"est", -300},  {"edt", -240},  {"pst", -480},
    {"pdt", -420},  {"cst", -360},  {"cdt", -300},  {"cet", 60},   {"cest", 120},  {"bst", 60},    {"acdt", 630},
    {"acst", 570},  {"acwst", 525}, {"adt", -180},  {"aedt", 660}, {"aest", 600},  {"aft", 270},   {"akdt", -480},
    {"akst", -540}, {"amt", -240},  {"art", -180},  {"ast", -240}, {"at", -240},   {"awst", 480},  {"azost", 0},
    {"azot", -60},  {"azt", 240},   {"bdt", 360},   {"bot", -240}, {"brst", -120}, {"brt", -180},  {"btt", 360},
    {"cat", 120},   {"chadt", 825}, {"chast", 765}, {"chst", 600}, {"clst", -180}, {"clt", -240},  {"cot", -300},
    {"ct", -360},   {"cvt", -60},   {"eat", 180},   {"ect", -300}, {"eest", 180},  {"eet", 120},   {"et", -300},
    {"fet", 180},   {"fjt", 720},   {"get", 240},   {"gft", -180}, {"gst", 240},   {"gyt", -240},  {"haa", -180},
    {"hac", -300},  {"hadt", -540}, {"hae", -240},  {"hap", -420}, {"har", -360},  {"hast", -600}, {"hdt", -540},
    {"hkt", 480},   {"hna", -240},  {"hnc", -360},  {"hne", -300}, {"hnp", -480},  {"hnr", -420},  {"hst", -600},
    {"ict", 420},   {"idt", 180},   {"irdt", 270},  {"irkt", 480}, {"irst", 210},  {"ist", 330},   {"jst", 540},
    {"kgt", 360},   {"krat", 420},  {"kst", 540},   {"lhst", 630}, {"magt", 660},  {"mdt", -360},  {"mest", 120},
    {"mesz", 120},  {"met", 60},    {"mez", 60},    {"mmt", 390},  {"msd", 240},   {"msk", 180},   {"mst", -420},
    {"mt", -420},   {"mvt", 300},   {"myt", 480},   {"nct", 660},  {"ndt", -150},  {"novt", 420},  {"npt", 345},
    {"nst", -210},  {"nzdt", 780},  {"nzst", 720},  {"oesz", 180}, {"oez", 120},   {"omst", 360},  {"pet", -300},
    {"pett", 720},  {"pgt", 600},   {"phst", 480},  {"pht", 480},  {"pkt", 300},   {"pt", -480},   {"pyt", -180},
    {"samt", 240},  {"sast", 120},  {"sbt", 660},   {"sgt", 480},  {"slst", 330},  {"srt", -180},  {"sst", -660},
    {"tjt", 300},   {"tlt", 540},   {"tmt", 300},   {"tot", 780},  {"trt", 180},   {"ulat", 480},  {"uyt", -180},
    {"uzt", 300},   {"vet", -240},  {"vlat", 600},  {"vut", 660},  {"wast", 120},  {"wat", 60},    {"west", 60},
    {"wesz", 60},   {"wet", 0},     {"wez", 0},     {"wgt", -120}, {"wib", 420},   {"wit", 540},   {"wita", 480},
    {"yakt", 540},  {"yekt", 300},  {"zulu", 0}};

struct Weekday {
  std::string_view beginning;
  int number;  // 1: Monday
};

// Words that begin like this are weekdays, if the table lacks the whole word.
constexpr Weekday weekdays[] = {{"mon", 1}, {"tue", 2}, {"wed", 3}, {"thu", 4}, {"fri", 5},  {"sat", 6}, {"sun", 7},
                                {"lun", 1}, {"mar", 2}, {"mer", 3}, {"mié", 3}, {"mie", 3},  {"jeu", 4}, {"jue", 4},
                                {"gio", 4}, {"ven", 5}, {"vie", 5}, {"sam", 6}, {"sáb", 6},  {"sab", 6}, {"dim", 7},
                                {"dom", 7}, {"die", 2}, {"don", 4}, {"fre", 5}, {"sön", 7},  {"søn", 7}, {"lør", 6},
                                {"lör", 6}, {"tor", 4}, {"ons", 3}, {"tis", 2}, {"tirs", 2}, {"man", 1}, {"mån", 1},
                                {"пон", 1}, {"вто", 2}, {"сре", 3}, {"чет", 4}, {"пят", 5},  {"суб", 6}, {"вос", 7},
                                {"κυρ", 7}, {"δευ", 1}, {"τρι", 2}, {"τετ", 3}, {"πεμ", 4},  {"παρ", 5}, {"σαβ", 6},
                                {"mit", 3}, {"seg", 1}, {"ter", 2}, {"qua", 3}, {"qui", 4},  {"sex", 5}, {"thur", 4}};

// The position, from 1, of a three-letter word in a list of three-letter words; 0 if absent.
int place_in(std::string_view list, std::string_view word) {
  for (std::size_t at = 0; at < list.size(); at += 3) {
    if (list[at] == word[0] && list[at + 1] == word[1] && list[at + 2] == word[2]) return static_cast<int>(at / 3) + 1;
  }
  return 0;
}

// Whether a letter's script writes words without spaces between them (Thai, Lao, Burmese, Khmer, and everything from
// U+3000 on). Examines the first two bytes of the letter.
bool is_without_spaces(std::string_view letter) {
  const auto lead = static_cast<unsigned char>(letter[0]);
  const auto next = letter.size() > 1 ? static_cast<unsigned char>(letter[1]) : 0U;
  return lead >= 0xE3 || (lead == 0xE0 && next >= 0xB8 && next <= 0xBB) ||
         (lead == 0xE1 && (next <= 0x82 || next == 0x9E || next == 0x9F));
}

bool is_letter(char c) {
  return is_alpha(c) || !is_ascii(c);
}

std::size_t start_of_last(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
  return at;
}

// Whether a word may end at `length`: not inside a character, a number, or a word of a script with spaces.
bool may_end(std::string_view text, std::size_t length) {
  if (length == text.size()) return true;
  const char next = text[length];
  if ((static_cast<unsigned char>(next) & 0xC0U) == 0x80U) return false;
  if (is_digit(next)) return !is_digit(text[length - 1]);
  if (!is_letter(next) || !is_letter(text[length - 1])) return true;
  if (is_ascii(text[length - 1]) && static_cast<unsigned char>(next) >= 0xE0) return true;  // "pm" before Telugu
  return is_without_spaces(text.substr(start_of_last(text.substr(0, length))));
}

std::size_t common_length(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

// Other words in dates and times, which CLDR's patterns lack.
constexpr std::string_view fillers[] = {
    "of",   "del", "de",    "d'",   "t",       "o",     "om",     "alle", "ore", "ora",  "orë",    "las",
    "les",  "los", "la",    "el",   "jam",     "pukul", "saat",   "lúc",  "giờ", "hora", "horas",  "hs",
    "hrs",  "hod", "godz",  "klo",  "klokken", "óra",   "órakor", "год",  "ώρα", "στις", "الساعة", "ساعة",
    "時間", "в",   "у",     "u",    "a",       "เวลา",  "น",      "d",    "the", "on",   "and",    "и",
    "em",   "den", "der",   "dem",  "le",      "il",    "vers",   "h",    "m",   "s",    "v",      "ob",
    "kell", "uur", "plkst", "pada", "r",       "को",    "এ",      "ರಂದು", "کو",  "ค",    "ศ"};

}  // namespace

std::size_t word_length(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_letter) - text.begin());
}

DateWords find_words(std::string_view text) {
  DateWords found;
  if (text.empty() || !is_letter(text[0])) return found;
  const std::string_view word = text.substr(0, word_length(text));
  if (word.size() == 3 && word != "mar") {  // by far the most frequent; "mar" is also Tuesday
    found.month = place_in("janfebmaraprmayjunjulaugsepoctnovdec", word);
    if (const int day = place_in("montuewedthufrisatsun", word); day > 0)
      found.weekdays = 1U << static_cast<unsigned>(day);
    if (found.month > 0 || found.weekdays > 0) {
      found.length = 3;
      return found;
    }
  }
  // The word that shares the longest prefix with the text is its neighbour in the sorted table.
  const auto next = std::ranges::upper_bound(date_word_table, text, {}, &DateWordRow::word);
  std::size_t length = next == std::begin(date_word_table) ? 0 : common_length(std::prev(next)->word, text);
  for (; length > 0 && found.length == 0; --length) {
    if (!may_end(text, length)) continue;
    const std::string_view part = text.substr(0, length);
    const auto* row = std::ranges::lower_bound(date_word_table, part, {}, &DateWordRow::word);
    for (; row != std::end(date_word_table) && row->word == part; ++row) {
      found.length = length;
      if (row->kind == DateWord::month) (found.month == 0 ? found.month : found.other_month) = row->value;
      if (row->kind == DateWord::weekday) found.weekdays |= 1U << row->value;
      if (row->kind == DateWord::half_day && found.half_day == HalfDay::none) {
        found.half_day = static_cast<HalfDay>(row->value);
      }
      if (row->kind == DateWord::filler) found.filler = true;
    }
  }
  if (std::ranges::find(fillers, word) != std::end(fillers)) {
    found.filler = true;
    found.length = std::max(found.length, word.size());
  }
  if (found.length >= word.size()) return found;
  // Inflected, misspelt or without accents: match the beginning.
  DateWords begun;
  std::size_t longest = 0;
  for (const Month& month : months) {
    if (month.name.size() <= longest || !word.starts_with(month.name)) continue;
    longest = month.name.size();
    begun.month = month.number;
  }
  for (const Weekday& day : weekdays) {
    if (word.starts_with(day.beginning)) begun.weekdays |= 1U << static_cast<unsigned>(day.number);
  }
  if (begun.month != 0 || begun.weekdays != 0) begun.length = word.size();
  return begun.length > found.length ? begun : found;
}

std::optional<int> zone_of(std::string_view word) {
  if (word.size() == 1 && is_alpha(word[0])) {  // RFC 822 §5.1, with the signs given there
    const char letter = to_lower(word[0]);
    if (letter == 'z') return 0;
    if (letter == 'j') return std::nullopt;
    if (letter >= 'n') return (letter - 'n' + 1) * 60;
    return -(letter - 'a' + (letter < 'j' ? 1 : 0)) * 60;
  }
  const auto* zone = std::ranges::find_if(zones, [&](const Zone& row) { return iequals(row.name, word); });
  if (zone == std::end(zones)) return std::nullopt;
  return zone->minutes;
}

namespace {

using Zones = std::map<std::string, const date::time_zone*, std::less<>>;

// The zones by name in lower case; empty without tzdata, in which case the library throws.
Zones load_zones() try {
  Zones found;
  for (const date::time_zone& zone : date::get_tzdb().zones) found.emplace(lower(zone.name()), &zone);
  return found;
} catch (const std::exception&) {
  return {};
}

}  // namespace

const date::time_zone* find_time_zone(std::string_view name) {
  static const Zones loaded = load_zones();
  const auto found = loaded.find(lower(name));
  return found == loaded.end() ? nullptr : found->second;
}

std::chrono::seconds offset_at(const date::time_zone& zone, std::chrono::seconds local) try {
  return zone.get_info(date::local_seconds{local}).first.offset;
} catch (const std::exception&) {
  return std::chrono::seconds{0};
}

}  // namespace feedmill
