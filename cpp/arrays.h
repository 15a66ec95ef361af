// Views of arrays that somebody else owns. Rows of a matrix lie one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#ifdef S2OCT_CHECKED
#include <stdexcept>
#define S2OCT_REQUIRE(condition) \
    if (!(condition)) throw std::out_of_range("s2oct._core: " #condition)
#else
#define S2OCT_REQUIRE(condition)
#endif

namespace s2oct {

using Index = std::int64_t;

template <class T>
struct Vector {
    T* data = nullptr;
    Index size = 0;

    Vector() = default;
    Vector(T* data, Index size) : data(data), size(size) {}
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
    Matrix(T* data, Index n_rows, Index n_columns) : data(data), n_rows(n_rows), n_columns(n_columns) {}
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

// A matrix with memory of its own.
template <class T>
struct OwnedMatrix {
    std::vector<T> memory;
    Index n_rows;
    Index n_columns;

    OwnedMatrix(Index n_rows, Index n_columns)
        : memory(static_cast<std::size_t>(n_rows * n_columns)), n_rows(n_rows), n_columns(n_columns) {}
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
