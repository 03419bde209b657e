#!/usr/bin/env python3
"""Checks that option structs list the members that they share in one order, because designated initialisers must follow the
order. `seed` is left out: it follows the member that it seeds."""

import itertools
import pathlib
import sys

from tables.options import read_structs


def main():
    structs = read_structs(pathlib.Path(sys.argv[1]))
    order = {name: [row[0] for row in rows if row[0] != 'seed'] for name, (_, _, rows) in structs.items()}
    bad = 0
    for (one, first), (other, second) in itertools.combinations(order.items(), 2):
        shared = [m for m in first if m in second]
        for a, b in itertools.combinations(shared, 2):
            if second.index(a) > second.index(b):
                print(f"{one} has '{a}' before '{b}', and {other} after it: use one order")
                bad = 1
    return bad


sys.exit(main())
