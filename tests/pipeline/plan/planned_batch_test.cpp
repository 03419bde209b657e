// The elements of a planned pipeline: batches of records, of lines and of columns.

#include "leat/pipeline/plan/planned_batch.hpp"

#include <array>

#include "leat/base/bytes.hpp"
#include "leat/tensor/tensor.hpp"
#include "support/leat_test.hpp"

namespace planned_batch_test {

using leat::planned_batch;

TEST_CASE("planned_batch: records and lines have bytes and positions", "[pipeline]") {
  leat::owned_record_batch records;
  records.push_back(leat::as_bytes(std::string_view("one")), {"a", 16, 1});
  leat::owned_line_batch lines;
  lines.push_back("four", {"b", 5, 1});
  const planned_batch of_records(records);
  const planned_batch of_lines(lines);
  CHECK(leat::as_text(of_records[0]) == "one");
  CHECK(leat::as_text(of_lines[0]) == "four");
  CHECK(leat::as_text(of_records.views().at(0)) == "one");
  CHECK(leat::as_text(of_lines.views().at(0)) == "four");
  CHECK((of_records.bytes() == 3 && of_lines.bytes() == 4));
  CHECK(of_records.position_text(0) == leat::format_record_position({"a", 16, 1}));
  CHECK(of_lines.position_text(0) == leat::format_line_position({"b", 5, 1}));
  CHECK((!of_records.has_columns() && of_records.columns().empty()));
}

TEST_CASE("planned_batch: columns keep their order, and can be moved out", "[pipeline]") {
  const std::array<std::int32_t, 2> values{1, 2};
  const auto tensor = leat::tensor::of({2}, std::span<const std::int32_t>(values));
  planned_batch batch(
      2, {{"b", tensor},
          {"a", leat::sparse_tensor{.indices = leat::tensor(leat::dtype::int64, {1, 2}),
                                    .values = tensor,
                                    .dense_shape = {}}},
          {"c", leat::ragged_tensor{.row_splits = {tensor}, .values = tensor}}});
  CHECK((batch.has_columns() && batch.size() == 2));
  CHECK(batch.bytes() == 8 + (8 + 16) + (8 + 8));
  CHECK(batch.columns()[0].name == "b");
  CHECK(batch.views().empty());
  CHECK(std::move(batch).take_columns().size() == 3);
  CHECK(batch.size() == 0);  // NOLINT(bugprone-use-after-move)
  CHECK(planned_batch().bytes() == 0);
}

}  // namespace planned_batch_test
