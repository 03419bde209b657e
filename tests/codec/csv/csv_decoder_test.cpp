// What TensorFlow's decode_csv accepts, and other contents of a file.

#include "leat/codec/csv/csv_decoder.hpp"

#include <cmath>
#include <limits>

#include "tensor/plain_test.hpp"

namespace csv_decoder_test {

using leat::csv_column;
using leat::csv_decoder;
using leat::csv_options;
using leat::dtype;
using leat::tensor;
using leat::tensor_tuple;
using columns = std::vector<csv_column>;
using records = std::vector<std::string_view>;

const csv_column an_int = csv_column::required(dtype::int32);
const csv_column a_long = csv_column::required(dtype::int64);
const csv_column a_float = csv_column::required(dtype::float32);
const csv_column a_double = csv_column::required(dtype::float64);
const csv_column a_string = csv_column::required(dtype::string);

tensor_tuple decode(const records& lines, columns all, csv_options options = {}) {
  return csv_decoder(std::move(all), std::move(options)).decode(lines);
}

template <class T>
std::vector<T> numbers(const tensor& t) {
  const auto all = t.values<T>();
  return {all.begin(), all.end()};
}

std::vector<std::string> strings(const tensor& t) {
  const auto all = t.strings();
  return {all.begin(), all.end()};
}

// Returns the message without the description of its code, or an empty string if there is no error.
std::string error_of(const records& lines, columns all, csv_options options = {}) {
  return plain_message_of([&] { return decode(lines, std::move(all), std::move(options)); });
}

template <class T>
T number(std::string_view text) {
  return decode({text}, {csv_column::required(leat::dtype_of<T>)})[0].template values<T>()[0];
}

using ints = std::vector<std::int32_t>;
using longs = std::vector<std::int64_t>;
using floats = std::vector<float>;
using doubles = std::vector<double>;
using texts = std::vector<std::string>;

// --------------------------------------------------------------------------------------- columns

TEST_CASE("csv_decoder: decodes a quoted number") {
  const tensor_tuple t = decode({"1", "2", "\"3\""}, {csv_column::optional(std::int32_t{1})});
  CHECK(t.count() == 1);
  CHECK(t[0].shape() == leat::shape{3});
  CHECK(numbers<std::int32_t>(t[0]) == ints{1, 2, 3});
}

TEST_CASE("csv_decoder: decodes two columns with a scalar default") {
  const tensor_tuple t = decode({"1,4", "2,5", "3,6"}, {csv_column::optional(std::int32_t{1}),
                                                        csv_column::optional(std::int32_t{2})});
  CHECK(numbers<std::int32_t>(t[0]) == ints{1, 2, 3});
  CHECK(numbers<std::int32_t>(t[1]) == ints{4, 5, 6});
}

TEST_CASE("csv_decoder: refuses a default with more than one value") {
  for (const leat::shape& wrong : {leat::shape{1, 1}, leat::shape{2}, leat::shape{0, 1}}) {
    CHECK_REFUSED("column 0 has a default_value of shape " + to_string(wrong),
                  csv_decoder({{tensor(dtype::int32, wrong)}}));
  }
  CHECK_REFUSED("column 0 has type uint8", csv_decoder({{tensor(dtype::uint8, {0})}}));
  CHECK_NOTHROW(csv_decoder({{tensor(dtype::int32, {1})}}));
}

TEST_CASE("csv_decoder: treats a quote as text if quotes are disabled") {
  const tensor_tuple t = decode({"1", "2", "\"3\"", "a\"b"}, {a_string}, {.quotes = false});
  CHECK(strings(t[0]) == texts{"1", "2", "\"3\"", "a\"b"});
}

TEST_CASE("csv_decoder: decodes a record to scalars, a quoted empty field as missing") {
  const csv_decoder decoder(
      {csv_column::optional(std::int32_t{3}), csv_column::optional(std::int32_t{4})});
  const tensor_tuple t = decoder.decode_one("1,\"\"");
  CHECK(t[0].value<std::int32_t>() == 1);
  CHECK(t[1].value<std::int32_t>() == 4);
  CHECK(decoder.decode(tensor::scalar("1,2"))[1] == tensor::scalar(std::int32_t{2}));
  const tensor_tuple square = decoder.decode(tensor::of({2, 2}, {"1,2", "3,4", "5,6", "7,8"}));
  CHECK(square[1] == tensor::of<std::int32_t>({2, 2}, {2, 4, 6, 8}));
}

TEST_CASE("csv_decoder: decodes all types") {
  const tensor_tuple d = decode({"1.0", "-1.79e+308", "\"1.79e+308\""}, {a_double});
  CHECK(numbers<double>(d[0]) == doubles{1.0, -1.79e+308, 1.79e+308});
  const tensor_tuple l = decode({"1", "2", "\"2147483648\""}, {a_long});
  CHECK(numbers<std::int64_t>(l[0]) == longs{1, 2, 2147483648});
  const tensor_tuple t = decode({"1.0,4,aa", "0.2,5,bb", "3,6,cc"}, {a_float, an_int, a_string});
  CHECK(numbers<float>(t[0]) == floats{1.0F, 0.2F, 3.0F});
  CHECK(numbers<std::int32_t>(t[1]) == ints{4, 5, 6});
  CHECK(strings(t[2]) == texts{"aa", "bb", "cc"});
}

TEST_CASE("csv_decoder: uses the default for a missing field") {
  const columns all = {csv_column::optional(0.0F), csv_column::optional(std::int32_t{0}),
                       csv_column::optional("")};
  const tensor_tuple na = decode({"2.0,NA,aa", "NA,5,bb", "3,6,NA"}, all, {.na_value = "NA"});
  CHECK(numbers<float>(na[0]) == floats{2, 0, 3});
  CHECK(numbers<std::int32_t>(na[1]) == ints{0, 5, 6});
  CHECK(strings(na[2]) == texts{"aa", "bb", ""});
  const tensor_tuple t = decode({",1,", "0.2,3,bcd", "3.0,,"},
                                {csv_column::optional(1.0F), csv_column::optional(std::int32_t{0}),
                                 csv_column::optional("a")});
  CHECK(numbers<float>(t[0]) == floats{1.0F, 0.2F, 3.0F});
  CHECK(numbers<std::int32_t>(t[1]) == ints{1, 3, 0});
  CHECK(strings(t[2]) == texts{"a", "bcd", "a"});
  const tensor_tuple tab = decode(
      {"1\t1", "0.2\t3", "3.0\t"},
      {csv_column::optional(1.0F), csv_column::optional(std::int32_t{0})}, {.delimiter = '\t'});
  CHECK(numbers<std::int32_t>(tab[1]) == ints{1, 3, 0});
}

TEST_CASE("csv_decoder: refuses a missing required field") {
  const columns all = {csv_column::optional(1.0F), an_int};
  CHECK(error_of({",1", "0.2,3", "3.0,"}, all) ==
        "record 2, byte 5, field 1: required value is missing: set a default_value if it is "
        "optional");
  CHECK(error_of({"3.0,\"\""}, all)
            .starts_with("record 0, byte 5, field 1: required value is missing"));
}

TEST_CASE("csv_decoder: refuses an invalid number") {
  const columns all = {csv_column::optional(1.0F), csv_column::optional(std::int32_t{0})};
  CHECK(error_of({",1", "0.2,234a", "3.0,2"}, all) ==
        "record 1, byte 5, field 1: '234a' is not a valid int32");
  CHECK(error_of({",1", "0.2,2", "3.0adf,3"}, all) ==
        "record 2, byte 1, field 0: '3.0adf' is not a valid float32");
}

TEST_CASE("csv_decoder: refuses misplaced quotes and line ends") {
  const auto said = [](std::string_view record) {
    return error_of({record}, {a_string, csv_column::optional("d")});
  };
  const auto place = [&](std::string_view record) { return said(record).substr(0, 25); };
  CHECK(place("a\"bc,") == "record 0, byte 2, field 0");
  CHECK(place("\"") == "record 0, byte 1, field 0");
  CHECK(place("x,\"abc") == "record 0, byte 3, field 1");
  CHECK(place("1,2\n") == "record 0, byte 4, field 1");
  CHECK(place("1,2\r") == "record 0, byte 4, field 1");
  CHECK(place("\"1\"\n,") == "record 0, byte 3, field 0");
  CHECK(place(" \"a\",") == "record 0, byte 2, field 0");
  CHECK(place("\"a\" ,b") == "record 0, byte 3, field 0");
  CHECK(contains(said("1,2\n"), "line end in an unquoted field: enclose the field"));
  CHECK(contains(said("a\"b,"), "quote in an unquoted field: enclose the field"));
  CHECK(contains(said("\"a\"b\","), "quote in a quoted field: double it"));
  CHECK(contains(said("x,\"abc"), "quoted field has no closing quote"));
}

TEST_CASE("csv_decoder: refuses a number of fields other than the columns") {
  CHECK(error_of({",1"}, {csv_column::optional("d")}) ==
        "record 0, byte 2: number of fields is 2, must be 1");
  CHECK(error_of({"a", "a,b,c,d"}, {a_string}) ==
        "record 1, byte 3: number of fields is 4, must be 1");
  CHECK(error_of({"\"a\",\"b\""}, {a_string}) ==
        "record 0, byte 5: number of fields is 2, must be 1");
  CHECK(error_of({"a"}, {a_string, a_string}) ==
        "record 0, byte 2: number of fields is 1, must be 2");
  CHECK(error_of({"\n"}, {csv_column::optional("d")}) ==
        "record 0, byte 2: number of fields is 0, must be 1");
  CHECK(error_of({""}, {csv_column::optional("d")}) ==
        "record 0, byte 1: number of fields is 0, must be 1");
}

TEST_CASE("csv_decoder: skips line ends before a field") {
  const tensor_tuple t = decode({"\n1,2", "1,\n2", "\r\n\"1\",\r2"}, {an_int, an_int});
  CHECK(numbers<std::int32_t>(t[0]) == ints{1, 1, 1});
  CHECK(numbers<std::int32_t>(t[1]) == ints{2, 2, 2});
  CHECK(error_of({"1,\n"}, {an_int, csv_column::optional("d")}) ==
        "record 0, byte 4: number of fields is 1, must be 2");
}

// ---------------------------------------------------------------------------------------- select

TEST_CASE("csv_decoder: decodes selected columns") {
  const auto number = [](int value) { return csv_column::optional(std::int32_t{value}); };
  const tensor_tuple two = decode({",,", "4,5,6"}, {number(1), number(2)}, {.select = {0, 1}});
  CHECK(numbers<std::int32_t>(two[0]) == ints{1, 4});
  CHECK(numbers<std::int32_t>(two[1]) == ints{2, 5});
  const tensor_tuple all =
      decode({",,", "4,5,6"}, {number(0), number(1), number(2)}, {.select = {0, 1, 2}});
  CHECK(numbers<std::int32_t>(all[2]) == ints{2, 6});
  const tensor_tuple last = decode({"1,2,"}, {csv_column::optional("d")}, {.select = {2}});
  CHECK(strings(last[0]) == texts{"d"});
}

TEST_CASE("csv_decoder: refuses a selected column that does not exist") {
  CHECK(error_of({"1,2,3"}, {an_int, an_int}, {.select = {0, 3}}) ==
        "record 0, byte 6: number of fields is 1, must be 2");
  CHECK(error_of({"1,2"}, {an_int}, {.select = {2}}) ==
        "record 0, byte 4: number of fields is 0, must be 1");
}

TEST_CASE("csv_decoder: refuses invalid options") {
  const auto refused = [](csv_options options, columns all = {an_int, an_int}) {
    return refusal([&] { return csv_decoder(std::move(all), std::move(options)); });
  };
  CHECK(contains(refused({.select = {0}}), "csv_options::select has 1 fields for 2 columns"));
  CHECK(contains(refused({.select = {0}}, {an_int, an_int, an_int}), "1 fields for 3 columns"));
  CHECK(contains(refused({.select = {1, 0}}), "must be in strictly ascending order"));
  CHECK(contains(refused({.select = {SIZE_MAX, 0}}), "must be in strictly ascending order"));
  CHECK(contains(refused({.select = {1, 1}}), "must be in strictly ascending order"));
  CHECK(contains(refused({.delimiter = '"'}), "csv_options::delimiter must not be a quote"));
  CHECK(contains(refused({.delimiter = '\n'}), "csv_options::delimiter must not be a quote"));
  CHECK(contains(refused({}, {}), "no columns: pass one or more"));
  const csv_column a = csv_column::required(dtype::int32, "a");
  CHECK(contains(refused({}, {a, an_int}), "name all components or no component"));
  CHECK(contains(refused({}, {a, a}), "two components have the name 'a': names must be unique"));
  CHECK(refused({.select = {1, 3}}).empty());
}

TEST_CASE("csv_decoder: checks fields before the last selected column, not after it") {
  CHECK(error_of({"1,2,x\"y,3"}, {an_int, an_int}, {.select = {0, 3}})
            .starts_with("record 0, byte 6, field 2: "));
  const tensor_tuple t = decode({"1,2,x\"y,3", "1,\"2\",x\"y,3"}, {an_int}, {.select = {1}});
  CHECK(numbers<std::int32_t>(t[0]) == ints{2, 2});
}

TEST_CASE("csv_decoder: an error counts all fields of the record and names the column") {
  CHECK(error_of({"1,2,x"}, {csv_column::required(dtype::int32, "price")}, {.select = {2}}) ==
        "record 0, byte 5, field 2 ('price'): 'x' is not a valid int32");
}

// ---------------------------------------------------------------------------------------- quotes

TEST_CASE("csv_decoder: decodes quoted fields") {
  CHECK(strings(decode({"\"\"\"\""}, {a_string})[0]) == texts{"\""});
  const tensor_tuple t = decode({"\"a\"\"\",b"}, {a_string, a_string});
  CHECK(strings(t[0]) == texts{"a\""});
  CHECK(strings(t[1]) == texts{"b"});
  const tensor_tuple inside = decode({"\"a,\r\n\"\"b\"\"\",\"c\"\"d\""}, {a_string, a_string});
  CHECK(strings(inside[0]) == texts{"a,\r\n\"b\""});
  CHECK(strings(inside[1]) == texts{"c\"d"});
  const tensor_tuple semicolon = decode({"a;b,c"}, {a_string, a_string}, {.delimiter = ';'});
  CHECK(strings(semicolon[1]) == texts{"b,c"});
  CHECK(error_of({"\"NA\""}, {a_string}, {.na_value = "NA"})
            .starts_with("record 0, byte 1, field 0: required value is missing"));
}

TEST_CASE("csv_decoder: strings keep spaces and NULs") {
  const std::string_view nul("a\0b", 3);
  const tensor_tuple t = decode({" a ", nul}, {a_string});
  CHECK(strings(t[0]) == texts{" a ", std::string(nul)});
}

TEST_CASE("csv_decoder: a byte order mark is three bytes of the first field") {
  const std::string mark = "\xEF\xBB\xBF";
  const std::string text = mark + "a,b";
  const tensor_tuple t = decode({text}, {a_string, a_string});
  CHECK(strings(t[0]) == texts{mark + "a"});
  CHECK(strings(t[1]) == texts{"b"});
  CHECK(error_of({mark + "42"}, {an_int}) != "");
  CHECK(error_of({mark + "\"a\""}, {a_string}) != "");  // the quote is not the first character
}

TEST_CASE("csv_decoder: records of every length decode as defined") {
  // Blocks have 64 bytes. Fields and records end at every position of a block.
  for (std::size_t length = 0; length < 200; ++length) {
    for (const std::size_t field : {1U, 7U, 64U}) {
      std::string record(length, 'x');
      for (std::size_t at = field; at < length; at += field + 1) record[at] = ',';
      texts expected;
      for (std::size_t begin = 0; begin <= length; begin += field + 1) {
        expected.push_back(record.substr(begin, field));
      }
      if (record.empty()) continue;
      const tensor_tuple t = decode({record}, columns(expected.size(), csv_column::optional("")));
      texts found;
      for (const tensor& column : t) found.push_back(strings(column)[0]);
      CHECK(found == expected);
      record.insert(0, "\"\"\"");  // the same with a closer look: the first field is quoted
      const std::size_t end = std::min(record.find(','), record.size());
      record.insert(end, "\"");
      found.clear();
      for (const tensor& column :
           decode({record}, columns(expected.size(), csv_column::optional("")))) {
        found.push_back(strings(column)[0]);
      }
      expected[0].insert(0, "\"");
      CHECK(found == expected);
    }
  }
}

// --------------------------------------------------------------------------------------- numbers

TEST_CASE("csv_decoder: decodes integers") {
  CHECK(number<std::int32_t>(" 12 ") == 12);
  CHECK(number<std::int32_t>("\"\t12\"") == 12);
  CHECK(number<std::int32_t>("-0") == 0);
  CHECK(number<std::int32_t>("000000000000000000000012") == 12);
  CHECK(number<std::int32_t>("2147483647") == std::numeric_limits<std::int32_t>::max());
  CHECK(number<std::int32_t>("-2147483648") == std::numeric_limits<std::int32_t>::min());
  CHECK(number<std::int64_t>("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK(number<std::int64_t>("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  for (const std::string_view text : {"+5", "0x10", "1e3", " ", "-", "--1", "1 2", "1-", "1."}) {
    CHECK(error_of({text}, {an_int}).ends_with("is not a valid int32"));
    CHECK(error_of({text}, {a_long}).ends_with("is not a valid int64"));
  }
  CHECK(error_of({"2147483648"}, {an_int}) ==
        "record 0, byte 1, field 0: '2147483648' is out of range for int32");
  for (const std::string_view text :
       {"9223372036854775808", "-9223372036854775809", "99999999999999999999999"}) {
    CHECK(error_of({text}, {a_long}).ends_with("is out of range for int64"));
    CHECK(error_of({text}, {an_int}).ends_with("is out of range for int32"));
  }
}

TEST_CASE("csv_decoder: decodes floats") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(number<float>("inf") == std::numeric_limits<float>::infinity());
  CHECK(number<double>("-INF") == -infinity);
  CHECK(number<double>("Infinity") == infinity);
  CHECK(std::isnan(number<float>("nan")));
  CHECK(std::isnan(number<double>("-NaN")));
  CHECK(number<float>(" 1.5 ") == 1.5F);
  CHECK(number<double>("+1.5") == 1.5);
  CHECK(number<double>(".5") == 0.5);
  CHECK(number<double>("5.") == 5.0);
  CHECK(number<double>("0x1.8p1") == 3.0);
  CHECK(number<float>("-0X10") == -16.0F);
  CHECK(std::signbit(number<float>("-0")));
  for (const std::string_view text : {" ", "+", "-", ".", "1e", "e5", "1.5x", "1..5", "--1", "+-1",
                                      "0x", "nan(1)", "1,5", "in"}) {
    CHECK(error_of({text}, {a_float}, {.delimiter = ';'}).ends_with("is not a valid float32"));
    CHECK(error_of({text}, {a_double}, {.delimiter = ';'}).ends_with("is not a valid float64"));
  }
}

TEST_CASE("csv_decoder: floats that are too large are infinite, too small ones 0") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(number<double>("1e400") == infinity);
  CHECK(number<double>("-1e99999999999999999999") == -infinity);
  CHECK(number<double>("1e-400") == 0.0);
  CHECK(number<double>("1e-99999999999999999999") == 0.0);
  CHECK(number<float>("1e39") == std::numeric_limits<float>::infinity());
  CHECK(number<float>("1e-60") == 0.0F);
  CHECK(number<double>("0x1p5000") == infinity);
  CHECK(number<double>("0x1p-5000") == 0.0);
  CHECK(number<double>(std::string(400, '9')) == infinity);
  CHECK(number<double>("0." + std::string(400, '0') + "1") == 0.0);
  CHECK(number<double>("0." + std::string(400, '0') + "1e401") == 1.0);
  CHECK(number<double>("5e-324") == 5e-324);
}

TEST_CASE("csv_decoder: floats are rounded as the compiler does") {
  CHECK(number<float>("16777217") == 16777217.0F);
  CHECK(number<float>("0.1") == 0.1F);
  CHECK(number<double>("0.1") == 0.1);
  CHECK(number<double>("9007199254740993") == 9007199254740993.0);
  CHECK(number<double>("3.141592653589793238462643383279502884197") == 3.14159265358979323846);
  CHECK(number<float>("1.00000017881393432617187499") == 1.00000017881393432617187499F);
}

TEST_CASE("csv_decoder: every float comes back from its text") {
  std::uint64_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double value = static_cast<double>(static_cast<std::int64_t>(state >> 11)) /
                         std::pow(10.0, static_cast<double>(state % 17));
    char text[40];
    std::snprintf(text, sizeof text, "%.*g", static_cast<int>(state % 17) + 1, value);
    if (number<double>(text) != std::strtod(text, nullptr)) FAIL(text);
    if (number<float>(text) != std::strtof(text, nullptr)) FAIL(text);
  }
}

