"""Programs with map, while_loop, scan and associative_scan."""

from __future__ import annotations

from typing import Any

import torch
from torch._higher_order_ops import associative_scan, map, scan, while_loop
from torch.export import Dim

from tests.hops.cond_programs import Base, X
from tests.hops.harness import Program

Y = torch.tensor([0.5, -1.0, 2.0])
N = ({0: Dim("n", min=2, max=64)},)


class MapState(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return map(lambda row: self.linear(row) * self.scale + 1, x)


class MapTrees(Base):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return map(lambda t, w: {"a": t["k"] * w, "b": (t["k"].sum() + t["l"][0],)}, {"k": x, "l": x + 1}, y)


class MapNested(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return map(lambda m: map(lambda row: row.sin() + self.scale, m), x)


class MapCond(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return map(lambda row: torch.cond(row.sum() > 0, lambda r: r * 2, lambda r: r - self.scale, (row,)), x)


class While(Base):
    def forward(self, x: torch.Tensor) -> Any:
        return while_loop(
            lambda i, u: i < 4, lambda i, u: (i + 1, self.linear(u).tanh() + self.scale), (torch.tensor(0), x)
        )


class WhileData(Base):
    def forward(self, x: torch.Tensor) -> Any:
        limit = x.abs().max() * 8
        (y,) = while_loop(lambda u: u.sum() < limit, lambda u: (u * 2 + 1,), (x.abs(),))
        return y


class WhileTree(Base):
    def forward(self, x: torch.Tensor) -> Any:
        def body(state: dict[str, Any]) -> Any:
            return ({"n": state["n"] + 1, "v": (state["v"][0] + self.scale,)},)

        return while_loop(lambda state: state["n"] < 3, body, ({"n": torch.zeros((), dtype=torch.int64), "v": (x,)},))


class WhileInteger(Base):
    def forward(self, x: torch.Tensor) -> Any:
        with torch.no_grad():
            return while_loop(lambda i, u: i < 5, lambda i, u: (i + 1, u + i), (0, x))


class WhileSize(Base):
    def forward(self, x: torch.Tensor) -> Any:
        n = x.shape[0]
        with torch.no_grad():
            return while_loop(lambda i, u: i < n, lambda i, u: (i + 1, u * 2), (0, x))[1]


class Scan(Base):
    def forward(self, x: torch.Tensor) -> Any:
        return scan(lambda c, v: (c + self.linear(v), c * v + self.scale), torch.zeros(3), x)


class ScanTrees(Base):
    def forward(self, x: torch.Tensor) -> Any:
        def step(c: dict[str, torch.Tensor], v: tuple[torch.Tensor, torch.Tensor]) -> Any:
            return {"h": c["h"] * 0.5 + v[0]}, [c["h"] * v[1], v[0].sum()]

        return scan(step, {"h": torch.ones(3)}, (x, x + 1))


class ScanBackwards(Base):
    def forward(self, x: torch.Tensor) -> Any:
        return scan(lambda c, v: (c + v, c * v), torch.zeros(3), x, dim=1, reverse=True)


class Associative(Base):
    def forward(self, x: torch.Tensor) -> Any:
        return associative_scan(lambda a, b: a * b + self.scale[0], x, 0, combine_mode="generic")


PROGRAMS = [
    Program("map_state", MapState, [(X,), (X * -3,)]),
    Program("map_trees", MapTrees, [(X, Y)]),
    Program("map_nested", MapNested, [(X.reshape(1, 3, 3).repeat(2, 1, 1),)]),
    Program("map_cond", MapCond, [(X,), (X - 1,)]),
    Program("while", While, [(X,), (X + 3,)], parity=True),
    Program("while_data", WhileData, [(X,), (X * 20,)]),
    Program("while_tree", WhileTree, [(X,)]),
    Program("while_integer", WhileInteger, [(X,)], saves=False),
    Program("scan", Scan, [(X,), (X * -3,)], parity=True),
    Program("scan_trees", ScanTrees, [(X,)]),
    Program("scan_backwards", ScanBackwards, [(X,)], parity=True),
    Program("associative", Associative, [(X,)]),
    Program("map_dynamic", MapState, [(X,), (torch.ones(7, 3),)], dynamic_shapes=N),
    Program("scan_dynamic", Scan, [(X,), (torch.ones(7, 3),)], dynamic_shapes=N),
    Program("while_size", WhileSize, [(X,), (torch.ones(7, 3),)], saves=False, dynamic_shapes=N),
]
