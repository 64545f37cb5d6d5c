#include <cstring>
#include <thread>

#include "io/files.h"

namespace tenure::io {
namespace {

using testing::bytes_of;
using testing::expect_same;
using testing::Floats;
using testing::floats;
using testing::here;
using testing::message_of;
using testing::one_of_each;
using testing::read_bytes;

class Safetensors : public testing::Folder {};
class BrokenSafetensors : public testing::Folder {
 protected:
  std::string complaint(const std::string& bytes) {
    const std::string path = file(bytes);
    return message_of<IoError>([&] { load_safetensors(path); });
  }
};

std::string bytes(const std::string& json, const std::string& data) {
  std::string file(8, '\0');
  const std::uint64_t size = json.size();
  for (int i = 0; i < 8; ++i) file[static_cast<std::size_t>(i)] = static_cast<char>(size >> 8 * i);
  return file + json + data;
}

std::string little(std::initializer_list<float> values) {
  std::string data;
  for (const float value : values) {
    char raw[4];
    std::memcpy(raw, &value, 4);
    data.append(raw, 4);
  }
  return data;
}

TEST_F(Safetensors, reads_bytes_written_by_hand) {
  const std::string path = file(bytes(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
      little({1.5f, -2, 3})));
  const Archive archive = load_safetensors(path);
  ASSERT_EQ(archive.tensors.size(), 2u);
  EXPECT_EQ(archive.tensors[0].first, "b");
  EXPECT_EQ(floats(archive["b"]), (Floats{-2, 3}));
  EXPECT_EQ(archive["a"].shape(), Shape{});
  EXPECT_EQ(archive["a"].item<float>(), 1.5f);
  EXPECT_EQ(archive.metadata, (Metadata{{"format", "pt"}}));
}

TEST_F(Safetensors, writes_the_bytes_the_format_asks_for) {
  save_safetensors(at("x"), {{"x", tensor({1.5f, -2.f, 3.f})}}, {{"made by", "a \"test\""}});
  const std::string found = read_bytes(at("x"));
  const std::string json = R"({"__metadata__":{"made by":"a \"test\""},)"
                           R"("x":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})";
  const std::size_t padded = (8 + json.size() + 63) / 64 * 64 - 8;
  EXPECT_EQ(found, bytes(json + std::string(padded - json.size(), ' '), little({1.5f, -2, 3})));
}

TEST_F(Safetensors, every_dtype_and_shape_comes_back_in_order) {
  const NamedTensors given = one_of_each();
  save_safetensors(at("x"), given);
  const SafetensorsReader reader(at("x"));
  const Archive archive = load_safetensors(at("x"));
  ASSERT_EQ(archive.tensors.size(), given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto& [name, tensor] = given[i];
    EXPECT_EQ(archive.tensors[i].first, name);
    expect_same(archive.tensors[i].second, tensor, name);
    expect_same(reader.read(name), tensor, name);
    expect_same(reader.map(name), tensor, name);
    EXPECT_EQ(archive.tensors[i].second.name(), name);
    EXPECT_EQ(reader.tensors()[i].dtype, tensor.dtype());
    EXPECT_EQ(reader.tensors()[i].shape, tensor.shape());
    EXPECT_EQ(reader.tensors()[i].nbytes, tensor.nbytes());
    EXPECT_EQ(reader.tensors()[i].mappable, tensor.nbytes() != 0) << name;
  }
}

TEST_F(Safetensors, maps_and_views_are_written_as_they_read) {
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3});
  const std::map<std::string, Tensor> given{{"t", transpose(x)}, {"row", x[1]}};
  save_safetensors(at("x"), given);
  const Archive archive = load_safetensors(at("x"));
  EXPECT_EQ(floats(archive["t"]), (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(floats(archive["row"]), (Floats{4, 5, 6}));
}

TEST_F(Safetensors, no_tensors_make_a_file_too) {
  save_safetensors(at("x"), NamedTensors{});
  EXPECT_TRUE(load_safetensors(at("x")).tensors.empty());
}

TEST_F(Safetensors, a_mapped_tensor_copies_nothing_and_outlives_reader_and_file) {
  save_safetensors(at("x"), {{"x", tensor({1.f, 2.f, 3.f})}, {"y", tensor(7.f)}});
  const std::size_t live = memory().live_bytes;
  Tensor x, y;
  {
    const SafetensorsReader reader(at("x"));
    x = reader.map("x");
    y = reader.map("y");
  }
  EXPECT_EQ(bytes_of(y), bytes_of(x) + 12) << "one mapping serves both";
  std::filesystem::remove(at("x"));
  EXPECT_EQ(memory().live_bytes, live);
  EXPECT_EQ(memory().external_bytes, 16u);
  EXPECT_EQ(floats(x), (Floats{1, 2, 3}));
  const Tensor doubled = std::move(x) * 2.f;  // donated, and still not written to
  EXPECT_EQ(floats(doubled), (Floats{2, 4, 6}));
  EXPECT_EQ(y.item<float>(), 7.f);
}

TEST_F(Safetensors, an_unaligned_tensor_is_read_where_it_cannot_be_mapped) {
  const std::string path = file(bytes(R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},)"
                                      R"("b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})",
                                      "\5" + little({1, 2})));
  const SafetensorsReader reader(path);
  // 8 + 106 bytes of header, then one: b lies at 115.
  EXPECT_FALSE(reader.tensors()[1].mappable);
  EXPECT_EQ(floats(reader.map("b")), (Floats{1, 2}));
  EXPECT_EQ(reader.map("a").item<std::int8_t>(), 5);
}

