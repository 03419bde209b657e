"""The gdb command leat-dump: prints where every task is, as leat::dump() does.

    (gdb) source leat.py
    (gdb) leat-dump

Reads memory only and calls nothing, so it works on a core and on a process that is stopped anywhere.
It needs the library's debug information (-g), at any optimisation. What it cannot know:

- In a core it does not know the time: durations are those at the last turn of any scheduler, "at
  least".
- Kinds of waits that are not leat's own are told by their verb and the name of their kind.
"""

import re
import time

import gdb

UNBOUNDED = (1 << 64) - 1
NO_DEADLINE = (1 << 63) - 1
FROM_NEXT_BYTE = (1 << 64) - 1


# ---- Values, read as bytes where that needs no debug information of the standard library.

def unsigned(address, size=8):
    data = gdb.selected_inferior().read_memory(address, size)
    return int.from_bytes(bytes(data), 'little')


def text_at(address, length):
    if length == 0:
        return ''
    data = gdb.selected_inferior().read_memory(address, length)
    return bytes(data).decode('utf-8', 'backslashreplace')


def c_string(address):
    return gdb.Value(address).cast(gdb.lookup_type('char').pointer()).string(
        'utf-8', 'backslashreplace') if address else ''


def owned_string(value):
    """Of a `char*`, or of an object that holds only one."""
    return c_string(unsigned(int(value.address)))


def std_string(value):
    at = int(value.address)
    return text_at(unsigned(at), unsigned(at + 8))


def string_view(value):
    at = int(value.address)
    return text_at(unsigned(at + 8), unsigned(at))


def boolean(value):
    """Of a bool or an atomic one."""
    return unsigned(int(value.address), 1) != 0


def number(value):
    """Of a field of 8 bytes: a size, a time point, a duration."""
    return unsigned(int(value.address))


def signed(value):
    n = number(value)
    return n - (1 << 64) if n >= 1 << 63 else n


def in_flavour(find, name):
    """What `find` returns for a name of leat, or for the same name in the namespace for Boost.Asio."""
    try:
        return find(name)
    except gdb.error:
        return find(name.replace('leat::', 'leat::boost_asio::', 1))


def find_type(name):
    return in_flavour(gdb.lookup_type, name)


def as_type(value, name):
    """What a pointer or a reference points to, as another type."""
    if value.type.code == gdb.TYPE_CODE_REF:
        value = value.referenced_value().address
    return value.cast(find_type(name).pointer()).dereference()


def referred(value):
    return value.referenced_value() if value.type.code == gdb.TYPE_CODE_REF else value


def symbol_at(address):
    text = gdb.execute(f'info symbol {int(address):#x}', to_string=True)
    return re.sub(r' in section .*', '', text, flags=re.S).strip()


def follow(first, link):
    """The elements of an intrusive list."""
    while int(first):
        yield first.dereference()
        first = first.dereference()[link]


# ---- Source locations and names, as lib/async/dump/source_location_text.cpp has them.

class Place:
    def __init__(self, value):
        impl = unsigned(int(value.address))
        self.path = c_string(unsigned(impl)) if impl else ''
        self.function = c_string(unsigned(impl + 8)) if impl else ''
        self.line = unsigned(impl + 16, 4) if impl else 0

    def same_as(self, other):
        return other is not None and (self.line, self.path) == (other.line, other.path)

    def __str__(self):
        function = self.function
        for unnamed in ('{anonymous}::', '(anonymous namespace)::'):
            function = function.replace(unnamed, '')
        function = function.split('(')[0]
        depth = 0
        for i in range(len(function) - 1, -1, -1):
            depth += {'>': 1, '<': -1}.get(function[i], 0)
            if function[i] == ' ' and depth <= 0:
                function = function[i + 1:]
                break
        place = f'{self.path.rsplit("/", 1)[-1]}:{self.line}'
        return f'{place} in {function}' if function else place


def task_id(value):
    return int(value['scope']), int(value['index'])


def count(n, what):
    return f'{n} {what}' if n == 1 else f'{n} {what}s'


# ---- Time.

