"""What a program reads of objects, types, flags, orders and its own frames."""

HEADER = """\
import inspect, math, sys
"""

INIT = """\
self.neg, self.conf = -0.0, {"b": 1, "a": 2}"""

STATEMENTS = """\
z = z * (2 if type(self.w) is nn.Parameter else 3)
z = z + len(type(z).__name__) + isinstance(z, nn.Parameter)
z = z + (type(nn.Parameter(z.detach())) is nn.Parameter)
z = z + (z._base is None) + (z[0]._base is z)
z = z + ("Mul" in type(z.grad_fn).__name__)
z = z + z.is_leaf + x.is_leaf + self.w.is_leaf + z.requires_grad
z = z * (2 if math.copysign(1, self.neg) < 0 else 3)
self.neg = 0.0
z = z * (2 if math.copysign(1, -0.0 * k) < 0 else 3)
z = z + list(self.conf).index("a") + next(iter(self.conf.values()))
self.conf["b"] = self.conf.pop("b")
z = z + len(repr(z.shape)) + len(str(x.dtype)) + len(repr(self.sub))
z = z + x.is_conj() + x.is_neg() + x.is_inference() + (x.conj() is x)
z = z + z.ndim + z.element_size() + x.numel() + x.nbytes
z = z + len(self._modules) + len(list(self.named_parameters())) + len(self.state_dict())
z = z + [n for n, _ in self.named_buffers()].index("b0")
z = z + isinstance(self.sub.forward, types.MethodType) + callable(self.sub)
z = z + (self.sub.forward.__func__ is Sub.forward) + (self.sub.forward == self.same.forward)
z = z + len(inspect.signature(self.sub.forward).parameters)
z = z + len(type(self).__mro__) + ("w" in dir(self)) + len(vars(self)) % 7
z = z + (z.data_ptr() == z.data_ptr())
z = z + z._version
z = z + x.storage_offset() + z.stride(0) + x.untyped_storage().nbytes()
z = z + torch.get_default_dtype().itemsize + torch.is_grad_enabled()
z = z + (self.w.grad is None) + (x.grad is None) + (x.grad_fn is None)
z = z + (weakref.ref(z)() is z)
z = z + (z.shape == x.shape) + (z.shape in {x.shape: 1}) + (z.shape[0] in (1, 2))
o = object(); z = z + (o in [o]) + (z in [z])
z = z + len(x.device.type) + (x.layout is torch.strided) + (x.dtype in (torch.float32, torch.float64))
z = z + (self.sub is self.same) + (self.sub.w is self.same.w)
z = z + sys._getframe().f_code.co_argcount + len(sys._getframe().f_locals) % 5
z = z + sys._getframe().f_lineno - sys._getframe().f_lineno
z = z + bool(self.sub._forward_hooks) + len(self.sub._buffers)
z = z + (Sub.forward.__qualname__ == "Sub.forward") + Sub.forward.__code__.co_argcount
z = z + isinstance(self.d, collections.abc.Mapping) + issubclass(M, nn.Module)
z = z + len(list(self.children())) + (self.get_submodule("sub") is self.sub)
k = k + (self.xs is self.xs) + (self.xs == [*self.xs])"""
