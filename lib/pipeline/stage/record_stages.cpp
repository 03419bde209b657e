#include "leat/pipeline/stage/detail/make_stage.hpp"

namespace LEAT::detail {

template stage_ptr<owned_record_batch> make_shuffle_stage(stage_ptr<record_batch>&&, stage_metrics&,
                                                          memory_use&, std::size_t,
                                                          std::optional<std::uint64_t>);
template stage_ptr<owned_record_batch> make_shuffle_stage(stage_ptr<record_selection>&&,
                                                          stage_metrics&, memory_use&, std::size_t,
                                                          std::optional<std::uint64_t>);
template stage_ptr<owned_record_batch> make_shuffle_stage(stage_ptr<owned_record_batch>&&,
                                                          stage_metrics&, memory_use&, std::size_t,
                                                          std::optional<std::uint64_t>);
template stage_ptr<std::vector<owned_record_batch>> make_batch_stage(stage_ptr<record_batch>&&,
                                                                     stage_metrics&, std::size_t,
                                                                     batch_remainder);
template stage_ptr<std::vector<owned_record_batch>> make_batch_stage(stage_ptr<record_selection>&&,
                                                                     stage_metrics&, std::size_t,
                                                                     batch_remainder);
template stage_ptr<std::vector<owned_record_batch>> make_batch_stage(
    stage_ptr<owned_record_batch>&&, stage_metrics&, std::size_t, batch_remainder);
template stage_ptr<record_batch> make_prefetch_stage(stage_ptr<record_batch>&&, stage_metrics&,
                                                     std::size_t, bool);
template stage_ptr<record_selection> make_prefetch_stage(stage_ptr<record_selection>&&,
                                                         stage_metrics&, std::size_t, bool);
template stage_ptr<owned_record_batch> make_prefetch_stage(stage_ptr<owned_record_batch>&&,
                                                           stage_metrics&, std::size_t, bool);
template stage_ptr<std::vector<owned_record_batch>> make_prefetch_stage(
    stage_ptr<std::vector<owned_record_batch>>&&, stage_metrics&, std::size_t, bool);
template stage_ptr<std::vector<owned_record_batch>> make_shuffle_stage(
    stage_ptr<std::vector<owned_record_batch>>&&, stage_metrics&, memory_use&, std::size_t,
    std::optional<std::uint64_t>);
template stage_ptr<std::vector<tensor_tuple>>
make_map_stage<arity::one, std::vector<owned_record_batch>, tensor_tuple>(
    stage_ptr<std::vector<owned_record_batch>>&&, stage_metrics&,
    block_function_ptr<std::vector<owned_record_batch>, tensor_tuple>);
template stage_ptr<std::vector<tensor_tuple>>
make_parallel_map_stage<arity::one, std::vector<owned_record_batch>, tensor_tuple>(
    stage_ptr<std::vector<owned_record_batch>>&&, stage_metrics&,
    block_function_ptr<std::vector<owned_record_batch>, tensor_tuple>, std::size_t, ordering);
template stage_ptr<std::vector<tensor_tuple>> make_prefetch_stage(
    stage_ptr<std::vector<tensor_tuple>>&&, stage_metrics&, std::size_t, bool);

}  // namespace LEAT::detail
