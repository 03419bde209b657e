#!/usr/bin/env python3
"""Finds phrases that are hard to read, in the documents, the manual page, the comments of public headers, the messages
of the library and the command, and the names of tests.

    english.py ROOT                     prints all findings
    english.py ROOT FILE...             prints the findings of these files

Most findings are advice. It fails only for a word that docs/glossary.md replaces.

The script joins each paragraph, list item and table cell to one line and splits it into sentences, because phrases cross
line breaks. It ignores code, headings and quotations.
"""

import pathlib
import re
import sys

from public_headers import public_headers

# A string literal that may be a message, and the name of a test with an unfit form.
LITERAL = re.compile(r'(?<!\')"((?:\\.|[^"\\\n]){12,})"')
TEST_NAME = re.compile(r'\b(?:TEST_CASE|LEAT_\w*TEST\w*|TEMPLATE_\w*TEST_CASE\w*|SECTION)\(\s*"((?:\\.|[^"\\\n])*)"')
BAD_NAME = re.compile(r': (what|who|whoever|where|one (that|who|whose)|of |nor |so |nobody|the same)|^[A-Z]?[0-9]+[.,:]')
MAX_WORDS = 40
TOP_LEVEL = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']

# Name, replacement, and the pattern, which is matched against one sentence.
PHRASES = [
    ('R01', 'silently',
     r'without a word'),
    ('R02', 'during, in the middle of',
     r'in (the|its|their|your) midst'),
    ('R03', 'again, from the start',
     r'(^|[^a-z])anew([^a-z]|$)'),
    ('R04', 'out of memory, lack of',
     r'(for|or|of) want of|want of (memory|descriptors)'),
    ('R05', 'obtained, read',
     r'(be|been|was|were) had([.,;: ]|$)'),
    ('R06', 'indefinitely, permanently',
     r'(^|[^a-z])for ever([^a-z]|$)'),
    ('R07', 'release',
     r'(is|be|was|are|were) let (go|in|through)|lets? (it|them|its lock|the [a-z]+) go'),
    ('R08', 'n, the given number',
     r'(after|for|at most|most|counts|with|in|on|of|to|Show|Lists?|Deal|Decode|Draw) so (many|much|long)([ .,;]|$)|^So many'),
    ('R09', 'Like x(), but',
     r'(^|[.:;] )[Tt]he same (of|for|with|until|as|in|by|without|but|after|on|to|from)([ ,]|$)'),
    ('R10', 'repeat the noun',
     r'(^|[,;:(] ?| and | or | as | is | are | by | to )(that|those) of (a|an|the|its|one|each|all|what|this|these|others?|that)([ .,;]|$)'),
    ('R11', 'is reported, on_warning is called',
     r'(is|are|was|were|be|been) told([ .,;:)]|$)'),
    ('R12', 'reports, describes, determines',
     r'(^|[ (])tells? (of|who|what|which|where|how|whether|nothing|everything|all|no|it|its|the same|them|others)([ .,;:]|$)'),
    ('R13', 'reports it, states it',
     r'(^|[^a-z])says? so([ .,;:]|$)'),
    ('R14', 'continue, resume',
     r'(^|[^a-z])(go|goes|going|went|gone) on([ .,;:)]|$)'),
    ('R15', 'is, is stored, is located',
     r'(^| )(stands?|stood) (in|on|at|behind|before|there|one|beside|as|within|side|under|between|below|by|among)([ .,;:]|$)'),
    ('R16', 'free capacity, is full',
     r'(wait|waits|waiting|waited|asks?|blocking) for room|(no|enough|makes?|more|has|is) room([ .,;:]|$)'),
    ('R17', 'wait queue, block',
     r'(puts?|lines?|stands?|back|first|place|behind (it|them)) (up )?in line|head of (a|the|their|its) line|overtakes? a line|two lines of|serves? the lines|(hold|holds|held|holding) up (the|those|others|all|nobody|by)'),
    ('R18', 'returns, delivers',
     r'(^|[.;:] |, |It )[Gg]ives (the|a|an|how|what|true|false|its|up|nothing|each|all|them|it|one|no|this|these|exactly|out|back|him|whatever|as|some|any)([ .,;:]|$)'),
    ('R19', 'name the subject',
     r'(^|[.:;] |[Aa]nd |[Bb]ut |[Oo]r |so |for |by |of |to |if )([Ww]ho) (is|has|had|waits?|gives|asks|calls|reads|wants|knows|pops|joins|goes|may|does|finds|opens|writes|comes|hears|gets|edits|lets|awaits|would|could|holds|computes|makes|declares|takes|adds|looks|uses|loses|serves|learns|cannot|must|needs)([ .,;]|$)'),
    ('R20', 'any caller, the task that',
     r'(^|[^a-z])([Ww]hoever)([ ,]|$)'),
    ('R21', 'noun phrase, or function name and verb',
     r'^What [a-z]'),
    ('R22', 'no task, another process',
     r"(^|[^a-z])([Nn]obody|[Ss]omebody)([ .,;']|$)"),
    ('R23', 'after, following',
     r'(^| )behind (a|an|the|it|its|this|that|these|those|each|all|which|them|every|one|what|him|others?|some|whose|damage|such|`[a-z_:]+\(\)`)([ .,;:)]|$)'),
    ('R24', 'instead of, replaces',
     r'in (the|its|their) place of'),
    ('R25', 'if there is no x; not a x',
     r'(that|what|it|they|which|record|error|stop|cancelled.) (is|are|was|were) none([.:;,)]|$)|of none([.:;,) ]|$)|(^|[;,] )none:'),
    ('R26', 'is not a',
     r'(that|which|what|it|they|this|who|one|tasks|threads|registry|record|end|ends|files?) (is|are|was|were) no ([a-z]+ )?(error|errors|task|records?|failure|integer|number|index|checkpoint|operation|scheduler|file|text|compression|string|header|member|table|state|one|UTF-8|barrier|event|stream)([ .,;:)]|$)'),
    ('R27', 'repeat the noun',
     r'(^|[.;:] )One (that|which|who|whose|with|without|of those)([ ,]|$)'),
    ('R28', 'any, regardless of',
     r'(whatever|whichever|wherever) (it|they|comes?|is|was|else|has|does|goes|stands)([ .,;:]|$)'),
    ('R29', 'default: n',
     r'unasked|(unless|until|is not|not) told (otherwise|so)|unless (told|said)'),
    ('R30', 'still, anyway',
     r'all the same([.,;:)]|$| )'),
    ('R31', 'immediately, temporarily, later',
     r'(^|[^a-z])on the spot|for the occasion|in (its|their) turn([.,;: ]|$)'),
    ('R32', 'the error of, the result of',
     r'(befell|(what|of what) (becomes|became|comes|came) of)([ .,;]|$)'),
    ('R33', 'receives, refers to, has',
     r'(hears?|heard) (of|that|a stop)|(speaks?|spoke) of|(knows?|knew) (of|nothing|no)([ .,;]|$)'),
    ('R34', 'Differences from TensorFlow',
     r'[Oo]ther(wise)? than (in|there|TensorFlow)([ .,;:]|$)'),
    ('R35', 'treated as, withdrawn',
     r'(is|are|was|were|be|been) taken (for|back)([ .,;]|$)'),
    ('R36', 'otherwise',
     r'(^|[,;:.] )[Ee]lse (the|it|its|a|an|what|there|they|one|as|no|all|those|by|that|about|who|ends?|not)([ ,]|$)'),
    ('R37', 'Returns true if; if not set',
     r'(^|[.;:] )(True|False|Empty|Null|None|Without|No error): [a-z]'),
    ('R38', 'CPU time',
     r"(the|its) processor's time|of the processor([ .,;']|$)"),
    ('R39', 'consecutively, concurrently',
     r'one (behind|beside) (the other|another)|side by side'),
    ('R40', 'with a diagnostic',
     r'with a sentence|in a sentence'),
    ('R41', 'succeeds, returns normally',
     r'(went|goes|go|gone|ends?|ended) well([ .,;:)]|$)'),
    ('R42', 'in one call',
     r'in one go|at one go'),
    ('R43', 'intact, valid',
     r'(is|are|be|been|was|were) (whole|right|in order)([ .,;:)]|$)|whole and right'),
    ('R44', 'from a seed, crafted',
     r'made of a seed|made of seeds|be had again|(somebody|who) (made|makes) (it |them |records )?up'),
]
# Words that docs/glossary.md replaces.
WORDS = {
    'laggard': 'straggler', 'laggards': 'stragglers', 'distinct-safe': 'thread-compatible', 'shared-safe': 'thread-safe',
    'weigher': 'weight function', 'weighers': 'weight functions',
}
WORD = re.compile(r'(?<![\w`.])(' + '|'.join(WORDS) + r')(?![\w`])', re.IGNORECASE)
# The label of the TensorFlow symbol that a declaration is modelled on.
SOURCE = re.compile(r'^Source: ')

