#pragma once

// The concepts of ranges, such as std::ranges::contiguous_range, which come with <span>. <ranges>
// also includes all views, which take a user's file longer to compile than this whole layer.

#include <span>
