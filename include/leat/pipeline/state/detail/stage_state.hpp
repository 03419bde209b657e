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

/// What an element was made of: the record of the source, and which of those that were made of it.
/// By it the element can be made again. After batch() it names a batch instead of a record: the
/// index is the number of the batch.
struct origin {
  std::uint32_t file = 0;    ///< index in the list of the source
  std::uint64_t offset = 0;  ///< of the record, as record_position has it
  std::uint64_t index = 0;
  std::uint64_t branch = 0;  ///< 0: it is the only one that was made of the record

  friend auto operator<=>(const origin&, const origin&) = default;

  [[nodiscard]] bool same_record(const origin& o) const noexcept {
    return file == o.file && offset == o.offset && index == o.index;
  }
  /// Of the record itself.
  [[nodiscard]] origin record() const noexcept { return {file, offset, index, 0}; }
  /// Of the i-th of several elements that were made of this one.
  [[nodiscard]] origin child(std::uint64_t i) const noexcept {
    return {file, offset, index, random_engine(branch, i)()};
  }
};

/// A file as it was when it was read.
struct saved_file_version {
  std::uint32_t path = 0;  ///< CRC-32C of it
  bool read = false;       ///< false: nothing is known of what follows
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;

  friend bool operator==(const saved_file_version&, const saved_file_version&) = default;
};

/// One of the files that are read side by side, and the record that comes next.
struct file_position {
  bool open = false;   ///< false: the next file of the epoch comes here, or none
  bool ended = false;  ///< there is no file any more in this epoch
  bool any = false;    ///< records were read
  std::uint64_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t index = 0;
  std::uint64_t reports = 0;  ///< of corruption that was left out before

  friend bool operator==(const file_position&, const file_position&) = default;
};

/// Files of an epoch that were dealt out in its midst.
struct assigned_files {
  std::vector<file_position> begun = {};  ///< where each of them goes on; they come first
  std::vector<std::uint64_t> files = {};  ///< the others

  friend bool operator==(const assigned_files&, const assigned_files&) = default;
};

/// Where files were read: the position before a round of turns, and how far that round has come.
struct files_state {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;      ///< epochs that have begun
  std::uint64_t next_file = 0;  ///< in the epoch's order
  std::uint64_t closed = 0;     ///< positions that have ended
  std::uint64_t records = 0;    ///< given since
  std::vector<file_position> positions = {};
  std::vector<saved_file_version> files = {};
  std::optional<assigned_files> assigned = {};  ///< the epoch's order, if not that of the rank

  friend bool operator==(const files_state&, const files_state&) = default;
};

/// Whether `closed` counts the positions that have ended, and none of them is open.
[[nodiscard]] bool has_consistent_positions(const files_state& s) noexcept;

/// What a shuffle buffer held, slot by slot, and how many numbers were drawn.
struct buffer_state {
  std::uint64_t seed = 0;
  std::uint64_t draws = 0;
  std::vector<origin> held = {};
  bool is_share = false;  ///< of what several ranks held: the seed is one of theirs

  friend bool operator==(const buffer_state&, const buffer_state&) = default;
};

/// One of which flat_map() makes several, some of which the next stage has had.
struct begun_element {
  origin what;
  std::uint64_t had = 0;

  friend bool operator==(const begun_element&, const begun_element&) = default;
};

/// All but the first `count` of them.
[[nodiscard]] std::vector<begun_element> drop_first(std::vector<begun_element> all,
                                                    std::size_t count);

/// One of the choices in a declaration on which the stream depends.
struct setting {
  std::string name;
  std::uint64_t value = 0;

  friend bool operator==(const setting&, const setting&) = default;
};

/// A stage as it was declared and, of a pipeline that has run, where it stands.
struct stage_state {
  std::string kind;  ///< "shuffle"
  std::string name;
  std::vector<setting> settings = {};
  world_rank world = {};  ///< for which the elements are that stages hold or leave out
  std::optional<files_state> files = {};
  std::vector<files_state> rank_files = {};  ///< not empty: of so many, that others go on for
  std::optional<buffer_state> buffer = {};
  std::vector<begun_element> begun = {};  ///< they come first, from what was not had on
  /// Of batch(): what each batch was put together from of which stages behind it need elements
  /// again, in the order in which the last one of them needs them first.
  std::vector<std::vector<origin>> batches = {};
  std::string reader = {};                ///< an indexed_reader's state; empty: it was not open yet
  std::vector<std::string> readers = {};  ///< not empty: of so many ranks, that others go on for
  std::optional<std::uint64_t> seed = {};         ///< of the orders of such a reader
  std::vector<saved_file_version> versions = {};  ///< of its files, to name a changed one

  friend bool operator==(const stage_state&, const stage_state&) = default;
};

/// Appends a stage.
void add_stage(std::vector<stage_state>& stages, stage_state stage);

/// The state of a pipeline as bytes; the same bytes for the same state.
[[nodiscard]] std::string stages_to_bytes(const std::vector<stage_state>& stages);

/// The state in `bytes`.
///
/// Errors: data_loss for bytes that are corrupt; invalid_argument for others that stages_to_bytes()
///         cannot have written; unimplemented for a state of another version and for one that does
///         not say of which elements a batch was. The message contains `pipeline`, its name.
[[nodiscard]] std::vector<stage_state> stages_from_bytes(std::string_view bytes,
                                                         std::string_view pipeline);

/// Errors: failed_precondition, with the stage and why its state cannot be taken up.
[[noreturn]] void throw_state_error(std::string_view stage, std::string_view why);

/// Rethrows what is being handled, which came of the input of a pipeline that is declared as its
/// state wants it, such as too few files: nobody is to take that for another pipeline's state.
/// Errors: failed_precondition for invalid_argument and what is no std::system_error, nested; what
///         else it is.
[[noreturn]] void rethrow_input_error(std::string_view pipeline);

/// Errors: failed_precondition, for a record that is not where it was.
[[noreturn]] void throw_record_error(const std::string& path, const origin& record);

/// Refuses another seed than the one that was given, if one was.
void require_seed(std::string_view stage, std::optional<std::uint64_t> given, std::uint64_t saved);

}  // namespace leat::detail
