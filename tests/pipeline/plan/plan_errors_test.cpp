// Plans that are wrong: each error names the part and the option.

#include "leat/pipeline/plan/plan_error.hpp"

#include "leat/pipeline/plan/build_pipeline.hpp"
#include "pipeline/plan/plans.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace plan_errors_test {

using leat::batch_stage_options;
using leat::csv_stage_options;
using leat::example_stage_options;
using leat::pipeline_plan;
using leat::plan_error;
using leat::shuffle_stage_options;
using leat_test::plan_of;

// Returns "PART OPTION: MESSAGE" of each error.
std::vector<std::string> errors_of(const pipeline_plan& plan) {
  std::vector<std::string> all;
  for (const plan_error& e : leat::find_plan_errors(plan)) {
    CHECK(e.code() == leat::errc::invalid_argument);
    all.push_back(std::to_string(e.part()) + ' ' + e.option() + ": " +
                  leat_test::without_code_message(e));
  }
  return all;
}

// Checks that a plan has this error only, and that it cannot be built.
void check_error(const pipeline_plan& plan, const std::string& expected) {
  const std::vector<std::string> found = errors_of(plan);
  REQUIRE(found.size() == 1);
  CHECK(found.front() == expected);
  const std::string message = expected.substr(expected.find(": ") + 2);
  CHECK(contains(error_of([&] { static_cast<void>(leat::build_pipeline(plan)); }), message));
}

const batch_stage_options batch{.batch_size = 2};
const example_stage_options labels{
    .features = {{"label", leat::fixed_len_feature{.type = leat::dtype::int64}}}};
const csv_stage_options people{.columns = {leat::csv_column::required(leat::dtype::string, "name"),
                                           leat::csv_column::required(leat::dtype::int64, "age")}};

TEST_CASE("find_plan_errors: stages that do not fit the elements", "[pipeline]") {
  const auto records = [](std::vector<leat::plan_stage> stages) {
    return plan_of(leat::file_source<leat::tfrecord_reader>{.files = {"a"}}, std::move(stages));
  };
  check_error(records({batch, batch_stage_options{.batch_size = 1, .name = "more"}}),
              "2 : stage 2 of kind 'batch': elements are already batches of records: remove this "
              "stage");
  check_error(records({labels}),
              "1 : stage 1 of kind 'parse_example': needs batches: put a stage of kind 'batch' "
              "before it");
  check_error(records({batch, labels, people}),
              "3 : stage 3 of kind 'parse_csv': elements are already batches of columns: remove "
              "this stage");
  check_error(records({}), "0 : elements are records, not batches: add a stage of kind 'batch'");
  check_error(records({shuffle_stage_options{.capacity = 2}}),
              "1 : elements are records, not batches: add a stage of kind 'batch'");
}

TEST_CASE("find_plan_errors: decoders that do not fit the source", "[pipeline]") {
  const leat::file_source<leat::line_reader> lines{.files = {"a"}};
  check_error(plan_of(lines, {batch, labels}),
              "2 : stage 2 of kind 'parse_example': lines cannot contain serialized Examples: "
              "decode them as JSON, or choose another source format");
  check_error(plan_of(lines, {batch,
                              leat::sequence_example_stage_options{
                                  .sequences = {{"a", leat::var_len_feature{}}}}}),
              "2 : stage 2 of kind 'parse_sequence_example': lines cannot contain serialized "
              "SequenceExamples: choose another source format");
  auto json = labels;
  json.is_json = true;
  CHECK(errors_of(plan_of(lines, {batch, json})).empty());

  leat::file_source<leat::csv_reader> csv{.files = {"a"}};
  csv.reader.delimiter = ';';
  csv.reader.quotes = false;
  const auto found = errors_of(plan_of(csv, {batch, people}));
  REQUIRE(found.size() == 2);
  CHECK(found[0] ==
        "2 delimiter: stage 2 of kind 'parse_csv': delimiter: give the delimiter of the source");
  CHECK(found[1] == "2 quotes: stage 2 of kind 'parse_csv': quotes: give the value of the source");
}

TEST_CASE("find_plan_errors: a header that the source does not have", "[pipeline]") {
  csv_stage_options by_header = people;
  by_header.has_header_in_files = true;
  const std::string title = "2 header: stage 2 of kind 'parse_csv': header: ";
  const std::string at_least = " of at least 1 in the source";
  using leat::file_source;
  check_error(
      plan_of(file_source<leat::tfrecord_reader>{.files = {"a"}}, {batch, by_header}),
      title + "only a source of format 'csv' or 'lines' has a header: give the header line");
  check_error(plan_of(file_source<leat::line_reader>{.files = {"a"}}, {batch, by_header}),
              title + "a header in files requires skip_header_lines" + at_least);
  check_error(plan_of(file_source<leat::csv_reader>{.files = {"a"}}, {batch, by_header}),
              title + "a header in files requires skip_header_records" + at_least);
}

