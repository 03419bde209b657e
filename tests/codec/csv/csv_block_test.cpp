// Consecutive records are decoded many at a time, column by column. Each record has the result of
// decoding it alone.

#include "leat/codec/csv/csv_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "support/effort.hpp"
#include "tensor/plain_test.hpp"

namespace csv_block_test {

using leat::csv_column;
using leat::csv_decoder;
using leat::dtype;
using leat::random_engine;
using texts = std::vector<std::string>;

// Stores records in one allocation of exactly their size, with the same bytes between every two
// records.
class placed {
 public:
  placed(const texts& records, std::string_view between) {
    std::size_t size = 0;
    for (const std::string& r : records) size += r.size() + between.size();
    bytes_.reserve(size);
    for (const std::string& r : records) {
      if (!views_.empty()) bytes_.insert(bytes_.end(), between.begin(), between.end());
      views_.emplace_back(bytes_.data() + bytes_.size(), r.size());
      bytes_.insert(bytes_.end(), r.begin(), r.end());
    }
  }
  [[nodiscard]] const std::vector<std::string_view>& views() const noexcept { return views_; }

 private:
  std::vector<char> bytes_;
  std::vector<std::string_view> views_;
};

struct outcome {
  leat::tensor_tuple columns;
  std::string error;

  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome decode(const csv_decoder& decoder, const texts& records, std::string_view between) {
  outcome o;
  try {
    o.columns = decoder.decode(placed(records, between).views());
  } catch (const leat::decode_error& e) {
    o.error = e.what();
  }
  return o;
}

constexpr std::string_view apart = "\n\n\n";  // each record is decoded alone

// Checks that records have equal results consecutively with each line end, and separated.
outcome same_in_all_places(const csv_decoder& decoder, const texts& records) {
  const outcome alone = decode(decoder, records, apart);
  CHECK(decode(decoder, records, "\n") == alone);
  CHECK(decode(decoder, records, "\r\n") == alone);
  CHECK(decode(decoder, records, "\r") == alone);
  CHECK(decode(decoder, records, "") == alone);
  return alone;
}

std::string one_of(random_engine& random, const texts& all) {
  return all[random.uniform_below(all.size())];
}

std::string digits(random_engine& random, std::size_t count) {
  std::string text;
  for (; count > 0; --count) text += static_cast<char>('0' + random.uniform_below(10));
  return text;
}

std::string an_int(random_engine& random, std::size_t max_digits) {
  return (random.uniform_below(3) == 0 ? "-" : "") +
         digits(random, 1 + random.uniform_below(max_digits));
}

std::string a_float(random_engine& random) {
  switch (random.uniform_below(8)) {
    case 0: return an_int(random, 18);
    case 1: return an_int(random, 3) + "e" + an_int(random, 2);
    case 2:
      return one_of(random, {"inf", "-inf", "+1.5", " 2.5", "2.5 ", "0x1p3", "-0", ".5", "5."});
    default: return an_int(random, 9) + "." + digits(random, random.uniform_below(12));
  }
}

std::string a_word(random_engine& random) {
  std::string text;
  for (std::uint64_t left = random.uniform_below(random.uniform_below(20) == 0 ? 300 : 20);
       left > 0; --left) {
    text += one_of(random, {"a", "Z", " ", "'", ";", "\t", "ä"});
  }
  return text;
}

const std::vector<csv_column> five = {
    csv_column::required(dtype::int64, "long"), csv_column::optional(std::int32_t{-7}, "int"),
    csv_column::optional(0.5F, "float"), csv_column::optional(0.25, "double"),
    csv_column::optional("none", "word")};

std::string maybe(random_engine& random, std::string field, bool quotes) {
  const std::uint64_t kind = random.uniform_below(40);
  if (kind == 0) return "";
  if (kind == 1) return "NA";
  if (quotes && kind < 10) return '"' + field + '"';
  return field;
}

std::string row(random_engine& random, bool quotes) {
  std::string word = a_word(random);
  if (quotes && random.uniform_below(4) == 0) word = '"' + word + ",,\"";
  return (random.uniform_below(20) == 0 ? "\"5\"" : an_int(random, 18)) + ',' +
         maybe(random, an_int(random, 9), quotes) + ',' + maybe(random, a_float(random), quotes) +
         ',' + maybe(random, a_float(random), quotes) + ',' + word;
}

texts rows(random_engine& random, std::size_t count, bool quotes) {
  texts all;
  for (; count > 0; --count) all.push_back(row(random, quotes));
  return all;
}

TEST_CASE("csv_block: random rows decode like single rows") {
  random_engine random(1);
  for (const bool quotes : {false, true}) {
    const csv_decoder decoder(five, {.na_value = "NA"});
    for (std::uint64_t round = 0; round < leat_test::scaled_count(40); ++round) {
      const texts all = rows(random, 1 + random.uniform_below(700), quotes);
      const outcome o = same_in_all_places(decoder, all);
      REQUIRE(o.error.empty());
      REQUIRE(o.columns[0].count() == all.size());
    }
  }
}

TEST_CASE("csv_block: reports the first corrupt row like a single row") {
  random_engine random(2);
  const csv_decoder decoder(five, {.na_value = "NA"});
  const std::uint64_t rounds = leat_test::scaled_count(400);
  std::uint64_t refused = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    texts all = rows(random, 1 + random.uniform_below(60), random.uniform_below(2) == 0);
    for (std::uint64_t damages = random.uniform_below(3); damages > 0; --damages) {
      std::string& r = all[random.uniform_below(all.size())];
      const std::string bad =
          one_of(random, {"\"", "\"\"", ",", "\n", "\r", "x", ".", "-", std::string(1, '\0')});
      if (r.empty() || random.uniform_below(2) == 0) {
        r.insert(random.uniform_below(r.size() + 1), bad);
      } else {
        r.erase(random.uniform_below(r.size()), 1);
      }
    }
    if (!same_in_all_places(decoder, all).error.empty()) ++refused;
  }
  CHECK(refused > rounds / 4);
}

TEST_CASE("csv_block: numbers of every length, with a point at every place") {
  random_engine random(3);
  texts longs, doubles;
  for (std::size_t length = 1; length <= 20; ++length) {
    for (std::size_t point = 0; point <= length; ++point) {
      for (const char* sign : {"", "-"}) {
        std::string text = digits(random, length);
        longs.push_back(sign + text.substr(0, 18));
        text.insert(point, ".");
        doubles.push_back(sign + text);
      }
    }
  }
  const auto column = [](dtype type) { return csv_decoder({csv_column::required(type)}); };
  const outcome ints = same_in_all_places(column(dtype::int64), longs);
  const outcome wide = same_in_all_places(column(dtype::float64), doubles);
  const outcome narrow = same_in_all_places(column(dtype::float32), doubles);
  for (std::size_t i = 0; i < longs.size(); ++i) {
    CHECK(ints.columns[0].values<std::int64_t>()[i] == std::strtoll(longs[i].c_str(), nullptr, 10));
    CHECK(wide.columns[0].values<double>()[i] == std::strtod(doubles[i].c_str(), nullptr));
    CHECK(narrow.columns[0].values<float>()[i] == std::strtof(doubles[i].c_str(), nullptr));
  }
}

TEST_CASE("csv_block: floats are rounded as the compiler does") {
  random_engine random(4);
  texts all = {"16777217", "0.1", "9007199254740993", "1.000000178813934", "9007199254740992.5"};
  // Halfway between two floats, and next to that value
  for (const char* text : {"16777217.0", "33554434.000", "1.00000005960464", "8388608.5"}) {
    all.emplace_back(text);
  }
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(digits(random, random.uniform_below(9)) + '.' +
                  digits(random, 1 + random.uniform_below(8)));
  }
  const csv_decoder decoder({csv_column::required(dtype::float32)});
  const outcome o = decode(decoder, all, "\n");
  const auto found = o.columns[0].values<float>();
  REQUIRE(found.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (found[i] != std::strtof(all[i].c_str(), nullptr)) FAIL(all[i]);
  }
}

