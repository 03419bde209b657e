// The table of formats: its rows are in the order of the enumerators and of plan_source.

#include "leat/pipeline/plan/record_format.hpp"

#include <set>
#include <string_view>

#include <catch2/catch.hpp>

#include "leat/pipeline/plan/pipeline_plan.hpp"

namespace record_format_test {

using leat::record_format;

TEST_CASE("record_format: the table has one row for each format", "[pipeline]") {
  std::set<std::string_view> names;
  std::set<std::string_view> suffixes;
  std::size_t suffix_count = 0;
  for (const leat::record_format_info& f : leat::record_formats()) {
    CHECK(&leat::info_of(f.format) == &f);
    CHECK(leat::format_of(leat::make_plan_source(f.name)) == f.format);
    names.insert(f.name);
    suffixes.insert(f.suffixes.begin(), f.suffixes.end());
    suffix_count += f.suffixes.size();
  }
  CHECK(names.size() == std::variant_size_v<leat::plan_source>);
  CHECK(leat::record_formats().size() == names.size());
  CHECK(suffixes.size() == suffix_count);  // no suffix belongs to two formats
}

TEST_CASE("record_format: a row describes its format", "[pipeline]") {
  const leat::record_format_info& records = leat::info_of(record_format::tfrecord);
  CHECK(records.name == "tfrecord");
  CHECK(records.framing_size == 16);
  CHECK(records.is_tfrecord);
  CHECK(records.suffixes.front() == ".tfrecord");
  CHECK(leat::info_of(record_format::indexed).suffixes.empty());
  CHECK(leat::info_of(record_format::lines).has_lines);
  CHECK_FALSE(leat::info_of(record_format::csv).has_lines);
}

}  // namespace record_format_test
