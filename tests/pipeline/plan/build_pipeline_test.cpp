// Pipelines that are built from plans: each source and stage, and states.

#include "leat/pipeline/plan/build_pipeline.hpp"

#include <map>

#include "leat/base/bytes.hpp"
#include "leat/codec/example/example_builder.hpp"
#include "pipeline/plan/plans.hpp"
#include "pipeline/resuming.hpp"
#include "support/records/record_bytes.hpp"
#include "support/temp_dir.hpp"

namespace build_pipeline_test {

using leat::batch_stage_options;
using leat::file_source;
using leat::pipeline_plan;
using leat::planned_batch;
using namespace leat_test;

// Returns the records of a batch, "a|b", or its columns, "age=1|2 name=x|y".
std::string text_of_batch(const planned_batch& batch) {
  std::string text;
  for (std::size_t i = 0; i < batch.size() && !batch.has_columns(); ++i) {
    text += (i > 0 ? "|" : "") + std::string(leat::as_text(batch[i]));
  }
  for (const auto& [name, value] : batch.columns()) {
    text += (text.empty() ? "" : " ") + name + '=';
    const auto* const t = std::get_if<leat::tensor>(&value);
    if (!t) {
      text += std::get<leat::sparse_tensor>(value).values.type() == leat::dtype::string ? "texts"
                                                                                        : "numbers";
      continue;
    }
    for (std::size_t i = 0; i < t->count(); ++i) {
      if (i > 0) text += '|';
      if (t->type() == leat::dtype::string) {
        text += t->strings()[i];
      } else if (t->type() == leat::dtype::uint8) {
        text += std::to_string(t->values<std::uint8_t>()[i]);
      } else {
        text += std::to_string(t->values<std::int64_t>()[i]);
      }
    }
  }
  return text;
}

auto texts_pipeline(const pipeline_plan& plan) {
  return leat::build_pipeline(plan).map("text", text_of_batch);
}

texts batches_of(const pipeline_plan& plan) {
  CHECK(leat::find_plan_errors(plan).empty());
  return elements_of(texts_pipeline(plan));
}

const batch_stage_options batch{.batch_size = 2};

std::string example(std::string_view name, std::int64_t age) {
  leat::example_builder e;
  e.add("name", std::vector{name});
  e.add("age", std::vector{age});
  return e.serialize();
}

const leat::named_feature name_feature{"name",
                                       leat::fixed_len_feature{.type = leat::dtype::string}};
const leat::named_feature age_feature{"age", leat::fixed_len_feature{.type = leat::dtype::int64}};

TEST_CASE("build_pipeline: each source reads its format", "[pipeline]") {
  const temp_dir dir;
  const std::string records = dir.write("a.tfrecord", framed({"one", "two", "three"}));
  const std::string lines = dir.write("a.txt", "one\ntwo\nthree\n");
  const texts expected{"one|two", "three"};
  CHECK(batches_of(plan_of(file_source<leat::tfrecord_reader>{.files = {records}}, {batch})) ==
        expected);
  CHECK(batches_of(plan_of(file_source<leat::line_reader>{.files = {lines}}, {batch})) == expected);
  CHECK(batches_of(plan_of(file_source<leat::csv_reader>{.files = {lines}}, {batch})) == expected);
  leat::indexed_source indexed{.files = {records}};
  indexed.reader.num_epochs = 1;
  indexed.reader.shuffle = false;
  CHECK(batches_of(plan_of(indexed, {batch})) == expected);
  file_source<leat::fixed_length_reader> fixed{.files = {dir.write("a.bin", "aabbcc")}};
  fixed.reader.record_size = 2;
  CHECK(batches_of(plan_of(fixed, {batch})) == texts{"aa|bb", "cc"});
  CHECK(batches_of(plan_of(file_source<leat::whole_file_reader>{.files = {lines}}, {batch})) ==
        texts{"one\ntwo\nthree\n"});
}

TEST_CASE("build_pipeline: stages apply in the order of the plan", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 100);
  const file_source<leat::line_reader> source{.files = {dir / "lines*"}, .interleave = 2};
  const leat::shuffle_stage_options shuffle{.capacity = 10, .seed = 3};
  const batch_stage_options full{.batch_size = 8, .remainder = leat::batch_remainder::drop};
  const leat::prefetch_stage_options prefetch{.blocks = 2};
  auto by_plan = leat::build_pipeline(plan_of(source, {prefetch, shuffle, full}));
  auto in_code = leat::read_files(source).prefetch(prefetch).shuffle(shuffle).batch(full);
  const auto run = [](auto& planned, auto& coded) -> leat::task<std::size_t> {
    std::size_t count = 0;
    while (auto rows = co_await coded.next()) {
      const auto element = co_await planned.next();
      CHECK(text_of_batch(element.value()) == text_of_batch(planned_batch(std::move(*rows))));
      ++count;
    }
    const auto end = co_await planned.next();
    CHECK(!end);
    co_return count;
  };
  CHECK(leat::block_on(run(by_plan, in_code)) == 12);
  CHECK(by_plan.dropped() == 4);
  const auto stages = by_plan.stages();
  REQUIRE(stages.size() == in_code.stages().size());  // as many, and with the same counters
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const leat::stage_metrics& other = *in_code.stages()[i];
    CHECK(stages[i]->name() == other.name());
    CHECK(stages[i]->records() == other.records());
    CHECK(stages[i]->bytes() == other.bytes());
    CHECK(stages[i]->tasks() == other.tasks());
  }
  // Batches can be shuffled too.
  pipeline_plan batches = plan_of(source, {full, shuffle, prefetch});
  CHECK(batches_of(batches).size() == 12);
}

