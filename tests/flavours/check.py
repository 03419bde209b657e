#!/usr/bin/env python3
"""Installs both flavours side by side, links them with one program, and tries the wrong mixes.

    check.py PROJECT FOLDER COMPILER...

FOLDER is used for the builds. It is the same in each run, so that a compiler cache has the objects.
"""

import os
import pathlib
import shutil
import subprocess
import sys

project, folder, *compiler = sys.argv[1:]
here = pathlib.Path(__file__).resolve().parent
FLAVOURS = {'standalone': 'leat-runtime', 'boost': 'leat-boost-runtime'}
SMALL = ['-Druntime_only=true', '-Dtests=disabled', '-Ddefault_library=both', '--optimization=0', '-Dcpp_args=-g0',
         '--unity=on', '--unity-size=20']
CMAKE = '''cmake_minimum_required(VERSION 3.20)
project(both LANGUAGES CXX)
find_package(leat CONFIG REQUIRED COMPONENTS {form} standalone)
find_package(leat CONFIG REQUIRED COMPONENTS {form} boost runtime)
foreach(flavour IN ITEMS standalone boost)
  add_library(${{flavour}} STATIC {here}/part.cpp)
  target_compile_definitions(${{flavour}} PRIVATE PART=run_${{flavour}} THROW=throw_${{flavour}} CATCH=catch_${{flavour}})
endforeach()
target_link_libraries(standalone PRIVATE leat::runtime)
target_link_libraries(boost PRIVATE leat::boost)
add_executable(both {here}/both.cpp)
target_compile_features(both PRIVATE cxx_std_20)
target_link_libraries(both PRIVATE standalone boost)
find_package(leat CONFIG QUIET COMPONENTS standalone boost)
if(leat_FOUND)
  message(FATAL_ERROR "a call with both components was accepted")
endif()
'''
found = []


def run(*command, **options):
    print('+', *command, flush=True)
    return subprocess.run([str(word) for word in command], text=True, stdin=subprocess.DEVNULL, **options)


def flags(kind, *packages):
    return run('pkg-config', kind, *packages, check=True, stdout=subprocess.PIPE).stdout.split()


def compile_part(root, flavour, with_flags):
    output = root / f'{flavour}.o'
    run(*compiler, '-std=c++20', '-c', here / 'part.cpp', '-o', output, *with_flags, f'-DPART=run_{flavour}',
        f'-DTHROW=throw_{flavour}', f'-DCATCH=catch_{flavour}', check=True)
    return output


def expect_failure(what, message, *command):
    done = run(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, 'LC_ALL': 'C'})
    if done.returncode == 0:
        found.append(f'{what}: accepted')
    elif message not in done.stdout:
        found.append(f'{what}: no "{message}" in:\n{done.stdout[:2000]}')


def check_programs(root, prefix):
    parts = [compile_part(root, flavour, flags('--cflags', name)) for flavour, name in FLAVOURS.items()]
    main = root / 'both.o'
    run(*compiler, '-std=c++20', '-c', here / 'both.cpp', '-o', main, check=True)
    archives = [next(prefix.rglob(f'lib{name}.a')) for name in FLAVOURS.values()]
    orders = {'shared': flags('--libs', *FLAVOURS.values()),
              'shared, Boost first': flags('--libs', *reversed(FLAVOURS.values())),
              'static': [*archives, '-pthread'], 'static, Boost first': [*reversed(archives), '-pthread']}
    for name, libraries in orders.items():
        run(*compiler, main, *parts, '-o', root / 'both', *libraries, check=True)
        done = run(root / 'both', stdout=subprocess.PIPE)
        if done.returncode != 0:
            found.append(f'{name}: status {done.returncode}: {done.stdout}')
    # The wrong mixes.
    alone = root / 'alone.cpp'
    alone.write_text('#include <leat/leat.hpp>\nleat::task<> none() { co_return; }\nint main() { leat::block_on(none()); }\n')
    of = {flavour: (flags('--cflags', name), flags('--libs', name)) for flavour, name in FLAVOURS.items()}
    build = [*compiler, '-std=c++20', '-O0', alone, '-o', root / 'alone']
    expect_failure('flags of both', 'use the flags of leat.pc or leat-boost.pc', *build, *of['standalone'][0],
                   *of['boost'][0])
    expect_failure('a program without flags and the Boost library', 'flavour_standalone_asio', *build,
                   f'-I{prefix / "include"}', '-DASIO_STANDALONE', *of['boost'][1])
    expect_failure('a standalone program and the Boost library', 'flavour_standalone_asio', *build,
                   *of['standalone'][0], *of['boost'][1])
    expect_failure('a Boost program and the standalone library', 'flavour_boost_asio', *build, *of['boost'][0],
                   *of['standalone'][1])
    old = root / 'old' / 'boost'
    old.mkdir(parents=True)
    (old / 'version.hpp').write_text('#define BOOST_VERSION 107400\n')
    expect_failure('an old Boost', 'install 1.81 or later', *build, f'-I{old.parent}', *of['boost'][0])
    expect_failure('an old Boost in meson setup', 'Boost 1.81 or later is required, found 1.74', 'env',
                   'CXX=' + compiler[-1], 'meson', 'setup', root / 'refused', project, '-Dasio=boost',
                   f'-Dcpp_args=-I{old.parent}')
    foreign = root / 'foreign.cpp'
    foreign.write_text('#include <leat/leat.hpp>\n#include <boost/asio/steady_timer.hpp>\n'
                       'leat::task<> f(boost::asio::steady_timer& t) { co_await t.async_wait(leat::use_task); }\n')
    expect_failure('an operation of the other Asio', 'error: ', *compiler, '-std=c++20', '-fsyntax-only', foreign,
                   *of['standalone'][0])


def check_cmake(root, prefix):
    for form in ('static', 'shared'):
        work = root / f'cmake-{form}'
        work.mkdir()
        (work / 'CMakeLists.txt').write_text(CMAKE.format(form=form, here=here))
        run('cmake', '-G', 'Ninja', '-S', work, '-B', work / 'build', f'-DCMAKE_CXX_COMPILER={compiler[-1]}',
            f'-DCMAKE_CXX_COMPILER_LAUNCHER={";".join(compiler[:-1])}', f'-DCMAKE_PREFIX_PATH={prefix}', check=True)
        run('cmake', '--build', work / 'build', check=True)
        run(work / 'build' / 'both', check=True)


root = pathlib.Path(folder)
shutil.rmtree(root, ignore_errors=True)
root.mkdir(parents=True)
for flavour in FLAVOURS:
    build = root / f'build-{flavour}'
    run('meson', 'setup', build, project, f'-Dasio={flavour}', *SMALL, check=True, stdout=subprocess.DEVNULL,
        env={**os.environ, 'CXX': ' '.join(compiler)})
    run('meson', 'compile', '-C', build, '-j', '2', check=True, stdout=subprocess.DEVNULL)
    run('meson', 'install', '-C', build, '--no-rebuild', '--destdir', root / 'installed', check=True,
        stdout=subprocess.DEVNULL)
package = next((root / 'installed').rglob('leat.pc'))
prefix = next(p for p in package.parents if (p / 'include' / 'leat').is_dir())
os.environ['PKG_CONFIG_PATH'] = str(package.parent)
os.environ['LD_LIBRARY_PATH'] = str(package.parents[1])
check_programs(root, prefix)
check_cmake(root, prefix)

print('\n'.join(found))
sys.exit(1 if found else 0)
