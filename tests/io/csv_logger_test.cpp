// Logs in CSV files, whatever columns come when.
#include <cerrno>

#include "io/atomic_file.h"
#include "io/files.h"
#include "support/expect.h"

namespace tenure::nn {
namespace {

using testing::message_of;
using testing::read_bytes;

class CsvLogs : public testing::Folder {
 protected:
  CsvLogs() { model_.compile({.optimizer = SGD({.learning_rate = 0}), .loss = "mse"}); }
  void write(const std::string& text) const { testing::write_bytes(path_, text); }
  // The loss is 1 in each epoch.
  void fit(const CSVLoggerOptions& options, FitOptions fit) const {
    fit.verbose = Verbose::silent;
    fit.callbacks.push_back(CSVLogger(options));
    model_.fit(ones({2, 1}), zeros({2, 1}), std::move(fit));
  }
  Dataset validation() const { return Dataset::from_tensors(ones({1, 1}) * 2, zeros({1, 1})); }

  const std::string path_ = at("log.csv");
  Sequential model_{
      {Dense({.units = 1, .use_bias = false, .kernel_initializer = "ones", .input_shape = {1}})}};
};

TEST_F(CsvLogs, have_the_columns_that_come_later) {
  fit({path_}, {.epochs = 4, .validation = validation(), .validation_freq = 3});
  EXPECT_EQ(read_bytes(path_), "epoch,loss,val_loss\n0,1,NA\n1,1,NA\n2,1,4\n3,1,NA\n");
}

TEST_F(CsvLogs, append_to_what_is_there_under_its_columns) {
  fit({path_}, {.epochs = 2, .validation = validation()});
  fit({.filename = path_, .append = true}, {.epochs = 3, .initial_epoch = 2});
  EXPECT_EQ(read_bytes(path_), "epoch,loss,val_loss\n0,1,4\n1,1,4\n2,1,NA\n");
  fit({.filename = path_, .append = true},
      {.epochs = 4, .callbacks = {ReduceLROnPlateau({.monitor = "loss"})}, .initial_epoch = 3});
  EXPECT_EQ(read_bytes(path_),
            "epoch,loss,val_loss,learning_rate\n0,1,4,NA\n1,1,4,NA\n2,1,NA,NA\n3,1,NA,0\n");
  fit({path_}, {});
  EXPECT_EQ(read_bytes(path_), "epoch,loss\n0,1\n") << "begun anew";
}

TEST_F(CsvLogs, append_to_files_of_others) {
  write("epoch;\"a;b\";loss\r\n0;5;6\r\n1;7");  // its process was killed
  fit({.filename = path_, .separator = ";", .append = true},
      {.validation = validation(), .initial_epoch = 0});
  EXPECT_EQ(read_bytes(path_), "epoch;\"a;b\";loss;val_loss\n0;5;6;NA\n1;7;NA\n0;NA;1;4\n");
  write("");
  fit({.filename = path_, .append = true}, {});
  EXPECT_EQ(read_bytes(path_), "epoch,loss\n0,1\n") << "an empty file has no header";
  write("1,2\n");
  EXPECT_HAS(message_of<IoError>([&] { fit({.filename = path_, .append = true}, {}); }),
             "its first line does not begin with \"epoch\"");
  EXPECT_EQ(read_bytes(path_), "1,2\n");
}

TEST_F(CsvLogs, quote_names_with_separators) {
  const auto odd = [](Tensor y, Tensor p) { return mean(abs(y - p), {-1}); };
  model_.compile(
      {.optimizer = SGD({.learning_rate = 0}), .loss = "mse", .metrics = {Metric(odd, "a,\"b\"")}});
  fit({path_}, {});
  fit({.filename = path_, .append = true}, {});
  EXPECT_EQ(read_bytes(path_), "epoch,loss,\"a,\"\"b\"\"\"\n0,1,1\n0,1,1\n");
}

TEST_F(CsvLogs, keep_their_rows_where_a_column_cannot_be_added) {
  io::set_write_hook([](io::WriteStep step) { return step == io::WriteStep::rename ? EIO : 0; });
  EXPECT_THROW(fit({path_}, {.epochs = 4, .validation = validation(), .validation_freq = 2}),
               IoError);
  io::set_write_hook(nullptr);
  EXPECT_EQ(read_bytes(path_), "epoch,loss\n0,1\n");
}

TEST_F(CsvLogs, lie_in_folders_that_are_made_and_say_why_they_cannot_be_written) {
  const std::string deep = at("runs/first/log.csv");
  fit({deep}, {});
  EXPECT_EQ(read_bytes(deep), "epoch,loss\n0,1\n");
  EXPECT_HAS(message_of<IoError>([&] { fit({deep + "/log.csv"}, {}); }), "ot a directory");
}

TEST_F(CsvLogs, refuse_separators_that_separate_nothing) {
  for (const std::string separator : {"", "\"", "\n"}) {
    EXPECT_HAS(
        message_of<ValueError>([&] { CSVLogger({.filename = path_, .separator = separator}); }),
        "cannot be told from what it separates");
  }
}

}  // namespace
}  // namespace tenure::nn
