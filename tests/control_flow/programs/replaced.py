"""Lists, dicts and objects that one side replaces by new ones, and that the program changes afterwards."""

from __future__ import annotations

from torch import nn

from tests.control_flow.programs.table import MIX, NEG, POS, call, program

_ALL = (call(POS), call(NEG), call(MIX), call(POS * 5))


class _State:
    def __init__(self, value):
        self.value = value


@program(*_ALL)
class list_replaced_and_then_changed(nn.Module):
    def forward(self, x):
        box = [x * 1]
        if x.sum() > 0:
            box = [x * 2]
        else:
            box[0] = x * 3
        box[0] = box[0] + 1
        box.append(x)
        return box


@program(*_ALL)
class object_replaced_and_then_changed(nn.Module):
    def forward(self, x):
        state = _State(x * 1)
        for row in x:
            if row.sum() > 0:
                state = _State(state.value + row)
            else:
                state.value = state.value * 2
        return state.value


@program(*_ALL)
class dict_replaced_on_several_ways(nn.Module):
    def forward(self, x):
        out = {"a": x * 1, "b": x}
        if x.sum() > 0:
            out = {"a": x * 2, "b": x}
            if x.max() > 2:
                out = dict(out, b=x * 3)
        elif x.max() > 0:
            out["a"] = x * 4
        out["a"] = out["a"] + 1
        return out


@program(*_ALL)
class the_replaced_list_has_another_name(nn.Module):
    def forward(self, x):
        box = held = [x * 1]
        if x.sum() > 0:
            box = [x * 2]
        box[0] = box[0] + 1
        return box[0], held[0]


@program(*_ALL)
class a_closure_holds_the_replaced_list(nn.Module):
    def forward(self, x):
        box = [x * 1]

        def first():
            return box[0]

        if x.sum() > 0:
            box = [x * 2]
        box[0] = box[0] + 1
        return first()


@program(*_ALL)
class an_iterator_goes_over_the_replaced_list(nn.Module):
    def forward(self, x):
        box = [x * 1, x * 5]
        rest = iter(box)
        if x.sum() > 0:
            box = [x * 2, x]
        box[0] = box[0] + 1
        return box[0], next(rest)


@program(*_ALL)
class the_replaced_list_is_kept_on_that_side(nn.Module):
    def forward(self, x):
        box, held = [x * 1], [x]
        if x.sum() > 0:
            held = box
            box = [x * 2]
        box[0] = box[0] + 1
        held[0] = held[0] - 1
        return box[0], held[0]


@program(*_ALL, refused="branch-differs")
class a_list_of_the_module_is_replaced(nn.Module):
    """The older one is there in later calls: a change of it has to be seen."""

    def __init__(self):
        super().__init__()
        self.boxes = [[1.0]]

    def forward(self, x):
        box = self.boxes[0]
        if x.sum() > 0:
            box = [2.0]
        return x, box
