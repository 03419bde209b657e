#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/bytes.hpp"
#include "leat/pipeline/plan/decoder_options.hpp"
#include "leat/pipeline/plan/pipeline_plan.hpp"
#include "leat/pipeline/plan/planned_batch.hpp"

namespace LEAT::detail {

/// The suffix of a column that contains the number of steps.
inline constexpr std::string_view length_suffix = ".length";

/// Decodes the records of a batch. Thread safety: thread-safe.
using plan_decoder = std::function<std::vector<planned_batch::column>(std::span<const byte_view>)>;

// Errors of all: invalid_argument for options that the decoder rejects.
[[nodiscard]] plan_decoder make_decoder(const csv_stage_options& stage);
[[nodiscard]] plan_decoder make_decoder(const example_stage_options& stage);
[[nodiscard]] plan_decoder make_decoder(const sequence_example_stage_options& stage);
[[nodiscard]] plan_decoder make_decoder(const raw_stage_options& stage);

template <class Stage>
concept decoder_stage = requires(const Stage& stage) { make_decoder(stage); };

/// Decodes a batch. Errors: data_loss, with the stage, the file and the position.
[[nodiscard]] planned_batch decode_batch(const plan_decoder& decode, const std::string& stage,
                                         const planned_batch& batch);

/// Returns "stage 2 of kind 'batch'", for messages; `part` is that of a plan_error.
[[nodiscard]] std::string title_of_stage(const pipeline_plan& plan, std::size_t part);

}  // namespace LEAT::detail