TEST_CASE("csv_decoder: messages show the beginning of a text and escape other bytes") {
  CHECK(error_of({std::string(100, 'x')}, {an_int}) ==
        "record 0, byte 1, field 0: '" + std::string(32, 'x') + "'... is not a valid int32");
  CHECK(error_of({"\x01\xff"}, {an_int}).ends_with("'\\x01\\xff' is not a valid int32"));
}

TEST_CASE("csv_decoder: reports names and types of its elements") {
  const csv_decoder decoder(
      {csv_column::required(dtype::int32, "a"), csv_column::optional("none", "b")});
  const std::vector<leat::byte_view> lines = {leat::as_bytes("1,x"), leat::as_bytes("2,")};
  const tensor_tuple t = decoder.decode(lines);
  CHECK(numbers<std::int32_t>(t["a"]) == ints{1, 2});
  CHECK(strings(t["b"]) == texts{"x", "none"});
  CHECK(decoder.spec() == leat::element_spec({{.type = dtype::int32, .shape = {}, .name = "a"},
                                              {.type = dtype::string, .shape = {}, .name = "b"}}));
  CHECK(decoder.decode(records{})[0].shape() == leat::shape{0});
}

TEST_CASE("csv_decoder: an error names the byte and the field of the record") {
  csv_options o;
  o.select = {1, 3};
  const auto of_number = csv_column::required(dtype::int32, "age");
  CHECK(error_of({"a,1,b,x"}, {csv_column::required(dtype::int32, "id"), of_number}, o) ==
        "record 0, byte 7, field 3 ('age'): 'x' is not a valid int32");
  CHECK(error_of({"a,1,b,c\"d"}, {csv_column::required(dtype::int32, "id"), of_number}, o)
            .starts_with("record 0, byte 8, field 3: quote"));
}

