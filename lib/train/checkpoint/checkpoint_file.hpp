#pragma once

#include <optional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/codec/checkpoint/checkpoint_table.hpp"
#include "leat/train/checkpoint/checkpoint_registry.hpp"
#include "leat/train/checkpoint/saver_options.hpp"

namespace leat::detail {

/// All values of a registry as they were at one moment.
struct checkpoint_snapshot {
  checkpoint_table table;  // laid out; without checksums
  std::vector<saved_value> values;
};

/// Takes a snapshot, here and now. `copy`: the values may change before it is written.
/// Errors: what save() of an object throws; invalid_argument for more than fits into a file.
[[nodiscard]] checkpoint_snapshot take_snapshot(const checkpoint_registry& registry, bool copy);

/// Writes a checkpoint that appears under its name when it is complete. On an error what had the
/// name before is untouched, unless `has_name` was set. `durable`: it is on the device in the end.
/// Errors: of the system.
[[nodiscard]] task<void> write_checkpoint(std::string path, checkpoint_snapshot snapshot,
                                          bool durable, bool& has_name);

/// True: what has this name is a checkpoint of the same program, complete as far as its head tells;
/// the values are not looked at. Empty: the device cannot read it (EIO).
/// Errors: others of the system.
[[nodiscard]] task<std::optional<bool>> is_checkpoint_of(std::string path,
                                                         const checkpoint_registry& registry);

/// Reads a checkpoint, all of it, whosever it is. Errors: data_loss and invalid_argument for one
/// that is not whole; of the system.
[[nodiscard]] task<void> verify_checkpoint(std::string path);

/// See read_saved_object().
[[nodiscard]] task<std::string> read_object(std::string path, std::string name);

/// The phases of a restore, in order.
enum class restore_phase {
  table,    ///< opens the file and reads its table
  entries,  ///< compares the entries with the registry
  values,   ///< reads the values
  objects,  ///< the objects restore themselves
};

/// Reads a whole checkpoint, and only then assigns its contents to the values of the registry.
/// After an error the values are unchanged, and `phase` is the phase that failed. Returns the names
/// of registered entries that were not restored, as `options` permits. Errors: see
/// saver::restore().
[[nodiscard]] task<std::vector<std::string>> read_checkpoint(std::string path,
                                                             const checkpoint_registry& registry,
                                                             const saver_options& options,
                                                             restore_phase& phase);

}  // namespace leat::detail
