// The one place that knows Python: checks what arrives, releases the interpreter and calls the kernels.
//
// Arrays are borrowed, never copied. Arrays that a function changes must have the right type and lie row by row.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>

#include "routing.h"

namespace nb = nanobind;
using namespace nb::literals;

// Written by CMake: a digest of the sources.
extern const char s2oct_digest[];

namespace {

using s2oct::Index;
using s2oct::Matrix;
using s2oct::Vector;

template <class T>
using Line = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Grid = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using RowsArray = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
template <class T>
using NewLine = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using NewGrid = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <class T>
Vector<T> view(const Line<T>& array) {
    return {array.data(), static_cast<Index>(array.shape(0))};
}

template <class T>
Matrix<T> view(const Grid<T>& array) {
    return {array.data(), static_cast<Index>(array.shape(0)), static_cast<Index>(array.shape(1))};
}

[[noreturn]] void refuse(const std::string& sentence) { throw std::invalid_argument(sentence); }

void require_size(const char* name, Index found, Index expected) {
    if (found != expected)
        refuse(std::string(name) + ": expected " + std::to_string(expected) + " entries, got " + std::to_string(found) + ".");
}

template <class T>
void require_shape(const char* name, const Grid<T>& array, Index n_rows, Index n_columns) {
    const Matrix<T> found = view(array);
    if (found.n_rows != n_rows || found.n_columns != n_columns)
        refuse(std::string(name) + ": expected shape (" + std::to_string(n_rows) + ", " + std::to_string(n_columns) +
               "), got (" + std::to_string(found.n_rows) + ", " + std::to_string(found.n_columns) + ").");
}

// A new array for Python, whose memory it owns, and a view of it.
template <class T>
struct NewVector {
    NewLine<T> array;
    Vector<T> view;
};

template <class T>
NewVector<T> new_vector(Index size) {
    auto memory = std::make_unique<T[]>(static_cast<std::size_t>(size));
    T* data = memory.get();
    nb::capsule owner(memory.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return {NewLine<T>(data, {static_cast<std::size_t>(size)}, owner), {data, size}};
}

template <class T>
struct NewMatrix {
    NewGrid<T> array;
    Matrix<T> view;
};

template <class T>
NewMatrix<T> new_matrix(Index n_rows, Index n_columns) {
    const auto size = static_cast<std::size_t>(n_rows) * static_cast<std::size_t>(n_columns);
    auto memory = std::make_unique<T[]>(size);
    T* data = memory.get();
    nb::capsule owner(memory.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return {NewGrid<T>(data, {static_cast<std::size_t>(n_rows), static_cast<std::size_t>(n_columns)}, owner),
            {data, n_rows, n_columns}};
}

s2oct::Rows rows_of(const RowsArray& X) {
    return {X.data(), static_cast<Index>(X.shape(0)), static_cast<Index>(X.shape(1)), X.stride(0), X.stride(1)};
}

s2oct::Hyperplanes planes_of(const RowsArray& X, const Grid<const double>& omega, const Line<const double>& gamma) {
    require_shape("omega", omega, static_cast<Index>(gamma.shape(0)), static_cast<Index>(X.shape(1)));
    return {view(omega), view(gamma)};
}

void require_depth(Index depth, Index n_branches) {
    if (depth < 0 || depth > 60 || (Index{1} << depth) - 1 != n_branches)
        refuse("depth: a tree of depth " + std::to_string(depth) + " does not have " + std::to_string(n_branches) +
               " branch nodes.");
}

auto values(const RowsArray& X, const Grid<const double>& omega, const Line<const double>& gamma) {
    const auto planes = planes_of(X, omega, gamma);
    auto found = new_matrix<double>(static_cast<Index>(X.shape(0)), planes.gamma.size);
    {
        nb::gil_scoped_release released;
        s2oct::values(rows_of(X), planes, found.view);
    }
    return found.array;
}

auto leaves(const RowsArray& X, const Grid<const double>& omega, const Line<const double>& gamma, Index depth) {
    const auto planes = planes_of(X, omega, gamma);
    require_depth(depth, planes.gamma.size);
    auto found = new_vector<Index>(static_cast<Index>(X.shape(0)));
    {
        nb::gil_scoped_release released;
        s2oct::leaves(rows_of(X), planes, depth, found.view);
    }
    return found.array;
}

auto distances(const RowsArray& X, const Grid<const double>& omega, const Line<const double>& gamma) {
    const auto planes = planes_of(X, omega, gamma);
    const Index n_branches = planes.gamma.size;
    auto of_rows = new_vector<double>(static_cast<Index>(X.shape(0)));
    auto least = new_vector<double>(n_branches), largest = new_vector<double>(n_branches);
    auto n_left = new_vector<Index>(n_branches), n_right = new_vector<Index>(n_branches);
    {
        nb::gil_scoped_release released;
        s2oct::distances(rows_of(X), planes, {of_rows.view, least.view, largest.view, n_left.view, n_right.view});
    }
    return std::make_tuple(of_rows.array, least.array, largest.array, n_left.array, n_right.array);
}

auto path_distances(
    const RowsArray& X, const Grid<const double>& omega, const Line<const double>& gamma,
    const Line<const bool>& counted, Index depth) {
    const auto planes = planes_of(X, omega, gamma);
    require_depth(depth, planes.gamma.size);
    require_size("counted", static_cast<Index>(counted.shape(0)), planes.gamma.size);
    auto found = new_vector<double>(static_cast<Index>(X.shape(0)));
    {
        nb::gil_scoped_release released;
        s2oct::path_distances(rows_of(X), planes, view(counted), depth, found.view);
    }
    return found.array;
}

auto cheapest_leaves(
    const RowsArray& X, const Line<const Index>& labels, const Grid<const double>& omega,
    const Line<const double>& gamma, const Line<const Index>& leaf_classes) {
    const auto planes = planes_of(X, omega, gamma);
    require_size("labels", static_cast<Index>(labels.shape(0)), static_cast<Index>(X.shape(0)));
    require_size("leaf_classes", static_cast<Index>(leaf_classes.shape(0)), planes.gamma.size + 1);
    auto leaf = new_vector<Index>(static_cast<Index>(X.shape(0)));
    auto error = new_vector<double>(static_cast<Index>(X.shape(0)));
    {
        nb::gil_scoped_release released;
        s2oct::cheapest_leaves(rows_of(X), view(labels), planes, view(leaf_classes), leaf.view, error.view);
    }
    return std::make_tuple(leaf.array, error.array);
}

}  // namespace

NB_MODULE(_core, module) {
    module.doc() = "Compiled kernels of s2oct. Sources: cpp/.";
    module.attr("__digest__") = nb::str(s2oct_digest);
    module.def("values", &values, "X"_a, "omega"_a, "gamma"_a,
               "omega_b . x - gamma_b for every row and branch node, shape (rows, n_branches).");
    module.def("leaves", &leaves, "X"_a, "omega"_a, "gamma"_a, "depth"_a, "Id of the leaf of every row.");
    module.def("distances", &distances, "X"_a, "omega"_a, "gamma"_a,
               "The least ``|value|`` of every row, the least and the largest of every node, and its numbers of "
               "negative and positive values.");
    module.def("path_distances", &path_distances, "X"_a, "omega"_a, "gamma"_a, "counted"_a, "depth"_a,
               "The least ``|value|`` of every row at the nodes on its way that count; infinite if there are none.");
    module.def("cheapest_leaves", &cheapest_leaves, "X"_a, "labels"_a, "omega"_a, "gamma"_a, "leaf_classes"_a,
               "The first leaf of its class where each row has the least error, from the left, and that error.");
}
