#!/usr/bin/env python3
"""Builds a Rust program with the crates that Debian has installed, in the folder of its output.

usage: build_tokio_peer.py CARGO CRATES SOURCE OUTPUT
"""

import pathlib
import shutil
import subprocess
import sys

cargo, crates = sys.argv[1:3]
source, output = (pathlib.Path(argument).resolve() for argument in sys.argv[3:])
crate = output.parent / f'{output.name}.crate'
crate.mkdir(exist_ok=True)
(crate / 'Cargo.toml').write_text(f'''[package]
name = "{source.stem}"
version = "0.0.0"
edition = "2018"

[[bin]]
name = "{source.stem}"
path = "{source}"

[dependencies]
tokio = {{ version = "1", features = ["rt", "sync"] }}
''')
subprocess.run([cargo, 'build', '--quiet', '--release', '--offline', '--config',
                'source.crates-io.replace-with="debian"', '--config',
                f'source.debian.directory="{crates}"'], cwd=crate, check=True)
shutil.copy(crate / 'target' / 'release' / source.stem, output)