TEST_CASE("csv_block: integers at the ends of their types") {
  const texts in_range = {"2147483647", "-2147483648", "999999999", "0000000000000000001", "-0"};
  const outcome o = same_in_all_places(csv_decoder({csv_column::required(dtype::int32)}), in_range);
  CHECK(o.columns[0].values<std::int32_t>()[1] == INT32_MIN);
  for (const char* text : {"2147483648", "-2147483649", "9999999999999999"}) {
    texts all(20, "1");
    all[17] = text;
    const csv_decoder decoder({csv_column::required(dtype::int32)});
    CHECK(same_in_all_places(decoder, all).error.starts_with("record 17, byte 1, field 0: "));
  }
}

TEST_CASE("csv_block: refuses an invalid number at every position of a block") {
  for (const char* text : {"-", ".", "-.", "1.2.3", "1-", "--1", "1e", "x", "1 2", "12:", "1/"}) {
    for (const dtype type : {dtype::int64, dtype::float32, dtype::float64}) {
      for (const std::size_t place : {0U, 1U, 15U, 16U, 40U}) {
        texts all(41, "12345678");
        all[place] = text;
        const outcome o = same_in_all_places(csv_decoder({csv_column::required(type)}), all);
        CHECK(o.error.starts_with("record " + std::to_string(place) + ", "));
      }
    }
  }
}

