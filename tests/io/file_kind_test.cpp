// Files of other programs are known by their first bytes, and endings of theirs are not written.
#include "io/file_kind.h"

#include "io/files.h"
#include "tenure/nn/callbacks.h"
#include "tenure/nn/core_layers.h"
#include "tenure/nn/files.h"

namespace tenure::io {
namespace {

using testing::message_of;
using namespace std::string_literals;

constexpr const char* kKerasFiles = "/work/shared/data/keras/";

std::string zip_of(const std::string& first_entry) {
  return "PK\3\4"s + std::string(22, '\0') + static_cast<char>(first_entry.size()) +
         std::string(3, '\0') + first_entry;
}

struct FileKinds : testing::Folder {
  FileKind kind(const std::string& bytes) { return kind_of(File("test", file(bytes))); }
  // What every reader of another kind says.
  void expect_refused(const std::string& path, const std::string& what) {
    const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})});
    EXPECT_HAS(message_of<IoError>([&] { nn::load_model(path); }), what);
    EXPECT_HAS(message_of<IoError>([&] { model.load_weights(path); }), what);
    EXPECT_HAS(message_of<IoError>([&] { load_safetensors(path); }), what);
    EXPECT_HAS(message_of<IoError>([&] { load_npz(path); }), what);
    EXPECT_HAS(message_of<IoError>([&] { load_npy(path); }), what);
    EXPECT_HAS(message_of<IoError>([&] { nn::load_tfjs_model(path); }), what);
  }
};

TEST_F(FileKinds, are_told_by_first_bytes) {
  EXPECT_EQ(kind("\x89HDF\r\n\x1a\n"s + std::string(40, '\0')), FileKind::hdf5);
  EXPECT_EQ(kind(zip_of("metadata.json")), FileKind::keras);
  EXPECT_EQ(kind(zip_of("archive/data.pkl")), FileKind::pytorch);
  EXPECT_EQ(kind(zip_of("x.npy")), FileKind::npz);
  EXPECT_EQ(kind(zip_of("readme")), FileKind::zip);
  EXPECT_EQ(kind("PK\5\6"s + std::string(18, '\0')), FileKind::npz);
  EXPECT_EQ(kind("\x80\2}q\0X\6\0\0\0weight"s), FileKind::pickle);
  EXPECT_EQ(kind("\x08\x07\x12\x07pytorch\x1a\x05"s), FileKind::onnx);
  EXPECT_EQ(kind("\x08\x01\x12\xf5\x10\n*saved"s), FileKind::saved_model);
  EXPECT_EQ(kind("\x1f\x8b\x08\0\0\0\0\0\0\3data"s), FileKind::gzip);
  EXPECT_EQ(kind("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s), FileKind::png);
  EXPECT_EQ(kind("\xff\xd8\xff\xe0\0\x10JFIF"s), FileKind::jpeg);
  EXPECT_EQ(kind(" \n{\"modelTopology\": {}}"), FileKind::json);
  EXPECT_EQ(kind("plain text, no tensors"), FileKind::text);
  EXPECT_EQ(kind("gr\xc3\xb6\xc3\x9f"
                 "e,breite\n"),
            FileKind::text);
  EXPECT_EQ(kind(std::string(127, ' ') + "\xc3\xb6"), FileKind::text);  // cut in the middle
  EXPECT_EQ(kind(""), FileKind::unknown);
  EXPECT_EQ(kind("\1\2\3\4\5\6\7\x08\x09"s), FileKind::unknown);
}

TEST_F(FileKinds, of_our_own_writers_are_theirs) {
  for (std::size_t names = 0; names < 40; ++names) {  // lengths of the header
    save_safetensors(at("x"), {{std::string(names, 'a'), ones({2})}});
    ASSERT_EQ(kind_of(File("test", at("x"))), FileKind::safetensors);
  }
  save_npz(at("x"), {{"a", ones({2})}});
  EXPECT_EQ(kind_of(File("test", at("x"))), FileKind::npz);
  save_npz(at("x"), {});
  EXPECT_EQ(kind_of(File("test", at("x"))), FileKind::npz);
  save_npy(at("x"), ones({2}));
  EXPECT_EQ(kind_of(File("test", at("x"))), FileKind::npy);
}

TEST_F(FileKinds, of_keras_are_named_with_what_to_do) {
  expect_refused(file(zip_of("metadata.json")), "is a model of Keras 3 (.keras), not ");
  expect_refused(file("\x89HDF\r\n\x1a\n"s + std::string(40, '\0')), "is an HDF5 file (.h5 of");
  expect_refused(file(zip_of("archive/data.pkl")), "safetensors.torch.save_file()");
  EXPECT_HAS(message_of<IoError>([&] { nn::load_model(file("{\"class_name\": 1}")); }),
             "nn::load_tfjs_model reads the model.json");
  save_npz(at("w"), {{"a", ones({2})}});
  EXPECT_HAS(message_of<IoError>([&] { load_safetensors(at("w")); }), "io::load_npz reads it");
}

TEST_F(FileKinds, of_real_files_are_known) {
  if (!std::filesystem::exists(kKerasFiles)) GTEST_SKIP() << "no " << kKerasFiles;
  for (const auto& entry : std::filesystem::directory_iterator(kKerasFiles)) {
    const bool is_archive = entry.path().extension() == ".keras";
    expect_refused(entry.path(), is_archive ? "a model of Keras 3" : "an HDF5 file");
  }
}

TEST_F(FileKinds, of_folders_are_told_by_what_is_in_them) {
  std::filesystem::create_directory(at("saved"));
  file("\x08\x01\x12\x02", "saved/saved_model.pb");
  EXPECT_HAS(message_of<IoError>([&] { nn::load_model(at("saved")); }),
             "is a folder: a SavedModel of TensorFlow");
  std::filesystem::create_directory(at("web"));
  file("{}", "web/model.json");
  EXPECT_HAS(message_of<IoError>([&] { nn::load_model(at("web")); }),
             "nn::load_tfjs_model reads \"" + at("web/model.json"));
}

TEST_F(FileKinds, of_others_are_not_written_by_their_endings) {
  const nn::Sequential model({nn::Dense({.units = 1, .input_shape = {2}})});
  for (const char* ending : {".keras", ".h5", ".HDF5", ".pt", ".pth", ".onnx", ".pb", ".json",
                             ".npz", ".npy", ".weights.h5"}) {
    const std::string path = at("model") + ending;
    EXPECT_HAS(message_of<ValueError>([&] { model.save(path); }), "save: \"" + path);
    EXPECT_HAS(message_of<ValueError>([&] { model.save_weights(path); }), "save_weights: ");
    EXPECT_HAS(message_of<ValueError>([&] { nn::ModelCheckpoint({.filepath = path}); }),
               "ModelCheckpoint: ");
  }
  EXPECT_HAS(message_of<ValueError>([&] { model.save(at("m.weights.h5")); }),
             "write \"" + at("m.weights.safetensors"));
  EXPECT_HAS(message_of<ValueError>([&] { model.save(at("m.json")); }), "save_tfjs_model");
  EXPECT_TRUE(names().empty());
  for (const char* path : {"model", "model.safetensors", "model.bin", "a.keras.d"}) {
    model.save_weights(at(path));
  }
}

}  // namespace
}  // namespace tenure::io
