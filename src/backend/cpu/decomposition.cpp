// Decompositions through LAPACK, one matrix after the other; several at once on several threads.
//
// LAPACK's matrices are column-major, ours are row-major: it sees the transpose of everything. So
// instead of copying to its order, the transposed problem is solved: an upper Cholesky factor where
// a lower one is wanted, L Q where Q R is, right-hand sides from the right, u and v exchanged.
//
// Scratch begins with an Int per matrix, in which threads leave what went wrong; the complaint is
// made when all are done. Then follows scratch for each of the threads.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "backend/cpu/kernels.h"
#include "backend/cpu/lapack.h"
#include "backend/cpu/parallel.h"
#include "ops/matrix_attrs.h"

namespace tenure::cpu {
namespace {

using lapack::Int;

Int to_int(std::int64_t size) { return static_cast<Int>(size); }

constexpr Int kNotFinite = -1000;               // among LAPACK's own codes
constexpr std::int64_t kWorthThreads = 50'000;  // cubes of sizes, added up

std::int64_t items_of(const Shape& shape) {
  std::int64_t items = 1;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) items *= shape[axis];
  return items;
}

// Parts of one thread's scratch, handed out in order. Without memory it only adds up.
class Parts {
 public:
  explicit Parts(std::byte* memory = nullptr) : memory_(memory) {}
  template <class T>
  T* take(std::int64_t count) {
    T* part = memory_ != nullptr ? reinterpret_cast<T*>(memory_ + used_) : nullptr;
    used_ +=
        (static_cast<std::size_t>(std::max<std::int64_t>(1, count)) * sizeof(T) + 63) / 64 * 64;
    return part;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

// A kernel is a type `K` made from the arguments, with `items`, `size` (of the longest side),
// parts(Parts&) to lay out what it needs per thread, and run(item, K's parts) for one matrix.
struct Batch {
  std::int64_t items;
  std::int64_t slots;
  std::size_t info_bytes;

  Batch(std::int64_t count, std::int64_t size) : items(count) {
    static const std::int64_t threads = std::max(1U, std::thread::hardware_concurrency());
    const double work = static_cast<double>(count) * static_cast<double>(size) *
                        static_cast<double>(size) * static_cast<double>(size);
    slots = work < kWorthThreads ? 1 : std::clamp<std::int64_t>(count, 1, threads);
    info_bytes = (static_cast<std::size_t>(count) * sizeof(Int) + 63) / 64 * 64;
  }
};

template <class K>
std::size_t scratch_of(const ops::KernelArgs& args) noexcept {
  const K kernel(args);
  const Batch batch(kernel.items, kernel.size);
  Parts parts;
  kernel.parts(parts);
  return batch.info_bytes + static_cast<std::size_t>(batch.slots) * parts.used();
}

template <class K>
void run_all(const ops::KernelArgs& args) noexcept {
  const K kernel(args);
  if (kernel.items == 0) return;
  const Batch batch(kernel.items, kernel.size);
  Int* info = reinterpret_cast<Int*>(args.scratch);
  Parts measure;
  kernel.parts(measure);
  const std::size_t slot_bytes = measure.used();
  parallel_seated(batch.items, batch.slots, [&](std::int64_t i, std::int64_t seat) {
    const OneBlasThread one;
    Parts parts(args.scratch + batch.info_bytes + static_cast<std::size_t>(seat) * slot_bytes);
    info[i] = kernel.run(i, kernel.parts(parts));
  });
  for (std::int64_t i = 0; i < batch.items; ++i) {
    if (info[i] == 0) continue;
    if (info[i] == kNotFinite) {
      args.complain("matrix {0} of the stack has a value that is not finite", i);
    } else {
      args.complain(K::kComplaint, i, info[i]);
    }
    return;
  }
}

// Where item `index` of the results begins in a row-major input, in elements.
std::int64_t item_offset(const ops::KernelView& in, const Shape& out, std::int64_t index) {
  std::int64_t offset = 0;
  int axis = in.shape->rank() - 3;
  for (int out_axis = out.rank() - 3; index > 0 && axis >= 0; --out_axis, --axis) {
    const std::int64_t size = out[out_axis];
    if ((*in.shape)[axis] != 1) offset += index % size * (*in.strides)[axis];
    index /= size;
  }
  return offset;
}

template <class T>
bool all_finite(const T* x, std::int64_t count) {
  T total = 0;  // NaN once one is infinite or NaN
  for (std::int64_t i = 0; i < count; ++i) total += x[i] * 0;
  return total == 0;
}

template <class T>
void make_identity(T* x, std::int64_t n) {
  std::fill_n(x, n * n, T{0});
  for (std::int64_t i = 0; i < n; ++i) x[i * n + i] = 1;
}

// As many elements as LAPACK answered; float rounds large counts, perhaps down.
template <class T>
std::int64_t asked(T answer) {
  return static_cast<std::int64_t>(static_cast<double>(answer) *
                                   (1 + 2 * std::numeric_limits<T>::epsilon()));
}

// What kernels on stacks of square matrices have in common.
template <class T>
struct Square {
  const T* src;
  std::int64_t n;
  std::int64_t items;
  std::int64_t size;

  explicit Square(const ops::KernelArgs& args)
      : src(args.in[0].as<T>()),
        n((*args.in[0].shape)[-1]),
        items(items_of(*args.in[0].shape)),
        size(n) {}
  std::int64_t area() const { return n * n; }
  const T* item(std::int64_t i) const { return src + i * area(); }
};

template <class T>
struct Cholesky : Square<T> {
  using Square<T>::n;
  static constexpr const char* kComplaint =
      "matrix {0} of the stack is not positive definite: its leading minor of order {1} is not";
  T* dst;

  explicit Cholesky(const ops::KernelArgs& args) : Square<T>(args), dst(args.out[0].as<T>()) {}
  int parts(Parts&) const { return 0; }
  Int run(std::int64_t i, int) const {
    T* l = dst + i * this->area();
    std::copy_n(this->item(i), this->area(), l);
    if (n == 0) return 0;
    const Int info = lapack::potrf('U', n, l);
    for (std::int64_t row = 0; row < n; ++row) {
      std::fill(l + row * n + row + 1, l + (row + 1) * n, T{0});
    }
    return info;
  }
};

// a x = b, with stacks that broadcast.
template <class T>
struct Equation {
  static constexpr const char* kComplaint =
      "matrix {0} of the stack is singular: its pivot {1} is 0";
  const ops::KernelArgs& args;
  std::int64_t n;
  std::int64_t columns;
  std::int64_t items;
  std::int64_t size;

  explicit Equation(const ops::KernelArgs& all)
      : args(all),
        n((*all.out[0].shape)[-2]),
        columns((*all.out[0].shape)[-1]),
        items(items_of(*all.out[0].shape)),
        size(n) {}
  std::int64_t area() const { return n * n; }
  const T* a(std::int64_t i) const {
    return args.in[0].as<T>() + item_offset(args.in[0], *args.out[0].shape, i);
  }
  // b in the result's place.
  T* copied_b(std::int64_t i) const {
    const std::int64_t count = n * columns;
    T* dst = args.out[0].as<T>() + i * count;
    std::copy_n(args.in[1].as<T>() + item_offset(args.in[1], *args.out[0].shape, i), count, dst);
    return dst;
  }
};

template <class T>
struct TriangularSolve : Equation<T> {
  using Equation<T>::args, Equation<T>::n, Equation<T>::columns;
  explicit TriangularSolve(const ops::KernelArgs& all) : Equation<T>(all) {}
  int parts(Parts&) const { return 0; }
  Int run(std::int64_t i, int) const {
    const auto& attrs = args.attrs.template as<ops::TriangularAttrs>();
    const T* a = this->a(i);
    for (std::int64_t at = 0; at < n; ++at) {
      if (a[at * n + at] == 0) return to_int(at + 1);
    }
    T* x = this->copied_b(i);
    if (n == 0 || columns == 0) return 0;
    lapack::trsm(attrs.lower ? 'U' : 'L', attrs.transpose ? 'T' : 'N', 'N', columns, n, a, x);
    return 0;
  }
};

template <class T>
struct Pivoted {
  T* lu;
  Int* pivots;
};

template <class T>
struct Solve : Equation<T> {
  using Equation<T>::n, Equation<T>::columns;
  explicit Solve(const ops::KernelArgs& all) : Equation<T>(all) {}
  Pivoted<T> parts(Parts& parts) const {
    T* lu = parts.take<T>(this->area());
    return {lu, parts.take<Int>(n)};
  }
  Int run(std::int64_t i, const Pivoted<T>& room) const {
    T* x = this->copied_b(i);
    if (n == 0) return 0;
    std::copy_n(this->a(i), this->area(), room.lu);
    if (const Int info = lapack::getrf(n, room.lu, room.pivots); info != 0) return info;
    if (columns == 0) return 0;
    // a' = P L U, so x' P L U = b'.
    lapack::trsm('U', 'N', 'N', columns, n, room.lu, x);
    lapack::trsm('L', 'N', 'U', columns, n, room.lu, x);
    for (std::int64_t row = n; row-- > 0;) {
      const std::int64_t other = room.pivots[row] - 1;
      if (other == row) continue;
      T* from = x + other * columns;
      std::swap_ranges(from, from + columns, x + row * columns);
    }
    return 0;
  }
};

template <class T>
struct Inverse : Square<T> {
  using Square<T>::n;
  static constexpr const char* kComplaint = Equation<T>::kComplaint;
  struct Room {
    Int* pivots;
    T* work;
  };
  T* dst;
  std::int64_t work_size = 0;

  explicit Inverse(const ops::KernelArgs& args) : Square<T>(args), dst(args.out[0].as<T>()) {
    if (n == 0) return;
    T answer = 0, nothing = 0;
    Int pivot = 1;
    lapack::getri(n, &nothing, &pivot, &answer, -1);
    work_size = std::max(n, asked(answer));
  }
  Room parts(Parts& parts) const {
    Int* pivots = parts.take<Int>(n);
    return {pivots, parts.take<T>(work_size)};
  }
  Int run(std::int64_t i, const Room& room) const {
    T* x = dst + i * this->area();
    std::copy_n(this->item(i), this->area(), x);
    if (n == 0) return 0;
    if (const Int info = lapack::getrf(n, x, room.pivots); info != 0) return info;
    return lapack::getri(n, x, room.pivots, room.work, work_size);
  }
};

// What the determinants below are made of: those of L U and the permutation.
template <class T>
struct Determinants : Square<T> {
  using Square<T>::n;
  static constexpr const char* kComplaint = "";  // a singular matrix has one: 0
  const ops::KernelArgs& args;

  explicit Determinants(const ops::KernelArgs& all) : Square<T>(all), args(all) {}
  Pivoted<T> parts(Parts& parts) const {
    T* lu = parts.take<T>(this->area());
    return {lu, parts.take<Int>(n)};
  }
  // Calls factor(value) for the factors of the determinant of item i.
  template <class F>
  void factors(std::int64_t i, const Pivoted<T>& room, F&& factor) const {
    if (n == 0) return;
    std::copy_n(this->item(i), this->area(), room.lu);
    lapack::getrf(n, room.lu, room.pivots);
    for (std::int64_t at = 0; at < n; ++at) {
      const auto value = static_cast<double>(room.lu[at * n + at]);
      factor(room.pivots[at] == at + 1 ? value : -value);
    }
  }
};

template <class T>
struct Determinant : Determinants<T> {
  using Determinants<T>::args;
  explicit Determinant(const ops::KernelArgs& all) : Determinants<T>(all) {}
  Int run(std::int64_t i, const Pivoted<T>& room) const {
    double all = 1;
    this->factors(i, room, [&](double factor) { all *= factor; });
    args.out[0].template as<T>()[i] = static_cast<T>(all);
    return 0;
  }
};

template <class T>
struct Slogdet : Determinants<T> {
  using Determinants<T>::args;
  explicit Slogdet(const ops::KernelArgs& all) : Determinants<T>(all) {}
  Int run(std::int64_t i, const Pivoted<T>& room) const {
    double sign = 1, log = 0;
    this->factors(i, room, [&](double factor) {
      sign *= factor < 0 ? -1 : factor > 0 ? 1 : factor;
      log += std::log(std::abs(factor));
    });
    args.out[0].template as<T>()[i] = static_cast<T>(sign);
    args.out[1].template as<T>()[i] = static_cast<T>(log);
    return 0;
  }
};

// What kernels on stacks of any matrices have in common.
template <class T>
struct Rectangular {
  const T* src;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t items;
  std::int64_t size;

  explicit Rectangular(const ops::KernelArgs& args)
      : src(args.in[0].as<T>()),
        m((*args.in[0].shape)[-2]),
        n((*args.in[0].shape)[-1]),
        k(std::min(m, n)),
        items(items_of(*args.in[0].shape)),
        size(std::max(m, n)) {}
  std::int64_t area() const { return m * n; }
  const T* item(std::int64_t i) const { return src + i * area(); }
};

// x' = L Q' by reflections from the right: q is m x wide, r is wide x n.
template <class T>
struct QrFactors : Rectangular<T> {
  using Rectangular<T>::m, Rectangular<T>::n, Rectangular<T>::k;
  static constexpr const char* kComplaint = "matrix {0} of the stack: LAPACK failed with {1}";
  struct Room {
    T* lq;
    T* tau;
    T* work;
  };
  T* q;
  T* r;
  std::int64_t wide;
  std::int64_t work_size = 0;

  explicit QrFactors(const ops::KernelArgs& args)
      : Rectangular<T>(args),
        q(args.out[0].as<T>()),
        r(args.out[1].as<T>()),
        wide((*args.out[0].shape)[-1]) {
    if (k == 0) return;
    T answer = 0, nothing = 0;
    lapack::gelqf(n, m, &nothing, &nothing, &answer, -1);
    work_size = std::max(n, asked(answer));
    lapack::orglq(wide, m, k, &nothing, &nothing, &answer, -1);
    work_size = std::max({work_size, wide, asked(answer)});
  }
  Room parts(Parts& parts) const {
    T* lq = parts.take<T>(this->area());
    T* tau = parts.take<T>(k);
    return {lq, tau, parts.take<T>(work_size)};
  }
  Int run(std::int64_t i, const Room& room) const {
    const std::int64_t w = wide;
    T* q_item = q + i * m * w;
    T* r_item = r + i * w * n;
    std::fill_n(r_item, w * n, T{0});
    if (k == 0) {
      if (w == m) make_identity(q_item, m);
      return 0;
    }
    std::copy_n(this->item(i), m * n, room.lq);
    Int info = lapack::gelqf(n, m, room.lq, room.tau, room.work, work_size);
    if (info != 0) return info;
    for (std::int64_t row = 0; row < k; ++row) {
      std::copy(room.lq + row * n + row, room.lq + (row + 1) * n, r_item + row * n + row);
    }
    for (std::int64_t row = 0; row < m; ++row) {
      std::copy_n(room.lq + row * n, k, q_item + row * w);
      std::fill(q_item + row * w + k, q_item + (row + 1) * w, T{0});
    }
    info = lapack::orglq(wide, m, k, q_item, room.tau, room.work, work_size);
    // Where there is nothing to reflect LAPACK keeps the sign; the rule for signs turns it.
    for (std::int64_t at = 0; at < k; ++at) {
      if (room.tau[at] != 0 || r_item[at * n + at] == 0) continue;
      for (std::int64_t column = at; column < n; ++column) r_item[at * n + column] *= -1;
      for (std::int64_t row = 0; row < m; ++row) q_item[row * w + at] *= -1;
    }
    return info;
  }
};

// Whether the element of largest magnitude, the first of equals, is negative.
template <class T>
bool points_down(const T* x, std::int64_t count, std::int64_t stride) {
  T largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::abs(x[i * stride]) > std::abs(largest)) largest = x[i * stride];
  }
  return largest < 0;
}

template <class T>
void turn(T* x, std::int64_t count, std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) x[i * stride] *= -1;
}