class Clock:
    """What the schedulers would answer if they were asked now."""

    def __init__(self, schedulers):
        connection = getattr(gdb.selected_inferior(), 'connection', None)
        self.live = connection is not None and connection.type == 'native'
        self.newest = max([signed(h['turn_time_']) for h in schedulers.values()], default=0)

    def now(self, scheduler):
        kind = scheduler.dynamic_type
        if kind.name and kind.name.endswith('virtual_scheduler'):
            return signed(scheduler.cast(kind)['now_'])
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) if self.live else self.newest

    def span(self, scheduler, since):
        """In milliseconds, and whether it may be longer."""
        now = self.now(scheduler) if scheduler is not None else self.now_of_threads()
        return max(now - since, 0) // 1_000_000

    def now_of_threads(self):
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) if self.live else self.newest

    @property
    def at_least(self):
        return '' if self.live else 'at least '


# ---- The object of each kind of wait, as its describe() prints it.

def queue_words(q):
    """As queue_base::describe() has them."""
    lock = q['mutex_']
    size = number(lock['back_']['entered']) - number(lock['front_']['left'])
    fill = str(size)
    if number(q['capacity_']) != UNBOUNDED:
        fill += f' of {number(q["capacity_"])}'
    if boolean(q['weighed_']):
        fill += f', weight {number(q["limits_"]["weight_"])}'
        if number(q['limits_']['max_weight_']) != UNBOUNDED:
            fill += f' of {number(q["limits_"]["max_weight_"])}'
    provisional = len(list(follow(q['provisional_pops_']['first_'], 'following_')))
    if provisional:
        fill += f', {provisional} provisional'
    if boolean(q['closed_']):
        fill += ', closed'
    if number(q['refused_']):
        fill += f', {number(q["refused_"])} refused'
    words = f"queue '{std_string(q['name_'])}' ({fill})"
    if int(q['limits_']['budget_']):
        b = q['limits_']['budget_'].dereference()
        words += f", budget '{std_string(b['name_'])}' ({number(b['used_'])} of {number(b['limit_'])})"
    return words


def is_selected(waiter):
    return unsigned(int(waiter['flags_'].address), 1) & 1 != 0


def describe_queue(wait, _now):
    w = as_type(wait.address, 'leat::detail::queue_waiter')
    q = as_type(w['queue_'], 'leat::queue_base')
    words = queue_words(q)
    if verb_of(wait) == 'pop from' and number(q['unstarted_runners_']) > 0:
        words += ', with a queue_runner that was never started'
    if number(w['count_']) > 1:
        words += f', {number(w["moved_"])} of {number(w["count_"])} done'
    return words


def scope_of(wait):
    return as_type(as_type(wait.address, 'leat::condition_wait')['scope_'], 'leat::task_scope')


def describe_scope(wait, _now):
    scope = scope_of(wait)
    name = owned_string(scope['name_'])
    return string_view(scope['kind_']) + (f" '{name}'" if name else '')


def describe_join(wait, now):
    return f'{describe_scope(wait, now)}, {count(number(scope_of(wait)["users_"]) % 2**32, "task")} live'


def is_set(timer):
    return number(timer['index_']) != UNBOUNDED


def milliseconds_left(timer, now):
    return max(signed(timer['when_']) - now, 0) // 1_000_000


def decimal_milliseconds(nanoseconds):
    text = f'{nanoseconds // 1_000_000}.{nanoseconds % 1_000_000:06}'
    return text.rstrip('0').rstrip('.')


def describe_sleep(wait, now):
    sleep = as_type(wait.address, 'leat::sleep_wait')
    timer = sleep['alarm_']
    if is_set(timer):
        return f'for another {milliseconds_left(timer, now)} ms'
    after, end = signed(sleep['end_']['after']), signed(timer['when_'])
    length = after if after >= 0 else max(end - signed(wait['since_']), 0)
    early = boolean(sleep['cancelled_']) and end > now
    return (f'of {decimal_milliseconds(length)} ms'
            + (f', stopped {decimal_milliseconds(end - now)} ms early' if early else ''))


def offset_text(offset):
    return '' if offset == FROM_NEXT_BYTE else f' at offset {offset}'


def describe_file(wait, _now):
    w = as_type(wait.address, 'leat::file_operation')
    words = f"'{string_view(w['path_'])}'"
    size = number(w['completion_']['size'])
    if size > 0:
        words += f' ({size} bytes{offset_text(number(w["completion_"]["offset"]))})'
    return words


def describe_read(wait, _now):
    w = as_type(wait.address, 'leat::detail::read_wait')
    return f"'{string_view(w['path_'])}'{offset_text(number(w['offset_']))}"


