"""Engines that are not driven refuse, and say what to use."""

from __future__ import annotations

import pytest

from accelerate.errors import ConfigError
from accelerate.plugins import later


@pytest.mark.parametrize("name", sorted(later.LATER))
def test_making_one_says_what_to_use(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{name}: this version does not drive .+\. \S.+\.$") as caught:
        getattr(later, name)(1, option=2)
    assert "\n" not in str(caught.value)


def test_a_name_is_always_the_same_class() -> None:
    assert later.undriven("DeepSpeedPlugin") is later.__getattr__("DeepSpeedPlugin")
    assert not isinstance(object(), later.undriven("DummyOptim"))


def test_other_names_are_missing() -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        later.__getattr__("nothing_of_the_kind")
