// The one place that knows Python: checks what arrives, releases the interpreter and calls the kernels.
//
// Arrays are borrowed, never copied: they must have the right type and lie row by row, and nobody may change them while
// a kernel works on them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "annealing.h"
#include "descent.h"
#include "directions.h"
#include "exact.h"
#include "forest.h"
#include "octh.h"
#include "pairs.h"
#include "routing.h"

namespace nb = nanobind;
using namespace nb::literals;

// Written by CMake: a digest of the sources.
extern const char s2oct_digest[];

namespace {

using s2oct::Index;
using s2oct::Matrix;
using s2oct::Vector;

// A request to stop, as Python writes it: any truth value will do.
using StopFunction = nb::typed<nb::callable, bool()>;

s2oct::Stop stop_of(const StopFunction& stop) {
    return [&stop]() {
        nb::gil_scoped_acquire acquired;
        const int answer = PyObject_IsTrue(stop().ptr());
        if (answer < 0) throw nb::python_error();
        return answer == 1;
    };
}

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

Vector<const s2oct::Flag> flags_of(const Line<const bool>& array) {
    return {reinterpret_cast<const s2oct::Flag*>(array.data()), static_cast<Index>(array.shape(0))};
}

[[noreturn]] void refuse(const std::string& sentence) { throw std::invalid_argument(sentence); }

void require_size(const char* name, Index found, Index expected) {
    if (found != expected)
        refuse(
            std::string(name) + ": expected " + std::to_string(expected) + " entries, got " + std::to_string(found) +
            ".");
}

template <class T>
void require_shape(const char* name, const Grid<T>& array, Index n_rows, Index n_columns) {
    const Matrix<T> found = view(array);
    if (found.n_rows != n_rows || found.n_columns != n_columns)
        refuse(
            std::string(name) + ": expected shape (" + std::to_string(n_rows) + ", " + std::to_string(n_columns) +
            "), got (" + std::to_string(found.n_rows) + ", " + std::to_string(found.n_columns) + ").");
}

template <class T>
void require_shape(const char* name, const Line<T>& array, Index size) {
    require_size(name, static_cast<Index>(array.shape(0)), size);
}

void require_positive(const char* name, Index found) {
    if (found <= 0) refuse(std::string(name) + ": expected at least 1, got " + std::to_string(found) + ".");
}

// Whole numbers of an array that index something of a given size.
template <class Array>
void require_below(const char* name, const Array& array, Index size) {
    const auto* data = array.data();
    for (std::size_t at = 0; at < array.size(); ++at)
        if (data[at] < 0 || data[at] >= size)
            refuse(
                std::string(name) + ": expected whole numbers from 0 to " + std::to_string(size - 1) + ", got " +
                std::to_string(data[at]) + " at position " + std::to_string(at) + ".");
}

template <class Array>
void require_numbers(const char* name, const Array& array) {
    const double* data = array.data();
    for (std::size_t at = 0; at < array.size(); ++at)
        if (std::isnan(data[at])) refuse(std::string(name) + ": not a number at position " + std::to_string(at) + ".");
}

template <class Array>
void require_finite(const char* name, const Array& array) {
    const double* data = array.data();
    for (std::size_t at = 0; at < array.size(); ++at)
        if (!std::isfinite(data[at]))
            refuse(
                std::string(name) + ": expected finite numbers, got " + std::to_string(data[at]) + " at position " +
                std::to_string(at) + ".");
}

void require_number(const char* name, double value) {
    if (std::isnan(value)) refuse(std::string(name) + ": not a number.");
}

// Classes of the leaves of a complete tree; returns its depth.
Index require_leaves(const Line<const Index>& leaf_classes, Index n_classes) {
    const Index n_leaves = static_cast<Index>(leaf_classes.shape(0));
    Index depth = 1;
    while ((Index{1} << depth) < n_leaves) ++depth;
    if ((Index{1} << depth) != n_leaves)
        refuse("leaf_classes: expected 2, 4, 8, ... leaves, got " + std::to_string(n_leaves) + ".");
    require_below("leaf_classes", leaf_classes, n_classes);
    return depth;
}

void require_rows(const Grid<const double>& XT) {
    require_positive("XT, features", static_cast<Index>(XT.shape(0)));
    require_positive("XT, rows", static_cast<Index>(XT.shape(1)));
    require_finite("XT", XT);
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
    auto memory = std::make_unique<T[]>(s2oct::n_entries(n_rows, n_columns));
    T* data = memory.get();
    nb::capsule owner(memory.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return {
        NewGrid<T>(data, {static_cast<std::size_t>(n_rows), static_cast<std::size_t>(n_columns)}, owner),
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
        refuse(
            "depth: a tree of depth " + std::to_string(depth) + " does not have " + std::to_string(n_branches) +
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
        s2oct::path_distances(rows_of(X), planes, flags_of(counted), depth, found.view);
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

template <class T>
auto copied(const std::vector<T>& source) {
    auto found = new_vector<T>(static_cast<Index>(source.size()));
    std::copy(source.begin(), source.end(), found.view.begin());
    return found.array;
}

template <class T>
auto copied(const s2oct::OwnedMatrix<T>& source) {
    auto found = new_matrix<T>(source.n_rows, source.n_columns);
    std::copy(source.memory.begin(), source.memory.end(), found.view.data);
    return found.array;
}

// How rows are counted, with the arrays of Python behind it.
struct CountsArrays {
    Line<const double> sizes;
    Grid<const Index> first;
    Grid<const double> bounds;
    Index n_classes;

    void check(Index n_rows) const {
        require_positive("n_classes", n_classes);
        require_shape("sizes", sizes, n_rows);
        require_finite("sizes", sizes);
        require_shape("first", first, static_cast<Index>(first.shape(0)), n_rows);
        const Index n_cells = static_cast<Index>(bounds.shape(1));
        require_shape("bounds", bounds, 2, n_cells);
        require_numbers("bounds", bounds);
        if (n_cells == 0 || n_cells % n_classes != 0)
            refuse(
                "bounds: expected " + std::to_string(n_classes) + " cells for every domain, got " +
                std::to_string(n_cells) + " cells.");
        require_below("first", first, n_cells - n_classes + 1);
    }
    s2oct::Counts counts() const { return {view(sizes), view(first), view(bounds), n_classes}; }
};

// P2's rows, laid out for the search.
class Instance {
   public:
    Instance(
        Grid<const double> XT, Line<const double> quanta, double s, Index most_features, Line<const double> sizes,
        Grid<const Index> first, Grid<const double> bounds, Index n_classes, Line<const Index> labels,
        Grid<const double> charges, double row_off, Line<const Index> leaf_classes)
        : XT_(std::move(XT)),
          quanta_(std::move(quanta)),
          counts_{std::move(sizes), std::move(first), std::move(bounds), n_classes},
          labels_(std::move(labels)),
          charges_(std::move(charges)),
          leaf_classes_(std::move(leaf_classes)) {
        require_rows(XT_);
        const Index p = static_cast<Index>(XT_.shape(0)), n_rows = static_cast<Index>(XT_.shape(1));
        const Index n = static_cast<Index>(labels_.shape(0));
        require_shape("quanta", quanta_, p);
        require_finite("quanta", quanta_);
        counts_.check(n_rows);
        require_positive("labels, rows", n);
        if (n > n_rows) refuse("labels: more labels than rows.");
        require_below("labels", labels_, n_classes);
        require_shape("charges", charges_, n_rows - n, n_classes);
        require_numbers("charges", charges_);
        require_positive("most_features", most_features);
        require_number("s", s);
        require_number("row_off", row_off);
        const Index depth = require_leaves(leaf_classes_, n_classes);
        auto spans = new_matrix<double>(2, p);
        for (Index j = 0; j < p; ++j) {
            const auto range = std::minmax_element(view(XT_)[j].begin(), view(XT_)[j].end());
            spans.view(0, j) = *range.first;
            spans.view(1, j) = *range.second;
        }
        spans_ = spans.array;
        instance_ = {view(XT_),
                     view(quanta_),
                     s,
                     most_features,
                     counts_.counts(),
                     spans.view,
                     view(labels_),
                     view(charges_),
                     row_off,
                     view(leaf_classes_),
                     depth};
    }

    const s2oct::Instance& operator*() const { return instance_; }
    const s2oct::Instance* operator->() const { return &instance_; }

   private:
    Grid<const double> XT_;
    Line<const double> quanta_;
    CountsArrays counts_;
    Line<const Index> labels_;
    Grid<const double> charges_;
    Line<const Index> leaf_classes_;
    NewGrid<double> spans_;
    s2oct::Instance instance_;
};

void require_node(Index b, Index n_branches) {
    if (b < 0 || b >= n_branches)
        refuse(
            "node: expected a number from 0 to " + std::to_string(n_branches - 1) + ", got " + std::to_string(b) + ".");
}

s2oct::Planes planes_of(Index n_branches, Index p, const Grid<double>& omega, const Line<double>& gamma) {
    require_shape("omega", omega, n_branches, p);
    require_shape("gamma", gamma, n_branches);
    require_finite("omega", omega);
    require_finite("gamma", gamma);
    return {view(omega), view(gamma)};
}

std::uint64_t require_seed(std::uint64_t seed) {
    if (seed == 0) refuse("seed: expected a number other than 0.");
    return seed;
}

// What each side of one node means for each row of an instance.
class NodeView {
   public:
    NodeView(const Instance& instance, const Grid<const double>& H, Index b) : instance_(*instance), view_(*instance) {
        require_shape("H", H, instance->n_branches(), instance->n_rows());
        require_finite("H", H);
        require_node(b, instance->n_branches());
        const s2oct::ConstNumbers h = view(H)[b];
        h_.assign(h.begin(), h.end());
        view_.look_at(*instance, view(H), b);
    }

    using Parts = std::tuple<double, double, double, double, double>;

    // Cost after a move, in all and in parts: labeled rows, rows off, margin violation, charge.
    Parts evaluate(
        const Line<const double>& x, double scale, double step, double shift,
        const std::tuple<double, double, double>& prices, double stop_above) const {
        require_shape("x", x, instance_.n_rows());
        s2oct::Tally tally(instance_.counts.n_cells());
        const double cost =
            s2oct::evaluate(instance_, view_, h_, {x.data(), scale, step, shift}, prices_of(prices), stop_above, tally);
        return {cost, tally.labeled, tally.rows_off, tally.violation, tally.charge};
    }

    // The same from the rows that such a move can affect.
    Parts evaluate_near(
        const Line<const double>& x, double step, double shift,
        const std::tuple<double, double, double>& prices) const {
        require_shape("x", x, instance_.n_rows());
        const s2oct::Prices given = prices_of(prices);
        s2oct::Tally tally(instance_.counts.n_cells()), after(instance_.counts.n_cells());
        s2oct::evaluate(instance_, view_, h_, {h_.data(), 1.0, 0.0, 0.0}, given, s2oct::kFar, tally);
        double reach = 0.0;
        for (Index i = 0; i < instance_.n_rows(); ++i) reach = std::max(reach, std::abs(step * x.data()[i] - shift));
        s2oct::Nearest labeled(instance_.n_labeled()), unlabeled(instance_.n_unlabeled());
        labeled.sort(h_, 0, instance_.n_labeled());
        unlabeled.sort(h_, instance_.n_labeled(), instance_.n_rows());
        const s2oct::Near near{
            s2oct::ConstIndices(labeled.order).first(labeled.within(std::max(1.0, given.cap - 1.0) + reach)),
            s2oct::ConstIndices(unlabeled.order).first(unlabeled.within(1.0 + reach))};
        const double cost =
            s2oct::evaluate_near(instance_, view_, h_, {x.data(), 1.0, step, shift}, given, near, tally, after);
        return {cost, after.labeled, after.rows_off, after.violation, after.charge};
    }

   private:
    static s2oct::Prices prices_of(const std::tuple<double, double, double>& prices) {
        return {std::get<0>(prices), std::get<1>(prices), std::get<2>(prices)};
    }

    const s2oct::Instance& instance_;
    s2oct::NodeView view_;
    std::vector<double> h_;
};

// An object whose memory serves one call at a time.
class AtWork {
   public:
    explicit AtWork(std::atomic<bool>& busy) : busy_(busy) {
        if (busy_.exchange(true)) refuse("This annealer is at work in another thread: make one for each thread.");
    }
    ~AtWork() { busy_ = false; }
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;

   private:
    std::atomic<bool>& busy_;
};

class Annealer {
   public:
    Annealer(const Instance& instance, std::uint64_t seed)
        : instance_(*instance), annealer_(*instance, require_seed(seed)) {}

    double anneal(
        const Grid<double>& omega, const Line<double>& gamma, const Grid<double>& best_omega,
        const Line<double>& best_gamma, Index n_visits, Index moves_per_visit, std::pair<double, double> heats,
        double row_off, std::pair<double, double> margin_prices, double cap, bool on_grid, double floor, Index stretch,
        const StopFunction& stop) {
        require_positive("stretch", stretch);
        const auto planes = planes_of(instance_.n_branches(), instance_.n_features(), omega, gamma);
        const auto best = planes_of(instance_.n_branches(), instance_.n_features(), best_omega, best_gamma);
        const s2oct::Schedule schedule{n_visits, moves_per_visit,     heats.first,          heats.second,
                                       row_off,  margin_prices.first, margin_prices.second, cap,
                                       on_grid};
        const AtWork alone(busy_);
        nb::gil_scoped_release released;
        return annealer_.anneal(planes, best, schedule, floor, stretch, stop_of(stop));
    }

    void clear_node(
        const Grid<double>& omega, const Line<double>& gamma, Index b, Index n_directions, const StopFunction& stop) {
        require_node(b, instance_.n_branches());
        const auto planes = planes_of(instance_.n_branches(), instance_.n_features(), omega, gamma);
        const AtWork alone(busy_);
        nb::gil_scoped_release released;
        annealer_.clear_node(planes, b, n_directions, stop_of(stop));
    }

   private:
    const s2oct::Instance& instance_;
    s2oct::Annealer annealer_;
    std::atomic<bool> busy_ = false;
};

using Box = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Ends = std::pair<double, double>;

void descend(
    const std::tuple<
        Grid<const double>, Line<const Index>, Line<const double>, Line<const double>, Grid<const Index>, double>& rows,
    const std::tuple<Line<const Index>, Grid<const double>, Line<const double>, Box>& aims,
    const std::tuple<Grid<double>, Line<double>, Grid<double>, Grid<double>, Line<double>>& motion,
    const std::tuple<Index, Ends, Ends, Ends>& stage, Index first_step, Index stop_step) {
    const auto& [Z, labels, sizes, strength, first, weight] = rows;
    const auto& [leaf_classes, bounds, outside, box] = aims;
    const auto& [normals, offsets, mean, square, prices] = motion;
    const auto& [n_steps, width, margin, step] = stage;
    const Index p = static_cast<Index>(Z.shape(0)), n_rows = static_cast<Index>(Z.shape(1));
    const Index n = static_cast<Index>(labels.shape(0)), n_branches = static_cast<Index>(leaf_classes.shape(0)) - 1;
    const Index n_cells = static_cast<Index>(outside.shape(0));
    require_finite("Z", Z);
    if (n > n_rows) refuse("labels: more labels than rows.");
    require_shape("sizes", sizes, n_rows);
    require_shape("strength", strength, n_rows);
    require_shape("first", first, static_cast<Index>(first.shape(0)), n_rows - n);
    require_shape("bounds", bounds, 2, n_cells);
    const Index depth = require_leaves(leaf_classes, n_cells);
    Index n_classes = 0;
    for (const Index k : view(leaf_classes)) n_classes = std::max(n_classes, k + 1);
    require_below("first", first, n_cells - n_classes + 1);
    if (box.shape(0) != 2 || static_cast<Index>(box.shape(1)) != n_branches || static_cast<Index>(box.shape(2)) != p)
        refuse("box: expected shape (2, " + std::to_string(n_branches) + ", " + std::to_string(p) + ").");
    require_shape("normals", normals, n_branches, p);
    require_shape("offsets", offsets, n_branches);
    require_shape("mean", mean, n_branches, p + 1);
    require_shape("square", square, n_branches, p + 1);
    require_shape("prices", prices, n_cells);
    require_numbers("sizes", sizes);
    require_numbers("strength", strength);
    require_numbers("bounds", bounds);
    require_numbers("outside", outside);
    require_numbers("box", box);
    require_numbers("normals", normals);
    require_numbers("offsets", offsets);
    require_number("weight", weight);
    const double* lowest = box.data();
    nb::gil_scoped_release released;
    s2oct::descend(
        {view(Z), view(labels), view(sizes), view(strength), view(first), weight},
        {view(leaf_classes),
         depth,
         view(bounds),
         view(outside),
         {lowest, n_branches, p},
         {lowest + n_branches * p, n_branches, p}},
        {view(normals), view(offsets), view(mean), view(square), view(prices)},
        {n_steps, {width.first, width.second}, {margin.first, margin.second}, {step.first, step.second}}, first_step,
        stop_step);
}

class OcthAnnealer {
   public:
    OcthAnnealer(
        Grid<const double> XT, Line<const Index> labels, Line<const double> sizes, Line<const Index> leaf_classes,
        double min_leaf, double half_gap, std::uint64_t seed)
        : XT_(check_rows(std::move(XT))),
          labels_(std::move(labels)),
          sizes_(std::move(sizes)),
          leaf_classes_(check_leaves(std::move(leaf_classes))),
          rows_{view(XT_), view(labels_), view(sizes_), view(leaf_classes_), min_leaf, half_gap},
          annealer_(rows_, require_seed(seed)) {
        const Index n_rows = static_cast<Index>(XT_.shape(1));
        require_shape("labels", labels_, n_rows);
        require_shape("sizes", sizes_, n_rows);
        require_finite("sizes", sizes_);
        require_number("min_leaf", min_leaf);
        if (!(half_gap > 0.0)) refuse("half_gap: expected a positive number.");
    }

    double anneal(
        const Grid<double>& omega, const Line<double>& gamma, Index n_visits, Index moves_per_visit,
        std::pair<double, double> heats, double in_gap, double too_few, Index stretch, const StopFunction& stop) {
        require_positive("stretch", stretch);
        const auto planes = planes_of(rows_.leaf_classes.size - 1, rows_.XT.n_rows, omega, gamma);
        const AtWork alone(busy_);
        nb::gil_scoped_release released;
        return annealer_.anneal(
            planes, {n_visits, moves_per_visit, heats.first, heats.second, in_gap, too_few}, stretch, stop_of(stop));
    }

   private:
    static Grid<const double> check_rows(Grid<const double> XT) {
        require_rows(XT);
        return XT;
    }
    static Line<const Index> check_leaves(Line<const Index> leaf_classes) {
        require_leaves(leaf_classes, std::numeric_limits<Index>::max());
        return leaf_classes;
    }

    Grid<const double> XT_;
    Line<const Index> labels_;
    Line<const double> sizes_;
    Line<const Index> leaf_classes_;
    s2oct::OcthRows rows_;
    s2oct::OcthAnnealer annealer_;
    std::atomic<bool> busy_ = false;
};

auto rank_values(const Grid<const double>& columns, double least) {
    require_numbers("columns", columns);
    s2oct::OwnedMatrix<s2oct::Answer> ranks(static_cast<Index>(columns.shape(0)), static_cast<Index>(columns.shape(1)));
    {
        nb::gil_scoped_release released;
        for (Index j = 0; j < ranks.n_rows; ++j) s2oct::rank_values(view(columns)[j], least, ranks[j]);
    }
    return copied(ranks);
}

auto sparse_directions(
    const Grid<const double>& XT, const Line<const double>& steepness, const Line<const Index>& rows,
    const Line<const double>& extra, const Line<const Index>& allowed, Index most, const StopFunction& stop) {
    const Index n_features = static_cast<Index>(XT.shape(0));
    require_rows(XT);
    require_shape("steepness", steepness, n_features);
    require_finite("steepness", steepness);
    require_below("rows", rows, static_cast<Index>(XT.shape(1)));
    require_shape("extra", extra, static_cast<Index>(rows.shape(0)));
    require_finite("extra", extra);
    require_below("allowed", allowed, n_features);
    for (const Index j : view(allowed))
        if (!(view(steepness)[j] > 0)) refuse("steepness: expected more than 0 for every allowed feature.");
    std::vector<s2oct::Direction> found;
    {
        nb::gil_scoped_release released;
        found = s2oct::sparse_directions(
            {view(XT), view(steepness), view(rows), view(extra)}, view(allowed), most, stop_of(stop));
    }
    s2oct::OwnedMatrix<double> directions(static_cast<Index>(found.size()), n_features);
    std::vector<double> costs;
    for (std::size_t d = 0; d < found.size(); ++d) {
        costs.push_back(found[d].cost);
        for (std::size_t a = 0; a < found[d].support.size(); ++a)
            directions[static_cast<Index>(d)][found[d].support[a]] = found[d].coefficients[a];
    }
    return std::make_pair(copied(directions), copied(costs));
}

// Questions about the rows of a table, which borrow the arrays of Python.
class Questionnaire {
   public:
    Questionnaire(
        Grid<const s2oct::Answer> answers, Line<const double> prices, Grid<const double> extra, Line<const double> rows,
        double min_rows)
        : answers_(std::move(answers)),
          order_(static_cast<Index>(answers_.shape(0)), static_cast<Index>(answers_.shape(1))),
          prices_(std::move(prices)),
          extra_(std::move(extra)),
          rows_(std::move(rows)),
          min_rows_(min_rows) {
        const Index n_questions = static_cast<Index>(prices_.shape(0)), n_rows = static_cast<Index>(rows_.shape(0));
        require_shape("answers", answers_, n_questions, n_rows);
        require_positive("rows", n_rows);
        require_below("answers", answers_, n_rows);
        require_finite("prices", prices_);
        require_shape("extra", extra_, n_questions, static_cast<Index>(extra_.shape(1)));
        require_finite("extra", extra_);
        for (std::size_t at = 0; at < extra_.size(); ++at)
            if (extra_.data()[at] < 0) refuse("extra: expected at least 0.");
        require_finite("rows", rows_);
        require_number("min_rows", min_rows_);
        for (std::size_t i = 0; i < prices_.shape(0); ++i)
            if (prices_(i) < 0) refuse("prices: expected at least 0.");
        for (Index q = 0; q < n_questions; ++q) s2oct::order_answers(::view(answers_)[q], order_[q]);
    }

    s2oct::Questions view() const {
        return {::view(answers_), order_, ::view(prices_), ::view(extra_), ::view(rows_), min_rows_};
    }
    void require_cost(const Grid<const double>& cost, Index depth) const {
        require_shape("cost", cost, static_cast<Index>(rows_.shape(0)), static_cast<Index>(cost.shape(1)));
        require_finite("cost", cost);
        if (cost.shape(1) < 1 || cost.shape(1) > s2oct::kMostClasses)
            refuse("cost: expected at least 1 class, and at most 1024.");
        if (depth < 1 || depth > kMostLevels) refuse("depth: expected at least 1, and at most 12.");
    }

   private:
    static constexpr Index kMostLevels = 12;

    Grid<const s2oct::Answer> answers_;
    s2oct::OwnedMatrix<s2oct::Answer> order_;
    Line<const double> prices_;
    Grid<const double> extra_;
    Line<const double> rows_;
    double min_rows_;
};

auto python_tree(const s2oct::ExactTree& tree) {
    std::vector<Index> questions, cuts;
    for (const s2oct::ExactSplit& split : tree.splits) {
        questions.push_back(split.question);
        cuts.push_back(split.cut);
    }
    return std::make_tuple(tree.cost, tree.bound, copied(questions), copied(cuts), copied(tree.classes));
}

auto exact_tree(
    const Questionnaire& questions, const Grid<const double>& cost, Index depth, double cutoff, double most_work,
    const StopFunction& stop) {
    questions.require_cost(cost, depth);
    s2oct::ExactTree tree;
    {
        nb::gil_scoped_release released;
        tree = s2oct::exact_tree(questions.view(), view(cost), depth, cutoff, {most_work, stop_of(stop)});
    }
    return python_tree(tree);
}

auto cheapest_tree(
    const Questionnaire& questions, const Grid<const double>& cost, const Line<const double>& sizes,
    const Grid<const Index>& first, const Grid<const double>& bounds, const Line<const double>& cell_prices,
    double row_off, Index depth, double upper, double most_work, const StopFunction& stop) {
    questions.require_cost(cost, depth);
    const CountsArrays counted{sizes, first, bounds, static_cast<Index>(cost.shape(1))};
    counted.check(static_cast<Index>(cost.shape(0)));
    require_shape("cell_prices", cell_prices, counted.counts().n_cells());
    require_numbers("cell_prices", cell_prices);
    s2oct::ExactTree tree;
    {
        nb::gil_scoped_release released;
        tree = s2oct::cheapest_tree(
            questions.view(), view(cost), {counted.counts(), view(cell_prices), row_off}, depth, upper,
            {most_work, stop_of(stop)});
    }
    return python_tree(tree);
}

auto forest_votes(
    const nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>& rows, const Line<const Index>& roots,
    const Line<const std::int32_t>& features, const Line<const float>& thresholds,
    const Grid<const std::int32_t>& children, const Grid<const double>& values) {
    const Index n_nodes = static_cast<Index>(features.shape(0)), n_columns = static_cast<Index>(values.shape(1));
    require_below("roots", roots, n_nodes);
    require_below("features", features, static_cast<Index>(rows.shape(1)));
    require_shape("thresholds", thresholds, n_nodes);
    require_shape("children", children, n_nodes, 2);
    require_below("children", children, n_nodes);
    require_shape("values", values, n_nodes, n_columns);
    const auto found = new_matrix<double>(static_cast<Index>(rows.shape(0)), n_columns);
    {
        nb::gil_scoped_release released;
        s2oct::add_votes(
            {view(roots), view(features), view(thresholds), view(children), view(values)},
            {rows.data(), static_cast<Index>(rows.shape(0)), static_cast<Index>(rows.stride(0)),
             static_cast<Index>(rows.stride(1))},
            found.view);
    }
    return found.array;
}

// Histograms of pairs of questions, in arrays of Python.
class PairsLayout {
   public:
    PairsLayout(const Line<const Index>& n_answers, Index n_classes, Index n_domains, Index depth)
        : pairs_(checked(n_answers, n_classes, n_domains, depth), n_classes, n_domains, depth) {}

    Index n_cells() const { return pairs_.n_cells; }
    Index width() const { return pairs_.width(); }
    Index begin(Index f, Index g) const {
        for (const auto& pair : pairs_.pairs)
            if (pair.f == f && pair.g == g) return pair.begin;
        refuse("f, g: expected a pair that has a histogram.");
    }
    void add(
        const Grid<const std::uint8_t>& answers, const Line<const Index>& regions, const Grid<const double>& cost,
        const Line<const double>& rows, const Line<const double>& sizes, const Grid<const Index>& domains,
        const Grid<double>& histograms) const {
        const Index n_rows = static_cast<Index>(regions.shape(0)), n_questions = size();
        require_shape("answers", answers, n_questions, n_rows);
        for (Index q = 0; q < n_questions; ++q)
            for (const std::uint8_t answer : view(answers)[q])
                if (answer >= pairs_.n_answers[q]) refuse("answers: expected one of the answers to each question.");
        require_shape("cost", cost, n_rows, pairs_.n_classes);
        require_finite("cost", cost);
        require_shape("rows", rows, n_rows);
        require_shape("sizes", sizes, n_rows);
        require_shape("domains", domains, static_cast<Index>(domains.shape(0)), n_rows);
        require_below("domains", domains, pairs_.n_domains);
        const Index n_all = static_cast<Index>(histograms.shape(0));
        require_shape("histograms", histograms, n_all, pairs_.width());
        if (pairs_.n_cells > 0) require_below("regions", regions, n_all / pairs_.n_cells);
        nb::gil_scoped_release released;
        s2oct::add_pairs(
            pairs_, {view(answers), view(regions), view(cost), view(rows), view(sizes), view(domains)},
            view(histograms));
    }
    auto best(
        const Grid<const double>& histograms, const Line<const double>& prices, const Grid<const double>& extra,
        const Line<const double>& cell_prices, double min_rows) const {
        require_prices(histograms, prices, extra, cell_prices, min_rows);
        s2oct::ExactTree tree;
        {
            nb::gil_scoped_release released;
            tree = s2oct::best_of_pairs(
                pairs_, view(histograms), {view(prices), view(extra), view(cell_prices), min_rows});
        }
        std::vector<Index> questions, cuts;
        for (const s2oct::ExactSplit& split : tree.splits) {
            questions.push_back(split.question);
            cuts.push_back(split.cut);
        }
        return std::make_tuple(tree.cost, copied(questions), copied(cuts));
    }

    auto below(
        const Grid<const double>& histograms, const Line<const double>& prices, const Grid<const double>& extra,
        const Line<const double>& cell_prices, double min_rows, double limit, Index most) const {
        require_prices(histograms, prices, extra, cell_prices, min_rows);
        require_number("limit", limit);
        require_positive("most", most);
        s2oct::PairTrees trees;
        {
            nb::gil_scoped_release released;
            trees = s2oct::trees_of_pairs(
                pairs_, view(histograms), {view(prices), view(extra), view(cell_prices), min_rows}, limit,
                static_cast<std::size_t>(most));
        }
        return std::make_tuple(
            trees.is_complete, copied(trees.cost), copied(trees.cells), copied(trees.splits), copied(trees.classes));
    }

   private:
    void require_prices(
        const Grid<const double>& histograms, const Line<const double>& prices, const Grid<const double>& extra,
        const Line<const double>& cell_prices, double min_rows) const {
        require_shape("histograms", histograms, pairs_.n_cells, pairs_.width());
        require_shape("prices", prices, size());
        require_shape("extra", extra, size(), static_cast<Index>(extra.shape(1)));
        require_shape("cell_prices", cell_prices, pairs_.n_domains * pairs_.n_classes);
        require_finite("cell_prices", cell_prices);
        require_number("min_rows", min_rows);
    }
    static Vector<const Index> checked(
        const Line<const Index>& n_answers, Index n_classes, Index n_domains, Index depth) {
        require_positive("n_answers, questions", static_cast<Index>(n_answers.shape(0)));
        for (const Index n : view(n_answers))
            if (n < 1 || n > 256) refuse("n_answers: expected at least 1, and at most 256.");
        require_positive("n_classes", n_classes);
        require_positive("n_domains", n_domains);
        if (depth != 1 && depth != 2) refuse("depth: expected 1 or 2.");
        return view(n_answers);
    }
    Index size() const { return static_cast<Index>(pairs_.n_answers.size()); }

    s2oct::Pairs pairs_;
};

}  // namespace

NB_MODULE(_core, module) {
    module.doc() = "Compiled kernels of s2oct. Sources: cpp/.";
    module.attr("__digest__") = nb::str(s2oct_digest);
    module.def(
        "values", &values, "X"_a.noconvert(), "omega"_a.noconvert(), "gamma"_a.noconvert(),
        "omega_b . x - gamma_b for every row and branch node, shape (rows, n_branches).");
    module.def(
        "leaves", &leaves, "X"_a.noconvert(), "omega"_a.noconvert(), "gamma"_a.noconvert(), "depth"_a,
        "Id of the leaf of every row.");
    module.def(
        "distances", &distances, "X"_a.noconvert(), "omega"_a.noconvert(), "gamma"_a.noconvert(),
        "The least ``|value|`` of every row, the least and the largest of every node, and its numbers of "
        "negative and positive values.");
    module.def(
        "path_distances", &path_distances, "X"_a.noconvert(), "omega"_a.noconvert(), "gamma"_a.noconvert(),
        "counted"_a.noconvert(), "depth"_a,
        "The least ``|value|`` of every row at the nodes on its way that count; infinite if there are none.");
    module.def(
        "cheapest_leaves", &cheapest_leaves, "X"_a.noconvert(), "labels"_a.noconvert(), "omega"_a.noconvert(),
        "gamma"_a.noconvert(), "leaf_classes"_a.noconvert(),
        "The first leaf of its class where each row has the least error, from the left, and that error.");

    nb::class_<Instance>(
        module, "Instance", "Rows of P2, laid out for the search: features by rows, labeled rows first.")
        .def(
            nb::init<
                Grid<const double>, Line<const double>, double, Index, Line<const double>, Grid<const Index>,
                Grid<const double>, Index, Line<const Index>, Grid<const double>, double, Line<const Index>>(),
            nb::kw_only(), "XT"_a.noconvert(), "quanta"_a.noconvert(), "s"_a, "most_features"_a, "sizes"_a.noconvert(),
            "first"_a.noconvert(), "bounds"_a.noconvert(), "n_classes"_a, "labels"_a.noconvert(),
            "charges"_a.noconvert(), "row_off"_a, "leaf_classes"_a.noconvert());

    nb::class_<NodeView>(module, "NodeView", "What each side of one node means for each row, while the others stay.")
        .def(
            nb::init<const Instance&, const Grid<const double>&, Index>(), "instance"_a, "H"_a.noconvert(), "b"_a,
            nb::keep_alive<1, 2>())
        .def(
            "evaluate", &NodeView::evaluate, "x"_a.noconvert(), "scale"_a, "step"_a, "shift"_a, "prices"_a,
            "stop_above"_a, "Cost after a move to scale h + step x - shift, in all and in parts.")
        .def(
            "evaluate_near", &NodeView::evaluate_near, "x"_a.noconvert(), "step"_a, "shift"_a, "prices"_a,
            "The same from the rows alone that the move can affect.");

    nb::class_<Annealer>(module, "Annealer", "Anneals trees of P2 in place.")
        .def(nb::init<const Instance&, std::uint64_t>(), "instance"_a, "seed"_a, nb::keep_alive<1, 2>())
        .def(
            "anneal", &Annealer::anneal, "omega"_a.noconvert(), "gamma"_a.noconvert(), "best_omega"_a.noconvert(),
            "best_gamma"_a.noconvert(), nb::kw_only(), "n_visits"_a, "moves_per_visit"_a, "heats"_a, "row_off"_a,
            "margin_prices"_a, "cap"_a, "on_grid"_a, "floor"_a, "stretch"_a, "stop"_a,
            "Anneal a tree; returns the cost of the best one without violations.")
        .def(
            "clear_node", &Annealer::clear_node, "omega"_a.noconvert(), "gamma"_a.noconvert(), "b"_a, "n_directions"_a,
            "stop"_a, "Give a node its best offset clear of all unlabeled rows, perhaps in another direction.");

    module.def(
        "descend", &descend, "rows"_a.noconvert(), "aims"_a.noconvert(), "motion"_a.noconvert(), "stage"_a,
        "first_step"_a, "stop_step"_a, "Take some steps of a descent of all hyperplanes at once, in place.");

    nb::class_<OcthAnnealer>(module, "OcthAnnealer", "Anneals trees of OCT-H in place.")
        .def(
            nb::init<
                Grid<const double>, Line<const Index>, Line<const double>, Line<const Index>, double, double,
                std::uint64_t>(),
            "XT"_a.noconvert(), "labels"_a.noconvert(), "sizes"_a.noconvert(), "leaf_classes"_a.noconvert(),
            "min_leaf"_a, "half_gap"_a, "seed"_a)
        .def(
            "anneal", &OcthAnnealer::anneal, "omega"_a.noconvert(), "gamma"_a.noconvert(), nb::kw_only(), "n_visits"_a,
            "moves_per_visit"_a, "heats"_a, "in_gap"_a, "too_few"_a, "stretch"_a, "stop"_a,
            "Anneal a tree; leaves the cheapest hyperplanes in place and returns their cost.");

    module.def(
        "rank_values", &rank_values, "columns"_a.noconvert(), "least"_a,
        "Positions of the values of each row of an array among its distinct ones.");
    module.def(
        "sparse_directions", &sparse_directions, "XT"_a.noconvert(), "steepness"_a.noconvert(), "rows"_a.noconvert(),
        "extra"_a.noconvert(), "allowed"_a.noconvert(), "most"_a, "stop"_a,
        "Directions of few features along which rows should be split, and the price of the best cut along each.");
    nb::class_<Questionnaire>(module, "Questions", "Questions about the rows of a table, and the price of each.")
        .def(
            nb::init<Grid<const s2oct::Answer>, Line<const double>, Grid<const double>, Line<const double>, double>(),
            "answers"_a.noconvert(), "prices"_a.noconvert(), "extra"_a.noconvert(), "rows"_a.noconvert(), "min_rows"_a);
    module.def(
        "exact_tree", &exact_tree, "questions"_a, "cost"_a.noconvert(), "depth"_a, "cutoff"_a, "most_work"_a, "stop"_a,
        "The cheapest tree over some questions: its cost, a bound, questions, cuts and classes.");
    module.def(
        "cheapest_tree", &cheapest_tree, "questions"_a, "cost"_a.noconvert(), "sizes"_a.noconvert(),
        "first"_a.noconvert(), "bounds"_a.noconvert(), "cell_prices"_a.noconvert(), "row_off"_a, "depth"_a, "upper"_a,
        "most_work"_a, "stop"_a,
        "The cheapest tree with rows off the totals at their price, if it costs less than `upper`.");
    module.def(
        "forest_votes", &forest_votes, "rows"_a.noconvert(), "roots"_a.noconvert(), "features"_a.noconvert(),
        "thresholds"_a.noconvert(), "children"_a.noconvert(), "values"_a.noconvert(),
        "What the leaves of rows say, added up over all trees.");
    nb::class_<PairsLayout>(module, "Pairs", "Histograms of pairs of questions, in arrays that add up.")
        .def(
            nb::init<const Line<const Index>&, Index, Index, Index>(), "n_answers"_a.noconvert(), "n_classes"_a,
            "n_domains"_a, "depth"_a)
        .def_prop_ro("n_cells", &PairsLayout::n_cells)
        .def_prop_ro("width", &PairsLayout::width)
        .def("begin", &PairsLayout::begin, "f"_a, "g"_a, "The first cell of a pair.")
        .def(
            "add", &PairsLayout::add, "answers"_a.noconvert(), "regions"_a.noconvert(), "cost"_a.noconvert(),
            "rows"_a.noconvert(), "sizes"_a.noconvert(), "domains"_a.noconvert(), "histograms"_a.noconvert(),
            "Add rows to histograms, in place.")
        .def(
            "best", &PairsLayout::best, "histograms"_a.noconvert(), "prices"_a.noconvert(), "extra"_a.noconvert(),
            "cell_prices"_a.noconvert(), "min_rows"_a,
            "The cheapest tree by the histograms of one region: its cost, questions and cuts.")
        .def(
            "below", &PairsLayout::below, "histograms"_a.noconvert(), "prices"_a.noconvert(), "extra"_a.noconvert(),
            "cell_prices"_a.noconvert(), "min_rows"_a, "limit"_a, "most"_a,
            "All trees of one region that cost less than a limit: whether these are all, costs, rows of cells, "
            "questions "
            "and cuts of their splits, and classes of their leaves.");
}
