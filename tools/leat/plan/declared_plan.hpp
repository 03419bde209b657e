#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <leat/pipeline/plan/build_pipeline.hpp>

#include "output/record_sink.hpp"
#include "plan/toml_table.hpp"

namespace tool {

/// The use of the elements.
struct output_plan {
  enum class kind { count, print, write };
  kind what = kind::count;
  sink_options sink;     ///< of write
  bool header = true;    ///< of csv: the first line names the columns
  char delimiter = ',';  ///< of csv
};

/// A part of a plan in the document: the source, or a stage.
struct plan_part {
  text_position where;
  std::map<std::string, text_position, std::less<>> options;
  bool has_errors = false;  ///< the plan does not have what the document declares
};

/// A pipeline as a file declares it.
struct declared_plan {
  leat::pipeline_plan pipeline;
  std::optional<std::size_t> threads;  ///< for workers; not set: depends on the stages
  std::string quarantine;              ///< file for skipped records; empty: none
  output_plan output;
  /// False if the elements are declared as single records or lines. The last stage of the pipeline,
  /// which the document does not have, then collects them.
  bool is_batched = true;
  std::vector<plan_part> parts;  ///< see leat::plan_error::part()

  [[nodiscard]] const std::vector<std::string>& files() const noexcept {
    return leat::files_of(pipeline.source);
  }
  [[nodiscard]] const leat::record_format_info& format() const noexcept {
    return leat::info_of(leat::format_of(pipeline.source));
  }
  /// Returns an error of the pipeline as one in the document.
  [[nodiscard]] toml_error to_toml_error(const leat::plan_error& e) const;
};

/// Returns the options that all sources have: name, num_epochs, shuffle, seed and world.
template <class Reader>
[[nodiscard]] auto& common_options(leat::file_source<Reader>& source) noexcept {
  return source;
}
template <class Reader>
[[nodiscard]] const auto& common_options(const leat::file_source<Reader>& source) noexcept {
  return source;
}
[[nodiscard]] inline auto& common_options(leat::indexed_source& source) noexcept {
  return source.reader;
}
[[nodiscard]] inline const auto& common_options(const leat::indexed_source& source) noexcept {
  return source.reader;
}

/// Settings of the command line that override those of the file.
struct plan_overrides {
  std::vector<std::string> files;
  std::optional<output_plan::kind> output;
  std::string path;  ///< of the output
};

/// Makes a plan from a document. Errors are added to `found`; the plan is unusable then. Opens no
/// file.
[[nodiscard]] declared_plan make_plan(const toml_value& document, const plan_overrides& overrides,
                                      toml_errors& found);

/// Returns a text of the options of a stage, such as "capacity 1000".
[[nodiscard]] std::string describe_stage(const leat::plan_stage& stage);

// Parts of make_plan(). Each reads a table of the document.
void read_source(toml_table& s, const std::vector<std::string>& files, declared_plan& plan);
void read_delimiter(toml_table& s, char& to);
[[nodiscard]] leat::plan_stage read_stage(toml_table& s);
// Read the keys of a stage that makes columns, except its name and workers.
void read_decoder(toml_table& s, leat::csv_stage_options& to);
void read_decoder(toml_table& s, leat::example_stage_options& to);
void read_decoder(toml_table& s, leat::sequence_example_stage_options& to);
void read_decoder(toml_table& s, leat::raw_stage_options& to);

}  // namespace tool