constexpr const char* kNoConvergence =
    "matrix {0} of the stack: no convergence: LAPACK answers {1}";

// LAPACK sees x' = v diag(s) u': its u is our v, and in its order of elements v'.
template <class T>
struct SvdFactors : Rectangular<T> {
  using Rectangular<T>::m, Rectangular<T>::n, Rectangular<T>::k;
  static constexpr const char* kComplaint = kNoConvergence;
  struct Room {
    T* x;
    Int* integers;
    T* work;
  };
  T* u = nullptr;
  T* s;
  T* vt = nullptr;
  char job = 'N';
  std::int64_t u_columns = 1;
  std::int64_t v_rows = 0;
  std::int64_t work_size = 0;

  explicit SvdFactors(const ops::KernelArgs& args) : Rectangular<T>(args) {
    if (args.out.size() == 1) {
      s = args.out[0].as<T>();
    } else {
      u = args.out[0].as<T>();
      s = args.out[1].as<T>();
      vt = args.out[2].as<T>();
      job = args.attrs.as<ops::FullAttrs>().full ? 'A' : 'S';
      u_columns = (*args.out[0].shape)[-1];
      v_rows = (*args.out[2].shape)[-2];
    }
    if (k == 0) return;
    T answer = 0, nothing = 0;
    Int integer = 0;
    lapack::gesdd(job, n, m, &nothing, &nothing, &nothing, &nothing, u_columns, &answer, -1,
                  &integer);
    work_size = asked(answer);
  }
  Room parts(Parts& parts) const {
    T* x = parts.take<T>(this->area());
    Int* integers = parts.take<Int>(8 * k);
    return {x, integers, parts.take<T>(work_size)};
  }
  Int run(std::int64_t i, const Room& room) const {
    const std::int64_t w = u_columns;
    T* u_item = u + i * m * w;
    T* vt_item = vt + i * v_rows * n;
    if (k == 0) {
      if (job == 'A') {
        make_identity(u_item, m);
        make_identity(vt_item, n);
      }
      return 0;
    }
    if (!all_finite(this->item(i), m * n)) return kNotFinite;
    std::copy_n(this->item(i), m * n, room.x);
    T nothing = 0;
    const bool wanted = job != 'N';
    const Int info =
        lapack::gesdd(job, n, m, room.x, s + i * k, wanted ? vt_item : &nothing,
                      wanted ? u_item : &nothing, u_columns, room.work, work_size, room.integers);
    if (!wanted || info != 0) return info;
    for (std::int64_t at = 0; at < w; ++at) {
      if (!points_down(u_item + at, m, w)) continue;
      turn(u_item + at, m, w);
      if (at < k) turn(vt_item + at * n, n, 1);
    }
    for (std::int64_t at = k; at < v_rows; ++at) {
      if (points_down(vt_item + at * n, n, 1)) turn(vt_item + at * n, n, 1);
    }
    return 0;
  }
};

