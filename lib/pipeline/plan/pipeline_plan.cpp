#include "leat/pipeline/plan/pipeline_plan.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "leat/base/error.hpp"
#include "pipeline/plan/plan_decoder.hpp"

namespace LEAT {
namespace {

using form = planned_column::form;

planned_column describe_column(std::string name, dtype type, form shape, const std::string& text) {
  return {std::move(name), type, shape, std::string(to_string(type)) + text};
}

std::string batch_text(const partial_shape& shape, int unknown_dimensions = 1) {
  partial_shape all = shape;
  for (int i = 0; i < unknown_dimensions; ++i) all = all.batch_of(unknown_dimension);
  return ' ' + to_string(all);
}

// Returns the column of a feature; `step`: of the steps of a record.
planned_column column_of(const named_feature& f, bool step) {
  const auto make = [&f](const auto& what, form shape, const std::string& text) {
    return describe_column(f.name, what.type, shape, text);
  };
  if (const auto* const fixed = std::get_if<fixed_len_feature>(&f.what)) {
    const bool is_scalar = fixed->shape.has_rank() && fixed->shape.rank() == 0;
    return make(*fixed, is_scalar ? form::scalar : form::dense, batch_text(fixed->shape));
  }
  if (const auto* const list = std::get_if<var_len_feature>(&f.what)) {
    return step ? make(*list, form::other, " sparse [?,?,?]")
                : make(*list, form::list, " sparse [?,?]");
  }
  if (const auto* const rows = std::get_if<fixed_len_sequence_feature>(&f.what))
    return make(*rows, form::other, batch_text(rows->shape, 2));
  if (const auto* const ragged = std::get_if<ragged_feature>(&f.what))
    return make(*ragged, form::other, " ragged");
  const auto& sparse = std::get<sparse_feature>(f.what);
  const std::string dimensions = std::to_string(sparse.size.size() + 1);
  return make(sparse, form::other, " sparse, " + dimensions + " dimensions");
}

void add_columns(const csv_stage_options& stage, std::vector<planned_column>& to) {
  for (const csv_column& c : stage.columns) {
    to.push_back(describe_column(c.name, c.default_value.type(), form::scalar, ""));
  }
}
void add_columns(const example_stage_options& stage, std::vector<planned_column>& to) {
  for (const named_feature& f : stage.features) to.push_back(column_of(f, false));
}
void add_columns(const sequence_example_stage_options& stage, std::vector<planned_column>& to) {
  for (const named_feature& f : stage.context) to.push_back(column_of(f, false));
  for (const named_feature& f : stage.sequences) to.push_back(column_of(f, true));
  for (const auto& [name, what] : stage.sequences) {
    if (!std::holds_alternative<fixed_len_sequence_feature>(what)) continue;
    to.push_back(describe_column(name + std::string(detail::length_suffix), dtype::int64,
                                 form::scalar, " [?]"));
  }
}
void add_columns(const raw_stage_options& stage, std::vector<planned_column>& to) {
  to.push_back(describe_column(stage.column, stage.type, form::dense, " [?,?]"));
}

// Returns the number of readers or workers.
template <class Part>
std::size_t workers_of(const Part& part) noexcept {
  if constexpr (requires { part.readers; }) return part.readers;
  if constexpr (requires { part.workers; }) return part.workers;
  return 0;
}

// Returns the alternative whose name in `names` is `name`.
template <class Variant, class Names>
Variant make_alternative(const Names& names, std::string_view name, const std::string& what) {
  const auto index = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  if (index == names.size())
    throw failure(errc::invalid_argument, what + " '" + std::string(name) + "' does not exist");
  Variant made;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    static_cast<void>(((I == index && (made.template emplace<I>(), true)) || ...));
  }(std::make_index_sequence<std::variant_size_v<Variant>>());
  return made;
}

}  // namespace

plan_source make_plan_source(std::string_view format) {
  std::vector<std::string_view> names;
  for (const record_format_info& f : record_formats()) names.push_back(f.name);
  return make_alternative<plan_source>(names, format, "format");
}

plan_stage make_plan_stage(std::string_view kind) {
  return make_alternative<plan_stage>(plan_stage_kinds, kind, "kind of stage");
}

std::vector<std::string>& files_of(plan_source& source) noexcept {
  return std::visit([](auto& s) -> std::vector<std::string>& { return s.files; }, source);
}
const std::vector<std::string>& files_of(const plan_source& source) noexcept {
  return std::visit([](const auto& s) -> const std::vector<std::string>& { return s.files; },
                    source);
}

std::string_view to_string(plan_element kind) noexcept {
  switch (kind) {
    case plan_element::records: return "records";
    case plan_element::lines: return "lines";
    case plan_element::record_batches: return "batches of records";
    case plan_element::line_batches: return "batches of lines";
    case plan_element::column_batches: return "batches of columns";
  }
  return {};
}

plan_element pipeline_plan::element_after(std::size_t count) const noexcept {
  const bool lines = info_of(format_of(source)).has_lines;
  plan_element kind = lines ? plan_element::lines : plan_element::records;
  for (std::size_t i = 0; i < count; ++i) {
    std::visit(
        [&]<class Stage>(const Stage&) {
          if constexpr (detail::decoder_stage<Stage>) {
            kind = plan_element::column_batches;
          } else if constexpr (std::is_same_v<Stage, batch_stage_options>) {
            if (kind <= plan_element::lines)
              kind = lines ? plan_element::line_batches : plan_element::record_batches;
          }
        },
        stages[i]);
  }
  return kind;
}

std::vector<planned_column> pipeline_plan::columns() const {
  std::vector<planned_column> all;
  for (const plan_stage& stage : stages) {
    std::visit(
        [&](const auto& what) {
          if constexpr (requires { add_columns(what, all); }) add_columns(what, all);
        },
        stage);
  }
  return all;
}

std::size_t pipeline_plan::workers() const noexcept {
  const auto of = [](const auto& part) { return workers_of(part); };
  std::size_t sum = std::visit(of, source);
  for (const plan_stage& stage : stages) sum += std::visit(of, stage);
  return sum;
}

}  // namespace LEAT