def template_arguments(name):
    """'a<b, c<d, e>>' has 'b' and 'c<d, e>'."""
    arguments, depth, begin = [], 0, name.index('<') + 1
    for i, c in enumerate(name):
        if c in '<({':
            depth += 1
        elif c in '>)}':
            depth -= 1
        if (c == ',' and depth == 1) or (c == '>' and depth == 0):
            arguments.append(name[begin:i].strip())
            begin = i + 1
            if depth == 0:
                return arguments
    return arguments


def arguments_of(wait):
    """The branches of each argument of a select or a limit: those of an operation and its limits."""
    select_state = as_type(wait.address, 'leat::detail::select_state')
    functions = referred(select_state['functions_']).address
    name = symbol_at(functions).rsplit('::the_functions', 1)[0]
    branches = as_type(wait.address, name)['branches_']
    indexed = [branches[field] for field in branches.type.fields() if field.is_base_class]
    rest = [branch[branch.type.fields()[0]] for branch in indexed]
    arguments = []
    for argument in template_arguments(name):
        limited = re.match('leat::(boost_asio::)?detail::limited_awaiter<', argument)
        n = len(template_arguments(argument)) if limited else 1
        arguments.append(rest[:n])
        rest = rest[n:]
    return arguments


def end_kind(branch):
    """Of a branch that can limit another one."""
    names = [f.name for f in branch.type.fields()]
    if 'token_' in names:
        return 'stop'
    return 'timer' if 'end_' in names and 'select_state_' in names else None


def describe_argument(branches, now):
    operation = branches[0] if end_kind(branches[-1]) else branches[-1]
    words = describe_branch(operation, now)
    for end in branches:
        if end is operation:
            continue
        timer = as_type(end.address, 'leat::timer')
        if end_kind(end) == 'stop':
            words += ', until a stop'
        else:
            words += f', {milliseconds_left(timer, now)} ms left' if is_set(timer) else ', expired'
    return words


def describe_select(wait, now):
    arguments = arguments_of(wait)
    kinds = [end_kind(a[0]) if len(a) == 1 else None for a in arguments]
    words = []
    for argument, kind in zip(arguments, kinds):
        if not kind or kinds.count(kind) == 1:
            words.append(describe_argument(argument, now))
        elif (several := f'{kinds.count(kind)} {kind}s') not in words:
            words.append(several)
    return ', or '.join(words)


def describe_limit(wait, now):
    return describe_argument(arguments_of(wait)[0], now)


def describe_asio_operation(wait, now):
    kind = as_type(wait['kind_'], 'leat::detail::asio_operation_base::named_kind')
    operation = as_type(wait.address, 'leat::detail::asio_operation_base')
    words = string_view(kind['name'])
    if not boolean(operation['cancel_requested_']):
        return words
    ms = max(now - signed(operation['cancelled_at_']), 0) // 1_000_000
    return words + f', cancelled {ms // 1000}.{ms % 1000:03} s ago, not ended yet'


def describe_branch(branch, now):
    names = [f.name for f in branch.type.fields()]
    if (kind := end_kind(branch)) == 'stop':
        return 'a stop'
    if kind == 'timer':
        timer = as_type(branch.address, 'leat::timer')
        return f'a timer ({milliseconds_left(timer, now)} ms left)' if is_set(timer) else 'a timer'
    if 'scope_with_result_' in names:
        return 'a task'
    if 'waiter_' in names:
        wait = branch['waiter_'].cast(find_type('leat::wait_operation'))
    else:
        wait = referred(branch['operation_']).cast(find_type('leat::wait_operation'))
    return f'{verb_of(wait)} {words_of(wait, now)}'


OUTCOMES = ['', 'completed', 'closed', 'cancelled', 'expired']  # of wait_outcome


def describe_primitive(wait, _now):
    w = as_type(wait.address, 'leat::synchronizer_waiter')
    if not boolean(w['linked_']['_M_base']['_M_i']):
        outcome = OUTCOMES[int(w['outcome_'])]
        return string_view(wait['kind_'].dereference()['object']) + (f', {outcome}' if outcome else '')
    o = as_type(w['object_'], 'leat::synchronizer')
    name = std_string(o['name_'])
    return o['registration_']['type_'].string() + (f" '{name}'" if name else '')