std::string refusal_of_header(std::string_view header, columns all, csv_options o = {}) {
  return plain_message_of(
      [&] { return csv_decoder::for_header(header, std::move(all), std::move(o)); });
}

TEST_CASE("csv_decoder: for_header finds columns by name in any order") {
  const columns two = {csv_column::required(dtype::int32, "age"),
                       csv_column::optional("none", "na,me")};
  for (const std::string_view header :
       {"id,\"na,me\",age,x", "id,\"na,me\",age,x\r\n", "\xEF\xBB\xBFid,\"na,me\",age,x\n"}) {
    const csv_decoder decoder = csv_decoder::for_header(header, two);
    // Enough records to be decoded as a block, and one record that is decoded alone.
    std::string text;
    for (int i = 0; i < 100; ++i)
      text += std::to_string(i) + ",n," + std::to_string(2 * i) + ",z\n";
    std::vector<std::string_view> lines;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      lines.push_back(std::string_view(text).substr(at, end - at));
      at = end + 1;
    }
    const tensor_tuple t = decoder.decode(lines);
    CHECK(numbers<std::int32_t>(t[0])[99] == 198);
    CHECK(strings(t[1])[99] == "n");
    const tensor_tuple one = decoder.decode_one("7,,8");
    CHECK(numbers<std::int32_t>(one[0]) == ints{8});
    CHECK(strings(one[1]) == texts{"none"});
    CHECK_THROWS_WITH(decoder.decode_one("7,a"),
                      Catch::Contains("number of fields is 1, must be 2"));
    CHECK(decoder.spec()[0].name == "age");
  }
  // Selects only the first column of the header, and only the last one.
  CHECK(strings(csv_decoder::for_header("a,b", {csv_column::required(dtype::string, "b")})
                    .decode_one("1,2")[0]) == texts{"2"});
}

TEST_CASE("csv_decoder: for_header refuses names that are missing, double or empty") {
  const auto of = [](std::string name) {
    return csv_column::required(dtype::int32, std::move(name));
  };
  CHECK(refusal_of_header("id,age", {of("Age")}) ==
        "csv_decoder: header has no field 'Age': its fields are 'id', 'age'");
  CHECK(refusal_of_header("", {of("a")}) ==
        "csv_decoder: header has no field 'a': the header is empty");
  CHECK(contains(refusal_of_header("a,b,a", {of("a")}), "'a' twice"));
  CHECK(refusal_of_header("a,b,a", {of("b")}).empty());
  CHECK(contains(refusal_of_header("a,b", {of("")}), "column 0 has no name"));
  CHECK(contains(refusal_of_header("a,\"b", {of("a")}), "header"));
  CHECK(contains(refusal_of_header("a,b", {}), "no columns"));
  csv_options selected;
  selected.select = {1};
  CHECK(contains(refusal_of_header("a,b", {of("a")}, selected), "select"));
}

}  // namespace csv_decoder_test
