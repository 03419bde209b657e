#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <leat/async/task.hpp>
#include <leat/codec/csv/csv_decoder.hpp>
#include <leat/io/index/indexed_reader.hpp>
#include <leat/io/reader/csv_reader.hpp>
#include <leat/io/reader/fixed_length_reader.hpp>
#include <leat/io/reader/line_reader.hpp>
#include <leat/io/reader/tfrecord_reader.hpp>
#include <leat/io/reader/whole_file_reader.hpp>
#include <leat/pipeline/pipeline.hpp>
#include <leat/pipeline/source/file_source.hpp>
#include <leat/pipeline/stage/pipeline_options.hpp>

#include "output/column_output.hpp"
#include "output/record_sink.hpp"
#include "plan/toml_table.hpp"

namespace tool {

/// The arguments of read_indexed().
struct indexed_source {
  std::vector<std::string> files;
  std::optional<std::uint64_t> num_epochs = 1;
  bool shuffle = true;
  std::optional<std::uint64_t> seed;
  leat::world_rank world;
  leat::indexed_reader_options reader;
  std::string name = "files";
};

/// The source of the elements.
struct source_plan {
  using any =
      std::variant<leat::file_source<leat::tfrecord_reader>, leat::file_source<leat::line_reader>,
                   leat::file_source<leat::csv_reader>,
                   leat::file_source<leat::fixed_length_reader>,
                   leat::file_source<leat::whole_file_reader>, indexed_source>;
  any from;
  std::string format = "tfrecord";
  std::string quarantine;  ///< file for skipped records; empty: none
  text_position where;

  [[nodiscard]] const std::vector<std::string>& files() const;
  [[nodiscard]] std::size_t readers() const noexcept;
  [[nodiscard]] const std::string& name() const;
};

/// A decoder: converts a batch of records to columns, on any thread.
struct decoder_plan {
  using function =
      std::function<std::vector<column_output::column>(std::span<const leat::byte_view>)>;
  std::string name;
  std::size_t workers = 0;
  std::vector<column_info> columns;
  function decode;
  std::optional<leat::csv_options> csv;  ///< of parse_csv
  /// Creates `decode` from the header line of the files; empty if that is not needed.
  /// Errors: leat::failure, if the header lacks a column.
  std::function<function(std::string_view header)> for_header;
};

struct prefetch_plan {
  std::size_t runs = 0;
  std::string name = "prefetch";
};

/// The kind of the elements after a stage.
enum class element_kind { records, lines, record_batches, line_batches, columns };
[[nodiscard]] std::string_view name_of(element_kind kind) noexcept;

struct stage_plan {
  std::variant<leat::shuffle_stage_options, leat::batch_stage_options, prefetch_plan, decoder_plan>
      what;
  std::string text;  ///< "capacity 500"
  element_kind output_kind = element_kind::records;
  text_position where;

  [[nodiscard]] const std::string& name() const;
};

/// The use of the elements.
struct output_plan {
  enum class kind { count, print, write };
  kind what = kind::count;
  sink_options sink;     ///< of write
  bool header = true;    ///< of csv: the first line names the columns
  char delimiter = ',';  ///< of csv
};

/// A pipeline as a file declares it.
struct pipeline_plan {
  leat::pipeline_options options;
  std::optional<std::size_t> threads;  ///< for workers; not set: depends on the stages
  source_plan source;
  std::vector<stage_plan> stages;
  output_plan output;

  [[nodiscard]] element_kind output_kind() const noexcept;
  /// Returns true if the elements are batches, or false if they are records or lines.
  [[nodiscard]] bool is_batched() const noexcept;
  /// Returns the columns of the output; empty if the elements have none.
  [[nodiscard]] std::vector<column_info> columns() const;
  /// Returns the number of workers of all stages.
  [[nodiscard]] std::size_t workers() const noexcept;
};

/// Settings of the command line that override those of the file.
struct plan_overrides {
  std::vector<std::string> files;
  std::optional<output_plan::kind> output;
  std::string path;  ///< of the output
};

/// Makes a plan from a document. Errors are added to `found`; the plan is unusable then. Opens no
/// file.
[[nodiscard]] pipeline_plan make_plan(const toml_value& document, const plan_overrides& overrides,
                                      toml_errors& found);

/// Reads the header line of the files if a decoder of the plan needs it, and sets its `decode`.
///
/// Errors: a toml_error if the header lacks a column, or cannot be read before the records;
///         leat::failure data_loss if two files have different headers; those of reading a file.
[[nodiscard]] leat::task<> read_headers(pipeline_plan& plan);

// Parts of make_plan(). Each reads a table of the document.
[[nodiscard]] source_plan read_source(toml_table& s, const std::vector<std::string>& files);
void read_delimiter(toml_table& s, char& to);
[[nodiscard]] stage_plan read_stage(toml_table& s, element_kind input);
/// `kind`: "parse_csv", "parse_example" or "decode_raw".
[[nodiscard]] decoder_plan read_decoder(toml_table& s, const std::string& kind, element_kind input,
                                        std::string& text);
[[nodiscard]] output_plan read_output(toml_table& s, const plan_overrides& overrides,
                                      const pipeline_plan& plan);

}  // namespace tool
