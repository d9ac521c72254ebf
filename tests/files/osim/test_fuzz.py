"""Whatever is done to an `.osim` document, it reads, or there is a FileFormatError: never another exception."""

from __future__ import annotations

import random
import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from myograd.errors import FileFormatError
from myograd.files.osim.read import read_osim
from osim_documents import LEG_3_0, LEG_4_6, document

TAG = re.compile(r"<(/?)([A-Za-z0-9_]+)((?: [^<>]*?)?)(/?)>")
NUISANCES = (
    "",
    " ",
    "nan",
    "-1",
    "0",
    "1e400",
    "x",
    "1 2 3 4 5 6 7",
    "/ground",
    "..",
    "true",
    "&",
    "\x00",
    "\u00e9",
    "<a>",
    "]]>",
)


def disturb(text: str, rng: random.Random) -> str:
    """Damage one tag or one text: drop it, double it, rename it, or put something else in its place."""
    tags = list(TAG.finditer(text))
    if not tags:
        return text
    tag = rng.choice(tags)
    match rng.randrange(6):
        case 0:
            return text[: tag.start()] + text[tag.end() :]
        case 1:
            return text[: tag.end()] + tag.group() + text[tag.end() :]
        case 2:  # another element, opened and closed properly
            old, new = tag.group(2), rng.choice(tags).group(2)
            return re.sub(rf"(</?){old}(?=[ />])", rf"\g<1>{new}", text, count=rng.choice((2, 0)))
        case 3:  # an element and all that it holds
            closing = text.find(f"</{tag.group(2)}>", tag.end())
            return text if closing < 0 else text[: tag.start()] + text[closing + len(tag.group(2)) + 3 :]
        case 4:
            end = text.find("<", tag.end())
            return text[: tag.end()] + rng.choice(NUISANCES) + text[end:] if end > 0 else text
        case _:
            spot = rng.randrange(len(text))
            return text[:spot] + rng.choice(NUISANCES) + text[spot + rng.randrange(20) :]


def reads_or_complains(path: Path, text: str | bytes) -> None:
    path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    try:
        description = read_osim(path)
    except FileFormatError as error:
        assert str(error).startswith(str(path))
    else:
        assert all(item.reason for item in description.unsupported)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), damages=st.integers(1, 6), old=st.booleans())
def test_fuzz_of_damaged_models(tmp_path: Path, seed: int, damages: int, old: bool):
    rng = random.Random(seed)
    text = LEG_3_0 if old else LEG_4_6
    for _ in range(damages):
        text = disturb(text, rng)
    if rng.random() < 0.2:
        text = re.sub('Version="[0-9]*"', f'Version="{rng.choice((30000, 30501, 30508, 30515, 40000, 40600))}"', text)
    reads_or_complains(tmp_path / "fuzz.osim", text)


names = st.sampled_from(sorted({match.group(2) for match in TAG.finditer(LEG_3_0 + LEG_4_6)}))
values = st.sampled_from([*NUISANCES[:-5], *set(re.findall(r">([^<>]+)<", LEG_4_6))])
elements = st.recursive(
    st.builds("<{0} name={1!r}>{2}</{0}>".format, names, st.sampled_from("abc"), values),
    lambda inner: st.builds(
        lambda tag, name, content: f"<{tag} name={name!r}>{''.join(content)}</{tag}>",
        names,
        st.sampled_from("abc"),
        st.lists(inner, max_size=4),
    ),
    max_leaves=30,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.lists(elements, max_size=6), version=st.sampled_from((30000, 30504, 40000, 40600)))
def test_fuzz_of_random_models(tmp_path: Path, content: list[str], version: int):
    """Known elements in places where they do not belong."""
    reads_or_complains(tmp_path / "fuzz.osim", document("".join(content), version))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200), inside=st.booleans())
def test_fuzz_of_bytes(tmp_path: Path, data: bytes, inside: bool):
    before, after = (part.encode() for part in document("<credits>|</credits>").split("|"))
    reads_or_complains(tmp_path / "fuzz.osim", before + data + after if inside else data)
