#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/error.hpp"
#include "leat/base/world_rank.hpp"
#include "leat/pipeline/state/detail/batch_numbers.hpp"

namespace LEAT::detail {

/// An option in a declaration that affects the elements.
struct setting {
  std::string name;
  std::uint64_t value = 0;
  bool may_differ = false;  ///< of a declared stage: it identifies the rank
};

/// The share of one rank in the elements that the stages of other ranks held. The elements are
/// dealt to the ranks in turn, stage by stage and rank by rank.
struct rank_share {
  world_rank here = {};
  std::string stage;  ///< title of the stage that merges, for messages
  /// The number of the first batch of each rank among those of all ranks, in the last batch() so
  /// far; 0 if there was none.
  std::vector<std::uint64_t> first_batch;
  std::uint64_t dealt = 0;

  /// Returns true if the next element belongs to this rank.
  [[nodiscard]] bool takes_next() noexcept { return dealt++ % here.world_size == here.rank; }
};

/// The state of one stage. A stage with a state derives its own, and is the only one that knows its
/// members and its bytes.
///
/// A restore reads the states of all stages before it restores the first stage. It merges those of
/// several ranks, from the source to the last stage, and numbers the batches, from the last stage
/// back to the source.
class stage_state {
 public:
  stage_state() = default;
  stage_state(const stage_state&) = default;
  stage_state& operator=(const stage_state&) = default;
  virtual ~stage_state() = default;

  [[nodiscard]] virtual std::string write() const { return {}; }
  /// Reads what write() returned for a stage with these settings.
  /// Errors: state_defect, and exceptions of protozero.
  virtual void read(std::string_view own, const std::vector<setting>& settings);

  /// Returns the rank to which the elements of all stages belong; for the state of a source.
  [[nodiscard]] virtual world_rank world() const noexcept { return {}; }
  /// Returns how the state depends on the rank, such as "has elements of"; empty if another rank
  /// can restore it.
  [[nodiscard]] virtual std::string_view rank_bond() const noexcept { return {}; }

  /// Becomes what `share.here` restores of the states of all ranks, which are of the same class.
  /// Errors: state_defect, and failures.
  virtual void merge(const std::vector<const stage_state*>& ranks, rank_share& share);

  /// Returns true if the elements after this stage are batches, which origins then name.
  [[nodiscard]] virtual bool makes_batches() const noexcept { return false; }
  /// Numbers the batches of the stages before that this one needs, if `of_batches`. A stage that
  /// makes batches keeps those that are in `wanted`, and replaces `wanted`. Errors: state_defect.
  virtual void number_batches(batch_numbers& wanted, bool of_batches);
};

/// Errors: failed_precondition, with the stage and the reason why its state cannot be restored.
[[noreturn]] void throw_state_error(std::string_view stage, std::string_view why);

/// Rethrows the current exception, which the input of a correctly declared pipeline caused, such as
/// too few files. It must not look like the state of another pipeline.
/// Errors: failed_precondition, nested, for invalid_argument and for exceptions other than
///         std::system_error; otherwise the same exception.
[[noreturn]] void rethrow_input_error(std::string_view pipeline);

/// Rejects a given seed that differs from the saved one.
void require_seed(std::string_view stage, std::optional<std::uint64_t> given, std::uint64_t saved);

}  // namespace LEAT::detail