COMPILED = [(name, write, re.compile(pattern)) for name, write, pattern in PHRASES]
SENTENCE_END = re.compile(r'(?<=[.!?])[)"*]*\s+(?=[A-Z`"(*\[0-9])')
ABBREVIATION = re.compile(r'\b(e\.g|i\.e|etc|vs|cf)\.$')
LABEL = re.compile(r'^(Returns|Errors[^:]{0,20}|Cancellation|Thread safety|Cost|Completion|Result|Precondition|Lifetime|Closing): +')


def sentences_of(text):
    text = re.sub(r'\s+', ' ', text).strip()
    start = 0
    for end in SENTENCE_END.finditer(text):
        part = text[start:end.start() + 1].strip()
        if ABBREVIATION.search(part):
            continue
        yield part
        start = end.end()
    if text[start:].strip():
        yield text[start:].strip()


def paragraphs_of_markdown(lines):
    """Yields the first line number and the text of each paragraph, list item and table cell."""
    text, first, in_code, in_comment = [], 0, False, False
    for number, line in enumerate([*lines, ''], 1):
        stripped = line.strip()
        fence = stripped.startswith(('```', '~~~'))
        comment = stripped.startswith('<!--') or in_comment
        if comment:
            in_comment = '-->' not in stripped
        item = re.match(r'(\s*)([-*+]|\d+\.)\s+(.*)', line)
        ends = (not stripped or fence or comment or item or stripped.startswith(('#', '|', '>')) or
                (not text and line.startswith('    ')))
        if ends and text:
            yield first, ' '.join(text)
            text = []
        if fence:
            in_code = not in_code
        if fence or in_code or comment or not stripped or stripped.startswith(('#', '>')):
            continue
        if stripped.startswith('|'):
            if not re.fullmatch(r'[|\s:-]+', stripped):
                for cell in re.split(r'(?<!\\)\|', stripped.strip('|')):
                    yield number, cell.strip()
            continue
        if not text and line.startswith('    ') and not item:
            continue
        if not text:
            first = number
        text.append(item[3] if item else stripped)


