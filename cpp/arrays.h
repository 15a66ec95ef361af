// Views of arrays that somebody else owns. Rows of a matrix lie one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#ifdef S2OCT_CHECKED
#define S2OCT_REQUIRE(condition) \
    if (!(condition)) throw std::out_of_range("s2oct._core: " #condition)
#else
#define S2OCT_REQUIRE(condition)
#endif

namespace s2oct {

using Index = std::int64_t;
using Flag = std::uint8_t;  // a truth value of numpy, which can be any byte

template <class T>
struct Vector {
    T* data = nullptr;
    Index size = 0;

    Vector() = default;
    Vector(T* begin, Index count) : data(begin), size(count) {}
    template <class U>
    Vector(const Vector<U>& other) : data(other.data), size(other.size) {}
    template <class U>
    Vector(std::vector<U>& owner) : data(owner.data()), size(static_cast<Index>(owner.size())) {}
    template <class U>
    Vector(const std::vector<U>& owner) : data(owner.data()), size(static_cast<Index>(owner.size())) {}

    T& operator[](Index i) const {
        S2OCT_REQUIRE(0 <= i && i < size);
        return data[i];
    }
    Vector from(Index first) const {
        S2OCT_REQUIRE(0 <= first && first <= size);
        return {data + first, size - first};
    }
    Vector first(Index count) const {
        S2OCT_REQUIRE(0 <= count && count <= size);
        return {data, count};
    }
    T* begin() const { return data; }
    T* end() const { return data + size; }
};

template <class T>
struct Matrix {
    T* data = nullptr;
    Index n_rows = 0;
    Index n_columns = 0;

    Matrix() = default;
    Matrix(T* begin, Index rows, Index columns) : data(begin), n_rows(rows), n_columns(columns) {}
    template <class U>
    Matrix(const Matrix<U>& other) : data(other.data), n_rows(other.n_rows), n_columns(other.n_columns) {}

    T& operator()(Index i, Index j) const {
        S2OCT_REQUIRE(0 <= i && i < n_rows && 0 <= j && j < n_columns);
        return data[i * n_columns + j];
    }
    Vector<T> operator[](Index i) const {
        S2OCT_REQUIRE(0 <= i && i < n_rows);
        return {data + i * n_columns, n_columns};
    }
};

// Entries of a matrix. Without columns it may have any number of rows, so that products of shapes can overflow.
inline std::size_t n_entries(Index rows, Index columns) {
    constexpr auto most = std::numeric_limits<std::ptrdiff_t>::max() / static_cast<std::ptrdiff_t>(sizeof(double));
    if (columns > 0 && rows > most / columns)
        throw std::length_error("An array of this shape does not fit into memory.");
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

// A matrix with memory of its own.
template <class T>
struct OwnedMatrix {
    std::vector<T> memory;
    Index n_rows;
    Index n_columns;

    OwnedMatrix(Index rows, Index columns) : memory(n_entries(rows, columns)), n_rows(rows), n_columns(columns) {}
    operator Matrix<T>() { return {memory.data(), n_rows, n_columns}; }
    operator Matrix<const T>() const { return {memory.data(), n_rows, n_columns}; }
    Vector<T> operator[](Index i) { return Matrix<T>(*this)[i]; }
    T operator()(Index i, Index j) const { return Matrix<const T>(*this)(i, j); }
};

using Numbers = Vector<double>;
using ConstNumbers = Vector<const double>;
using Indices = Vector<Index>;
using ConstIndices = Vector<const Index>;

inline void copy(ConstNumbers source, Numbers target) {
    S2OCT_REQUIRE(source.size == target.size);
    std::copy(source.begin(), source.end(), target.begin());
}

inline double total(ConstNumbers values) {
    double sum = 0.0;
    for (double value : values) sum += value;
    return sum;
}

}  // namespace s2oct
