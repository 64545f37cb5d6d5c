#include <cstring>

#include "io/files.h"

namespace tenure::io {
namespace {

using testing::bytes_of;
using testing::expect_same;
using testing::fixture;
using testing::Floats;
using testing::floats;
using testing::here;
using testing::message_of;
using testing::one_of_each;
using testing::read_bytes;
using Complex = std::complex<float>;

class Npy : public testing::Folder {};
class Npz : public testing::Folder {};

// A .npy file of version 1 by hand.
std::string npy(const std::string& dict, const std::string& data) {
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>(dict.size() & 0xff);
  file += static_cast<char>(dict.size() >> 8);
  return file + dict + data;
}

template <class T>
std::vector<T> loaded(const std::string& name) {
  const Tensor read = load_npy(fixture(name));
  const Tensor mapped = map_npy(fixture(name));
  EXPECT_EQ(read.shape(), mapped.shape()) << name;
  EXPECT_EQ(read.to_vector<T>(), mapped.to_vector<T>()) << name;
  return read.to_vector<T>();
}

TEST_F(Npy, reads_what_numpy_wrote) {
  EXPECT_EQ(loaded<float>("f4.npy"), (Floats{1.5f, -2, 3, 4, 5, 6.25f}));
  EXPECT_EQ(load_npy(fixture("f4.npy")).shape(), (Shape{2, 3}));
  EXPECT_EQ(loaded<double>("f8.npy"), (std::vector<double>{0.1, -2e300, 3, 4, 5, 6}));
  EXPECT_EQ(static_cast<float>(loaded<Float16>("f2.npy")[1]), -65504.f);
  EXPECT_EQ(loaded<std::int32_t>("i4.npy"), (std::vector<std::int32_t>{1, -2, 2147483647}));
  EXPECT_EQ(loaded<std::int64_t>("i8.npy"), (std::vector<std::int64_t>{1, -2, 1ll << 40}));
  EXPECT_EQ(loaded<std::int8_t>("i1.npy"), (std::vector<std::int8_t>{1, -128, 127}));
  EXPECT_EQ(loaded<std::uint8_t>("u1.npy"), (std::vector<std::uint8_t>{1, 128, 255}));
  EXPECT_EQ(loaded<bool>("b1.npy"), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(loaded<Complex>("c8.npy"), (std::vector<Complex>{{1, 2}, {-3.5f, -4}}));
  EXPECT_EQ(loaded<double>("scalar.npy"), std::vector<double>{2.5});
  EXPECT_EQ(load_npy(fixture("scalar.npy")).shape(), Shape{});
  EXPECT_EQ(loaded<float>("empty.npy"), Floats{});
  EXPECT_EQ(load_npy(fixture("empty.npy")).shape(), (Shape{0, 3}));
  EXPECT_EQ(loaded<float>("version2.npy"), (Floats{1.5f, -2, 3, 4, 5, 6.25f}));
  EXPECT_EQ(loaded<float>("version3.npy"), (Floats{1.5f, -2, 3, 4, 5, 6.25f}));
}

TEST_F(Npy, reads_both_byte_orders_and_both_element_orders) {
  EXPECT_EQ(loaded<float>("big_f4.npy"), (Floats{1.5f, -2, 3, 4, 5, 6.25f}));
  EXPECT_EQ(loaded<std::int64_t>("big_i8.npy"), (std::vector<std::int64_t>{1, -2, 1ll << 40}));
  EXPECT_EQ(loaded<Complex>("big_c8.npy"), (std::vector<Complex>{{1, 2}, {-3.5f, -4}}));
  Floats counting(24);
  for (std::size_t i = 0; i < 24; ++i) counting[i] = static_cast<float>(i);
  EXPECT_EQ(loaded<float>("fortran.npy"), counting);
  EXPECT_EQ(load_npy(fixture("fortran.npy")).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(loaded<std::int32_t>("fortran_big.npy"), (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}));
}

TEST_F(Npy, writes_numpys_bytes) {
  for (const char* name : {
           "f4",
           "f8",
           "f2",
           "i4",
           "i8",
           "i1",
           "u1",
           "b1",
           "c8",
           "scalar",
           "empty",
       }) {
    save_npy(at("x.npy"), load_npy(fixture(std::string(name) + ".npy")));
    EXPECT_EQ(read_bytes(at("x.npy")), read_bytes(fixture(std::string(name) + ".npy"))) << name;
  }
}

TEST_F(Npy, every_dtype_numpy_has_comes_back) {
  for (const auto& [name, tensor] : one_of_each()) {
    if (tensor.dtype() == DType::bfloat16) {
      EXPECT_HAS(message_of<DtypeError>([&, &t = tensor] { save_npy(at("x"), t); }),
                 "save_npy: NumPy has no bfloat16: cast(x, DType::float32) first");
      continue;
    }
    save_npy(at("x"), tensor);
    expect_same(load_npy(at("x")), tensor, name);
    expect_same(map_npy(at("x")), tensor, name);
    const TensorInfo info = inspect_npy(at("x"));
    EXPECT_EQ(info.dtype, tensor.dtype());
    EXPECT_EQ(info.nbytes, tensor.nbytes());
  }
}

TEST_F(Npy, dimensions_are_many_but_not_without_end) {
  save_npy(at("x"), reshape(tensor(1.f), Shape::filled(1000, 1)));
  EXPECT_EQ(load_npy(at("x")).rank(), 1000);
  EXPECT_HAS(message_of<ShapeError>(
                 [&] { save_npy(at("x"), reshape(tensor(1.f), Shape::filled(1025, 1))); }),
             "save_npy: 1025 dimensions, files hold up to 1024");
}

TEST_F(Npy, views_are_written_as_they_read) {
  save_npy(at("x"), transpose(tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3})));
  EXPECT_EQ(floats(load_npy(at("x"))), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(load_npy(at("x")).shape(), (Shape{3, 2}));
}

TEST_F(Npy, a_mapped_file_is_not_copied_in_either_order) {
  save_npy(at("x"), tensor({1.f, 2.f, 3.f}));
  const std::size_t live = memory().live_bytes;
  const Tensor x = map_npy(at("x"));
  const Tensor fortran = map_npy(fixture("fortran.npy"));
  EXPECT_EQ(memory().live_bytes, live);
  EXPECT_EQ(memory().external_bytes, 12u + 96u);
  EXPECT_TRUE(inspect_npy(at("x")).mappable);
  EXPECT_FALSE(inspect_npy(fixture("big_f4.npy")).mappable);
  EXPECT_EQ(floats(x + 1.f), (Floats{2, 3, 4}));
  EXPECT_EQ(floats(fortran[1][2]), (Floats{20, 21, 22, 23}));
  EXPECT_EQ(floats(sum(fortran)), Floats{276});
}

TEST_F(Npy, tensors_are_born_at_the_users_line) {
  const auto line = here().line() + 1;
  const Tensor x = load_npy(fixture("f4.npy"));
  EXPECT_EQ(x.story().birth.site.line(), line);
  EXPECT_EQ(x.story().birth.op, "load_npy");
  EXPECT_EQ(map_npy(fixture("f4.npy")).story().birth.op, "map_npy");
}

TEST_F(Npy, heads_may_be_spaced_and_quoted_as_python_allows) {
  EXPECT_EQ(floats(load_npy(file(npy(R"({"shape":(1L,),"fortran_order":False,"descr":"<f4"})",
                                     std::string("\0\0\x80\x3f", 4))))),
            Floats{1});
  EXPECT_EQ(load_npy(file(npy("{ 'descr' : '?', 'fortran_order' : True, 'shape' : ( 2 , 1 ) , }\n",
                              std::string("\1\0", 2))))
                .to_vector<bool>(),
            (std::vector<bool>{true, false}));
}

TEST_F(Npy, cut_short_anywhere_is_an_error) {
  for (const char* name : {"f4.npy", "fortran_big.npy", "version3.npy", "scalar.npy"}) {
    const std::string whole = read_bytes(fixture(name));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::string path = file(whole.substr(0, size));
      EXPECT_HAS(message_of<IoError>([&] { load_npy(path); }), "npy: " + path + ": ");
      EXPECT_THROW(map_npy(path), IoError);
    }
    EXPECT_HAS(message_of<IoError>([&] { load_npy(file(whole + "x")); }), "follow the head");
  }
}

TEST_F(Npy, what_is_wrong_is_named) {
  const std::string ok = "'fortran_order': False, 'shape': (1,)}";
  const std::pair<std::string, std::string> cases[] = {
      {"not a numpy file", "is text, not a .npy file"},
      {"\x01\x02 not a numpy file", "does not begin as a .npy file does"},
      {std::string("\x93NUMPY\4\0", 8) + "\1\1\1\1", "version 4.0 of the format"},
      {std::string("\x93NUMPY\2\0\xff\xff\xff\x7f", 12),
       "a head of 2147483647 bytes in a file of 12"},
      {npy("", ""), "cannot be read at its byte 0"},
      {npy("{}", ""), "no 'descr' in the head"},
      {npy("{'descr': '<f4'}", ""), "no 'fortran_order' in the head"},
      {npy("{'descr': '<f4', 'fortran_order': False}", ""), "no 'shape' in the head"},
      {npy("{'descr': '<f4', 'descr': '<f4', " + ok, "1234"), "'descr' stands twice"},
      {npy("{'descr': '<f4', 'x': 1, " + ok, "1234"), "unknown key 'x'"},
      {npy("{'descr': '<f4', " + ok + "}", "1234"), "cannot be read at its byte"},
      {npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "1234"), "cannot be read"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "1234"), "cannot be read"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1}", "1234"), "cannot be read"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", ""),
       "a dimension past 2^64"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", ""),
       "more bytes than can be counted"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296)}", ""),
       "more bytes than can be counted"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,)}", "1234"),
       "<f4 [1099511627776] has 4398046511104 bytes, and 4 follow the head"},
      {npy("{'descr': '<c16', " + ok, "1234567890123456"), "type <c16 do not exist here"},
      {npy("{'descr': '|b1', " + ok, "\5"), "element 0 is the byte 5, and a bool is 0 or 1"},
      {npy("{'descr': [('a', '<f4'", ""), "cannot be read"},
  };
  for (const auto& [bytes, text] : cases) {
    const std::string path = file(bytes);
    EXPECT_HAS(message_of<IoError>([&] { load_npy(path); }), text);
    EXPECT_THROW(map_npy(path), IoError);
  }
  EXPECT_HAS(message_of<IoError>([&] { load_npy(fixture("u2.npy")); }), "type <u2");
  EXPECT_HAS(message_of<IoError>([&] { load_npy(fixture("structured.npy")); }),
             "type [('a', '<i4'), ('b', '<f4')] do not exist");
  EXPECT_EQ(inspect_npy(fixture("u2.npy")).nbytes, 4u);
}

