"""Runs learn_cpp with several command lines and checks its output. Usage: check.py PROGRAM"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

program = os.path.abspath(sys.argv[1])


def run(*arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def expect(condition, what, *details):
    if not condition:
        sys.exit(f"learn_cpp: {what}\n" + "\n".join(str(d) for d in details))


def sources(directory, name, text, count):
    os.makedirs(directory, exist_ok=True)
    for i in range(count):
        with open(f"{directory}/{name}{i}.txt", "w") as out:
            out.write("".join(f"{text} number_{i}_{line};\n" for line in range(200)))


with tempfile.TemporaryDirectory() as tmp:
    # A file's path decides whether it is held out: relative paths are the same in each run.
    os.chdir(tmp)
    sources("cpp", "a", "template <class T> std::vector<T> value", 20)
    sources("c", "b", "struct list_head *next; unsigned int value", 20)
    both = ["--cpp", "cpp", "--c", "c"]

    code, out, err = run(*both)
    found = re.search(r"accuracy ([\d.]+), majority class ([\d.]+)", out)
    expect(code == 0 and found, "no held-out accuracy", code, out, err)
    expect(float(found[1]) > float(found[2]) + 0.1, "learnt nothing", out)
    expect("bottleneck" in out or "is balanced" in out, "no verdict", out)

    code, out, err = run(*both, "--write-shards", "shards")
    expect(code == 0 and os.listdir("shards"), "no shards", code, out, err)
    code, out, err = run("--shards", "shards", "--epochs", "1")
    expect(code == 0, "cannot learn from shards", code, out, err)

    shard = "shards/" + sorted(os.listdir("shards"))[0]
    with open(shard, "r+b") as damaged:
        damaged.seek(1000)
        damaged.write(b"\xff\xff")
    code, out, err = run("--shards", "shards")
    expect(code == 1 and shard in err and "checksum" in err, "damage unseen", code, out, err)

    code, out, err = run("--cpp", f"{tmp}/none", "--c", "c")
    expect(code == 1 and f"{tmp}/none" in err, "a missing directory", code, err)
    os.makedirs("empty")
    code, out, err = run("--cpp", "empty", "--c", "c")
    expect(code == 1 and "no C++ files" in err, "an empty directory", code, err)
    for bad in (["--frobnicate"], ["--epochs"], ["--epochs", "0"], ["--on-error", "x"]):
        code, out, err = run(*bad)
        expect(code == 2 and bad[0] in err, "a bad option", bad, code, err)

    process = subprocess.Popen([program, *both, "--epochs", "1000000"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.7)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    expect(process.returncode == 130, "an interrupt", process.returncode, out, err)
    expect("The bottleneck is" in out, "no summary after an interrupt", out, err)
    print(f"stopped {time.monotonic() - begin:.3f} s after the interrupt")
