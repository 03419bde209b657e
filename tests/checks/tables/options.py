"""The options of the public headers, for docs/limits.md: of each struct the members, their types, their defaults and the first
sentence of their comments. The name of a table is `HEADER#STRUCT`, with a header relative to include/leat.

In a table row that begins with [`STRUCT::MEMBER`](#STRUCT), the second cell is the default of the member.
"""

import functools
import re

from public_headers import public_headers

IS_OPTIONS = re.compile(r'_(options|limits|policy)$')
ALSO = ['fault_rates', 'file_source', 'network_faults', 'restore_source', 'step_interval']
STRUCT = re.compile(r'((?:^///[^\n]*\n)+)(?:^template <[^\n]*>\n)?^struct (\w+) \{\n(.*?)^\};', re.M | re.S)
SENTENCE = re.compile(r'^.*?\.(?= |$)')
ROW = re.compile(r'^(\| \[`(\w+)::(\w+)`\]\(#\2\) \|)[^|]*\|', re.M)
ENUM = re.compile(r'^enum class (\w+)[^{;]*\{(.*?)\};', re.M | re.S)
SIZES = {10: 'KiB', 20: 'MiB', 30: 'GiB', 40: 'TiB'}
UNITS = {'milliseconds': 'ms', 'seconds': 's', 'minutes': 'min', 'hours': 'h'}


def first_sentence(comment):
    text = ' '.join(comment.split())
    found = SENTENCE.match(text)
    text = (found[0] if found else text).rstrip('.:')
    return text.replace('|', '\\|')


def plain_type(text):
    text = text.replace('option_string', 'string').replace('option_list<', 'vector<').replace('option_function<', 'function<')
    while text != (text := re.sub(r'\bbraced<(.*)>', r'\1', text)):
        pass
    text = re.sub(r'\bstd::|\bleat::|\btypename ', '', text)
    return re.sub(r'\b(string) \w+(?=[,)])', r'\1', text)


def grouped(number):
    return f'{int(number.replace(chr(39), "")):,}'


def plain_default(type_name, default):
    if default is None:
        return 'required'
    default = ' '.join(default.split())
    if default in ('{}', '""', 'std::nullopt', 'nullptr'):
        if type_name.endswith('*') or 'shared_ptr' in type_name.split('<')[0]:
            return 'null'
        if type_name.startswith('optional<'):
            return 'not set'
        if type_name.startswith(('string', 'vector<', 'function<')):
            return 'empty'
        return ''
    if found := re.fullmatch(r'\w[\w:]*\{(\d+)\} << (\d+)', default):
        return f'{found[1]} {SIZES[int(found[2])]}'
    if found := re.fullmatch(r"std::chrono::(\w+)\(([\d']+)\)", default):
        return f'{grouped(found[2])} {UNITS[found[1]]}'
    if re.fullmatch(r"-?[\d']+", default):
        return default if default.startswith('-') else grouped(default)
    return f'`{default.removeprefix("leat::").removeprefix(type_name + "::")}`'


def declarations(body):
    """The comment and the text of each declaration of a struct without functions."""
    comment, head = '', ''
    for line in body.split('\n'):
        line = line.strip()
        if not line:
            comment = ''
        elif line.startswith('///<'):
            yield_last[1] += ' ' + line[4:].strip()
        elif line.startswith('///'):
            comment += ' ' + line[3:].strip()
        elif not line.startswith('//'):
            code, _, after = line.partition('///<')
            head += ' ' + code.strip()
            if head.endswith(';'):
                yield_last = [head.strip()[:-1], after.strip() or comment]
                yield yield_last
                comment, head = '', ''


def members(body):
    # The list is complete before a sentence is taken: a comment may continue on the next line.
    for head, comment in list(declarations(body)):
        if '(' in head.split('=')[0].split('<')[0] or head.startswith(('using ', 'static ', 'friend ')):
            continue
        left, has_default, default = head.partition(' = ')
        type_name, _, name = left.rpartition(' ')
        type_name = plain_type(type_name)
        yield name, type_name, plain_default(type_name, default if has_default else None), first_sentence(comment)


def read_enums(headers):
    for header in headers:
        for name, body in ENUM.findall(header.read_text()):
            values = re.findall(r'^\s*(\w+)', re.sub(r'//[^\n]*', '', body).replace(',', '\n'), re.M)
            yield name, 'one of ' + ', '.join(f'`{v}`' for v in values)


@functools.cache
def read_structs(root):
    include, structs = root / 'include' / 'leat', {}
    headers = public_headers(root)
    enums = dict(read_enums(headers))
    for header in headers:
        for comment, name, body in STRUCT.findall(header.read_text()):
            if IS_OPTIONS.search(name) or name in ALSO:
                about = first_sentence(comment.replace('///', '').split('\n\n')[0])
                rows = [(*row[:3], row[3] or enums.get(row[1], '')) for row in members(body)]
                structs[name] = (header.relative_to(include).as_posix(), about, rows)
    return structs


def table(name, structs):
    header, about, rows = structs[name]
    yield f'### {name}\n\n{about}. Header: `leat/{header}`.\n\n| member | type | default | meaning |\n|---|---|---|---|\n'
    for member, type_name, default, meaning in rows:
        shown = f'[`{type_name}`](#{type_name})' if type_name in structs else f'`{type_name}`'
        yield f'| `{member}` | {shown} | {default} | {meaning} |\n'


def tables(root):
    structs = read_structs(root)
    return {f'{header}#{name}': ''.join(table(name, structs)) for name, (header, _, _) in structs.items()}


def rewrite(root, text):
    def default_of(match):
        _, _, rows = read_structs(root).get(match[2], ('', '', []))
        return f'{match[1]} {next((row[2] for row in rows if row[0] == match[3]), "there is no such member")} |'
    return ROW.sub(default_of, text)