def describe_blocking_call(wait, _now):
    call = as_type(wait.address, 'leat::detail::blocking_call')
    return {1: '(waits for a thread)', 2: f"(running on thread {int(call['thread_'])})"}.get(
        int(call['state_']['_M_i']), '(ended)')


DESCRIBERS = [
    (re.compile(r'queue_waiter::(push|pop)_kind'), describe_queue),
    (re.compile(r'condition_wait::join_kind'), describe_join),
    (re.compile(r'condition_wait::stop_kind'), describe_scope),
    (re.compile(r'sleep_wait::sleep_kind'), describe_sleep),
    (re.compile(r'file_operation::file_kind'), describe_file),
    (re.compile(r'read_wait::read_kind'), describe_read),
    (re.compile(r'select_state::select_kind'), describe_select),
    (re.compile(r'select_state::limit_kind'), describe_limit),
    (re.compile(r'asio_operation<'), describe_asio_operation),
    (re.compile(r'::wait_kind|shared_mutex::|watch_base::|broadcast_base::|oneshot_base::'), describe_primitive),
    (re.compile(r'foreign_kind'), lambda wait, now: 'a foreign operation'),
    (re.compile(r'call_kind'), describe_blocking_call),
    (re.compile(r'yield_kind'), lambda wait, now: ''),
]


def verb_of(wait):
    return string_view(wait['kind_'].dereference()['verb'])


def words_of(wait, now):
    kind = symbol_at(wait['kind_'])
    for pattern, describe in DESCRIBERS:
        if pattern.search(kind):
            try:
                return describe(wait, now)
            except gdb.error:  # no debug information
                return f'(of {kind})'
    return f'(of {kind})'


# ---- Tasks that could end a wait.

class Partners:
    def __init__(self, wait):
        self.scope, self.any_of, self.certain = 0, [], False
        kind = symbol_at(wait['kind_'])
        if 'queue_waiter::' in kind:
            w = as_type(wait.address, 'leat::detail::queue_waiter')
            if boolean(w['linked_']):
                q = as_type(w['queue_'], 'leat::queue_base')
                self.any_of = self.remembered(q['popping_' if '::push_' in kind else 'pushing_'])
        elif 'condition_wait::' in kind:
            w = as_type(wait.address, 'leat::condition_wait')
            idle = 1
            conditions = unsigned(int(w['conditions_'].address), 4)
            if boolean(w['linked_']) and conditions & idle:
                self.scope = int(scope_of(wait)['number_'])
                self.certain = conditions == idle and signed(w['alarm_']['when_']) == NO_DEADLINE

    @staticmethod
    def remembered(recent):
        at = int(recent['tasks_'].address)
        return [(unsigned(at + 16 * i), unsigned(at + 16 * i + 8))
                for i in range(min(int(recent['noted_']), 8))]


# ---- The positions of all tasks.

class Waiting:
    def __init__(self, wait, now, milliseconds, at_least):
        self.operation = f'{verb_of(wait)} {words_of(wait, now)}'
        self.at = Place(wait['where_'])
        self.partners = Partners(wait)
        self.lasted = f'for {at_least}{milliseconds // 1000}.{milliseconds % 1000:03} s'

    def __str__(self):
        return f'{self.operation}, at {self.at}, {self.lasted}'


NAME_FLAG = 1  # task_context::name_flag
LOCALS_FLAG = 2  # task_context::locals_flag


class Task:
    def __init__(self, context):
        self.context = context
        index = int(context['index_'])
        self.id = (int(context['scope_'].dereference()['number_']), index >> 2)
        self.scheduler = context['scheduler_'].dereference()
        # A pointer to the values of task-locals, if there are any, comes before the name.
        name_at = int(context.address) + context.type.sizeof + (8 if index & LOCALS_FLAG else 0)
        self.name = c_string(name_at) if index & NAME_FLAG else \
            f'task spawned at {Place(context["spawned_at_"])}'
        self.waiting = None

    def look(self, clock):
        lines = []
        told = None
        # The item starts the task; afterwards it shows the object on which the task waits.
        if not int(self.context['run_']) and int(self.context['next_']):
            wait = as_type(self.context['next_'], 'leat::wait_operation')
            self.waiting = Waiting(wait, clock.now(self.scheduler),
                                   clock.span(self.scheduler, signed(wait['since_'])), clock.at_least)
            told = self.waiting.at
            lines.append(str(self.waiting))
        else:
            lines.append('running or ready to run')
        promise = self.context['innermost_']
        while int(promise) and int(promise['awaiter_link_']):
            where = Place(promise['awaiter_link_']['where'])
            if where.line and not where.same_as(told):
                lines.append(f'awaited at {where}')
                told = where
            promise = promise['awaiter_link_']['parent']
        self.lines = lines


