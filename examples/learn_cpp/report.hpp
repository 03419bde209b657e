#pragma once

#include <span>
#include <string>

#include <leat/leat.hpp>

/// The state of the training, which a line of progress shows.
struct progress {
  double seconds = 0;
  double loss = 0;
  double accuracy = 0;  ///< moving average, measured before each step
};

/// Prints one line of progress, which overwrites the previous one on a terminal.
void print_progress(const progress& p, const leat::stage_metrics& readers,
                    const leat::queue_statistics& files, const leat::queue_statistics& samples);

/// Ends the line that print_progress() overwrites on a terminal.
void end_progress();

/// Prints the work and the waiting times of each stage, and the bottleneck.
void print_summary(std::span<const leat::stage_metrics* const> stages, leat::duration elapsed);
