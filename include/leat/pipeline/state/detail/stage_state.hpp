#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/random.hpp"
#include "leat/base/world_rank.hpp"

namespace leat::detail {

/// The origin of an element: the record of the source, and which of its results the element is. A
/// restore uses it to produce the element again. After batch(), an origin names a batch instead of
/// a record: the index is the number of the batch.
struct origin {
  std::uint32_t file = 0;    ///< index in the list of the source
  std::uint64_t offset = 0;  ///< of the record, as record_position has it
  std::uint64_t index = 0;
  std::uint64_t branch = 0;  ///< 0: the only result of the record

  friend auto operator<=>(const origin&, const origin&) = default;

  [[nodiscard]] bool same_record(const origin& o) const noexcept {
    return file == o.file && offset == o.offset && index == o.index;
  }
  /// Returns the origin of the record itself.
  [[nodiscard]] origin record() const noexcept { return {file, offset, index, 0}; }
  /// Returns the origin of the i-th of several results of this element.
  [[nodiscard]] origin child(std::uint64_t i) const noexcept {
    return {file, offset, index, random_engine(branch, i)()};
  }
};

/// The version of a file when it was read.
struct saved_file_version {
  std::uint32_t path = 0;  ///< CRC-32C of the path
  bool read = false;       ///< false: the following members are unknown
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;

  friend bool operator==(const saved_file_version&, const saved_file_version&) = default;
};

/// An interleaved file, and its next record.
struct file_position {
  bool open = false;   ///< false: the next file of the epoch is opened here, if any
  bool ended = false;  ///< no file is left in this epoch
  bool any = false;    ///< records were read
  std::uint64_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t index = 0;
  std::uint64_t reports = 0;  ///< reports of corruption so far

  friend bool operator==(const file_position&, const file_position&) = default;
};

/// Files of an epoch that were redistributed during the epoch.
struct assigned_files {
  std::vector<file_position> begun = {};  ///< their positions; they come first
  std::vector<std::uint64_t> files = {};  ///< the other files

  friend bool operator==(const assigned_files&, const assigned_files&) = default;
};

/// The position of a file source: before a round of turns, and the progress within this round.
struct files_state {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;      ///< epochs that have begun
  std::uint64_t next_file = 0;  ///< in the epoch's order
  std::uint64_t closed = 0;     ///< positions that have ended
  std::uint64_t records = 0;    ///< delivered since then
  std::vector<file_position> positions = {};
  std::vector<saved_file_version> files = {};
  std::optional<assigned_files> assigned = {};  ///< the epoch's order, if not that of the rank

  friend bool operator==(const files_state&, const files_state&) = default;
};

/// Returns true if `closed` is the number of ended positions, and none of these is open.
[[nodiscard]] bool has_consistent_positions(const files_state& s) noexcept;

/// The elements of a shuffle buffer, slot by slot, and the count of numbers drawn.
struct buffer_state {
  std::uint64_t seed = 0;
  std::uint64_t draws = 0;
  std::vector<origin> held = {};
  bool is_share = false;  ///< of the elements of several ranks: the seed is one of theirs

  friend bool operator==(const buffer_state&, const buffer_state&) = default;
};

/// An element of flat_map() of which the next stage has received some results.
struct begun_element {
  origin what;
  std::uint64_t had = 0;

  friend bool operator==(const begun_element&, const begun_element&) = default;
};

/// Returns all elements but the first `count`.
[[nodiscard]] std::vector<begun_element> drop_first(std::vector<begun_element> all,
                                                    std::size_t count);

/// An option in a declaration that affects the elements.
struct setting {
  std::string name;
  std::uint64_t value = 0;

  friend bool operator==(const setting&, const setting&) = default;
};

/// A stage as it was declared and, for a pipeline that has run, its position.
struct stage_state {
  std::string kind;  ///< "shuffle"
  std::string name;
  std::vector<setting> settings = {};
  world_rank world = {};  ///< the rank to which the elements of the stages belong
  std::optional<files_state> files = {};
  std::vector<files_state> rank_files = {};  ///< of all ranks, if not empty: to be redistributed
  std::optional<buffer_state> buffer = {};
  std::vector<begun_element> begun = {};  ///< first, without the results already received
  /// Of batch(): the elements of each batch that later stages need again, in the order in which the
  /// last of them first needs them.
  std::vector<std::vector<origin>> batches = {};
  std::string reader = {};                 ///< state of an indexed_reader; empty: not open yet
  std::vector<std::string> readers = {};   ///< of all ranks, if not empty: to be redistributed
  std::optional<std::uint64_t> seed = {};  ///< of the orders of the indexed_reader
  std::vector<saved_file_version> versions = {};  ///< of its files, to name a changed one

  friend bool operator==(const stage_state&, const stage_state&) = default;
};

/// Appends a stage.
void add_stage(std::vector<stage_state>& stages, stage_state stage);

/// The state of a pipeline as bytes; the same bytes for the same state.
[[nodiscard]] std::string stages_to_bytes(const std::vector<stage_state>& stages);

/// Returns the stages of a saved state.
///
/// Errors: data_loss if the bytes are corrupt; invalid_argument if stages_to_bytes() cannot have
///         written them; unimplemented for a state of another version, and for one without the
///         elements of a batch. The message contains `pipeline`, its name.
[[nodiscard]] std::vector<stage_state> stages_from_bytes(std::string_view bytes,
                                                         std::string_view pipeline);

/// Errors: failed_precondition, with the stage and the reason why its state cannot be restored.
[[noreturn]] void throw_state_error(std::string_view stage, std::string_view why);

/// Rethrows the current exception, which the input of a correctly declared pipeline caused, such as
/// too few files. It must not look like the state of another pipeline.
/// Errors: failed_precondition, nested, for invalid_argument and for exceptions other than
///         std::system_error; otherwise the same exception.
[[noreturn]] void rethrow_input_error(std::string_view pipeline);

/// Errors: failed_precondition for a record that is not at its position.
[[noreturn]] void throw_record_error(const std::string& path, const origin& record);

/// Rejects a given seed that differs from the saved one.
void require_seed(std::string_view stage, std::optional<std::uint64_t> given, std::uint64_t saved);

}  // namespace leat::detail