class Thread:
    def __init__(self, place):
        self.place = place
        self.id = task_id(place['id_'])
        self.name = std_string(place['name_'])
        self.started_elsewhere = boolean(place['started_elsewhere_'])
        self.waiting = None

    def look(self, clock):
        if int(self.place['blocked_on_']):
            wait = self.place['blocked_on_'].dereference()
            self.waiting = Waiting(wait, clock.now_of_threads(),
                                   clock.span(None, signed(self.place['since_'])), clock.at_least)

    def __str__(self):
        if self.waiting:
            return str(self.waiting)
        return 'not known: it was started elsewhere' if self.started_elsewhere else 'running'


class Scope:
    def __init__(self, value):
        self.number = int(value['number_'])
        self.parent = task_id(value['maker_'])
        self.stopped = boolean(value['stopped_'])
        self.title = string_view(value['kind_'])
        if name := owned_string(value['name_']):
            self.title += f" '{name}'"
        self.tasks = [Task(c) for c in follow(value['children_'], 'following_')]
        self.threads = []


class Queue:
    def __init__(self, value):
        self.value = value

    def operations(self):
        marker = int(self.value['close_marker_'].address)
        for line in ('pushers_', 'poppers_'):
            for w in follow(self.value[line]['first_'], 'following_'):
                if int(w.address) != marker:
                    yield as_type(w.address, 'leat::detail::queue_waiter')

    def lines(self, process):
        operations = list(self.operations())
        title = queue_words(self.value)
        if boolean(self.value['close_pending_']):
            title += ', a close waits for the pushes'
        if operations:
            title += f', {count(len(operations), "operation")} wait{"s"[len(operations) > 1:]}'
        yield title
        for w in operations:
            is_push = unsigned(int(w['role_'].address), 1) < 2
            text = f'  {"push" if is_push else "pop"} of {self.waiter(w, process)}, at '
            text += str(Place(w['where_']))
            if number(w['count_']) > 1:
                text += f', {number(w["moved_"])} of {number(w["count_"])} done'
            if is_selected(w):
                text += ', in a select'
            yield text

    @staticmethod
    def waiter(w, process):
        selected = is_selected(w)
        context = w['context_']
        if selected:
            link = as_type(w['continuation_'], 'leat::detail::select_link')
            context = referred(link['state'])['context_']
        if int(context):
            return next((t.name for t in process.tasks()
                         if int(t.context.address) == int(context)), 'a task')
        run = symbol_at(int(w['run_']))
        if selected or 'wait_operation::resume' in run:
            return 'a coroutine'
        if 'waiter::wake_thread' not in run:
            return 'an Asio handler'
        base = int(w.address.cast(find_type('leat::wait_operation').pointer()))
        return next((f'thread {t.name}' for t in process.threads()
                     if int(t.place['blocked_on_']) == base), 'a thread')


def scopes_below(root):
    """A scope and its descendants that are in no other list; see scope_registry::lock_all."""
    remaining = [root]
    while remaining:
        scope = remaining.pop()
        yield scope
        remaining += [c for c in follow(scope['first_child_'], 'following_sibling_')
                      if int(c['shard_']) == int(root['shard_'])]


