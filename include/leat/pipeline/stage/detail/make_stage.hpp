#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leat/base/batch_remainder.hpp"
#include "leat/io/index/record_selection.hpp"
#include "leat/io/reader/record_batch.hpp"
#include "leat/pipeline/element/detail/memory_use.hpp"
#include "leat/pipeline/element/detail/owned_block.hpp"
#include "leat/pipeline/element/owned_batch.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/pipeline/stage/detail/apply.hpp"
#include "leat/pipeline/stage/detail/batch_stage.hpp"
#include "leat/pipeline/stage/detail/map_stage.hpp"
#include "leat/pipeline/stage/detail/prefetch_stage.hpp"
#include "leat/pipeline/stage/detail/shuffle_stage.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"
#include "leat/pipeline/stage/pipeline_options.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT::detail {

// The functions that create stages are not inline: the library compiles them, and so whole stages,
// for the elements that most pipelines have. A program compiles those of its own elements.
//
// If memory for the stage is exhausted, `input` is unchanged.

template <class Block>
using stage_ptr = std::unique_ptr<stage<Block>>;
template <class In, class Out>
using block_function_ptr = std::unique_ptr<const block_function<In, Out>>;

template <class In>
[[nodiscard]] stage_ptr<owned_block<In>> make_shuffle_stage(stage_ptr<In>&& input,
                                                            stage_metrics& metrics,
                                                            memory_use& memory,
                                                            std::size_t capacity,
                                                            std::optional<std::uint64_t> seed) {
  return std::make_unique<shuffle_stage<In>>(std::move(input), metrics, memory, capacity, seed);
}

template <class In>
[[nodiscard]] stage_ptr<std::vector<owned_block<In>>> make_batch_stage(stage_ptr<In>&& input,
                                                                       stage_metrics& metrics,
                                                                       std::size_t size,
                                                                       batch_remainder last) {
  return std::make_unique<batch_stage<In>>(std::move(input), metrics, size, last);
}

template <class Block>
[[nodiscard]] stage_ptr<Block> make_prefetch_stage(stage_ptr<Block>&& input, stage_metrics& metrics,
                                                   std::size_t blocks, bool on_worker) {
  return std::make_unique<prefetch_stage<Block>>(std::move(input), metrics, blocks, on_worker);
}

template <arity How, class In, class Out>
[[nodiscard]] stage_ptr<std::vector<Out>> make_map_stage(stage_ptr<In>&& input,
                                                         stage_metrics& metrics,
                                                         block_function_ptr<In, Out> f) {
  return std::make_unique<map_stage<How, In, Out>>(std::move(input), metrics, std::move(f));
}

template <arity How, class In, class Out>
[[nodiscard]] stage_ptr<std::vector<Out>> make_parallel_map_stage(stage_ptr<In>&& input,
                                                                  stage_metrics& metrics,
                                                                  block_function_ptr<In, Out> f,
                                                                  std::size_t workers,
                                                                  ordering order) {
  using made = parallel_map_stage<How, In, Out>;
  return std::make_unique<made>(std::move(input), metrics, std::move(f), workers, order);
}

// ---- Records

extern template stage_ptr<owned_record_batch> make_shuffle_stage(stage_ptr<record_batch>&&,
                                                                 stage_metrics&, memory_use&,
                                                                 std::size_t,
                                                                 std::optional<std::uint64_t>);
extern template stage_ptr<owned_record_batch> make_shuffle_stage(stage_ptr<record_selection>&&,
                                                                 stage_metrics&, memory_use&,
                                                                 std::size_t,
                                                                 std::optional<std::uint64_t>);
extern template stage_ptr<owned_record_batch> make_shuffle_stage(stage_ptr<owned_record_batch>&&,
                                                                 stage_metrics&, memory_use&,
                                                                 std::size_t,
                                                                 std::optional<std::uint64_t>);
extern template stage_ptr<std::vector<owned_record_batch>> make_batch_stage(
    stage_ptr<record_batch>&&, stage_metrics&, std::size_t, batch_remainder);
extern template stage_ptr<std::vector<owned_record_batch>> make_batch_stage(
    stage_ptr<record_selection>&&, stage_metrics&, std::size_t, batch_remainder);
extern template stage_ptr<std::vector<owned_record_batch>> make_batch_stage(
    stage_ptr<owned_record_batch>&&, stage_metrics&, std::size_t, batch_remainder);
extern template stage_ptr<record_batch> make_prefetch_stage(stage_ptr<record_batch>&&,
                                                            stage_metrics&, std::size_t, bool);
extern template stage_ptr<record_selection> make_prefetch_stage(stage_ptr<record_selection>&&,
                                                                stage_metrics&, std::size_t, bool);
extern template stage_ptr<owned_record_batch> make_prefetch_stage(stage_ptr<owned_record_batch>&&,
                                                                  stage_metrics&, std::size_t,
                                                                  bool);
extern template stage_ptr<std::vector<owned_record_batch>> make_prefetch_stage(
    stage_ptr<std::vector<owned_record_batch>>&&, stage_metrics&, std::size_t, bool);
