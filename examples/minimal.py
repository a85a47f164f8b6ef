"""The smallest training loop: fit a line through noisy points.

accelerate launch examples/minimal.py
"""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, TensorDataset

from accelerate import Accelerator
from accelerate.utils import set_seed

set_seed(0)
x = torch.linspace(-1, 1, 256).unsqueeze(1)
y = 3 * x + 1 + 0.1 * torch.randn_like(x)

accelerator = Accelerator()
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

for _ in range(20):
    for inputs, targets in loader:
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()

slope, offset = model.weight.item(), model.bias.item()
accelerator.print(f"y = {slope:.2f} x + {offset:.2f}, found on {accelerator.device}")
