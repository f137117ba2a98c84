#include "parsers/text/charset.hpp"

#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/support/sanitized.hpp"

namespace feedmill::charset_test {
namespace {

using namespace std::string_view_literals;

struct CharsetCase {
  const char* name;
  std::string_view body;
  const char* content_type;
  const char* text;
  const char* encoding;
  Bozo bozo;
};

class Charsets : public testing::TestWithParam<CharsetCase> {};

TEST_P(Charsets, AreDecoded) {
  const Decoded decoded = decode_document(GetParam().body, GetParam().content_type);
  EXPECT_EQ(decoded.text, GetParam().text);
  EXPECT_EQ(decoded.encoding, GetParam().encoding);
  EXPECT_EQ(decoded.bozo, GetParam().bozo);
}

INSTANTIATE_TEST_SUITE_P(
    Order, Charsets,
    testing::Values(CharsetCase{"MarkBeforeHeader", "\xEF\xBB\xBF<a>\xC3\xA9</a>", "text/xml; charset=iso-8859-1",
                                "<a>é</a>", "utf-8", Bozo::none},
                    CharsetCase{"HeaderBeforeDeclaration", "<?xml version='1.0' encoding='utf-8'?>\xE9",
                                "text/xml; charset=iso-8859-1", "<?xml version='1.0' encoding='utf-8'?>é", "iso-8859-1",
                                Bozo::none},
                    CharsetCase{"Declaration", "<?xml version='1.0' encoding='koi8-r'?>\xC1", "text/xml",
                                "<?xml version='1.0' encoding='koi8-r'?>а", "koi8-r", Bozo::none},
                    CharsetCase{"Default", "<a>\xC3\xA9</a>", "", "<a>é</a>", "utf-8", Bozo::none},
                    CharsetCase{"Utf16WithoutMark", "\0<\0a\0/\0>"sv, "", "<a/>", "utf-16be", Bozo::none},
                    CharsetCase{"Utf16LittleEndian", "\xFF\xFE<\0a\0/\0>\0"sv, "", "<a/>", "utf-16le", Bozo::none},
                    CharsetCase{"Utf32", "\0\0\0<\0\0\0a\0\0\0/\0\0\0>"sv, "", "<a/>", "utf-32be", Bozo::none},
                    CharsetCase{"QuotedParameter", "\xE9", "text/xml; charset=\"windows-1252\"", "é", "windows-1252",
                                Bozo::none}),
    [](const auto& test) { return test.param.name; });

// Encodings with tables or escape sequences beyond one byte per character.
INSTANTIATE_TEST_SUITE_P(
    Families, Charsets,
    testing::Values(
        CharsetCase{"HzIsGb2312InAscii", "<a>~{VPND~}</a>", "text/xml; charset=hz-gb-2312", "<a>中文</a>", "hz-gb-2312",
                    Bozo::none},
        CharsetCase{"HzTildesAndLines", "a~~b~\nc ~{VP\n~{ND~}.", "text/xml; charset=hz", "a~bc 中\n文.", "hz",
                    Bozo::none},
        CharsetCase{"Cp950HasCyrillic", "\xC7\xF3", "text/xml; charset=cp950", "А", "cp950", Bozo::none},
        CharsetCase{"Gb2312IsGb18030", "\x81\x40", "text/xml; charset=gb2312", "丂", "gb2312", Bozo::none},
        CharsetCase{"Big5HasCyrillic", "<a>\xC7\xF3</a>", "text/xml; charset=big5", "<a>А</a>", "big5", Bozo::none},
        CharsetCase{"Cp950", "\xA4\xA4\xA4\xE5", "text/xml; charset=cp950", "中文", "cp950", Bozo::none},
        CharsetCase{"Latin1IsWindows1252", "\x93x\x94", "text/xml; charset=iso-8859-1", "“x”", "iso-8859-1",
                    Bozo::none},
        CharsetCase{"Iso2022Jp", "\x1B$B4A\x1B(B", "text/xml; charset=iso-2022-jp", "漢", "iso-2022-jp", Bozo::none},
        CharsetCase{"ShiftJis", "\x8A\xBF", "text/xml; charset=shift_jis", "漢", "shift_jis", Bozo::none},
        CharsetCase{"EucKr", "\xC7\xD1", "text/xml; charset=euc-kr", "한", "euc-kr", Bozo::none},
        CharsetCase{"Koi8U", "\xA4", "text/xml; charset=koi8-u", "є", "koi8-u", Bozo::none},
        CharsetCase{"Latin2", "\xB1", "text/xml; charset=iso-8859-2", "ą", "iso-8859-2", Bozo::none},
        CharsetCase{"Thai", "\xA1", "text/xml; charset=tis-620", "ก", "tis-620", Bozo::none},
        CharsetCase{"DeclarationIn16Bits", "\0<\0?\0x\0m\0l\0 \0v\0=\0'\0\x31\0'\0?\0>\0<\0a\0/\0>"sv, "",
                    "<?xml v='1'?><a/>", "utf-16be", Bozo::none}),
    [](const auto& test) { return test.param.name; });

// Valid UTF-8 with at least two multi-byte sequences is not text in a single-byte encoding.
INSTANTIATE_TEST_SUITE_P(
    Labels, Charsets,
    testing::Values(
        CharsetCase{"OfOneByteInTheHeader", "<a>мир</a>", "text/xml; charset=windows-1251", "<a>мир</a>", "utf-8",
                    Bozo::encoding_override},
        CharsetCase{"OfOneByteInTheDeclaration", "<?xml version='1.0' encoding='ISO-8859-1'?>éé", "",
                    "<?xml version='1.0' encoding='ISO-8859-1'?>éé", "utf-8", Bozo::encoding_override},
        CharsetCase{"HeaderAgainstDeclaration", "<?xml version='1.0' encoding='utf-8'?>“é”",
                    "text/xml; charset=windows-1252", "<?xml version='1.0' encoding='utf-8'?>“é”", "utf-8",
                    Bozo::encoding_override},
        CharsetCase{"Koi8", "мир", "text/xml; charset=koi8-r", "мир", "utf-8", Bozo::encoding_override},
        CharsetCase{"Latin15", "é€", "text/xml; charset=iso-8859-15", "é€", "utf-8", Bozo::encoding_override},
        CharsetCase{"MacRoman", "é€", "text/xml; charset=macintosh", "é€", "utf-8", Bozo::encoding_override},
        CharsetCase{"MacGreek", "éα", "text/xml; charset=x-mac-greek", "éα", "utf-8", Bozo::encoding_override},
        CharsetCase{"Ascii", "é€", "text/xml; charset=us-ascii", "é€", "utf-8", Bozo::encoding_override},
        CharsetCase{"Thai874", "กข", "text/xml; charset=windows-874", "กข", "utf-8", Bozo::encoding_override},
        CharsetCase{"OneSequenceMayBeTwoLetters", "<a>\xC3\xA9</a>", "text/xml; charset=iso-8859-1", "<a>Ã©</a>",
                    "iso-8859-1", Bozo::none},
        CharsetCase{"OneLetterTooMany", "\xC3\xA9 \xC3\xA9 \xE9", "text/xml; charset=iso-8859-1", "Ã© Ã© é",
                    "iso-8859-1", Bozo::none},
        CharsetCase{"ShiftJisStays", "\xC3\xA9\xC3\xA9", "text/xml; charset=shift_jis", "ﾃｩﾃｩ", "shift_jis",
                    Bozo::none},
        CharsetCase{"Gb18030Stays", "\xC3\xA9\xC3\xA9", "text/xml; charset=gb18030", "茅茅", "gb18030", Bozo::none},
        CharsetCase{"EucJpStays", "\xC3\xA9\xC3\xA9", "text/xml; charset=euc-jp", "辿辿", "euc-jp", Bozo::none},
        CharsetCase{"Big5Stays", "\xC3\xA9\xC3\xA9", "text/xml; charset=big5", "矇矇", "big5", Bozo::none},
        CharsetCase{"EucKrStays", "\xC3\xA9\xC3\xA9", "text/xml; charset=euc-kr", "챕챕", "euc-kr", Bozo::none}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Overrides, Charsets,
    testing::Values(
        CharsetCase{"UnknownLabel", "<a>\xC3\xA9</a>", "text/xml; charset=nonsense", "<a>é</a>", "utf-8",
                    Bozo::encoding_override},
        CharsetCase{"Utf7IsRefused", "<a>+ADw-</a>", "text/xml; charset=utf-7", "<a>+ADw-</a>", "utf-8",
                    Bozo::encoding_override},
        CharsetCase{"DeclaredUtf8ButIsNot", "<?xml version='1.0' encoding='utf-8'?><t>caf\xE9 \xE9t\xE9</t>", "",
                    "<?xml version='1.0' encoding='utf-8'?><t>café été</t>", "windows-1252", Bozo::encoding_override},
        CharsetCase{"DeclaredWideButIsNot", "<?xml version='1.0' encoding='utf-16'?><a/>", "",
                    "<?xml version='1.0' encoding='utf-16'?><a/>", "utf-8", Bozo::encoding_override},
        CharsetCase{"AsciiThatIsNot", "<?xml version='1.0' encoding='us-ascii'?><a>\xE9</a>", "",
                    "<?xml version='1.0' encoding='us-ascii'?><a>é</a>", "us-ascii", Bozo::encoding_override},
        CharsetCase{"ControlCharacters", "<a>x\x01\x0By</a>", "", "<a>xy</a>", "utf-8", Bozo::malformed_xml},
        CharsetCase{"LineEnds", "a\r\nb\rc", "", "a\nb\nc", "utf-8", Bozo::none}),
    [](const auto& test) { return test.param.name; });

TEST(Charset, KeepsUtf8WithAFewBrokenSequences) {
  const Decoded decoded = decode_document("Ünïcödé tèxt wïth ä brökén ßýté: \xFF, and mörê", "");
  EXPECT_EQ(decoded.encoding, "utf-8");
  EXPECT_EQ(decoded.replaced, 1U);
  EXPECT_NE(decoded.text.find("\xEF\xBF\xBD"), std::string::npos);
}

struct DetectCase {
  const char* name;
  const char* bytes;
  const char* encoding;
};

class Detection : public testing::TestWithParam<DetectCase> {};

TEST_P(Detection, NamesTheEncoding) {
  EXPECT_EQ(decode_document(GetParam().bytes, "").encoding, GetParam().encoding);
}

INSTANTIATE_TEST_SUITE_P(
    All, Detection,
    testing::Values(
        DetectCase{"Russian1251", "<t>\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0! \xCA\xE0\xEA \xE4\xE5\xEB\xE0?</t>",
                   "windows-1251"},
        DetectCase{"RussianKoi8", "<t>\xF0\xD2\xC9\xD7\xC5\xD4, \xCD\xC9\xD2! \xEB\xC1\xCB \xC4\xC5\xCC\xC1?</t>",
                   "koi8-r"},
        DetectCase{"Hebrew", "<t>\xF9\xEC\xE5\xED \xF2\xE5\xEC\xED, \xE6\xE4 \xE8\xF7\xF1\xE8</t>", "windows-1255"},
        DetectCase{"Korean", "<t>\xBE\xC8\xB3\xE7\xC7\xCF\xBC\xBC\xBF\xE4 \xC7\xD1\xB1\xB9\xBE\xEE</t>", "euc-kr"},
        DetectCase{"JapaneseSjis", "<t>\x82\xB1\x82\xEA\x82\xCD\x93\xFA\x96\x7B\x8C\xEA\x82\xC5\x82\xB7</t>",
                   "shift_jis"},
        DetectCase{"JapaneseEuc", "<t>\xA4\xB3\xA4\xEC\xA4\xCF\xC6\xFC\xCB\xDC\xB8\xEC\xA4\xC7\xA4\xB9</t>", "euc-jp"},
        DetectCase{"ChineseSimplified",
                   "<t>\xD5\xE2\xCA\xC7\xBC\xF2\xCC\xE5\xD6\xD0\xCE\xC4\xB5\xC4\xCE\xC4\xD5\xC2</t>", "gb18030"},
        DetectCase{"ChineseTraditional",
                   "<t>\xB3\x6F\xAC\x4F\xC1\x63\xC5\xE9\xA4\xA4\xA4\xE5\xAA\xBA\xA4\xE5\xB3\xB9</t>", "big5"},
        DetectCase{"French", "<t>\xC0 la f\xEAte, les \xE9l\xE8ves chantent</t>", "windows-1252"}),
    [](const auto& test) { return test.param.name; });

// If glibc runs out of room between the two characters of one code, it emits the second one forever.
TEST(Charset, DecodesACodeOfTwoCharactersHoweverOften) {
  for (const auto& [name, code, text] :
       {std::tuple{"Shift_JISX0213", "\x82\xF5", "か\u309A"}, std::tuple{"EUC-JISX0213", "\xA4\xF7", "か\u309A"},
        std::tuple{"Big5-HKSCS", "\x88\x62", "Ê\u0304"}}) {
    std::string body = "<a>", wanted = "<a>";
    for (int i = 0; i < 50'000; ++i) {
      body += code;
      wanted += text;
    }
    const Decoded decoded = decode_document(body + "</a>", "text/xml; charset=" + std::string(name));
    EXPECT_EQ(decoded.bozo, Bozo::none) << name;
    EXPECT_TRUE(decoded.text == wanted + "</a>") << name << ": " << decoded.text.size() << " bytes";
  }
}

TEST(Charset, TellsTheLastCharacterToo) {
  EXPECT_EQ(decode_document("<a>A", "text/xml; charset=TCVN").text, "<a>A");  // iconv holds back the last one
}

// SECURITY M2: the limit assumes three bytes of text per byte of input.
TEST(Charset, MakesAtMostThreeBytesOfOne) {
  for (const std::string name :
       {"TSCII", "TCVN", "Shift_JISX0213", "EUC-JISX0213", "Big5-HKSCS", "IBM037", "ARMSCII-8", "GEORGIAN-PS", "RK1048",
        "VISCII", "UTF-16BE", "ISO-2022-JP-3", "JOHAB", "MACINTOSH"}) {
    for (int byte = 0; byte < 256; byte += test::is_sanitized ? 7 : 1) {
      const std::string body(20'000, static_cast<char>(byte));
      const std::size_t size = decode_document(body, "text/xml; charset=" + name).text.size();
      ASSERT_LE(size, 3 * body.size() + 16'384) << name << " " << byte;
    }
  }
}

TEST(Charset, UndoesDoubleEncoding) {
  std::string value = "caf\xC3\x83\xC2\xA9";
  repair_mojibake(value);
  EXPECT_EQ(value, "café");
  for (const auto& [twice, once] :
       std::initializer_list<std::pair<const char*, const char*>>{{"Itâ€™s", "It’s"},
                                                                  {"dâ€™Ã©tÃ©", "d’été"},
                                                                  {"PreÃ§o â€“ novo", "Preço – novo"},
                                                                  {"ðŸ˜€", "😀"},
                                                                  {"ÐŸÑ€Ð¸Ð²ÐµÑ‚", "Привет"},
                                                                  {"æ—¥æœ¬èªž", "日本語"}}) {
    value = twice;
    repair_mojibake(value);
    EXPECT_EQ(value, once) << "by windows-1252";
  }
}

TEST(Charset, ReadsC1AsWindows1252) {
  std::string value = "\xC2\x93quoted\xC2\x94 漢";
  repair_mojibake(value);
  EXPECT_EQ(value, "“quoted” 漢");
}

TEST(Charset, LeavesProperTextAlone) {
  for (const std::string text : {"plain", "naïve café", "Ã la carte", "日本語", "“café”", "Ça… – é”", "prix : 5 €"}) {
    std::string value = text;
    repair_mojibake(value);
    EXPECT_EQ(value, text);
  }
}

}  // namespace
}  // namespace feedmill::charset_test
