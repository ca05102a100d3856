"""Objects of torch's and numpy's Python classes that keep state: made before the trace, changed in forward."""

from __future__ import annotations

import io

import torch
import torch.fx
import torch.utils.data
import torch.utils.weak
from torch import nn
from torch.nn.utils import parametrize
from torch.optim.swa_utils import AveragedModel
from torch.utils._ordered_set import OrderedSet

from tests.export.probe import equal, refused, sound, t


class Holder(nn.Module):
    """Keeps an object, and has one layer."""

    def __init__(self, kept=None):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.kept = kept


def program(forward, kept=None):
    """(module that holds `kept` and whose forward is `forward(self, x)`, arguments)."""
    return type("Program", (Holder,), {"forward": forward})(kept), (t(2, 3),)


def sgd(lr=0.1):
    return torch.optim.SGD([nn.Parameter(torch.ones(3))], lr=lr)


@equal
def scheduler_step():
    def forward(self, x):
        self.kept.step()
        return x * self.kept.get_last_lr()[0]

    return program(forward, torch.optim.lr_scheduler.StepLR(sgd(), 1, 0.5))


@equal
def scheduler_read():
    def forward(self, x):
        return x * self.kept.get_last_lr()[0] * self.kept.optimizer.param_groups[0]["lr"]

    return program(forward, torch.optim.lr_scheduler.ExponentialLR(sgd(), 0.5))


@refused("scheduler-step")
def lambda_scheduler_calls_the_program():
    seen = []

    def forward(self, x):
        self.kept.step()
        return x * len(seen)

    return program(forward, torch.optim.lr_scheduler.LambdaLR(sgd(), lambda e: seen.append(e) or 1.0))


@refused("scheduler-step")
def plateau_scheduler():
    def forward(self, x):
        self.kept.step(1.0)
        return x * self.kept.num_bad_epochs

    return program(forward, torch.optim.lr_scheduler.ReduceLROnPlateau(sgd()))


@equal
def optimizer_step():
    def forward(self, x):
        self.kept.step()
        return x * self.kept.param_groups[0]["params"][0]

    return program(forward, sgd())


@equal
def optimizer_zero_grad():
    def forward(self, x):
        self.kept.zero_grad()
        return x * 2

    return program(forward, sgd())


@refused("python-state")
def optimizer_add_group():
    def forward(self, x):
        self.kept.add_param_group({"params": [nn.Parameter(torch.ones(1))]})
        return x * len(self.kept.param_groups)

    return program(forward, sgd())


@equal
def optimizer_rate():
    def forward(self, x):
        self.kept.param_groups[0]["lr"] *= 0.5
        return x * self.kept.param_groups[0]["lr"]

    return program(forward, sgd())


@refused("python-state")
def optimizer_load_state():
    def forward(self, x):
        state = self.kept.state_dict()
        state["param_groups"][0]["lr"] = state["param_groups"][0]["lr"] + 1
        self.kept.load_state_dict(state)
        return x * self.kept.param_groups[0]["lr"]

    return program(forward, sgd())


@refused("python-state")
def ordered_set_from_outside():
    def forward(self, x):
        self.kept.add(len(self.kept))
        return x * len(self.kept)

    return program(forward, OrderedSet([0]))


@equal
def ordered_set_made_in_forward():
    def forward(self, x):
        kept = OrderedSet([0])
        kept.add(3)
        kept.discard(0)
        return x * len(kept) + next(iter(kept))

    return program(forward)


@refused("python-state")
def weak_id_dictionary():
    def forward(self, x):
        self.kept[self.linear] = self.kept.get(self.linear, 0) + 1
        return x * self.kept[self.linear]

    return program(forward, torch.utils.weak.WeakIdKeyDictionary())


@refused("python-state")
def weak_tensor_dictionary():
    def forward(self, x):
        self.kept[self.linear.weight] = self.kept.get(self.linear.weight, 0) + 1
        return x * self.kept[self.linear.weight]

    return program(forward, torch.utils.weak.WeakTensorKeyDictionary())


@refused("python-state")
def fx_graph():
    def forward(self, x):
        self.kept.placeholder("a")
        return x * len(self.kept.nodes)

    return program(forward, torch.fx.Graph())


@refused("python-state")
def fx_node_meta():
    graph = torch.fx.Graph()
    node = graph.placeholder("a")

    def forward(self, x):
        self.kept.meta["n"] = self.kept.meta.get("n", 0) + 1
        return x * self.kept.meta["n"]

    return program(forward, node)


