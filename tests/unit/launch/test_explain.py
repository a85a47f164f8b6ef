from __future__ import annotations

from pathlib import Path

from accelerate.launch.explain import explain
from accelerate.launch.plan import Choice, LaunchPlan, Target
from accelerate.settings.sources import Kind, Origin


def test_the_table() -> None:
    made = LaunchPlan(
        target=Target("x.py"),
        processes=1,
        machines=1,
        device="mps",
        variables={},
        gentle_variables={},
        choices=(
            Choice("device", "mps", "this Mac has an Apple M1 GPU"),
            Choice("mixed_precision", "bf16", "said so", Origin(Kind.FILE, str(Path("/c.yaml")))),
        ),
        warnings=("look out.",),
    )
    assert explain(made).splitlines() == [
        "setting          value  set by   why",
        "---------------  -----  -------  ---",
        "device           mps    default  this Mac has an Apple M1 GPU",
        "mixed_precision  bf16   /c.yaml  said so",
        "warning: look out.",
    ]
