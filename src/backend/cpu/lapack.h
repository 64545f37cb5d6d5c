// The routines of LAPACK and BLAS that kernels use, for float and double. Matrices are theirs:
// column-major, so a row-major one appears transposed.
//
// The library is OpenBLAS built with OpenMP; it must not start threads of its own beside ours,
// which OneBlasThread sees to. Its routines may be called from several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {  // of OpenMP, which is used for nothing else
int omp_get_max_threads(void);
void omp_set_num_threads(int threads);
}

namespace tenure::cpu {

class OneBlasThread {
 public:
  OneBlasThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneBlasThread() { omp_set_num_threads(before_); }
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  int before_;  // this thread's setting; others keep theirs
};

namespace lapack {

using Int = std::int32_t;

// Fortran passes everything by address, and the lengths of strings at the end.
#define TENURE_LAPACK(p, T)                                                                        \
  extern "C" {                                                                                     \
  void p##potrf_(const char* uplo, const Int* n, T* a, const Int* lda, Int* info, std::size_t);    \
  void p##getrf_(const Int* m, const Int* n, T* a, const Int* lda, Int* ipiv, Int* info);          \
  void p##getri_(const Int* n, T* a, const Int* lda, const Int* ipiv, T* work, const Int* lwork,   \
                 Int* info);                                                                       \
  void p##trsm_(const char* side, const char* uplo, const char* trans, const char* diag,           \
                const Int* m, const Int* n, const T* alpha, const T* a, const Int* lda, T* b,      \
                const Int* ldb, std::size_t, std::size_t, std::size_t, std::size_t);               \
  void p##gelqf_(const Int* m, const Int* n, T* a, const Int* lda, T* tau, T* work,                \
                 const Int* lwork, Int* info);                                                     \
  void p##orglq_(const Int* m, const Int* n, const Int* k, T* a, const Int* lda, const T* tau,     \
                 T* work, const Int* lwork, Int* info);                                            \
  void p##gesdd_(const char* jobz, const Int* m, const Int* n, T* a, const Int* lda, T* s, T* u,   \
                 const Int* ldu, T* vt, const Int* ldvt, T* work, const Int* lwork, Int* iwork,    \
                 Int* info, std::size_t);                                                          \
  void p##syevd_(const char* jobz, const char* uplo, const Int* n, T* a, const Int* lda, T* w,     \
                 T* work, const Int* lwork, Int* iwork, const Int* liwork, Int* info, std::size_t, \
                 std::size_t);                                                                     \
  }                                                                                                \
  inline Int potrf(char uplo, Int n, T* a) {                                                       \
    Int info = 0;                                                                                  \
    p##potrf_(&uplo, &n, a, &n, &info, 1);                                                         \
    return info;                                                                                   \
  }                                                                                                \
  inline Int getrf(Int n, T* a, Int* ipiv) {                                                       \
    Int info = 0;                                                                                  \
    p##getrf_(&n, &n, a, &n, ipiv, &info);                                                         \
    return info;                                                                                   \
  }                                                                                                \
  inline Int getri(Int n, T* a, const Int* ipiv, T* work, Int lwork) {                             \
    Int info = 0;                                                                                  \
    p##getri_(&n, a, &n, ipiv, work, &lwork, &info);                                               \
    return info;                                                                                   \
  }                                                                                                \
  inline void trsm(char uplo, char trans, char diag, Int m, Int n, const T* a, T* b) {             \
    const char side = 'R';                                                                         \
    const T one = 1;                                                                               \
    p##trsm_(&side, &uplo, &trans, &diag, &m, &n, &one, a, &n, b, &m, 1, 1, 1, 1);                 \
  }                                                                                                \
  inline Int gelqf(Int m, Int n, T* a, T* tau, T* work, Int lwork) {                               \
    Int info = 0;                                                                                  \
    p##gelqf_(&m, &n, a, &m, tau, work, &lwork, &info);                                            \
    return info;                                                                                   \
  }                                                                                                \
  inline Int orglq(Int m, Int n, Int k, T* a, const T* tau, T* work, Int lwork) {                  \
    Int info = 0;                                                                                  \
    p##orglq_(&m, &n, &k, a, &m, tau, work, &lwork, &info);                                        \
    return info;                                                                                   \
  }                                                                                                \
  inline Int gesdd(char jobz, Int m, Int n, T* a, T* s, T* u, T* vt, Int ldvt, T* work, Int lwork, \
                   Int* iwork) {                                                                   \
    Int info = 0;                                                                                  \
    p##gesdd_(&jobz, &m, &n, a, &m, s, u, &m, vt, &ldvt, work, &lwork, iwork, &info, 1);           \
    return info;                                                                                   \
  }                                                                                                \
  inline Int syevd(char jobz, char uplo, Int n, T* a, T* w, T* work, Int lwork, Int* iwork,        \
                   Int liwork) {                                                                   \
    Int info = 0;                                                                                  \
    p##syevd_(&jobz, &uplo, &n, a, &n, w, work, &lwork, iwork, &liwork, &info, 1, 1);              \
    return info;                                                                                   \
  }

TENURE_LAPACK(s, float)
TENURE_LAPACK(d, double)
#undef TENURE_LAPACK

}  // namespace lapack
}  // namespace tenure::cpu