@refused("python-state")
def fx_node_name():
    graph = torch.fx.Graph()
    node = graph.placeholder("a")

    def forward(self, x):
        self.kept._rename(self.kept.name + "b")
        return x * len(self.kept.name)

    return program(forward, node)


@sound()
def fx_interpreter():
    class Doubles(nn.Module):
        def forward(self, a):
            return a * 2 + 1

    def forward(self, x):
        return self.kept[0].run(x)

    return program(forward, [torch.fx.Interpreter(torch.fx.symbolic_trace(Doubles()))])


@sound()
def fx_interpreter_subclass_counts():
    class Doubles(nn.Module):
        def forward(self, a):
            return a * 2 + 1

    class Counts(torch.fx.Interpreter):
        calls = 0

        def run_node(self, n):
            self.calls += 1
            return super().run_node(n)

    def forward(self, x):
        return self.kept[0].run(x) * self.kept[0].calls

    return program(forward, [Counts(torch.fx.symbolic_trace(Doubles()))])


@equal
def sequential_sampler():
    def forward(self, x):
        return x * sum(self.kept)

    return program(forward, torch.utils.data.SequentialSampler([1, 2, 3]))


class CountingSet(torch.utils.data.Dataset):
    def __init__(self):
        self.calls = 0

    def __len__(self):
        self.calls += 1
        return 3

    def __getitem__(self, i):
        self.calls += 1
        return float(self.calls)


@refused("python-state")
def sampler_calls_the_program():
    def forward(self, x):
        return x * sum(self.kept) + self.kept.data_source.calls

    return program(forward, torch.utils.data.SequentialSampler(CountingSet()))


@refused("python-state")
def subset_calls_the_program():
    def forward(self, x):
        return x * self.kept[1]

    return program(forward, torch.utils.data.Subset(CountingSet(), [0, 2]))


@refused("python-state")
def concatenated_datasets():
    def forward(self, x):
        return x * self.kept[1]

    return program(forward, torch.utils.data.ConcatDataset([CountingSet(), CountingSet()]))


@equal
def batch_sampler():
    def forward(self, x):
        return x * sum(map(sum, self.kept))

    return program(forward, torch.utils.data.BatchSampler([1, 2, 3], 2, False))


@refused("python-state")
def loader_over_the_program():
    def forward(self, x):
        for batch in self.kept:
            x = x + batch.sum()
        return x

    return program(forward, torch.utils.data.DataLoader(CountingSet(), batch_size=2))


@equal
def lazy_property_of_a_distribution():
    def forward(self, x):
        return x * self.kept.probs

    return program(forward, torch.distributions.Categorical(logits=torch.zeros(3)))


@refused("new-state-tensor")
def distribution_attribute():
    def forward(self, x):
        self.kept.loc = self.kept.loc + 1
        return self.kept.log_prob(x)

    return program(forward, torch.distributions.Normal(torch.zeros(3), torch.ones(3)))


@refused("new-state-tensor")
def transform_cache():
    def forward(self, x):
        return self.kept(x) + self.kept.inv(self.kept(x))

    return program(forward, torch.distributions.transforms.ExpTransform(cache_size=1))


@sound()
def gradient_scaler_update():
    def forward(self, x):
        self.kept.load_state_dict({**self.kept.state_dict(), "scale": self.kept.get_scale() * 2})
        return x * self.kept.get_scale()

    return program(forward, torch.amp.GradScaler("cpu", init_scale=2.0))


@equal
def gradient_scaler_scale():
    def forward(self, x):
        return self.kept.scale(x)

    return program(forward, torch.amp.GradScaler("cpu", init_scale=2.0))


@refused("data-dependent-branch")
def averaged_model_update():
    def forward(self, x):
        self.kept[0].update_parameters(self.linear)
        return self.kept[0](x)

    return program(forward, [AveragedModel(nn.Linear(3, 3))])


@equal
def averaged_model_forward():
    def forward(self, x):
        return self.averaged(x)

    model, args = program(forward)
    model.averaged = AveragedModel(nn.Linear(3, 3))
    return model, args


@equal
def parametrized_layer():
    class Doubled(nn.Module):
        def forward(self, w):
            return w * 2

    def forward(self, x):
        return self.linear(x)

    model, args = program(forward)
    parametrize.register_parametrization(model.linear, "weight", Doubled())
    return model, args


