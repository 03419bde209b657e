#pragma once

// <span> provides the range concepts, such as std::ranges::contiguous_range. <ranges> would also
// include all views, which take longer to compile than this whole layer.

#include <span>
