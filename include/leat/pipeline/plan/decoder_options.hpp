#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/codec/csv/csv_decoder.hpp"
#include "leat/codec/decode_raw.hpp"
#include "leat/codec/example/features.hpp"
#include "leat/tensor/dtype.hpp"

namespace LEAT {

// Stages of a pipeline_plan that decode batches of records or lines into columns. Each is a
// pipeline::map() whose function is one of the decoders of leat/codec.hpp.

/// A feature, and the name of its column.
struct named_feature {
  option_string name = {};    ///< of the feature and of the column
  braced<feature> what = {};  ///< the type of the feature
};

/// Decodes batches of CSV records or lines; see csv_decoder.
struct csv_stage_options {
  option_list<csv_column> columns = {};  ///< their types, names and default values
  csv_options csv = {};                  ///< the form of the records
  /// The header line of the files, in which columns are found by their names. If not set, the
  /// columns are the fields in the order of the files.
  braced<std::optional<std::string>> header = {};
  /// If true, the last header line that the source skips names the columns. read_headers() reads it
  /// and sets `header`.
  bool has_header_in_files = false;
  option_string name = "parse_csv";  ///< name of the stage
  std::size_t workers = 0;           ///< see map_stage_options
};

/// Decodes batches of tf.train.Example messages; see example_parser.
struct example_stage_options {
  option_list<named_feature> features = {};  ///< the columns, in their order
  bool is_json = false;                      ///< records are JSON; see decode_json_example()
  option_string name = "parse_example";      ///< name of the stage
  std::size_t workers = 0;                   ///< see map_stage_options
};

/// Decodes batches of tf.train.SequenceExample messages; see sequence_example_parser.
///
/// The columns are those of `context`, those of `sequences`, and for each
/// fixed_len_sequence_feature NAME of `sequences` a column NAME.length: the number of steps of each
/// record.
struct sequence_example_stage_options {
  option_list<named_feature> context = {};        ///< features of the record
  option_list<named_feature> sequences = {};      ///< features of its steps
  option_string name = "parse_sequence_example";  ///< name of the stage
  std::size_t workers = 0;                        ///< see map_stage_options
};

/// Decodes batches of records that are the memory of numbers; see decode_raw().
struct raw_stage_options {
  dtype type = dtype::uint8;          ///< the type of the numbers
  raw_options raw = {};               ///< their byte order, and the size of a record
  option_string column = "values";    ///< name of the column
  option_string name = "decode_raw";  ///< name of the stage
  std::size_t workers = 0;            ///< see map_stage_options
};

}  // namespace LEAT