class Process:
    def __init__(self):
        shards = in_flavour(gdb.parse_and_eval, 'leat::detail::scope_registry::shards_')['_M_elems']
        first, last = shards.type.strip_typedefs().range()
        scopes = [Scope(s) for i in range(first, last + 1)
                  for root in follow(shards[i]['newest'], 'following_scope_')
                  for s in scopes_below(root)]
        self.scopes = sorted(scopes, key=lambda s: s.number, reverse=True)
        schedulers = {}
        for task in self.tasks():
            schedulers.setdefault(int(task.scheduler.address), task.scheduler)
        by_number = {s.number: s for s in self.scopes}
        newest = in_flavour(gdb.parse_and_eval, 'leat::detail::thread_registry::newest_')
        for place in follow(newest, 'following_'):
            thread = Thread(place)
            if thread.id[0] in by_number:
                by_number[thread.id[0]].threads.insert(0, thread)
        newest = in_flavour(gdb.parse_and_eval, 'leat::detail::live_objects::newest_')
        self.queues = [Queue(as_type(o['object_'], 'leat::queue_base'))
                       for o in follow(newest, 'following_') if o['type_'].string() == 'queue'][::-1]
        clock = Clock(schedulers)
        for who in self.tasks() + self.threads():
            who.look(clock)

    def tasks(self):
        return [t for s in self.scopes for t in s.tasks]

    def threads(self):
        return [t for s in self.scopes for t in s.threads]

    def print(self):
        living = {t.id for t in self.tasks() + self.threads()}
        for scope in [s for s in self.scopes if s.parent == (0, 0)]:
            self.print_scope(scope, '')
        for scope in [s for s in self.scopes if s.parent != (0, 0) and s.parent not in living]:
            self.print_scope(scope, '')
        for queue in self.queues:
            for line in queue.lines(self):
                print(line)
        for cycle in self.cycles():
            print(cycle)

    def print_scope(self, scope, indent):
        threads = f', {count(len(scope.threads), "thread")}' if scope.threads else ''
        stopped = ', stop requested' if scope.stopped else ''
        print(f'{indent}{scope.title}, {count(len(scope.tasks), "task")}{threads}{stopped}')
        for t in scope.threads:
            print(f'{indent}  thread {t.name}: {t}')
            self.print_scopes_of(t, indent + '    ')
        for t in scope.tasks:
            print(f'{indent}  {t.name}: ' + f'\n{indent}    '.join(t.lines))
            self.print_scopes_of(t, indent + '    ')

    def print_scopes_of(self, maker, indent):
        for made in self.scopes:
            if made.parent == maker.id:
                self.print_scope(made, indent)

    def cycles(self):
        """As lib/async/dump/wait_cycles.cpp finds them."""
        nodes = [n for s in self.scopes for n in s.tasks + s.threads]
        waits_for, stuck = {}, set()
        for n in nodes:
            partners = n.waiting.partners if n.waiting else None
            if partners is None or (0, 0) in partners.any_of:
                continue
            found = [m for m in nodes if partners.scope and m.id[0] == partners.scope]
            found += [m for p in partners.any_of for m in nodes if m.id == p]
            waits_for[n] = found
            if found:
                stuck.add(n)
        while free := {n for n in stuck if not (any if n.waiting.partners.scope else all)(
                m in stuck for m in waits_for[n])}:
            stuck -= free
        visited = {}
        for start in nodes:
            at = start
            while at in stuck and at not in visited:
                visited[at] = start
                at = next(m for m in waits_for[at] if m in stuck)
            if at in stuck and visited[at] is start:
                visited[at] = None  # printed
                cycle = [at]
                while (following := next(m for m in waits_for[cycle[-1]] if m in stuck)) is not at:
                    cycle.append(following)
                yield self.sentence(cycle)

    @staticmethod
    def sentence(cycle):
        probably = '' if all(n.waiting.partners.certain for n in cycle) else 'probably '
        what = f'this {probably}waits for itself' if len(cycle) == 1 else \
            f'these {probably}wait for each other'
        steps = ''.join(f"'{n.name}' ({n.waiting.operation}) -> " for n in cycle)
        return f"{what}: {steps}'{cycle[0].name}'"


def check_debug_information():
    """Fails with the remedy if the debugger does not know the types of leat."""
    try:
        find_type('leat::detail::scope_registry')
    except gdb.error:
        raise gdb.GdbError(
            'leat-dump: this program has no debug information of leat: build leat with it '
            '(meson setup -Ddebug=true, which works with --buildtype=release too), and do not '
            'strip the program; or call leat::dump() in the program') from None


class Dump(gdb.Command):
    """Prints where every task of leat is: what it waits for, since when, and who awaits it."""

    def __init__(self):
        super().__init__('leat-dump', gdb.COMMAND_STACK)

    def invoke(self, _argument, _from_tty):
        language = gdb.parameter('language')
        gdb.execute('set language c++', to_string=True)
        try:
            check_debug_information()
            Process().print()
        finally:
            gdb.execute(f'set language {language}', to_string=True)


Dump()