TEST_F(Npz, reads_what_numpy_wrote) {
  const Archive stored = load_npz(fixture("stored.npz"));
  ASSERT_EQ(stored.tensors.size(), 3u);
  EXPECT_EQ(stored.tensors[0].first, "w");
  EXPECT_EQ(floats(stored["w"]), (Floats{1.5f, -2, 3, 4, 5, 6.25f}));
  EXPECT_EQ(stored["b"].to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, -2, 1ll << 40}));
  EXPECT_EQ(stored["s"].item<double>(), 2.5);
  const Archive packed = load_npz(fixture("packed.npz"));
  EXPECT_EQ(floats(packed["w"]), (Floats{1.5f, -2, 3, 4, 5, 6.25f}));
  EXPECT_EQ(packed["zeros"].shape(), (Shape{64, 64}));
  EXPECT_EQ(floats(packed["zeros"]), Floats(4096));
}

TEST_F(Npz, every_dtype_numpy_has_comes_back_stored_and_packed) {
  NamedTensors given = one_of_each();
  std::erase_if(given, [](const auto& named) { return named.second.dtype() == DType::bfloat16; });
  given.emplace_back("strided", transpose(tensor({1.f, 2.f, 3.f, 4.f}, {2, 2})));
  given.emplace_back("folder/\xc3\xbc", zeros({300, 300}));
  for (const bool compress : {false, true}) {
    save_npz(at("x"), given, {.compress = compress});
    NpzReader reader(at("x"));
    const Archive archive = load_npz(at("x"));
    ASSERT_EQ(archive.tensors.size(), given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      const auto& [name, tensor] = given[i];
      EXPECT_EQ(archive.tensors[i].first, name);
      const Tensor flat = name == "strided" ? contiguous(tensor) : tensor;
      expect_same(archive.tensors[i].second, flat, name);
      expect_same(reader.read(name), flat, name);
      EXPECT_EQ(reader.tensors()[i].shape, tensor.shape());
    }
    EXPECT_EQ(std::filesystem::file_size(at("x")) < 100'000, compress);
  }
  EXPECT_EQ(names(), std::vector<std::string>{"x"}) << "no temporary is left";
}

TEST_F(Npz, the_same_tensors_give_the_same_bytes_and_none_give_an_empty_archive) {
  const std::map<std::string, Tensor> given{{"x", tensor({1.f, 2.f})}};
  save_npz(at("a"), given);
  save_npz(at("b"), given);
  EXPECT_EQ(read_bytes(at("a")), read_bytes(at("b")));
  save_npz(at("c"), NamedTensors{});
  EXPECT_TRUE(load_npz(at("c")).tensors.empty());
}

TEST_F(Npz, names_must_be_unique) {
  const Tensor x = tensor(1.f);
  EXPECT_THROW(save_npz(at("x"), {{"a", x}, {"a", x}}), ValueError);
  EXPECT_THROW(save_npz(at("x"), {{"", x}}), ValueError);
  EXPECT_THROW(NpzReader(fixture("stored.npz")).read("none"), ValueError);
  EXPECT_TRUE(names().empty());
}

TEST_F(Npz, tensors_are_born_at_the_users_line) {
  const auto line = here().line() + 1;
  const Archive archive = load_npz(fixture("stored.npz"));
  EXPECT_EQ(archive["w"].story().birth.site.line(), line);
  EXPECT_EQ(archive["w"].story().birth.op, "load_npz");
}

TEST_F(Npz, cut_short_anywhere_is_an_error) {
  for (const char* name : {"stored.npz", "packed.npz"}) {
    const std::string whole = read_bytes(fixture(name));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const std::string path = file(whole.substr(0, size));
      EXPECT_HAS(message_of<IoError>([&] { load_npz(path); }), "npz: " + path + ": ");
    }
  }
}

