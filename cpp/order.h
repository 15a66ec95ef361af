// Positions of values in ascending order. The order of equal values decides which tree is found, so it may not depend
// on a library's sort.
#pragma once

#include "arrays.h"

namespace s2oct {

// Fills order (n,) with the positions of the values, the least first: a quicksort that splits at the median of three.
void put_in_order(ConstNumbers values, Indices order);

}  // namespace s2oct
