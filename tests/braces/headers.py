"""What the public headers declare: structs of options, and the functions that take them."""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'checks'))
from public_headers import is_public  # noqa: E402


@dataclass
class Struct:
    name: str  # in its namespace
    space: str  # that namespace
    header: str
    template: bool = False
    members: list = field(default_factory=list)  # (type, name)
    aliases: dict = field(default_factory=dict)


@dataclass
class Function:
    name: str  # in its namespace
    header: str
    result: str
    parameters: list  # (type, name)


def without_comments(text):
    text = re.sub(r'//[^\n]*', '', text)
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    text = re.sub(r'^LEAT_\w+$', '', text, flags=re.M)  # macros around a namespace
    text = re.sub(r'^namespace LEAT\b', 'namespace leat', text, flags=re.M)
    text = re.sub(r'^[ \t]*#[^\n]*(\\\n[^\n]*)*', '', text, flags=re.M)
    return re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', '0', text)


def split(text, separator):
    """The parts of a text between separators that are in no brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in '([{':
            depth += 1
        elif c in ')]}':
            depth -= 1
        elif c == '<' and re.search(r'[\w>]\s*$', text[:i]) and not text[i:].startswith('<<'):
            depth += 1
        elif c == '>' and text[i - 1:i] not in ('-', '=') and depth > 0:
            depth -= 1
        elif c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in parts + [text[start:]] if p.strip()]


def closing(text, at):
    """Where the bracket at `at` closes."""
    pairs = {'(': ')', '{': '}'}
    opens, closes, depth = text[at], pairs[text[at]], 0
    for i in range(at, len(text)):
        if text[i] == opens:
            depth += 1
        elif text[i] == closes:
            depth -= 1
            if depth == 0:
                return i
    raise ValueError('no end of ' + text[at:at + 60])


def typed(declaration):
    """(type, name) of a parameter or member, without its default."""
    declaration = split(declaration, '=')[0]
    m = re.fullmatch(r'(.*?[\s&*>])(\w+)', re.sub(r'\s+', ' ', declaration).strip())
    return (m.group(1).strip(), m.group(2)) if m else (declaration.strip(), '')


def read_scope(text, space, scope, header, structs, functions, hidden=False):
    """Reads the declarations of a namespace or class, whose body is `text`."""
    at = 0
    while at < len(text):
        m = re.compile(r'[^;{}]*').match(text, at)
        head, at = m.group(), m.end()
        if at >= len(text):
            break
        for access in re.findall(r'\b(public|private|protected)\s*:(?!:)', head):
            hidden = access != 'public'
        head = re.sub(r'\b(public|private|protected)\s*:(?!:)', '', head).strip()
        if text[at] == '}':
            at += 1
            continue
        # A default argument in braces belongs to the declaration.
        while text[at] == '{' and head.count('(') > head.count(')'):
            end = closing(text, at)
            head += text[at:end + 1]
            m = re.compile(r'[^;{}]*').match(text, end + 1)
            head, at = head + m.group(), m.end()
        body = None
        if text[at] == '{':
            end = closing(text, at)
            body, at = text[at + 1:end], end
        at += 1
        read_declaration(' '.join(head.split()), body, space, scope, header, structs, functions, hidden)


def read_declaration(head, body, space, scope, header, structs, functions, hidden):
    m = re.match(r'(?:inline )?namespace ([\w:]*)', head)
    if m:
        if body is not None and 'detail' not in m.group(1):
            read_scope(body, space + m.group(1) + '::', scope, header, structs, functions)
        return
    template = head.startswith('template')
    plain = re.sub(r'^template <(?:[^<>]|<[^<>]*>)*>\s*', '', head)
    m = re.match(r'(struct|class) (?:\[\[\w+\]\] )?(\w+)', plain)
    if m and body is not None:
        if hidden:
            return
        qualified = scope + m.group(2)
        if m.group(1) == 'struct' and ':' not in plain:
            structs[qualified] = read_struct(qualified, space, body, header, template)
        read_scope(body, space, qualified + '::', header, structs, functions, m.group(1) == 'class')
        return
    m = re.match(r'((?:[^()]|\([^()]*\))*?)\b(\w+)\(', plain)
    if not m or hidden or '=' in m.group(1) or not m.group(1).strip():
        return
    end = closing(plain, m.end() - 1)
    result = re.sub(r'\[\[\w+\]\]|\b(static|inline|constexpr|explicit|virtual|friend)\b', '',
                    m.group(1)).strip()
    result = re.sub(r'^requires.*[)>]\s*(?=\w)', '', result) if 'requires' in result else result
    if result:
        parameters = [typed(p) for p in split(plain[m.end():end], ',')]
        functions.append(Function(scope + m.group(2), header, result, parameters))


def read_struct(name, space, body, header, template):
    s = Struct(name, space, header, template)
    for part in split(re.sub(r'\}(?!\s*(?:[;,)]|<<))', '};', body), ';'):
        m = re.match(r'using (\w+) = (.*)', part, re.S)
        if m:
            s.aliases[m.group(1)] = ' '.join(m.group(2).split())
        declaration = split(part, '=')[0]
        if re.match(r'(using|friend|static|template|enum|struct|class|\[\[)\b', part):
            continue
        bare = re.sub(r'<.*>', '', declaration)
        if '(' in bare and not re.search(r'\(\*\w+\)', bare):
            continue
        if ' ' in declaration:
            s.members.append(typed(declaration))
    return s


def read(include):
    """All structs, by name, and functions of the public headers below a folder."""
    structs, functions = {}, []
    for path in sorted(Path(include).rglob('*.hpp')):
        if not is_public(path):
            continue
        header = path.relative_to(Path(include)).as_posix()
        read_scope(without_comments(path.read_text()), '', '', header, structs, functions)
    return structs, functions
