"""`tenure top`, `leaks`, `diff`, `export` and `doctor` as a user meets them."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
PLANTED = pathlib.Path(sys.argv.pop(1)).resolve()
FOLDER = tempfile.TemporaryDirectory()
HERE = pathlib.Path(FOLDER.name)


def tenure(*arguments, **environment):
    plain = {key: value for key, value in os.environ.items()
             if not key.startswith("TENURE_") and key not in ("COLUMNS", "NO_COLOR")}
    return subprocess.run([PROGRAM, *map(str, arguments)], text=True, capture_output=True,
                          env={**plain, **environment})


def record(name, *arguments):
    recording = HERE / f"{name}{len(arguments)}.tenure"
    if not recording.exists():
        subprocess.run([PLANTED / name, *arguments], check=False, capture_output=True,
                       env={**os.environ, "TENURE_TRACE": str(recording)})
    return recording


def setUpModule():
    record("leaking_loop")
    record("leaking_loop", "--planted")


class Commands(unittest.TestCase):
    def test_help_of_each_has_an_example_and_the_exit_codes(self):
        for command in ("top", "leaks", "diff", "export", "doctor"):
            done = tenure(command, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("Example: ", done.stdout)
            self.assertIn("Exit codes: 0 ", done.stdout)

    def test_what_is_no_recording_is_named_and_ends_with_2(self):
        text = HERE / "text.tenure"
        text.write_text("this is no recording, but it is long enough to be one")
        missing = HERE / "missing.tenure"
        for file in (text, missing, HERE):
            for command in (["top", file], ["leaks", file], ["diff", file, file],
                            ["export", file, "-o", "-"], ["top", "--follow", file]):
                if file == missing and "--follow" in command:
                    continue  # it is waited for
                done = tenure(*command)
                self.assertEqual(done.returncode, 2, (command, done.stdout))
                self.assertIn(str(file), done.stderr)
                self.assertEqual(done.stdout, "")

    def test_no_command_writes_colours_into_a_pipe(self):
        recording = record("leaking_loop", "--planted")
        for command in (["top", recording], ["leaks", recording], ["diff", recording, recording],
                        ["doctor"]):
            self.assertNotIn("\033", tenure(*command).stdout)


    def test_a_terminal_gets_colours_unless_it_wants_none(self):
        recording = record("leaking_loop", "--planted")
        for no_colour, expected in (("", True), ("1", False)):
            ours, theirs = os.openpty()
            process = subprocess.Popen([PROGRAM, "leaks", recording], stdout=theirs, close_fds=True,
                                       env={**os.environ, "NO_COLOR": no_colour, "TERM": "xterm"})
            os.close(theirs)
            text = b""
            try:
                while part := os.read(ours, 4096):
                    text += part
            except OSError:  # the other end is closed
                pass
            os.close(ours)
            self.assertEqual(process.wait(), 1)
            self.assertEqual(b"\033[31mgrowth" in text, expected, text)


class Top(unittest.TestCase):
    def test_shows_findings_graph_holders_operations_and_spans(self):
        done = tenure("top", record("leaking_loop", "--planted"))
        self.assertEqual(done.returncode, 0, done.stderr)
        for part in ("1 finding", "live bytes over time", "held at the peak, by site", "operations",
                     "spans", "leaking_loop.cpp:17", "matmul"):
            self.assertIn(part, done.stdout)

    def test_holders_by_each_key_at_each_moment(self):
        recording = record("leaking_loop")
        for by in ("site", "op", "scope", "thread", "category"):
            for at in ("peak", "end", "0.0005", "1ms", "20us"):
                done = tenure("top", recording, "--by", by, "--at", at, "-n", 3)
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("by category", tenure("top", recording, "--by", "category").stdout)

    def test_bad_moments_and_keys_are_refused(self):
        recording = record("leaking_loop")
        for option in (["--at", "noon"], ["--at", "-1s"], ["--by", "colour"], ["--rows", "0"]):
            done = tenure("top", recording, *option)
            self.assertEqual(done.returncode, 2, option)
            self.assertIn(option[0], done.stderr)

    def test_moments_are_bounded_as_times_in_whatever_unit(self):
        recording = record("leaking_loop")
        for at in ("2000000000ns", "3e9us", "1000000000"):
            done = tenure("top", recording, "--at", at)
            self.assertEqual(done.returncode, 0, done.stderr)
        for at in ("1e10", "1e300ns", "inf", "nan"):
            self.assertEqual(tenure("top", recording, "--at", at).returncode, 2, at)

    def test_lines_keep_to_the_width(self):
        for columns in (72, 80, 100, 120):
            done = tenure("top", record("leaking_loop", "--planted"), COLUMNS=str(columns))
            body = done.stdout.splitlines()[2:]
            self.assertLessEqual(max(map(len, body)), columns, done.stdout)

    def test_follow_waits_for_the_recording_to_be_closed(self):
        whole = record("leaking_loop").read_bytes()
        growing = HERE / "growing.tenure"
        growing.write_bytes(whole[:len(whole) // 2])
        following = subprocess.Popen([PROGRAM, "top", "--follow", growing], text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with self.assertRaises(subprocess.TimeoutExpired):
            following.wait(timeout=1)
        with open(growing, "ab") as file:
            file.write(whole[len(whole) // 2:])
        out, err = following.communicate(timeout=60)
        self.assertEqual(following.returncode, 0, err)
        self.assertEqual(out.count("live bytes over time"), 1)

    def test_follow_waits_for_a_recording_that_is_not_there_yet(self):
        later = HERE / "later.tenure"
        following = subprocess.Popen([PROGRAM, "top", "--follow", later], text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn(f"waiting for {later}", following.stderr.readline())
        later.write_bytes(record("leaking_loop").read_bytes())
        out, err = following.communicate(timeout=60)
        self.assertEqual((following.returncode, err), (0, ""))
        self.assertEqual(out.count("live bytes over time"), 1)


class Leaks(unittest.TestCase):
    def test_finding_has_the_line_the_source_and_stories(self):
        done = tenure("leaks", record("leaking_loop", "--planted"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("growth    60 tensors from leaking_loop.cpp:17 (mean)", done.stdout)
        self.assertIn("// PLANTED", done.stdout)
        self.assertIn("born   leaking_loop.cpp:17", done.stdout)
        self.assertIn("and 58 more", done.stdout)

    def test_healthy_run_has_none(self):
        done = tenure("leaks", record("leaking_loop"))
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.endswith("no findings\n"))

    def test_json_says_the_same(self):
        done = tenure("leaks", "--json", record("leaking_loop", "--planted"))
        self.assertEqual(done.returncode, 1)
        found = json.loads(done.stdout)["findings"]
        self.assertEqual([(each["problem"], each["line"], each["count"]) for each in found],
                         [("growth", 17, 60)])


class CutShort(unittest.TestCase):
    """A file of which half is left, and a program that was aborted."""

    @classmethod
    def setUpClass(cls):
        whole = record("leaking_loop").read_bytes()
        cls.half = HERE / "half.tenure"
        cls.half.write_bytes(whole[:len(whole) // 2])
        cls.aborted = record("uncaught_error", "--planted")

    def test_every_command_says_so(self):
        whole = record("leaking_loop")
        out = str(HERE / "cut.html")
        for cut in (self.half, self.aborted):
            for command in (["top", cut], ["leaks", cut], ["diff", whole, cut],
                            ["diff", cut, whole], ["inspect", cut], ["report", cut, "-o", out],
                            ["export", cut, "-o", HERE / "cut.json"], ["export", cut, "-o", "-"]):
                done = tenure(*command)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                if "TENURE_REPORT=OFF" in done.stderr:
                    continue
                self.assertIn("cut short after ", done.stdout + done.stderr, command)
                if command[-1] == "-":  # what goes on is JSON still
                    json.loads(done.stdout)

    def test_no_command_says_so_of_a_whole_one(self):
        whole = record("leaking_loop")
        for command in (["top", whole], ["leaks", whole], ["diff", whole, whole],
                        ["inspect", whole], ["export", whole, "-o", "-"]):
            done = tenure(*command)
            self.assertNotIn("cut short", done.stdout + done.stderr, command)

    def test_no_findings_are_of_the_part_that_is_there(self):
        done = tenure("leaks", self.half)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(done.stdout.endswith("no findings up to there\n"), done.stdout)

    def test_strict_fails_on_it_and_on_findings_only(self):
        for options in (["--strict"], ["--strict", "--json"]):
            self.assertEqual(tenure("leaks", *options, self.half).returncode, 1)
            self.assertEqual(tenure("leaks", *options, record("leaking_loop")).returncode, 0)
            self.assertEqual(
                tenure("leaks", *options, record("leaking_loop", "--planted")).returncode, 1)
        self.assertTrue(json.loads(tenure("leaks", "--json", self.half).stdout)["cut_short"])
        self.assertIn("--strict", tenure("leaks", "--help").stdout)


class Version(unittest.TestCase):
    def test_is_told_with_what_a_report_of_a_bug_needs(self):
        done = tenure("--version")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^tenure \d+\.\d+\.\d+\n")
        for fact in (r"compiler +(gcc|clang) \d", r"system +Linux ", r"instructions +\w+ \(of ",
                     r"lifetimes +(on|off)", r"report page +(built in|left out)"):
            self.assertRegex(done.stdout, fact)
        self.assertEqual(tenure("-V").stdout, done.stdout)
        self.assertIn("instructions  baseline", tenure("-V", TENURE_TARGET="baseline").stdout)


class Diff(unittest.TestCase):
    def test_a_run_that_holds_more_is_told_by_line(self):
        done = tenure("diff", record("leaking_loop"), record("leaking_loop", "--planted"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("the second run holds more", done.stdout)
        self.assertIn("leaking_loop.cpp:17", done.stdout)

    def test_a_run_with_itself_holds_no_more(self):
        recording = record("leaking_loop")
        done = tenure("diff", recording, recording)
        self.assertEqual(done.returncode, 0)
        self.assertIn("the second run holds no more", done.stdout)


class Export(unittest.TestCase):
    def test_trace_is_json_with_operations_and_counters(self):
        out = HERE / "trace.json"
        done = tenure("export", record("leaking_loop"), "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        events = json.loads(out.read_text())["traceEvents"]
        self.assertEqual(sum(event["ph"] == "X" and event["name"] == "square" for event in events),
                         60)
        counters = [event for event in events if event["ph"] == "C"
                    and event["name"] == "live bytes"]
        self.assertEqual(sum(counters[-1]["args"].values()), 0)

    def test_a_file_that_cannot_be_written_is_named(self):
        done = tenure("export", record("leaking_loop"), "-o", HERE / "no" / "such" / "trace.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot be written", done.stderr)


class Doctor(unittest.TestCase):
    def test_says_that_all_is_well(self):
        done = tenure("doctor")
        self.assertEqual(done.returncode, 0, done.stdout)
        for part in ("instructions", "cores", "Highway", "OpenBLAS", "all is well"):
            self.assertIn(part, done.stdout)
        self.assertEqual(done.stdout.count("passed"), 5)

    def test_settings_that_do_nothing_are_wrong(self):
        for name, value in (("TENURE_MEMORY_BUDGET", "lots"), ("TENURE_MEMRY_BUDGET", "1GiB"),
                            ("TENURE_TARGET", "mmx")):
            done = tenure("doctor", **{name: value})
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("it is ignored", done.stdout)
        done = tenure("doctor", TENURE_MEMORY_BUDGET="64MiB")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("64.0 MiB", done.stdout)

    def test_kernels_use_no_better_instructions_than_asked_for(self):
        done = tenure("doctor", TENURE_TARGET="baseline")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"instructions +baseline \(TENURE_TARGET: .*baseline\)")

    def test_every_setting_of_the_library_is_known(self):
        done = tenure("doctor", TENURE_STACKS="1", TENURE_CHECK_ESCAPES="0")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_recording_that_the_environment_names_is_left_alone(self):
        recording = HERE / "kept.tenure"
        recording.write_bytes(record("leaking_loop").read_bytes())
        before = recording.read_bytes()
        done = tenure("doctor", TENURE_TRACE=str(recording))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(str(recording), done.stdout)
        tenure("top", recording, TENURE_TRACE=str(recording))
        self.assertEqual(recording.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
