"""Membership and printing of the API's enums."""

from __future__ import annotations

import pytest

from accelerate.plugins.enums import DistributedType, DynamoBackend, LoggerType, PrecisionType


@pytest.mark.parametrize("value", ["no", "fp16", "bf16", "fp8", PrecisionType.FP16])
def test_a_value_or_a_member_is_in_its_enum(value: object) -> None:
    assert value in PrecisionType


@pytest.mark.parametrize("value", ["fp32", "FP16", None, 3, [], LoggerType.ALL])
def test_anything_else_is_not(value: object) -> None:
    assert value not in PrecisionType


def test_members_print_as_their_value() -> None:
    assert (str(LoggerType.TENSORBOARD), str(DynamoBackend.INDUCTOR)) == ("tensorboard", "INDUCTOR")


def test_values_are_listed_in_order() -> None:
    assert PrecisionType.list() == ["no", "fp8", "fp16", "bf16"]


def test_names_that_compare_with_plain_strings() -> None:
    assert DistributedType.NO == "NO"
    assert PrecisionType.BF16 == "bf16"