TEST_CASE("build_pipeline: decoders make columns in the order of the plan", "[pipeline]") {
  const temp_dir dir;
  const std::string examples =
      dir.write("a.tfrecord", framed({example("Ada", 36), example("Grace", 85)}));
  const file_source<leat::tfrecord_reader> records{.files = {examples}};
  const texts expected{"name=Ada|Grace age=36|85"};
  for (const std::size_t workers : {0U, 2U}) {
    pipeline_plan plan =
        plan_of(records, {batch, leat::example_stage_options{
                                     .features = {name_feature, age_feature}, .workers = workers}});
    CHECK(batches_of(plan) == expected);
    CHECK(plan.workers() == workers);
  }
  const std::string json =
      dir.write("a.jsonl", R"({"features":{"feature":{"age":{"int64List":{"value":[7]}}}}})"
                           "\n");
  CHECK(batches_of(plan_of(
            file_source<leat::line_reader>{.files = {json}},
            {batch, leat::example_stage_options{.features = {age_feature}, .is_json = true}})) ==
        texts{"age=7"});
  const std::string raw = dir.write("raw", framed({"\1\2", "\3\4"}));
  CHECK(batches_of(plan_of(file_source<leat::tfrecord_reader>{.files = {raw}},
                           {batch, leat::raw_stage_options{.column = "pixels"}})) ==
        texts{"pixels=1|2|3|4"});
}

TEST_CASE("build_pipeline: sequences have a column of their lengths", "[pipeline]") {
  const temp_dir dir;
  const std::string empty = dir.write("a.tfrecord", framed({"", ""}));
  const pipeline_plan plan = plan_of(
      file_source<leat::tfrecord_reader>{.files = {empty}},
      {batch,
       leat::sequence_example_stage_options{
           .context = {{"words", leat::var_len_feature{.type = leat::dtype::string}}},
           .sequences = {{"steps", leat::fixed_len_sequence_feature{.type = leat::dtype::int64,
                                                                    .allow_missing = true}}}}});
  CHECK(batches_of(plan) == texts{"words=texts steps= steps.length=0|0"});
}

TEST_CASE("build_pipeline: columns of CSV are found by a header", "[pipeline]") {
  const temp_dir dir;
  const std::string path = dir.write("a.csv", "age,name\n36,Ada\n85,Grace\n");
  leat::csv_stage_options stage{.columns = {leat::csv_column::required(leat::dtype::string, "name"),
                                            leat::csv_column::required(leat::dtype::int64, "age")},
                                .has_header_in_files = true};
  file_source<leat::line_reader> lines{.files = {path}};
  lines.reader.skip_header_lines = 1;
  file_source<leat::csv_reader> csv{.files = {path}};
  csv.reader.skip_header_records = 1;
  for (const leat::plan_source& source : {leat::plan_source(lines), leat::plan_source(csv)}) {
    pipeline_plan plan = plan_of(source, {batch, stage});
    leat::block_on(leat::read_headers(plan));
    CHECK(std::get<leat::csv_stage_options>(plan.stages[1]).header == "age,name");
    CHECK(batches_of(plan) == texts{"name=Ada|Grace age=36|85"});
  }
  stage.has_header_in_files = false;
  csv.reader.skip_header_records = 0;
  csv.files = {dir.write("bad.csv", "Ada,36\nGrace,old\n")};
  const std::string why = error_of([&] { batches_of(plan_of(csv, {batch, stage})); });
  CHECK(contains(why, "stage 'parse_csv': " + std::string(csv.files.front())));
  CHECK(contains(why, "('age')"));
  csv.files = {dir.write("short.csv", "")};  // ends before its header
  csv.reader.skip_header_records = 1;
  stage.has_header_in_files = true;
  pipeline_plan plan = plan_of(csv, {batch, stage});
  leat::block_on(leat::read_headers(plan));
  CHECK(batches_of(plan).empty());
}

