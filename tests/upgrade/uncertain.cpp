// Lines that upgrade_names.py does not change. It prints those that end in a comment `look`, and no
// others.

#include <leat/core/detail/promise.hpp>  // look
#include <leat/leat.hpp>

using leat::context;

struct batch {
  int size() const { return 1; }
};
struct row_of {};
struct wait_object {};

template <class Tensor>
void print(const Tensor& t, leat::tensor only, batch own) {
  own.size();  // look
  t.size();    // look
  t.wait();
  context* c = nullptr;  // look
  wait_object event;
  auto merged = leat::merge(t.shape(), only.shape());  // look
  auto source = read({.files = {"x"}, .block = 1});    // look
  const char* text = "leat::event";
}

void start(leat::file_source<leat::line_reader> from) {
  auto again = from;
  again.block = 2;  // look
}