template <class T>
struct EighFactors : Square<T> {
  using Square<T>::n;
  static constexpr const char* kComplaint = kNoConvergence;
  struct Room {
    T* x;
    Int* integers;
    T* work;
  };
  T* w;
  T* vt = nullptr;
  std::int64_t work_size = 0;
  Int integers_size = 0;

  explicit EighFactors(const ops::KernelArgs& args) : Square<T>(args), w(args.out[0].as<T>()) {
    wanted_ = args.out.size() == 2;
    if (wanted_) vt = args.out[1].as<T>();
    if (n == 0) return;
    T answer = 0, nothing = 0;
    lapack::syevd(job(), 'U', n, &nothing, &nothing, &answer, -1, &integers_size, -1);
    work_size = asked(answer);
  }
  Room parts(Parts& parts) const {
    T* x = parts.take<T>(wanted_ ? 0 : this->area());
    Int* integers = parts.take<Int>(integers_size);
    return {x, integers, parts.take<T>(work_size)};
  }
  Int run(std::int64_t i, const Room& room) const {
    if (n == 0) return 0;
    for (std::int64_t row = 0; row < n; ++row) {
      if (!all_finite(this->item(i) + row * n, row + 1)) return kNotFinite;
    }
    T* x = wanted_ ? vt + i * n * n : room.x;
    std::copy_n(this->item(i), n * n, x);
    const Int info = lapack::syevd(job(), 'U', n, x, w + i * n, room.work, work_size, room.integers,
                                   integers_size);
    for (std::int64_t at = 0; wanted_ && info == 0 && at < n; ++at) {
      if (points_down(x + at * n, n, 1)) turn(x + at * n, n, 1);
    }
    return info;
  }