TEST_CASE("pipeline_plan: describes its elements and columns without files", "[pipeline]") {
  using leat::plan_element;
  pipeline_plan plan =
      plan_of(leat::make_plan_source("lines"),
              {leat::make_plan_stage("shuffle"), batch, leat::make_plan_stage("prefetch"),
               leat::example_stage_options{
                   .features = {name_feature,
                                {"box", leat::fixed_len_feature{.shape = {2}}},
                                {"words", leat::var_len_feature{.type = leat::dtype::string}},
                                {"steps", leat::fixed_len_sequence_feature{.shape = {3}}},
                                {"cells", leat::sparse_feature{{}, {}, leat::dtype::int64, {4, 4}}},
                                {"rows", leat::ragged_feature{}}}}});
  CHECK(plan.element_after(0) == plan_element::lines);
  CHECK(plan.element_after(1) == plan_element::lines);
  CHECK(plan.element_after(3) == plan_element::line_batches);
  CHECK(to_string(plan.element_after(4)) == "batches of columns");
  using form = leat::planned_column::form;
  const std::vector<leat::planned_column> columns = plan.columns();
  const std::map<std::string, std::pair<form, std::string>> expected{
      {"name", {form::scalar, "string [?]"}},
      {"box", {form::dense, "float32 [?,2]"}},
      {"words", {form::list, "string sparse [?,?]"}},
      {"steps", {form::other, "float32 [?,?,3]"}},
      {"cells", {form::other, "int64 sparse, 3 dimensions"}},
      {"rows", {form::other, "float32 ragged"}}};
  REQUIRE(columns.size() == expected.size());
  for (const leat::planned_column& c : columns) {
    CHECK(expected.at(c.name) == std::pair(c.shape, c.text));
  }
}

TEST_CASE("planned pipeline: a state is that of the same pipeline in C++", "[pipeline]") {
  const temp_dir dir;
  write_line_files(dir, 100);
  const file_source<leat::line_reader> source{
      .files = {dir / "lines*"}, .shuffle = true, .seed = 1};
  const leat::shuffle_stage_options shuffle{.capacity = 10, .seed = 3};
  auto planned = leat::build_pipeline(plan_of(source, {shuffle, batch}));
  auto coded = leat::read_files(source).shuffle(shuffle).batch(batch);
  const auto run = [](auto& p) -> leat::task<std::string> {
    for (int i = 0; i < 20; ++i) static_cast<void>(co_await p.next());
    std::string state = p.save();
    co_await p.stop();
    co_return state;
  };
  CHECK(leat::block_on(run(planned)) == leat::block_on(run(coded)));
}

TEST_CASE("planned pipeline: resumes after every batch", "[pipeline][resume]") {
  const temp_dir dir;
  write_line_files(dir, 300);
  const file_source<leat::line_reader> source{.files = {dir / "lines*"},
                                              .num_epochs = 2,
                                              .shuffle = true,
                                              .seed = 5,
                                              .interleave = 2,
                                              .block_length = 3};
  const leat::shuffle_stage_options shuffle{.capacity = 20, .seed = 3};
  const leat::csv_stage_options parse{
      .columns = {leat::csv_column::required(leat::dtype::int64, "n")}, .workers = 2};
  const pipeline_plan plan = plan_of(source, {shuffle, batch_stage_options{.batch_size = 5}, parse,
                                              leat::prefetch_stage_options()});
  check_resuming([&] { return texts_pipeline(plan); });
}

TEST_CASE("planned pipeline: resumes within a batch that is partly consumed",
          "[pipeline][resume]") {
  const temp_dir dir;
  write_line_files(dir, 120);
  const pipeline_plan plan = plan_of(file_source<leat::line_reader>{.files = {dir / "lines*"}},
                                     {batch_stage_options{.batch_size = 7}});
  const auto rows = [](const planned_batch& b) {
    texts all;
    for (std::size_t i = 0; i < b.size(); ++i) all.emplace_back(leat::as_text(b[i]));
    return all;
  };
  check_resuming([&] { return leat::build_pipeline(plan).flat_map("rows", rows); });
}

}  // namespace build_pipeline_test