extern template stage_ptr<std::vector<owned_record_batch>> make_shuffle_stage(
    stage_ptr<std::vector<owned_record_batch>>&&, stage_metrics&, memory_use&, std::size_t,
    std::optional<std::uint64_t>);
extern template stage_ptr<std::vector<tensor_tuple>>
make_map_stage<arity::one, std::vector<owned_record_batch>, tensor_tuple>(
    stage_ptr<std::vector<owned_record_batch>>&&, stage_metrics&,
    block_function_ptr<std::vector<owned_record_batch>, tensor_tuple>);
extern template stage_ptr<std::vector<tensor_tuple>>
make_parallel_map_stage<arity::one, std::vector<owned_record_batch>, tensor_tuple>(
    stage_ptr<std::vector<owned_record_batch>>&&, stage_metrics&,
    block_function_ptr<std::vector<owned_record_batch>, tensor_tuple>, std::size_t, ordering);
extern template stage_ptr<std::vector<tensor_tuple>> make_prefetch_stage(
    stage_ptr<std::vector<tensor_tuple>>&&, stage_metrics&, std::size_t, bool);

// ---- Lines

extern template stage_ptr<owned_line_batch> make_shuffle_stage(stage_ptr<line_batch>&&,
                                                               stage_metrics&, memory_use&,
                                                               std::size_t,
                                                               std::optional<std::uint64_t>);
extern template stage_ptr<owned_line_batch> make_shuffle_stage(stage_ptr<owned_line_batch>&&,
                                                               stage_metrics&, memory_use&,
                                                               std::size_t,
                                                               std::optional<std::uint64_t>);
extern template stage_ptr<std::vector<owned_line_batch>> make_batch_stage(stage_ptr<line_batch>&&,
                                                                          stage_metrics&,
                                                                          std::size_t,
                                                                          batch_remainder);
extern template stage_ptr<std::vector<owned_line_batch>> make_batch_stage(
    stage_ptr<owned_line_batch>&&, stage_metrics&, std::size_t, batch_remainder);
extern template stage_ptr<line_batch> make_prefetch_stage(stage_ptr<line_batch>&&, stage_metrics&,
                                                          std::size_t, bool);
extern template stage_ptr<owned_line_batch> make_prefetch_stage(stage_ptr<owned_line_batch>&&,
                                                                stage_metrics&, std::size_t, bool);
extern template stage_ptr<std::vector<owned_line_batch>> make_prefetch_stage(
    stage_ptr<std::vector<owned_line_batch>>&&, stage_metrics&, std::size_t, bool);
extern template stage_ptr<std::vector<owned_line_batch>> make_shuffle_stage(
    stage_ptr<std::vector<owned_line_batch>>&&, stage_metrics&, memory_use&, std::size_t,
    std::optional<std::uint64_t>);

// ---- Text made of records or lines

extern template stage_ptr<std::vector<std::string>>
make_map_stage<arity::one, record_batch, std::string>(
    stage_ptr<record_batch>&&, stage_metrics&, block_function_ptr<record_batch, std::string>);
extern template stage_ptr<std::vector<std::string>>
make_parallel_map_stage<arity::one, record_batch, std::string>(
    stage_ptr<record_batch>&&, stage_metrics&, block_function_ptr<record_batch, std::string>,
    std::size_t, ordering);
extern template stage_ptr<std::vector<std::string>>
make_map_stage<arity::one, line_batch, std::string>(stage_ptr<line_batch>&&, stage_metrics&,
                                                    block_function_ptr<line_batch, std::string>);
extern template stage_ptr<std::vector<std::string>>
make_parallel_map_stage<arity::one, line_batch, std::string>(
    stage_ptr<line_batch>&&, stage_metrics&, block_function_ptr<line_batch, std::string>,
    std::size_t, ordering);
extern template stage_ptr<std::vector<std::string>>
make_map_stage<arity::many, line_batch, std::string>(stage_ptr<line_batch>&&, stage_metrics&,
                                                     block_function_ptr<line_batch, std::string>);
extern template stage_ptr<std::vector<std::string>>
make_parallel_map_stage<arity::many, line_batch, std::string>(
    stage_ptr<line_batch>&&, stage_metrics&, block_function_ptr<line_batch, std::string>,
    std::size_t, ordering);
extern template stage_ptr<std::vector<std::string>> make_shuffle_stage(
    stage_ptr<std::vector<std::string>>&&, stage_metrics&, memory_use&, std::size_t,
    std::optional<std::uint64_t>);
extern template stage_ptr<std::vector<std::vector<std::string>>> make_batch_stage(
    stage_ptr<std::vector<std::string>>&&, stage_metrics&, std::size_t, batch_remainder);
extern template stage_ptr<std::vector<std::string>> make_prefetch_stage(
    stage_ptr<std::vector<std::string>>&&, stage_metrics&, std::size_t, bool);
extern template stage_ptr<std::vector<std::vector<std::string>>> make_prefetch_stage(
    stage_ptr<std::vector<std::vector<std::string>>>&&, stage_metrics&, std::size_t, bool);

}  // namespace LEAT::detail
