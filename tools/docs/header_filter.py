"""Turns a public header into the form that Doxygen is to read.

The comments of the headers are written to be read in an editor. This filter adds the markup:

- `Errors: ...`, `Cost: ...` and the other labels become headed paragraphs.
- Indented text becomes code, with highlighting if it is C++.
- `// ---- One item.` begins a group of members.
- A comment that serves several declarations is repeated before each of them.
- Constructors, operators, iterators and accessors without a comment get a standard one.
- Protected members become private, except in classes that a program derives from.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tests' / 'checks'))
from public_docs import ACCESSOR, ATTRIBUTE, BASES, TYPE, Checker  # noqa: E402

LABELS = ('Errors|Thread safety|Cost|TensorFlow|Cancellation|Precondition|Completion|Lifetime|Reference'
          '|Rejected|Result|Memory|Body|Deleted|Recommended capacity')
LABEL = re.compile(rf'^(\s*///) ({LABELS}): *(.*)$')
SENTENCE = re.compile(r'(?!(cancelled|unknown|aborted|unavailable|unimplemented|internal|unauthenticated)\b)[a-z]+(-[a-z]+)?[ ,;.:](?!:)')  # begins with a word, not with a name
TOPIC = re.compile(r'^(\s*///) ([A-Z][a-z]+(?: [a-z]+){0,3}): (.*)$')
SECTION = re.compile(r'^  // ---- (.*?)\.?$')
END_OF_SECTION = re.compile(r'^(\};| (public|private|protected):)')
# The first line of a member of a private class that is defined after its class.
DEFINITION = re.compile(r'^[a-z][\w:<>, *&]*\bdetail::\w+(<[\w, ]*>)?::\w+\(')
COMMENT = re.compile(r'^\s*///( |$)')

# The public base that stands for a private one.
PUBLIC_BASES = {'typed_queue_base': 'queue_base'}

STANDARD = (  # what a declaration without a comment says: a pattern of its code, the comment
    (r'~\w+\s*\(', 'Destructor.'),
    (r'\boperator\s*==', 'Compares for equality.'),
    (r'\boperator\s*<=>', 'Compares in lexicographic order.'),
    (r'\boperator\s*<<', 'Prints a readable form.'),
    (r'\boperator\s*=[^=].*delete', 'Not assignable.'),
    (r'\boperator\s*=[^=].*&&', 'Move assignment.'),
    (r'\boperator\s*=[^=]', 'Copy assignment.'),
    (r'\boperator\s*\+\+', 'Advances to the next element.'),
    (r'\boperator\s*(\*|->)', 'Access to the current element.'),
    (r'\boperator\s*\[\]', 'Access by index.'),
    (r'\boperator\s+(\w|::)+', 'Conversion.'),
    (r'\boperator\b', 'Operator.'),
    (r'\bbegin\s*\(', 'Iterator to the first element.'),
    (r'\bend\s*\(', 'Iterator past the last element.'),
    (r'\bempty\s*\(', 'Returns true if there are no elements.'),
    (r'\bsize\s*\(', 'Number of elements.'),
    (r'\bswap\s*\(', 'Exchanges two objects.'),
    (r'^using (value_type|iterator\w*|difference_type|pointer|reference|result_type)\b', 'Type of the elements, as in the standard library.'),
    (r'^using promise_type\b', 'Part of the coroutine protocol.'),
    (r'^using options_type\b', 'Type of the options.'),
    (r'^using batch_type\b', 'Type of a batch of records.'),
    (r'\boverride\b', 'Implements the function of the base class.'),
    (r'\bawait_(ready|suspend|resume|tuple)\s*\(', 'Part of the awaiter protocol.'),
)


class Reader(Checker):
    """Finds the declarations of a header, and the comment of each."""

    def __init__(self, path, name):
        super().__init__(path, name)
        self.insert = {}    # line: the comment to insert before it
        self.comments = {}  # last line of a declaration: its comment

    def declaration(self, head, first, last, within=''):
        head = ATTRIBUTE.sub('', head).strip()
        begin = first
        while begin > 0 and COMMENT.match(self.lines[begin - 1]):
            begin -= 1
        if begin < first:
            self.comments[last] = self.lines[begin:first]
        elif any('///<' in line for line in self.lines[first:last + 1]):
            pass
        else:
            text = self.standard(head, within)
            if not text and (accessor := ACCESSOR.search(self.lines[first].strip())):
                text = f'Returns the {accessor[1].replace("_", " ")}.'
            if first - 1 in self.comments and text in (None, 'Constructor.', 'Operator.'):
                self.comments[last] = self.insert[first] = self.comments[first - 1]
            elif text:
                self.insert[first] = [f'/// {text}']

    @staticmethod
    def standard(head, within):
        if within and not TYPE.match(head):
            match = re.search(rf'(^|[\s>~]){within}\s*\(', head)
            if match and '~' not in head:
                if re.search(rf'\(\s*const\s+{within}(<[^>]*>)?\s*&\s*\w*\s*\)', head):
                    return 'Not copyable.' if 'delete' in head else 'Copy constructor.'
                if re.search(rf'\(\s*{within}(<[^>]*>)?\s*&&\s*\w*\s*\)', head):
                    return 'Not movable.' if 'delete' in head else 'Move constructor.'
                return 'Default constructor.' if re.search(r'\(\s*\)', head) else 'Constructor.'
        for pattern, text in STANDARD:
            if re.search(pattern, head):
                return text
        return None


def headed(prefix, name, text):
    """A paragraph with a heading."""
    if name not in ('TensorFlow', 'Reference') and SENTENCE.match(text):
        text = text[0].upper() + text[1:]
    return [f'{prefix} @par {name}', f'{prefix} {text}']


def markup(lines):
    """The lines of one comment with labels as headed paragraphs and indented text as code."""
    out, i = [], 0
    while i < len(lines):
        line, after_blank = lines[i], i == 0 or lines[i - 1].strip() == '///'
        indented = line.strip().startswith('///     ')
        topic = LABEL.match(line) or (after_blank and TOPIC.match(line))
        if topic:
            out += headed(*topic.groups())
        elif indented and after_blank:
            prefix, last = line[:line.index('///') + 3], i
            while last + 1 < len(lines) and re.match(r'\s*///(     |$)', lines[last + 1]):
                last += 1
            while lines[last].strip() == '///':
                last -= 1
            block = [text[text.index('///') + 3:].removeprefix('     ') for text in lines[i:last + 1]]
            is_code = any(re.search(r'[;{]|leat::', text) for text in block)
            language = '.cpp' if is_code else '.unparsed'
            out += [f'{prefix} @code{{{language}}}', *(f'{prefix} {text}' for text in block), f'{prefix} @endcode']
            i = last
        else:
            out.append(re.sub(r'^(\s*///) +', r'\1 ', line) if indented else line)
        i += 1
    return out


def end_of(lines, first):
    """The last line of the declaration or namespace that begins in line `first`."""
    depth, code = 0, ''
    for i in range(first, len(lines)):
        code = lines[i].split('//')[0].rstrip()
        depth += sum(code.count(c) for c in '({') - sum(code.count(c) for c in ')}')
        if depth == 0 and code.endswith((';', '}')):
            return i
    return len(lines) - 1


def without_private_parts(lines):
    """The lines of a header with empty lines for private namespaces, friends and members of private classes."""
    lines = list(lines)
    for i, line in enumerate(lines):
        is_specialization = line == 'template <>' and lines[i + 1].startswith('struct std::')
        if not (line.startswith(('namespace detail {', 'template <> struct std::', 'class leat::asio::')) or is_specialization
                or DEFINITION.match(line) or re.match(' *friend ', line)):
            continue
        first = i
        while first > 0 and re.match(' *(///|template <)', lines[first - 1]):
            first -= 1
        last = end_of(lines, i)
        lines[first:last + 1] = [''] * (last + 1 - first)
    return lines


def filtered(path):
    """The text of header `path` with the markup added."""
    reader = Reader(path, path.name)
    reader.run()
    result, comment, hidden, open_group = ['/// @file'], [], None, False
    for i, line in enumerate(without_private_parts(reader.lines)):
        if i in reader.insert and line:
            indent = re.match(' *', line)[0]
            comment = [indent + added.strip() for added in reader.insert[i]]
        if COMMENT.match(line):
            comment.append(line)
            continue
        result += markup(comment)
        comment = []
        named = re.match(r'^(class|struct) (\w+)', line)
        hidden = named[2] not in BASES if named else hidden
        section = SECTION.match(line)
        if open_group and (section or END_OF_SECTION.match(line)):
            result.append('  /// @}')
            open_group = False
        if section:
            result += [f'  /// @name {section[1]}', '  /// @{']
            open_group = True
        if hidden and re.match(r' protected:', line):
            line = line.replace('protected', 'private')
        if line.startswith(('extern template', 'template <> struct std::')):
            line = '//' + line
        result.append(line)
    text = '\n'.join(result)
    text = re.sub(r'\bdocs/([\w/-]+)\.md\b', lambda m: f'<a href="{m[1].replace("/", "_")}.html">{m[0]}</a>', text)
    for base, public in PUBLIC_BASES.items():
        text = text.replace(f'public detail::{base}<', f'public {public}<').replace(f'public {public}<T, Order, Weigh>', f'public {public}')
    text = re.sub(r':\s*(public )?detail::[\w:]+(<[^{};]*?>)?,\s*(?=(public )?[\w:]+[<{ ])', ': ', text)
    return re.sub(r'(class [^;{}()]*?)\s*:\s*(public )?detail::[\w:]+(<[^{};]*?>)? \{', r'\1 {', text)