TEST_F(Safetensors, tensors_are_born_at_the_users_line_in_the_users_scope) {
  save_safetensors(at("x"), {{"x", tensor(1.f)}});
  Tensor leaked;
  tidy("load", [&] {
    const auto line = here().line() + 1;
    const Archive archive = load_safetensors(at("x"));
    leaked = archive["x"];
    const Birth birth = leaked.story().birth;
    EXPECT_EQ(birth.op, "load_safetensors");
    EXPECT_EQ(birth.site.line(), line);
    EXPECT_EQ(birth.scope, "load");
  });
  EXPECT_TRUE(leaked.is_disposed());
}

TEST_F(Safetensors, sessions_own_what_they_read_and_write_only_what_they_own) {
  save_safetensors(at("x"), {{"x", tensor({1.f, 2.f})}});
  Session other({.name = "other"});
  const Tensor theirs = other.run([&] { return load_safetensors(at("x"))["x"]; });
  EXPECT_EQ(other.memory().tensors, 1u);
  EXPECT_THROW(save_safetensors(at("y"), {{"x", theirs}}), Error);
  EXPECT_FALSE(std::filesystem::exists(at("y")));
  other.close();
}

TEST_F(Safetensors, a_disposed_or_symbolic_tensor_is_not_written_and_the_old_file_stays) {
  save_safetensors(at("x"), {{"x", tensor(1.f)}});
  const std::string before = read_bytes(at("x"));
  Tensor dead = tensor(2.f);
  dead.dispose();
  EXPECT_HAS(message_of<DisposedError>([&] { save_safetensors(at("x"), {{"x", dead}}); }),
             "save_safetensors");
  EXPECT_THROW(save_safetensors(at("x"), {{"x", Tensor()}}), ValueError);
  Function traced = function("f", [&](Tensor a) {
    save_safetensors(at("x"), {{"x", a}});
    return a;
  });
  EXPECT_THROW(traced(tensor(1.f)), InaccessibleTensorError);
  EXPECT_EQ(read_bytes(at("x")), before);
  EXPECT_EQ(names(), std::vector<std::string>{"x"});
}

TEST_F(Safetensors, names_must_be_unique_utf8_and_not_reserved) {
  const Tensor x = tensor(1.f);
  EXPECT_HAS(message_of<ValueError>([&] { save_safetensors(at("x"), {{"a", x}, {"a", x}}); }),
             "two tensors are named \"a\"");
  EXPECT_THROW(save_safetensors(at("x"), {{"__metadata__", x}}), ValueError);
  for (const char* name : {"\xff\xfe", "a\xc3", "\x80", "\xc0\xaf", "\xed\xa0\x80",
                           "\xf4\x90\x80\x80", "\xe2\x82", "\xf8\x88\x80\x80\x80"}) {
    EXPECT_THROW(save_safetensors(at("x"), {{name, x}}), ValueError);
    EXPECT_THROW(save_safetensors(at("x"), {{"x", x}}, {{"k", name}}), ValueError);
  }
  const std::string odd = "\x01\t\"\\/\x7f \xe2\x82\xac \xf0\x9f\x8c\xb1 \xf4\x8f\xbf\xbf";
  save_safetensors(at("x"), {{odd, x}}, {{odd, odd}});
  EXPECT_TRUE(load_safetensors(at("x")).contains(odd));
  EXPECT_EQ(load_safetensors(at("x")).metadata, (Metadata{{odd, odd}}));
  save_safetensors(at("x"), {{"Gewicht \xc3\xbc\n", x}});
  EXPECT_TRUE(load_safetensors(at("x")).contains("Gewicht \xc3\xbc\n"));
  EXPECT_HAS(message_of<ValueError>([&] { load_safetensors(at("x"))["b"]; }),
             "no tensor is named \"b\"; there are: \"Gewicht");
  EXPECT_THROW(SafetensorsReader(at("x")).read("b"), ValueError);
}