// Rows of one number each, which are decoded four at a time. `text` is in row `place`. The other
// rows have numbers of every sign and length.
texts rows_with(std::string_view text, std::size_t place, dtype type) {
  texts all;
  for (std::size_t i = 0; i < 64; ++i) {
    std::string number = (i % 3 == 0 ? "-" : "") + std::string("1234567890").substr(0, 1 + i % 9);
    if (type == dtype::float32 || type == dtype::float64) number.insert(number.size() - i % 2, ".");
    all.push_back(number);
  }
  all[place] = text;
  return all;
}

TEST_CASE("csv_block: four numbers at a time decode like single numbers") {
  const texts some = {
      "0", "-0", "-1", "7.", "-7.", ".5", "-.5", "0.", "-0.0", "1e3", "inf", "0x10", "+1", " 1",
      "1 ",
      // of 15, 16 and 17 digits, without a point and with one
      "123456789012345", "-123456789012345", "1234567890123456", "-1234567890123456",
      "12345678901234567", "-12345678901234567", "123456789012.345", "-1234567890123.45",
      "1.23456789012345", "-.123456789012345", "0000000000000001", "00000000000000001",
      // close to 2 to the 52nd and to the 53rd
      "4503599599999999", "4503599600000000", "4503599627370495", "4503599627370496",
      "4503599627370497", "-4503599627370497", "9007199254740991", "9007199254740992",
      "9007199254740993", "-9007199254740993", "9999999999999999", "450359962737049.7",
      "900719925474099.3",
      // halfway between two floats, and next to that value
      "16777217", "-16777217", "16777217.0", "1677721.7", "8388608.5", "33554434.000",
      "1.00000005960464", "1.00000005960465",
      // halfway between two floats after a conversion to double, but not before
      "8.03369665145874", "8.46465253829956", "-9.83503007888794", "-9.64534616470337"};
  for (const std::string& text : some) {
    for (std::size_t place = 20; place < 24; ++place) {
      for (const dtype type : {dtype::float32, dtype::float64, dtype::int64}) {
        const csv_decoder decoder({csv_column::required(type)});
        const texts all = rows_with(text, place, type);
        const outcome o = same_in_all_places(decoder, all);
        if (!o.error.empty()) continue;  // floats that are not integers
        for (std::size_t i = 0; i < all.size(); ++i) {
          const char* const t = all[i].c_str();
          if (type == dtype::int64) {
            CHECK(o.columns[0].values<std::int64_t>()[i] == std::strtoll(t, nullptr, 10));
          } else if (type == dtype::float64) {
            const double value = o.columns[0].values<double>()[i];
            CHECK(value == std::strtod(t, nullptr));
            CHECK(std::signbit(value) == (t[0] == '-'));
          } else {
            const float value = o.columns[0].values<float>()[i];
            CHECK(value == std::strtof(t, nullptr));
            CHECK(std::signbit(value) == (t[0] == '-'));
          }
        }
      }
    }
  }
}