TEST_F(Npz, any_damaged_byte_of_the_elements_is_seen) {
  const std::string whole = read_bytes(fixture("stored.npz"));
  const std::size_t element = whole.find(std::string("\0\0\xc0\x3f", 4));
  ASSERT_NE(element, whole.npos);
  std::string damaged = whole;
  damaged[element] = 1;
  EXPECT_HAS(message_of<IoError>([&] { load_npz(file(damaged)); }), "CRC error");
}

// Sizes stand little-endian in an entry of the central directory: packed at 20, unpacked at 24.
std::string with_size(std::string bytes, std::size_t at, std::uint32_t value) {
  const std::size_t entry = bytes.find("PK\1\2");
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[entry + at + i] = static_cast<char>(value >> 8 * i);
  }
  return bytes;
}

TEST_F(Npz, claimed_sizes_are_held_against_real_ones) {
  const std::string packed = read_bytes(fixture("packed.npz"));
  const std::string stored = read_bytes(fixture("stored.npz"));
  for (const std::string& bytes : {with_size(packed, 24, 0x7fffffff), with_size(packed, 24, 153),
                                   with_size(packed, 24, 151), with_size(packed, 20, 0x7fffffff),
                                   with_size(stored, 24, 0x7fffffff), with_size(stored, 20, 100)}) {
    const std::size_t before = memory().peak_bytes;
    EXPECT_THROW(load_npz(file(bytes)), IoError);
    EXPECT_LE(memory().peak_bytes, before + (1 << 20));
  }
}