TEST_CASE("find_plan_errors: options that decoders reject", "[pipeline]") {
  const leat::file_source<leat::tfrecord_reader> source{.files = {"a"}};
  const auto only = [&](leat::plan_stage stage) {
    const auto found = errors_of(plan_of(source, {batch, std::move(stage)}));
    REQUIRE(found.size() == 1);
    return found.front();
  };
  CHECK(contains(only(csv_stage_options()), "2 : stage 2 of kind 'parse_csv': "));
  auto without_age = people;
  without_age.header = "name";
  CHECK(contains(only(without_age), "'age'"));
  auto twice = labels;
  twice.features.push_back(labels.features.front());
  CHECK(only(twice) == "2 : stage 2 of kind 'parse_example': feature 'label' occurs twice");
  CHECK(contains(
      only(leat::raw_stage_options{.type = leat::dtype::int32, .raw = {.fixed_length = 3}}),
      "2 : stage 2 of kind 'decode_raw': "));
  const leat::sequence_example_stage_options both{.context = {{"a", leat::fixed_len_feature{}}},
                                                  .sequences = {{"a", leat::var_len_feature{}}}};
  CHECK(only(both) ==
        "2 sequences: stage 2 of kind 'parse_sequence_example': sequences: 'a' is also a name in "
        "context");
}

TEST_CASE("find_plan_errors: an option that a stage rejects has the number of the stage",
          "[pipeline]") {
  leat::file_source<leat::tfrecord_reader> source{.files = {"a"}};
  check_error(plan_of(source, {shuffle_stage_options(), batch}),
              "1 : pipeline 'pipeline', stage 'shuffle': capacity is 0: set at least 1");
  check_error(plan_of(source, {batch, leat::prefetch_stage_options{.name = "batch"}}),
              "2 : pipeline 'pipeline', stage 'batch': another stage has the same name: rename one "
              "of them");
  source.files.clear();
  CHECK(contains(errors_of(plan_of(source, {batch})).front(),
                 "0 : pipeline 'pipeline', stage 'files': no files"));
  leat::indexed_source indexed{.files = {"a"}};
  indexed.reader.batch_size = 0;
  CHECK(contains(errors_of(plan_of(indexed, {batch})).front(), "0 : "));
  CHECK(contains(error_of([] { static_cast<void>(leat::make_plan_stage("bach")); }), "'bach'"));
  CHECK(contains(error_of([] { static_cast<void>(leat::make_plan_source("xml")); }), "'xml'"));
}

TEST_CASE("build_pipeline: a memory budget that is too small keeps its code", "[pipeline]") {
  pipeline_plan plan = plan_of(leat::file_source<leat::line_reader>{.files = {"a"}}, {batch});
  plan.options.memory_budget = 1000;
  try {
    static_cast<void>(leat::build_pipeline(plan));
    FAIL("it was built");
  } catch (const plan_error& e) {
    CHECK(e.code() == leat::errc::resource_exhausted);
    CHECK(e.part() == 0);
  }
}

TEST_CASE("read_headers: headers that cannot be used", "[pipeline]") {
  const temp_dir dir;
  const std::string a = dir.write("a.csv", "name,age\nAda,36\n");
  leat::file_source<leat::csv_reader> source{.files = {a}};
  source.reader.skip_header_records = 1;
  csv_stage_options by_header = people;
  by_header.has_header_in_files = true;
  pipeline_plan plan = plan_of(source, {batch, by_header});
  CHECK(contains(error_of([&] { static_cast<void>(leat::build_pipeline(plan)); }),
                 "call read_headers() first"));
  const std::string b = dir.write("b.csv", "age,name\n36,Ada\n");
  leat::files_of(plan.source) = {a, b};
  CHECK(contains(error_of(leat::read_headers(plan), leat::errc::data_loss),
                 b + ": header differs from " + a + ": 'age,name' and 'name,age'"));
  leat::files_of(plan.source) = {dir.write("c.csv", "name,height\nAda,1\n")};
  CHECK(contains(error_of(leat::read_headers(plan), leat::errc::invalid_argument), "'age'"));
  leat::files_of(plan.source) = {"/dev/stdin"};
  CHECK(contains(error_of(leat::read_headers(plan), leat::errc::invalid_argument),
                 "/dev/stdin: file can be read only once: give the header line"));
  CHECK(std::get<csv_stage_options>(plan.stages[1]).has_header_in_files);
}

}  // namespace plan_errors_test
