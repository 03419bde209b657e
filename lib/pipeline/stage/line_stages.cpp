#include "leat/pipeline/stage/detail/make_stage.hpp"

namespace LEAT::detail {

template stage_ptr<owned_line_batch> make_shuffle_stage(stage_ptr<line_batch>&&, stage_metrics&,
                                                        memory_use&, std::size_t,
                                                        std::optional<std::uint64_t>);
template stage_ptr<owned_line_batch> make_shuffle_stage(stage_ptr<owned_line_batch>&&,
                                                        stage_metrics&, memory_use&, std::size_t,
                                                        std::optional<std::uint64_t>);
template stage_ptr<std::vector<owned_line_batch>> make_batch_stage(stage_ptr<line_batch>&&,
                                                                   stage_metrics&, std::size_t,
                                                                   batch_remainder);
template stage_ptr<std::vector<owned_line_batch>> make_batch_stage(stage_ptr<owned_line_batch>&&,
                                                                   stage_metrics&, std::size_t,
                                                                   batch_remainder);
template stage_ptr<line_batch> make_prefetch_stage(stage_ptr<line_batch>&&, stage_metrics&,
                                                   std::size_t, bool);
template stage_ptr<owned_line_batch> make_prefetch_stage(stage_ptr<owned_line_batch>&&,
                                                         stage_metrics&, std::size_t, bool);
template stage_ptr<std::vector<owned_line_batch>> make_prefetch_stage(
    stage_ptr<std::vector<owned_line_batch>>&&, stage_metrics&, std::size_t, bool);
template stage_ptr<std::vector<owned_line_batch>> make_shuffle_stage(
    stage_ptr<std::vector<owned_line_batch>>&&, stage_metrics&, memory_use&, std::size_t,
    std::optional<std::uint64_t>);

}  // namespace LEAT::detail
