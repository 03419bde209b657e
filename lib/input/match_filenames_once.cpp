#include "leat/input/match_filenames_once.hpp"

#include <optional>
#include <utility>

#include "leat/sync/mutex.hpp"

namespace LEAT {
namespace {

using paths = std::vector<std::string>;

}  // namespace

struct match_filenames_once::state {
  state(paths p, match_options o) : patterns(std::move(p)), options(o) {}

  const paths patterns;
  const match_options options;
  // Held during the search, so that calls at the same time share one. After an error, the next call
  // searches again.
  mutex lock{"match_filenames_once"};
  std::optional<paths> found;
};

match_filenames_once::match_filenames_once(std::string pattern, match_options options)
    : match_filenames_once(paths(1, std::move(pattern)), options) {}

match_filenames_once::match_filenames_once(paths patterns, match_options options)
    : state_(std::make_shared<state>(std::move(patterns), options)) {}

task<paths> match_filenames_once::operator()() const { return look_up(state_); }

task<paths> match_filenames_once::look_up(std::shared_ptr<state> s) {
  const mutex::guard guard = co_await s->lock.lock();
  if (!s->found) {
    paths now = co_await match_files(s->patterns, s->options);
    s->found = std::move(now);
  }
  co_return *s->found;
}

}  // namespace LEAT
