"""transformers' Trainer computes the same bits on ours as on the peer."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from parity.peer import requires_peer, run_both

_FOUND = find_spec("transformers")
pytestmark = [
    requires_peer,
    pytest.mark.parity,
    pytest.mark.skipif(_FOUND is None, reason="transformers is not installed"),
]
_FOLDER = Path(_FOUND.origin).parents[1] if _FOUND is not None and _FOUND.origin is not None else Path()

_SCRIPT = f"""
import sys
sys.path.append({str(_FOLDER)!r})
BF16 = False
"""
_BODY = """
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Sequences(torch.utils.data.Dataset):
    def __init__(self, size):
        self.ids = torch.randint(0, 50, (size, 8), generator=torch.Generator().manual_seed(size))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, item):
        ids = self.ids[item]
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.sum() % 2}


torch.manual_seed(0)
config = BertConfig(
    vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
    max_position_embeddings=32,
)
arguments = TrainingArguments(
    output_dir="out", num_train_epochs=2, per_device_train_batch_size=4, gradient_accumulation_steps=2,
    eval_strategy="epoch", save_strategy="steps", save_steps=5, logging_steps=1, report_to=[], use_cpu=True, seed=3,
    disable_tqdm=True, bf16=BF16,
)
trainer = Trainer(
    model=BertForSequenceClassification(config), args=arguments, train_dataset=Sequences(30), eval_dataset=Sequences(10)
)
trainer.train()
report("losses", [entry.get("loss", entry.get("eval_loss")) for entry in trainer.state.log_history])
report("weights", dict(trainer.model.state_dict()))
trainer.train(resume_from_checkpoint="out/checkpoint-5")
report("resumed", dict(trainer.model.state_dict()))
"""


@pytest.mark.parametrize("bf16", [False, True])
def test_trainer(bf16: bool, tmp_path: Path) -> None:
    peer, ours = run_both(_SCRIPT.replace("False", str(bf16)) + _BODY, cwd=tmp_path)
    assert ours == peer
    _check(ours)


def _check(report: dict[str, Any]) -> None:
    assert report["resumed"] == report["weights"]
    assert len(report["losses"]) == 11