def paragraphs_of_header(lines):
    """Like paragraphs_of_markdown(), for the `///` and `///<` comments of a header."""
    text, first = [], 0
    for number, line in enumerate([*lines, ''], 1):
        member = re.search(r'\S.*///< ?(.*)', line)
        comment = re.match(r'\s*///(?!/)<?(.*)', line)
        content = comment[1] if comment else ''
        code = content.startswith('     ')
        body = content.strip()
        label = LABEL.match(body)
        if text and (not comment or not body or label or body.startswith(('- ', '|')) or (code and not in_label)):
            yield first, ' '.join(text)
            text = []
        if member:
            yield number, member[1]
            continue
        if not comment or not body or body.startswith(('@', '\\', '```')):
            continue
        if code and not (text and in_label):
            continue  # an example
        if not text:
            first = number
            in_label = bool(label)
        text.append(LABEL.sub('', body) if label else body.removeprefix('- '))


def paragraphs_of_manual(lines):
    """Like paragraphs_of_markdown(), for a manual page in troff."""
    text, first = [], 0
    in_code = False
    for number, line in enumerate([*lines, '.PP'], 1):
        if line.startswith(('.nf', '.EX')):
            in_code = True
        if line.startswith(('.fi', '.EE')):
            in_code = False
        request = re.match(r"[.'](\S*)\s*(.*)", line)
        if request and request[1] in ('B', 'I', 'BR', 'IR', 'RB', 'RI', 'BI', 'IB'):
            arguments = re.findall(r'"([^"]*)"?|(\S+)', request[2])
            joint = '' if len(request[1]) == 2 else ' '  # .BR alternates fonts without a space
            line = joint.join(quoted or plain for quoted, plain in arguments)
            request = None
        if (request or in_code) and text:
            yield first, ' '.join(text)
            text = []
        if request or in_code:
            continue
        if not text:
            first = number
        text.append(re.sub(r'\\f.|\\&', '', line).replace('\\-', '-'))


