#include <algorithm>
#include <string>
#include <utility>

#include "base/internal/error_text.hpp"
#include "leat/io/reader/csv_reader.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/plan/build_pipeline.hpp"
#include "pipeline/plan/join_stages.hpp"
#include "pipeline/plan/plan_decoder.hpp"

namespace LEAT {
namespace {

// The checks of one stage. A decoder that does not fit the stages before it is not created.
class stage_check {
 public:
  stage_check(const pipeline_plan& plan, std::size_t part, std::vector<plan_error>& found)
      : plan_(plan), part_(part), before_(plan.element_after(part - 1)), found_(found) {}

  template <class Stage>
  void operator()(const Stage&) {}  // accepts all elements
  void operator()(const batch_stage_options&) {
    if (is_batch()) add("", "elements are already " + element() + ": remove this stage");
  }

  template <detail::decoder_stage Stage>
  void operator()(const Stage& stage) {
    const std::size_t before = found_.size();
    if (before_ == plan_element::column_batches) {
      add("", "elements are already " + element() + ": remove this stage");
    } else if (!is_batch()) {
      add("", "needs batches: put a stage of kind 'batch' before it");
    }
    check(stage);
    if (found_.size() > before) return;
    try {
      static_cast<void>(detail::make_decoder(stage));
    } catch (const failure& e) {
      add("", detail::without_code_message(e));
    }
  }

 private:
  [[nodiscard]] bool is_batch() const noexcept { return before_ > plan_element::lines; }
  [[nodiscard]] bool is_of_lines() const noexcept {
    return info_of(format_of(plan_.source)).has_lines;
  }
  [[nodiscard]] std::string element() const { return std::string(to_string(before_)); }

  void add(std::string option, const std::string& why) {
    std::string text = detail::title_of_stage(plan_, part_) + ": ";
    if (!option.empty()) text += option + ": ";
    found_.emplace_back(part_, std::move(option), text + why);
  }

  // The records of a csv_reader are split at the quotes and delimiters of its own options.
  void check(const csv_stage_options& stage) {
    const auto* const csv = std::get_if<file_source<csv_reader>>(&plan_.source);
    if (stage.has_header_in_files) check_header(csv);
    if (!csv) return;
    if (csv->reader.delimiter != stage.csv.delimiter)
      add("delimiter", "give the delimiter of the source");
    if (csv->reader.quotes != stage.csv.quotes) add("quotes", "give the value of the source");
  }

  void check_header(const file_source<csv_reader>* csv) {
    const auto* const lines = std::get_if<file_source<line_reader>>(&plan_.source);
    if (!csv && !lines) {
      add("header", "only a source of format 'csv' or 'lines' has a header: give the header line");
    } else if (csv ? csv->reader.skip_header_records == 0 : lines->reader.skip_header_lines == 0) {
      add("header", std::string("a header in files requires ") +
                        (csv ? "skip_header_records" : "skip_header_lines") +
                        " of at least 1 in the source");
    }
  }

  void check(const example_stage_options& stage) {
    if (!is_of_lines() || stage.is_json) return;
    add("",
        "lines cannot contain serialized Examples: decode them as JSON, or choose another "
        "source format");
  }

  void check(const sequence_example_stage_options& stage) {
    if (is_of_lines())
      add("", "lines cannot contain serialized SequenceExamples: choose another source format");
    for (const named_feature& f : stage.sequences) {
      if (std::ranges::find(stage.context, f.name, &named_feature::name) == stage.context.end())
        continue;
      add("sequences", "'" + f.name + "' is also a name in context");
    }
  }

  void check(const raw_stage_options&) {}

  const pipeline_plan& plan_;
  const std::size_t part_;
  const plan_element before_;
  std::vector<plan_error>& found_;
};

}  // namespace

std::vector<plan_error> detail::check_stages(const pipeline_plan& plan) {
  std::vector<plan_error> found;
  for (std::size_t part = 1; part <= plan.stages.size(); ++part) {
    std::visit(stage_check(plan, part, found), plan.stages[part - 1]);
  }
  return found;
}

std::vector<plan_error> find_plan_errors(const pipeline_plan& plan) {
  std::vector<plan_error> found = detail::check_stages(plan);
  if (!found.empty()) return found;
  // Building the pipeline makes the checks of its functions, up to the first error. It opens no
  // file.
  try {
    static_cast<void>(detail::join_stages(plan));
  } catch (const plan_error& e) {
    found.push_back(e);
  }
  return found;
}

}  // namespace LEAT
