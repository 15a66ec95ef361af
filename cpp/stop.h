// A request to stop, asked between pieces of work of a few hundredths of a second.
#pragma once

#include <functional>

namespace s2oct {

using Stop = std::function<bool()>;

}  // namespace s2oct