def paragraphs_of(path):
    lines = path.read_text().split('\n')
    if path.suffix == '.md':
        return paragraphs_of_markdown(lines)
    if path.suffix == '.hpp':
        return paragraphs_of_header(lines)
    return paragraphs_of_manual(lines)


def findings_of(path):
    """Yields (line, name of the pattern, replacement, sentence)."""
    for line, text in paragraphs_of(path):
        for sentence in sentences_of(text):
            for name, write, pattern in COMPILED:
                if pattern.search(sentence):
                    yield line, name, write, sentence
            without_code = re.sub(r'`[^`]*`|\[[^\]]*\]\([^)]*\)', 'x', sentence)
            for match in WORD.finditer(without_code):
                yield line, 'word', WORDS[match[1].lower()], sentence
            if path.suffix == '.hpp' and SOURCE.match(sentence):
                yield line, 'label', 'TensorFlow: ...', sentence
            if len(without_code.split()) > MAX_WORDS:
                yield line, 'long', f'sentences of at most {MAX_WORDS} words', sentence
            if len(re.findall(r'(?<!\(default):(?= )', without_code)) > 1:
                yield line, 'colons', 'one colon in a sentence', sentence


def texts_of(path):
    """Yields (line, text) of the string literals of a source: messages, or the names of tests."""
    code = re.sub(r'^ *//.*$', '', path.read_text(), flags=re.M)
    code = re.sub(r'"[ ]*\n[ ]*"', '\v', code)  # joins a literal that is continued in the next line
    pattern = TEST_NAME if 'tests' in path.parts else LITERAL
    for match in pattern.finditer(code):
        before = code[:match.start()]
        yield before.count('\n') + before.count('\v') + 1, match[1].replace('\v', '').strip()


def findings_of_source(path):
    """Like findings_of(), for the messages or the names of tests in a source."""
    is_test = 'tests' in path.parts
    for line, text in texts_of(path):
        if is_test and BAD_NAME.search(text):
            yield line, 'name', 'type: condition and result, and numbers at the end in brackets', text
        if is_test or ' ' not in text:
            continue
        for name, write, pattern in COMPILED:
            if pattern.search(text):
                yield line, name, write, text


def sources_of(root):
    for folder in ('lib', 'include', 'tools/leat', 'tests'):
        yield from sorted(p for p in (root / folder).rglob('*.?pp'))


def files_of(root):
    yield from (root / name for name in TOP_LEVEL)
    yield from sorted((root / 'docs').rglob('*.md'))
    yield from sorted((root / 'tools').rglob('*.1'))
    yield from public_headers(root)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    checked = [(path, findings_of) for path in files_of(root)] + [(path, findings_of_source) for path in sources_of(root)]
    failed = False
    for path, find in checked:
        name = str(path.relative_to(root))
        if sys.argv[2:] and name not in map(str, map(pathlib.Path, sys.argv[2:])):
            continue
        for line, pattern, write, sentence in find(path):
            print(f'{name}:{line}: {pattern}: write: {write}\n    {sentence}')
            failed = failed or pattern == 'word'
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