TEST_F(Safetensors, types_that_tensors_lack_are_listed_and_refused_by_name) {
  const std::string path = file(bytes(R"({"u":{"dtype":"U16","shape":[2],"data_offsets":[0,4]},)"
                                      R"("f":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[4,5]},)"
                                      R"("q":{"dtype":"F4","shape":[2],"data_offsets":[5,6]},)"
                                      R"("i":{"dtype":"U8","shape":[2],"data_offsets":[6,8]}})",
                                      "12345678"));
  const SafetensorsReader reader(path);
  EXPECT_EQ(reader.tensors()[0].type, "U16");
  EXPECT_FALSE(reader.tensors()[0].dtype);
  EXPECT_HAS(message_of<IoError>([&] { reader.read("u"); }),
             path + ": tensor \"u\": tensors of dtype U16 do not exist here");
  EXPECT_THROW(reader.map("f"), IoError);
  EXPECT_EQ(reader.read("i").to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{'7', '8'}));
}

TEST_F(Safetensors, threads_may_share_a_reader) {
  NamedTensors given;
  for (int i = 0; i < 8; ++i) given.emplace_back(std::to_string(i), full({1000}, float(i)));
  save_safetensors(at("x"), given);
  const SafetensorsReader reader(at("x"));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 8; ++i) {
        const std::string name = std::to_string((i + t) % 8);
        const Tensor x = i % 2 == 0 ? reader.read(name) : reader.map(name);
        if (floats(x) != Floats(1000, float((i + t) % 8))) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(BrokenSafetensors, cut_short_anywhere_is_an_error) {
  save_safetensors(at("whole"), {{"a", tensor({1.f, 2.f})}, {"b", tensor(3)}}, {{"k", "v"}});
  const std::string whole = read_bytes(at("whole"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_HAS(complaint(whole.substr(0, size)), "safetensors: " + at("file") + ": ");
  }
  EXPECT_HAS(complaint(whole + "x"), "1 bytes follow the last tensor");
}

TEST_F(BrokenSafetensors, lengths_are_checked_before_anything_is_allocated) {
  EXPECT_HAS(complaint(std::string(8, '\xff') + "{}"), "a header of 18446744073709551615 bytes");
  EXPECT_HAS(complaint(std::string("\0\0\0\1\0\0\0\0", 8) + "{}"),
             "a header of 16777216 bytes in a file of 10");
  const std::string huge = R"({"a":{"dtype":"F32","shape":[144115188075855872],"data_offsets":)";
  EXPECT_HAS(complaint(bytes(huge + "[0,576460752303423488]}}", "")), "cut short or broken");
  EXPECT_HAS(complaint(bytes(huge + "[0,0]}}", "")), "has 576460752303423488 bytes");
}

TEST_F(BrokenSafetensors, products_that_overflow_are_seen) {
  for (const char* shape : {"[4294967296,4294967296]", "[9223372036854775808]",
                            "[4294967296,4294967296,0]", "[0,4294967296,4294967296]"}) {
    EXPECT_HAS(complaint(bytes(std::string(R"({"a":{"dtype":"F32","shape":)") + shape +
                                   R"(,"data_offsets":[0,0]}})",
                               "")),
               "more bytes than can be counted");
  }
}

TEST_F(BrokenSafetensors, what_is_wrong_is_named) {
  const auto entry = [](const std::string& name, const std::string& begin, const std::string& end) {
    return "\"" + name + R"(":{"dtype":"U8","shape":[)" +
           std::to_string(std::stoi(end) - std::stoi(begin)) + R"(],"data_offsets":[)" + begin +
           "," + end + "]}";
  };
  const std::pair<std::string, std::string> cases[] = {
      {"", "does not begin with '{'"},
      {"[]", "does not begin with '{'"},
      {"{", "not JSON at its byte"},
      {"{} {}", "not JSON at its byte"},
      {R"({"a":1})", "\"a\" is a number, not a tensor"},
      {R"({"a":null})", "\"a\" is null, not a tensor"},
      {R"({"a":{}})", "tensor \"a\": no dtype"},
      {R"({"a":{"dtype":"U8"}})", "tensor \"a\": no shape"},
      {R"({"a":{"dtype":"U8","shape":[]}})", "tensor \"a\": no data_offsets"},
      {R"({"a":{"dtype":1}})", "\"a\": a number stands in \"dtype\""},
      {R"({"a":{"dtype":["U8"]}})", "\"a\": an array stands in \"dtype\""},
      {R"({"a":{"shape":{}}})", "\"a\": an object stands in \"shape\""},
      {R"({"a":{"shape":[[1]]}})", "\"a\": an array stands in \"shape\""},
      {R"({"a":{"shape":[-1]}})", "\"a\": a negative number stands in \"shape\""},
      {R"({"a":{"shape":[1.5]}})", "\"a\": a broken number stands in \"shape\""},
      {R"({"a":{"shape":[true]}})", "\"a\": a bool stands in \"shape\""},
      {R"({"a":{"shape":[],"shape":[]}})", "tensor \"a\": \"shape\" stands there twice"},
      {R"({"a":{"size":1}})", "tensor \"a\": unknown key \"size\""},
      {R"({"a":{"dtype":"Q9","shape":[],"data_offsets":[0,1]}})",
       "tensor \"a\": unknown dtype \"Q9\""},
      {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0]}})", "not [begin, end]: [0]"},
      {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[1,0]}})", "not [begin, end]: [1, 0]"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}})",
       "U8 [2] has 2 bytes, data_offsets [0, 1] hold 1"},
      {R"({"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}})", "no whole number: F4 [1]"},
      {R"({"__metadata__":{"k":1}})", "a number stands in \"k\""},
      {R"({"__metadata__":{"k":"v","k":"v"}})", "metadata has \"k\" twice"},
      {R"({"__metadata__":"k"})", "\"__metadata__\" is a string"},
      {"{" + entry("a", "0", "4") + "," + entry("a", "4", "8") + "}",
       "two tensors are named \"a\""},
      {"{" + entry("a", "0", "5") + "," + entry("b", "4", "8") + "}",
       "tensor \"b\" begins at byte 4, inside another that ends at 5"},
      {"{" + entry("a", "0", "3") + "," + entry("b", "4", "8") + "}",
       "bytes 3 to 4 before tensor \"b\" belong to none"},
      {"{" + entry("a", "0", "9") + "}", "ends at byte 9 of 8"},
      {"{" + entry("a", "0", "7") + "}", "1 bytes follow the last tensor"},
      {R"({"a":{"dtype":"BOOL","shape":[8],"data_offsets":[0,8]}})",
       "tensor \"a\": element 2 is the byte 7"},
  };
  for (const auto& [json, text] : cases) {
    EXPECT_HAS(complaint(bytes(json, std::string("\0\1\7\0\0\0\0\0", 8))), text);
  }
}