 private:
  char job() const { return wanted_ ? 'V' : 'N'; }
  bool wanted_;
};

template <template <class> class K>
constexpr std::array<ops::KernelRow, 2> rows(std::string_view op) {
  return {{{op, DType::float32, run_all<K<float>>, scratch_of<K<float>>},
           {op, DType::float64, run_all<K<double>>, scratch_of<K<double>>}}};
}

constexpr std::array kRows = {
    rows<Cholesky>("cholesky"),
    rows<TriangularSolve>("triangular_solve"),
    rows<Solve>("solve"),
    rows<Inverse>("inverse"),
    rows<Determinant>("determinant"),
    rows<Slogdet>("slogdet"),
    rows<QrFactors>("qr"),
    rows<SvdFactors>("svd"),
    rows<SvdFactors>("singular_values"),
    rows<EighFactors>("eigh"),
    rows<EighFactors>("eigvalsh"),
};

}  // namespace

std::span<const ops::KernelRow> decomposition_kernels() {
  static constexpr auto all = [] {
    std::array<ops::KernelRow, kRows.size() * 2> flat{};
    for (std::size_t i = 0; i < flat.size(); ++i) flat[i] = kRows[i / 2][i % 2];
    return flat;
  }();
  return all;
}

}  // namespace tenure::cpu
