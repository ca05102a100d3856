"""Arguments, buffers and parameters with the names of builtins, operators and of what a graph calls its own."""

from tests.export.generated import Signature

SIGNATURES = [
    Signature("output, target", begins="x, y = output, target"),
    Signature("getattr, add", begins="x, y = getattr, add"),
    Signature("graph, forward", begins="x, y = graph, forward"),
    Signature("p_w, b_b0", begins="x, y = p_w, b_b0"),
    Signature("x, __y", begins="y = __y"),
    Signature("x_1, x", begins="y = x_1"),
    Signature("input, *code", begins="x, (y,) = input, code"),
    Signature("args, *, kwargs", '(torch.randn(2, 3),), {"kwargs": torch.randn(2, 3)}', "x, y = args, kwargs"),
    Signature("x, **root", '(torch.randn(2, 3),), {"self_": torch.randn(2, 3)}', 'y = root["self_"]'),
    Signature("x, **root", '(torch.randn(2, 3),), {"class": torch.randn(2, 3)}', 'y = root["class"]'),
]

INIT = """\
self.register_buffer("output", torch.ones(3)); self.register_buffer("add", torch.zeros(3))
self.register_parameter("getattr", nn.Parameter(torch.ones(3))); self.x = nn.Parameter(torch.ones(3) * 2)
self.sub_w, self.p_w, self.b_b0 = (nn.Parameter(torch.ones(3) * i) for i in range(3))
self.register_buffer("lifted_tensor_0", torch.ones(3)); self.c_lifted_tensor_0 = nn.Parameter(torch.ones(3))
self.blocks = nn.ModuleDict({"mul": Sub(), "0": Sub(), "placeholder": Sub()})
self.weights = nn.ParameterDict({"pow": torch.ones(3), "w_1": torch.ones(3)})"""

STATEMENTS = """\
z = z + self.output * self.getattr
self.output.add_(1); z = z + self.output
self.add = self.add + 1; z = z + self.add
z = z * self.x + self.sub_w * self.sub.w
z = z + self.p_w - self.b_b0 + self.b0
z = self.blocks["mul"](z) + self.blocks["0"](z)
self.blocks["placeholder"].b.mul_(0.5); z = self.blocks["placeholder"](z)
z = z + self.weights["pow"] * self.weights["w_1"]
z = z + self.lifted_tensor_0 * self.c_lifted_tensor_0 + torch.tensor([1.0, 2.0, 3.0])
self.lifted_tensor_0 = self.lifted_tensor_0 * 0.5; z = z + self.lifted_tensor_0
add = torch.add(z, 1); output = add * 2; z = output - add
self.register_buffer("x_1", z.detach()[0]); z = z + self.x_1
k = {"output": 1, "self": 2}["self"]"""
