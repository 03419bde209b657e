#include "train/checkpoint/checkpoint_rotation.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace LEAT::detail {

bool checkpoint_rotation::recover(const checkpoint_state& state,
                                  const std::vector<std::optional<double>>& modified, double now) {
  std::vector<listed> found;
  for (std::size_t i = 0; i < state.all_model_checkpoint_paths.size(); ++i) {
    if (!modified[i]) continue;
    const auto& times = state.all_model_checkpoint_timestamps;
    const double time = i < times.size() ? times[i] : *modified[i];
    found.push_back({state.all_model_checkpoint_paths[i], std::min(time, now)});
  }
  if (state.last_preserved_timestamp) {
    last_preserved_ = *state.last_preserved_timestamp;
  } else {
    for (const listed& f : found) last_preserved_ = std::min(last_preserved_, f.time - 1);
  }
  const bool set_back = now < last_preserved_;
  if (set_back) last_preserved_ = now;
  for (listed& f : found) {
    if (f.time > last_preserved_) add(std::move(f.path), f.time);
  }
  return set_back;
}

void checkpoint_rotation::add(std::string path, double now) {
  forget(path);
  newest_ = {std::move(path), now};
  if (!lists_newest_only()) all_.push_back(newest_);
}

void checkpoint_rotation::forget(const std::string& path) {
  std::erase_if(all_, [&](const listed& e) { return e.path == path; });
  if (newest_.path == path) newest_ = all_.empty() ? listed() : all_.back();
}

void checkpoint_rotation::make_newest(const std::string& path, double time) {
  newest_ = {path, time};
  const auto found = std::ranges::find(all_, path, &listed::path);
  if (found == all_.end()) return;
  newest_ = *found;
  std::rotate(found, found + 1, all_.end());
}

std::optional<checkpoint_rotation::listed> checkpoint_rotation::next_to_delete() {
  while (max_to_keep_ && all_.size() > *max_to_keep_) {
    listed oldest = std::move(all_.front());
    all_.erase(all_.begin());
    const bool preserve = keep_every_ > 0 && oldest.time - keep_every_ >= last_preserved_;
    if (!preserve) return oldest;
    last_preserved_ = oldest.time;
  }
  return std::nullopt;
}

void checkpoint_rotation::put_back(std::vector<listed> entries) {
  all_.insert(all_.begin(), std::make_move_iterator(entries.begin()),
              std::make_move_iterator(entries.end()));
}

checkpoint_state checkpoint_rotation::state() const {
  checkpoint_state s;
  s.model_checkpoint_path = newest_.path;
  std::vector<listed> all = all_;
  if (all.empty() || all.back().path != newest_.path) all.push_back(newest_);
  for (const listed& e : all) {
    s.all_model_checkpoint_paths.push_back(e.path);
    s.all_model_checkpoint_timestamps.push_back(e.time);
  }
  s.last_preserved_timestamp = last_preserved_;
  return s;
}

}  // namespace LEAT::detail