TEST_CASE("csv_block: int32 four at a time up to the ends of the type") {
  const csv_decoder decoder({csv_column::required(dtype::int32)});
  for (std::size_t place = 20; place < 24; ++place) {
    for (const char* text : {"2147483647", "-2147483648", "-2147483647", "999999999", "1000000000",
                             "0000000002147483", "-0", "-1"}) {
      const texts all = rows_with(text, place, dtype::int32);
      const outcome o = same_in_all_places(decoder, all);
      REQUIRE(o.error.empty());
      for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(o.columns[0].values<std::int32_t>()[i] == std::strtoll(all[i].c_str(), nullptr, 10));
      }
    }
    for (const char* text : {"2147483648", "-2147483649", "4294967297", "-4294967295",
                             "4294967296000000", "4503599627370495"}) {
      const outcome o = same_in_all_places(decoder, rows_with(text, place, dtype::int32));
      CHECK(o.error.starts_with("record " + std::to_string(place) + ", byte 1, field 0: "));
    }
  }
}

TEST_CASE("csv_block: refuses an invalid number among four at a time") {
  for (const char* text : {"-", ".", "-.", "1.2.3", "..", "1-", "--1", "1.-", "-.-", "1e", "x",
                           "1 2", "12:", "1/", "\x80",
                           "\xff"
                           "1",
                           "1234567890123456x", "1\"", "\"\"1"}) {
    for (const dtype type : {dtype::int32, dtype::int64, dtype::float32, dtype::float64}) {
      const csv_decoder decoder({csv_column::required(type)}, {.quotes = false});
      for (std::size_t place = 20; place < 24; ++place) {
        const outcome o = same_in_all_places(decoder, rows_with(text, place, type));
        CHECK(o.error.starts_with("record " + std::to_string(place) + ", "));
      }
    }
  }
}

TEST_CASE("csv_block: missing and quoted numbers among four at a time") {
  const auto missing = [](const texts& all, const outcome& o) {
    REQUIRE(o.error.empty());
    REQUIRE(o.columns[0].count() == all.size());
    std::size_t found = 0;
    for (const double value : o.columns[0].values<double>()) found += value == 0.25 ? 1 : 0;
    return found;
  };
  for (const char* na : {"", "NA", "-", "-1", "12.5"}) {
    const csv_decoder decoder({csv_column::optional(0.25), csv_column::optional(0.25)},
                              {.na_value = na});
    for (std::size_t place = 0; place < 64; ++place) {
      texts all(61 + place % 4, "-8,-8");  // a minus precedes and follows the empty field
      const std::size_t at = std::min(place, all.size() - 1);
      all[at] = std::string(na) + ",\"" + na + '"';
      CHECK(missing(all, same_in_all_places(decoder, all)) == 1);
      all[at] = ",-8";
      CHECK(missing(all, same_in_all_places(decoder, all)) == 1);
      all[at] = "\"-8\",\"-8\"";
      CHECK(missing(all, same_in_all_places(decoder, all)) == 0);
      all[at] = "-8,";
      CHECK(same_in_all_places(decoder, all).columns[1].values<double>()[at] == 0.25);
    }
    for (std::size_t count = 1; count < 32; ++count) {  // nothing follows the empty field
      texts all(count, "-8,-8");
      all.back() = "-8,";
      CHECK(same_in_all_places(decoder, all).columns[1].values<double>()[count - 1] == 0.25);
    }
  }
}

TEST_CASE("csv_block: strings of every length, and long defaults between them") {
  const std::string instead(5000, 'd');
  for (const char* na : {"", "NA"}) {
    const csv_decoder decoder({csv_column::optional(instead), csv_column::optional("")},
                              {.na_value = na});
    texts all;
    for (std::size_t i = 0; i < 1500; ++i) {  // more than one block
      all.push_back((i % 7 == 0 ? na : std::string(1 + i % 40, 'x')) + ',' +
                    std::string(i % 5, 'y'));
    }
    const outcome o = same_in_all_places(decoder, all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(o.columns[0].strings()[i] == (i % 7 == 0 ? instead : std::string(1 + i % 40, 'x')));
      CHECK(o.columns[1].strings()[i].size() == i % 5);
    }
  }
}

TEST_CASE("csv_block: refuses a missing required string") {
  const csv_decoder decoder({csv_column::required(dtype::string)}, {.na_value = "NA"});
  for (const std::size_t place : {0U, 1U, 700U, 1499U}) {
    texts all(1500, "a string");
    all[place] = "NA";
    CHECK(same_in_all_places(decoder, all).error.starts_with("record " + std::to_string(place)));
  }
}

