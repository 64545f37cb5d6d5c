// Equations of every kind; the same equation stands beside each with its ellipses spelt out.
#include "reference_linalg.h"

namespace tenure::testing {
namespace {

struct EinsumRow {
  const char* name;
  const char* equation;
  std::vector<std::string> operands;
  const char* output;
  std::vector<Shapes> shapes;
};

const EinsumRow kEinsumRows[] = {
    {"einsum_same", "ij->ij", {"ij"}, "ij", {{{2, 3}}, {{0, 2}}}},
    {"einsum_transpose", "ijk->kij", {"ijk"}, "kij", {{{2, 3, 4}}}},
    {"einsum_sum", "ijk->j", {"ijk"}, "j", {{{2, 3, 4}}, {{2, 3, 0}}}},
    {"einsum_sum_all", "ij->", {"ij"}, "", {{{2, 3}}}},
    {"einsum_diagonal", "ii->i", {"ii"}, "i", {{{3, 3}}, {{0, 0}}}},
    {"einsum_trace", "iji->j", {"iji"}, "j", {{{2, 3, 2}}}},
    {"einsum_third_diagonal", "iii->i", {"iii"}, "i", {{{2, 2, 2}}}},
    {"einsum_implied", "ba", {"ba"}, "ab", {{{2, 3}}}},
    {"einsum_ellipsis", "i...j->j...", {"i12j"}, "j12", {{{2, 3, 1, 4}}}},
    {"einsum_matmul", "ij,jk->ik", {"ij", "jk"}, "ik", {{{2, 3}, {3, 4}}, {{2, 0}, {0, 3}}}},
    {"einsum_matmul_implied", "ij,jk", {"ij", "jk"}, "ik", {{{2, 3}, {3, 4}}}},
    {"einsum_matmul_turned", "ij,jk->ki", {"ij", "jk"}, "ki", {{{2, 3}, {3, 4}}}},
    {"einsum_inner", "i,i->", {"i", "i"}, "", {{{4}, {4}}}},
    {"einsum_outer", "i,j->ij", {"i", "j"}, "ij", {{{2}, {3}}}},
    {"einsum_elementwise", "ij,ji->ji", {"ij", "ji"}, "ji", {{{2, 3}, {3, 2}}}},
    {"einsum_rows", "bi,bi->b", {"bi", "bi"}, "b", {{{2, 3}, {2, 3}}}},
    {"einsum_scores", "bqhd,bkhd->bhqk", {"bqhd", "bkhd"}, "bhqk", {{{2, 3, 2, 2}, {2, 2, 2, 2}}}},
    {"einsum_two_inner", "abcd,cedb->ae", {"abcd", "cedb"}, "ae", {{{2, 2, 3, 2}, {3, 2, 2, 2}}}},
    {"einsum_sum_one_side", "ij,k->k", {"ij", "k"}, "k", {{{2, 3}, {4}}}},
    {"einsum_broadcast",
     "...ij,...jk->...ik",
     {"12ij", "2jk"},
     "12ik",
     {{{2, 1, 2, 3}, {3, 3, 2}}, {{2, 3, 2, 2}, {1, 2, 2}}}},
    {"einsum_ellipsis_summed", "...i,i->i", {"1i", "i"}, "i", {{{2, 3}, {3}}}},
    {"einsum_scalar", ",ij->ij", {"", "ij"}, "ij", {{{}, {2, 3}}}},
    {"einsum_chain", "ij,jk,kl->il", {"ij", "jk", "kl"}, "il", {{{2, 3}, {3, 4}, {4, 2}}}},
    {"einsum_bilinear", "bi,oij,bj->bo", {"bi", "oij", "bj"}, "bo", {{{2, 3}, {2, 3, 2}, {2, 2}}}},
    {"einsum_four", "a,ab,bc,c->", {"a", "ab", "bc", "c"}, "", {{{2}, {2, 3}, {3, 2}, {2}}}},
    {"einsum_seven",
     "a,ab,bc,cd,de,ef,f->",
     {"a", "ab", "bc", "cd", "de", "ef", "f"},
     "",
     {{{2}, {2, 1}, {1, 2}, {2, 2}, {2, 1}, {1, 2}, {2}}}},
};

}  // namespace

std::vector<Case> einsum_cases() {
  std::vector<Case> cases;
  for (const EinsumRow& row : kEinsumRows) {
    const bool takes_two = row.operands.size() == 2;
    cases.push_back({.name = row.name,
                     .ops = {"transpose", "matmul", "reshape", "sum", "mul", "diagonal"},
                     .run =
                         [equation = row.equation, takes_two](Tensors in, DType) {
                           return takes_two ? einsum(equation, OP_IN(0), OP_IN(1))
                                            : einsum(equation, std::move(in));
                         },
                     .inputs = std::vector<Input>(row.operands.size(), {.low = -1, .high = 1}),
                     .shapes = row.shapes,
                     .reference = einsum_of(row.operands, row.output),
                     .tolerance = {.ulps = 4, .epsilons = 32},
                     .dtypes = {DType::float32, DType::float64, DType::int32},
                     .error_name = "einsum"});
  }
  return cases;
}

}  // namespace tenure::testing