@refused("parameter-assigned")
def parametrization_registered_in_forward():
    class Doubled(nn.Module):
        def forward(self, w):
            return w * 2

    def forward(self, x):
        parametrize.register_parametrization(self.linear, "weight", Doubled())
        return self.linear(x)

    return program(forward)


@equal
def parametrize_cached():
    class Doubled(nn.Module):
        def forward(self, w):
            return w * 2

    def forward(self, x):
        with parametrize.cached():
            return self.linear(x) + self.linear(x)

    model, args = program(forward)
    parametrize.register_parametrization(model.linear, "weight", Doubled())
    return model, args


@equal
def profiler_in_forward():
    def forward(self, x):
        with torch.profiler.record_function("name"):
            return x * 2

    return program(forward)


@refused("python-state")
def profiler_from_outside():
    def forward(self, x):
        self.kept.step()
        return x * self.kept.step_num

    return program(forward, torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]))


@sound()
def profiler_schedule():
    def forward(self, x):
        return x * self.kept(2).value

    return program(forward, torch.profiler.schedule(wait=1, warmup=1, active=1))


@refused("gradient-hook")
def module_tracker():
    from torch.utils.module_tracker import ModuleTracker

    def forward(self, x):
        with self.kept:
            x = self.linear(x)
        return x * len(self.kept.parents)

    return program(forward, ModuleTracker())


@equal
def throughput_benchmark_timer():
    from torch.utils.benchmark import Timer

    def forward(self, x):
        return x * len(self.kept._task_spec.stmt)

    return program(forward, Timer("pass"))


@refused("python-state")
def removable_handle():
    def forward(self, x):
        x = self.linear(x)
        self.kept[0].remove()
        return x

    model, args = program(forward)
    model.kept = [model.linear.register_forward_hook(lambda m, i, o: o * 2)]
    return model, args


@equal
def packed_sequence():
    from torch.nn.utils.rnn import pack_sequence

    def forward(self, x):
        return x + self.kept.data.sum() + self.kept.batch_sizes.sum()

    return program(forward, pack_sequence([torch.ones(2), torch.ones(1)]))


@equal
def fuser_of_quantization_observer():
    from torch.ao.quantization.observer import MinMaxObserver

    def forward(self, x):
        self.observer(x)
        return x * self.observer.max_val

    model, args = program(forward)
    model.observer = MinMaxObserver()
    return model, args


@refused("outside-object")
def writer_of_a_package():
    def forward(self, x):
        self.kept.write("1")
        return x * len(self.kept.getvalue())

    return program(forward, io.StringIO())


@refused("global-rng")
def fork_of_the_generator():
    def forward(self, x):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            x = x + torch.rand(3)
        return x

    return program(forward)


@refused("global-rng")
def generator_from_outside():
    def forward(self, x):
        self.kept.manual_seed(self.kept.initial_seed() + 1)
        return x

    return program(forward, torch.Generator())


@refused("generator-argument")
def generator_drawn_from():
    def forward(self, x):
        return x + torch.rand(3, generator=self.kept)

    return program(forward, torch.Generator())


@refused("process-state")
def library_defined_in_forward():
    def forward(self, x):
        self.kept.append(1)
        lib = torch.library.Library("hostile_library", "FRAGMENT")
        lib.define(f"f{len(self.kept)}(Tensor x) -> Tensor")
        return x * len(self.kept)

    return program(forward, [])


@refused("process-state")
def custom_operator_defined_in_forward():
    def forward(self, x):
        @torch.library.custom_op("hostile_library2::g", mutates_args=())
        def g(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        return g(x)

    return program(forward)


@refused("python-state")
def stateful_iterator_of_torch():
    from torch.utils.data import IterableDataset

    class Counts(IterableDataset):
        n = 0

        def __iter__(self):
            self.n += 1
            yield self.n

    def forward(self, x):
        return x * sum(self.kept)

    return program(forward, Counts())


@refused("python-state")
def chain_dataset():
    from torch.utils.data import ChainDataset, IterableDataset

    class Counts(IterableDataset):
        n = 0

        def __iter__(self):
            self.n += 1
            yield self.n

    def forward(self, x):
        return x * sum(self.kept)

    return program(forward, ChainDataset([Counts()]))


@equal
def untyped_storage_wrapper():
    def forward(self, x):
        return x * self.kept.size()

    return program(forward, torch.ones(3).untyped_storage())