TEST_CASE("csv_block: decodes columns with a delimiter that may be part of a number") {
  for (const char delimiter : {'-', '.', '5'}) {
    const csv_decoder decoder({csv_column::optional(0.25), csv_column::optional(0.25)},
                              {.delimiter = delimiter});
    for (std::size_t place = 16; place < 32; ++place) {
      texts all(40, std::string("1") + delimiter + "2");
      all[place] = std::string(1, delimiter);
      const outcome o = same_in_all_places(decoder, all);
      CHECK(o.columns[0].values<double>()[place] == 0.25);
      CHECK(o.columns[1].values<double>()[place] == 0.25);
      CHECK(o.columns[1].values<double>()[place + 1] == 2);
    }
  }
}

TEST_CASE("csv_block: records of every length, and longer than any block") {
  const csv_decoder decoder({csv_column::optional(""), csv_column::optional("")});
  for (std::size_t length = 0; length < 200; ++length) {
    same_in_all_places(decoder, texts(5, std::string(length, 'x') + ",y"));
  }
  for (const std::size_t length : {4096U, 16383U, 16384U, 32766U, 32767U, 32768U, 70'000U}) {
    const texts all = {"a,b", std::string(length, 'x') + ",y", "c,d",
                       std::string(length, 'z') + ","};
    const outcome o = same_in_all_places(decoder, all);
    CHECK(o.columns[0].strings()[1].size() == length);
    CHECK(o.columns[1].strings()[2] == "d");
  }
  const texts full(300, std::string(100, ','));  // delimiters only
  const csv_decoder wide(std::vector<csv_column>(101, csv_column::optional(std::int32_t{3})));
  CHECK(same_in_all_places(wide, full).columns[100].values<std::int32_t>()[299] == 3);
}

TEST_CASE("csv_block: decodes selected fields of records with further fields") {
  texts all;
  for (int i = 0; i < 300; ++i) all.push_back("x,1,y,2.5" + std::string(i < 200 ? 3 : 7, ','));
  const csv_decoder decoder(
      {csv_column::required(dtype::int32), csv_column::required(dtype::float32)},
      {.select = {1, 3}});
  CHECK(same_in_all_places(decoder, all).columns[1].values<float>()[299] == 2.5F);
  all[250] = "x,1,y";
  CHECK(contains(same_in_all_places(decoder, all).error, "number of fields is 1"));
}

TEST_CASE("csv_block: detects too many fields in one record and too few in the next") {
  const csv_decoder decoder({csv_column::optional("d"), csv_column::optional("d")});
  texts all(20, "a,b");
  all[7] = "a,b,c";
  all[8] = "a";
  CHECK(same_in_all_places(decoder, all).error ==
        same_in_all_places(decoder, {"a,b", "a,b", "a,b", "a,b", "a,b", "a,b", "a,b", "a,b,c"})
            .error);
  all[7] = "\"a";
  all[8] = "b\",c";
  CHECK(contains(same_in_all_places(decoder, all).error, "no closing quote"));
}

TEST_CASE("csv_block: removes quotes around fields unless quotes are text") {
  const std::vector<csv_column> two = {csv_column::optional("none"), csv_column::optional("none")};
  const texts all = {"\"a\",b", "\"\",\"c,d\"", "e,\"\"\"f\"", "\",\",\",\"", "g,\"h\"\"i\""};
  for (std::size_t first = 0; first < all.size(); ++first) {
    texts some(30, "p,q");
    std::ranges::copy(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                      some.begin() + 9);
    same_in_all_places(csv_decoder(two), some);
  }
  const outcome quoted = same_in_all_places(csv_decoder(two), {all[0], all[1], all[3]});
  CHECK(quoted.columns[0] == leat::tensor::of({3}, {"a", "none", ","}));
  const outcome plain = same_in_all_places(csv_decoder(two, {.quotes = false}), {all[0], all[4]});
  CHECK(plain.columns[0] == leat::tensor::of({2}, {"\"a\"", "g"}));
}

TEST_CASE("csv_block: any byte may be the delimiter") {
  for (const char delimiter : {'\0', ' ', '-', '.', '1', 'x', '\xff'}) {
    const csv_decoder decoder({csv_column::optional("d"), csv_column::optional("d")},
                              {.delimiter = delimiter});
    const outcome o = same_in_all_places(decoder, texts(33, std::string("a") + delimiter + "b"));
    CHECK(o.columns[1].strings()[32] == "b");
  }
}

}  // namespace csv_block_test
