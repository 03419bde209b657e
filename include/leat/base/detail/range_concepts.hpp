#pragma once

// The concepts of ranges, such as std::ranges::contiguous_range, which come with <span>. <ranges>
// brings all views as well, which takes a file of a user longer to compile than all of this layer.

#include <span>
