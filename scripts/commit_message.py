"""Check the form of a commit message: `python scripts/commit_message.py FILE`, which git hands to its hook `commit-msg`.

A subject of at most 72 characters in the imperative ("Add", not "Added", "Adds" or "Adding"), an empty line, then the reason.
Only what can be told from the words is checked.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LONGEST = 72
IMPERATIVE_ALL_THE_SAME = {
    "bring",
    "embed",
    "exceed",
    "feed",
    "need",
    "proceed",
    "seed",
    "shed",
    "speed",
    "spring",
    "string",
}
BY_GIT = ("Merge ", 'Revert "', "fixup! ", "squash! ", "amend! ")


def problems(message: str) -> list[str]:
    """What is wrong with a message, as git saves it: comment lines do not count."""
    lines = [line.rstrip() for line in message.splitlines() if not line.startswith("#")]
    while lines and not lines[0]:
        lines.pop(0)
    if not lines:
        return ["the message is empty"]
    subject = lines[0]
    if subject.startswith(BY_GIT):
        return []
    found = []
    if len(subject) > LONGEST:
        found.append(
            f"the subject has {len(subject)} characters; at most {LONGEST} are read by everyone: move the rest below"
        )
    if subject.endswith("."):
        found.append("the subject ends with a full stop; it is a title: leave it out")
    if len(lines) > 1 and lines[1]:
        found.append("the second line is not empty; git takes it for a part of the subject")
    return found + wrong_mood(subject)


def wrong_mood(subject: str) -> list[str]:
    """Whether the first word is no imperative, as far as its form tells."""
    first = re.match(r"[\w-]+", subject)
    word = first[0] if first else ""
    if not word or not word[0].isupper():
        return [
            f"the subject begins with {subject[:12]!r}; begin with a verb and a capital letter: 'Add', 'Mend', 'Remove'"
        ]
    if subject[len(word) :].startswith(":"):
        return [f"the subject begins with a label, '{word}:'; begin with what the commit does: 'Add', 'Mend', 'Remove'"]
    bare = word.lower()
    other = bare.endswith(("ed", "ing")) or (bare.endswith("s") and not bare.endswith("ss"))
    if other and bare not in IMPERATIVE_ALL_THE_SAME:
        return [
            f"the subject begins with {word!r}; say what the commit does in the imperative: 'Add', not 'Added' or 'Adds'"
        ]
    return []


def main() -> None:
    found = problems(Path(sys.argv[1]).read_text())
    for problem in found:
        print(f"commit message: {problem}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
