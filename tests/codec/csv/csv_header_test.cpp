// Names in header lines.

#include "leat/codec/csv/csv_decoder.hpp"

#include "tensor/plain_test.hpp"

namespace csv_header_test {

using leat::csv_column;
using leat::csv_decoder;
using texts = std::vector<std::string>;

TEST_CASE("csv_decoder: header_names returns the names that for_header finds") {
  CHECK(csv_decoder::header_names("\xEF\xBB\xBF\"id\",a\r\n") == texts{"id", "a"});
  CHECK(csv_decoder::header_names("a;\"b\"", {.delimiter = ';', .quotes = false}) ==
        texts{"a", "\"b\""});
  CHECK(csv_decoder::header_names("a,").size() == 2);
  CHECK(csv_decoder::header_names("").empty());
  CHECK_THROWS_WITH(csv_decoder::header_names("a,\"b"), Catch::Contains("no closing quote"));
  CHECK_THROWS_WITH(csv_decoder::header_names("a", {.delimiter = '"'}),
                    Catch::Contains("delimiter"));
}

TEST_CASE("csv_decoder: a header in UTF-16 is refused as UTF-16") {
  for (const std::string_view header : {std::string_view("\xFF\xFE"
                                                         "a\0,\0b\0",
                                                         8),
                                        std::string_view("\xFE\xFF\0a\0,\0b", 8)}) {
    CHECK_THROWS_WITH(
        csv_decoder::for_header(header, {csv_column::required(leat::dtype::string, "a")}),
        Catch::StartsWith("csv_decoder: header is UTF-16: convert the file to UTF-8"));
    CHECK_THROWS_WITH(csv_decoder::header_names(header), Catch::Contains("UTF-16"));
  }
}

}  // namespace csv_header_test
