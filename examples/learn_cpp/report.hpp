#pragma once

#include <span>
#include <string>

#include <leat/leat.hpp>

/// How the training stands, for the line that is printed while it runs.
struct progress {
  double seconds = 0;
  double loss = 0;
  double accuracy = 0;  ///< on the last batches, before each was learnt
};

/// Prints one line of progress: over itself on a terminal, else one below the other.
void print_progress(const progress& p, const leat::stage_metrics& readers,
                    const leat::queue_statistics& files, const leat::queue_statistics& samples);

/// Ends the line that print_progress() writes over itself.
void end_progress();

/// Prints what each stage did and waited for, and which one is the bottleneck.
void print_summary(std::span<const leat::stage_metrics* const> stages, leat::duration elapsed);