TEST_F(BrokenSafetensors, mapped_bools_are_checked_too) {
  const std::string path =
      file(bytes(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\1\2"));
  EXPECT_THROW(SafetensorsReader(path).map("a"), IoError);
}

TEST_F(BrokenSafetensors, deep_nesting_and_long_lists_end_at_once) {
  complaint(bytes(R"({"a":)" + std::string(1'000'000, '['), ""));
  complaint(bytes(std::string(1'000'000, '{'), ""));
  std::string ones = "1";
  for (int i = 0; i < 2000; ++i) ones += ",1";
  EXPECT_HAS(complaint(bytes(R"({"a":{"shape":[)" + ones + "]}}", "")), "more than 1024 numbers");
}

TEST_F(BrokenSafetensors, control_characters_in_names_do_not_reach_the_terminal) {
  const std::string text = complaint(bytes("{\"\\u001b[31m\":1}", ""));
  EXPECT_HAS(text, "\\x1b[31m");
}

TEST_F(BrokenSafetensors, files_that_cannot_be_read_are_named) {
  EXPECT_HAS(message_of<IoError>([&] { load_safetensors(at("none")); }),
             "safetensors: " + at("none") + ": cannot be opened: No such file or directory");
  EXPECT_HAS(message_of<IoError>([&] { load_safetensors(at("")); }), "is a folder");
  EXPECT_HAS(message_of<IoError>([&] { load_safetensors("/dev/null"); }), "not a regular file");
}

TEST_F(BrokenSafetensors, a_budget_too_small_for_the_file_is_an_out_of_memory_error) {
  save_safetensors(at("x"), {{"x", zeros({1 << 20})}});
  Session small({.name = "small", .budget = 1 << 20});
  small.run([&] { EXPECT_THROW(load_safetensors(at("x")), OutOfMemoryError); });
}

}  // namespace
}  // namespace tenure::io