TEST_F(Npz, a_claim_that_no_packing_could_meet_is_refused) {
  const std::string corpus = std::string(TENURE_SOURCE_DIR) + "/tests/fuzz/corpus/npz/";
  for (const char* name : {"one.npz", "deflated.npz"}) {
    std::string bytes = with_size(read_bytes(corpus + name), 24, 0x7fffffff);
    bytes.replace(22, 4, "\xff\xff\xff\x7f");  // the entry's own header says the same
    EXPECT_HAS(message_of<IoError>([&] { load_npz(file(bytes)); }),
               "entry \"a.npy\" claims 2147483647 bytes from");
  }
  EXPECT_HAS(message_of<IoError>([&] { load_npz(corpus + "bomb.npz"); }),
             "<f4 [9, 3] has 108 bytes, and 100000 follow the head");
  EXPECT_HAS(message_of<IoError>([&] { load_npz(corpus + "encrypted.npz"); }), "is encrypted");
  EXPECT_HAS(message_of<IoError>([&] { load_npz(corpus + "bzip2.npz"); }), "by method 12");
}

TEST_F(Npz, other_archives_are_refused_by_what_they_hold) {
  EXPECT_HAS(message_of<IoError>([&] { load_npz(file("")); }), "zip archive");
  EXPECT_HAS(message_of<IoError>([&] { load_npz(fixture("f4.npy")); }), "io::load_npy reads it");
  std::string bytes = read_bytes(fixture("stored.npz"));
  for (std::size_t i; (i = bytes.find("w.npy")) != bytes.npos;) bytes.replace(i, 5, "w.txt");
  EXPECT_HAS(message_of<IoError>([&] { load_npz(file(bytes)); }),
             "entry \"w.txt\" is not a .npy file");
  bytes = read_bytes(fixture("stored.npz"));
  for (std::size_t i; (i = bytes.find("w.npy")) != bytes.npos;) bytes.replace(i, 5, "b.npy");
  EXPECT_HAS(message_of<IoError>([&] { load_npz(file(bytes)); }), "two entries have the same name");
}

}  // namespace
}  // namespace tenure::io
