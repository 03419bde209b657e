#include "codec/csv/internal/csv_record_splitter.hpp"

#include <algorithm>

#include "leat/codec/csv/csv_decoder.hpp"
#include "support/effort.hpp"
#include "support/records/slow_csv.hpp"
#include "tensor/plain_test.hpp"

namespace csv_record_splitter_test {

using leat::byte_view;
using leat::detail::csv_record_splitter;
using settings = csv_record_splitter::settings;
using texts = std::vector<std::string>;

struct outcome {
  texts records;
  std::size_t consumed = 0;
  std::string fault;  // "too long", or the message
  std::size_t fault_at = 0;

  friend bool operator==(const outcome&, const outcome&) = default;
};

// Splits a text whose first `piece` bytes come first, then `piece` more, as in a reader.
outcome split(std::string_view text, const settings& s, std::size_t piece) {
  const csv_record_splitter splitter(s);
  outcome o;
  csv_record_splitter::input in;
  for (std::size_t end = std::min(piece, text.size());; end = std::min(end + piece, text.size())) {
    in.text = text.substr(o.consumed, end - o.consumed);
    in.is_last = end == text.size();
    std::vector<byte_view> records;
    const csv_record_splitter::result r = splitter.split(in, records);
    for (const byte_view record : records) o.records.emplace_back(leat::as_text(record));
    o.consumed += r.consumed;
    in.searched = end - o.consumed;
    in.at_searched = r.rest;
    if (r.fault || r.is_too_long) {
      o.fault = r.fault ? r.fault : "too long";
      o.fault_at = r.fault ? o.consumed - r.consumed + r.fault_at : 0;
      return o;
    }
    if (in.is_last) return o;
  }
}

outcome split(std::string_view text, const settings& s = {}) { return split(text, s, SIZE_MAX); }

outcome by_definition(std::string_view text, const settings& s) {
  outcome o;
  while (o.consumed < text.size()) {
    const std::string_view rest = text.substr(o.consumed);
    const leat_test::csv_row row = leat_test::first_csv_row(rest, s.delimiter, s.quotes);
    if (row.is_malformed && row.seen <= s.max_size) {
      o.fault = split(rest, s).fault;  // the other tests check the text
      o.fault_at = o.consumed + row.fault_at;
      return o;
    }
    if (row.is_malformed || row.end > s.max_size) {
      o.fault = "too long";
      return o;
    }
    if (row.end > 0 || !s.skip_blank_lines) o.records.emplace_back(rest.substr(0, row.end));
    o.consumed += row.next;
  }
  return o;
}

TEST_CASE("csv_record_splitter: a record ends with LF, CR LF or CR outside quotes") {
  CHECK(split("a,b\n1,2\n").records == texts{"a,b", "1,2"});
  CHECK(split("a,b\r\n1,2").records == texts{"a,b", "1,2"});
  CHECK(split("a,b\r1,2\r").records == texts{"a,b", "1,2"});
  CHECK(split("a\n1\r2\r\n3").records == texts{"a", "1", "2", "3"});
  CHECK(split("\"a\r\n,\"\"\n\",\"\r\"\n\"\"").records == texts{"\"a\r\n,\"\"\n\",\"\r\"", "\"\""});
  CHECK(split("").records.empty());
  CHECK(split("a,\n").records == texts{"a,"});
  CHECK(split(std::string_view("\0,\n\0", 4)).records ==
        texts{std::string("\0,", 2), std::string(1, '\0')});
}

TEST_CASE("csv_record_splitter: blank lines are skipped, or are empty records") {
  CHECK(split("\n\na\r\n\r\n\r\rb\n\n").records == texts{"a", "b"});
  CHECK(split("\na\r\n\r\n\rb\n\n", {.skip_blank_lines = false}).records ==
        texts{"", "a", "", "", "b", ""});
  CHECK(split(" \n").records == texts{" "});
}

TEST_CASE("csv_record_splitter: without quotes, each line is a record") {
  CHECK(split("5\",\"a\nb\"\r\"\"", {.quotes = false}).records == texts{"5\",\"a", "b\"", "\"\""});
}

TEST_CASE("csv_record_splitter: stops before a record with a wrong quote") {
  const auto check = [](std::string_view text, std::size_t at, std::string_view fault) {
    const outcome o = split(text);
    INFO(text);
    CHECK(o.records == texts{"a"});
    CHECK(o.fault.starts_with(fault));
    CHECK(o.fault_at == at);
    CHECK(o.consumed == 2);
  };
  check("a\n1,5\" x\n2\n", 5, "quote in an unquoted field");
  check("a\n \"b\"\n", 3, "quote in an unquoted field");
  check("a\n\"b\" ,c\n", 4, "quote in a quoted field");
  check("a\n\"b\nc,d\n\"e\",f\n", 9, "quote in a quoted field");  // it was not closed in line 2
  check("a\nb,\"c\nd\n", 4, "quoted field has no closing quote");
  CHECK(split("a;\"b,\"\n", {.delimiter = ';'}).fault.empty());
  CHECK_FALSE(split("a;\"b,\"\n").fault.empty());
}

TEST_CASE("csv_record_splitter: stops before a record above the limit") {
  CHECK(split("abc\r\nd\n", {.max_size = 3}, 4).records == texts{"abc", "d"});
  const outcome o = split("abc\nabcd\r\n", {.max_size = 3});
  CHECK(o.records == texts{"abc"});
  CHECK(o.fault == "too long");
  CHECK(o.consumed == 4);
  CHECK(split("\"abcdefg", {.max_size = 3}).fault == "too long");
  CHECK(split("abc\"", {.max_size = 3}).fault == "too long");
}

std::string random_text(leat::random_engine& random) {
  static constexpr std::string_view bytes = "\"\"\"\n\n\r,,;ab";
  std::string text;
  const std::size_t size = random.uniform_below(random.uniform_below(4) == 0 ? 9000 : 40);
  // Long texts need longer fields, or the first wrong quote is near their begin.
  while (text.size() < size) {
    if (size > 1000 && random.uniform_below(3) > 0) {
      text.append(random.uniform_below(90), 'x');
      text += ",\"" + std::string(random.uniform_below(90), '\n') + "\"\"\"\r\n";
    } else {
      text += bytes[random.uniform_below(bytes.size())];
    }
  }
  return text;
}

TEST_CASE("csv_record_splitter: any text in pieces of any size has the records of the definition") {
  leat::random_engine random(leat_test::case_seed(1));
  std::size_t faults = 0;
  std::size_t records = 0;
  for (std::uint64_t i = 0; i < leat_test::random_case_count(20'000); ++i) {
    const std::string text = random_text(random);
    const settings s = {
        .delimiter = random.uniform_below(2) == 0 ? ',' : ';',
        .quotes = random.uniform_below(5) > 0,
        .skip_blank_lines = random.uniform_below(2) == 0,
        .max_size = random.uniform_below(3) == 0 ? random.uniform_below(60) : SIZE_MAX};
    const outcome expected = by_definition(text, s);
    const std::size_t piece = 1 + random.uniform_below(text.size() < 100 ? 10 : 5000);
    INFO(text << "\n" << piece);
    REQUIRE(split(text, s) == expected);
    REQUIRE(split(text, s, piece) == expected);
    if (!expected.fault.empty()) ++faults;
    records += expected.records.size();
  }
  CHECK(faults > 100);
  CHECK(records > 1000);
}

TEST_CASE("csv_record_splitter: csv_decoder splits each record into fields") {
  leat::random_engine random(leat_test::case_seed(2));
  for (std::uint64_t i = 0; i < leat_test::random_case_count(20'000); ++i) {
    const std::string text = random_text(random);
    const outcome o = split(text);
    for (const std::string& record : o.records) {
      INFO(record);
      REQUIRE_NOTHROW(leat::csv_decoder::header_names(record));
    }
    if (o.fault.empty() || o.fault == "too long") continue;
    // The decoder finds the same fault, at the latest in the rest of the text.
    const std::string rest = text.substr(o.consumed);
    INFO(rest);
    REQUIRE_THROWS_WITH(leat::csv_decoder::header_names(rest),
                        Catch::Contains(o.fault) || Catch::Contains("line end in an unquoted"));
  }
}

TEST_CASE("csv_record_splitter: the end of a line is known when the byte after CR is") {
  using leat::detail::end_of_line;
  CHECK(end_of_line("a\nb", false) == 2);
  CHECK(end_of_line("a\r\nb", false) == 3);
  CHECK(end_of_line("a\rb", false) == 2);
  CHECK(end_of_line("a\r", false) == 0);
  CHECK(end_of_line("a\r", true) == 2);
  CHECK(end_of_line("ab", true) == 0);
}

}  // namespace csv_record_splitter_test
