"""Private attributes of torch's objects that are used where the object is at hand, by the class that has them.

Checked with torch 2.13.0, 2.14.1 and 2.15.0. Data only. tests/torch_versions/test_tables.py finds an attribute with a
leading underscore that is in no table.
"""

from __future__ import annotations

from dynamo_lite.symbolic_shapes.torch_versions import Symbol

DISABLES = "every export and trace"


SYMBOLS = (
    # -- tensors
    Symbol("torch._C:TensorBase._base", "the base of a view"),
    Symbol("torch._C:TensorBase._cdata", "the identity of a storage"),
    Symbol("torch._C:TensorBase._has_symbolic_sizes_strides", "whether a tensor has a symbolic size"),
    Symbol("torch._C:TensorBase._is_view", "whether a tensor is a view", "views among inputs that autograd would mark"),
    Symbol("torch._tensor_str:_str", "the text of a tensor, for print", "print of tensors"),
    Symbol("torch.nn.parameter#_is_param", "a subclass of Tensor that is a parameter"),
    # -- operators
    Symbol("torch._ops:OpOverload._schema", "the arguments of an operator, which it changes or aliases"),
    Symbol("torch._ops:OpOverload._opname", "the name of an operator"),
    Symbol("torch._ops:OpOverload._overloadname", "the name of an operator"),
    Symbol("torch._ops:OpOverload._overloadpacket", "all overloads of an operator"),
    Symbol("torch._ops#_qualified_op_name", "the name of an operator with its namespace"),
    Symbol("torch._ops:OpOverload._can_decompose", "whether an operator is composite"),
    Symbol("torch._ops:OpOverload._op_dk", "one kernel of an operator", "operators inside of vmap"),
    Symbol("torch._C:_get_deterministic_algorithms", "the state that the memory of results depends on"),
    # -- fake tensors
    Symbol("torch._subclasses.fake_tensor:FakeTensorMode._cached_dispatch_impl", "replaced by a memory of our own"),
    Symbol("torch._subclasses.fake_tensor:FakeTensorMode._dispatch_impl", "the fallback of that memory"),
    # -- modules
    Symbol("torch.nn.modules.module:Module._wrapped_call_impl", "a call of a module keeps the stack of modules"),
    Symbol("torch.nn.modules.module:Module._call_impl", "a call of a module that has hooks"),
    Symbol("torch.nn.modules.module:Module._backward_hooks", "whether a module has hooks"),
    Symbol("torch.nn.modules.module:Module._backward_pre_hooks", "whether a module has hooks"),
    Symbol("torch.nn.modules.module:Module._forward_hooks", "whether a module has hooks"),
    Symbol("torch.nn.modules.module:Module._forward_pre_hooks", "whether a module has hooks"),
    Symbol("torch.nn.modules.module:_global_backward_hooks", "whether modules have hooks"),
    Symbol("torch.nn.modules.module:_global_backward_pre_hooks", "whether modules have hooks"),
    Symbol("torch.nn.modules.module:_global_forward_hooks", "whether modules have hooks"),
    Symbol("torch.nn.modules.module:_global_forward_pre_hooks", "whether modules have hooks"),
    Symbol("torch.nn.modules.module:Module._non_persistent_buffers_set", "which buffers a state_dict has"),
    # -- graphs and programs
    Symbol("torch.fx.graph:Graph._graph_namespace", "names of nodes"),
    Symbol("torch.fx.graph#_used_names", "names of nodes"),
    Symbol("torch.fx.graph#_codegen", "a name that no attribute of a program may take"),
    Symbol("torch.export.exported_program:ExportedProgram._graph_module", "aliases among inputs are put in place"),
    Symbol("torch.export.exported_program:ExportedProgram._graph_signature", "aliases among inputs are put in place"),
    Symbol("torch.export.exported_program:ExportedProgram._guards_code", "the guards that module() checks"),
    Symbol("torch.export._unlift#_guards_fn", "a name that no attribute of a program may take"),
    Symbol("torch.export.exported_program#_in_spec", "a name that no attribute of a program may take"),
    Symbol("torch.export.exported_program#_out_spec", "a name that no attribute of a program may take"),
    Symbol("torch.export.dynamic_shapes:AdditionalInputs._examples", "its examples", "AdditionalInputs"),
    # -- TorchDynamo: marks on tensors and functions
    Symbol("torch._dynamo.decorators#_dynamo_dynamic_indices", "mark_dynamic", "mark_dynamic"),
    Symbol("torch._dynamo.decorators#_dynamo_dynamic_range", "mark_dynamic with a range", "mark_dynamic"),
    Symbol("torch._dynamo.decorators#_dynamo_weak_dynamic_indices", "maybe_mark_dynamic", "maybe_mark_dynamic"),
    Symbol("torch._dynamo.decorators#_dynamo_unbacked_indices", "mark_unbacked", "mark_unbacked"),
    Symbol("torch._dynamo.decorators#_dynamo_strict_unbacked_indices", "mark_unbacked", "mark_unbacked"),
    Symbol("torch._dynamo.decorators#_dynamo_unbacked_bounds", "mark_unbacked with a range", "mark_unbacked"),
    Symbol("torch._dynamo.decorators#_dynamo_shape_ids", "mark_unbacked with shape_id", "mark_unbacked"),
    Symbol("torch._dynamo.decorators#_dynamo_static_indices", "mark_static", "mark_static"),
    Symbol("torch._dynamo.decorators#_dynamo_marked_constant", "assume_constant_result", "assume_constant_result"),
    Symbol("torch._dynamo.eval_frame#_torchdynamo_orig_callable", "the function that torch.compile wrapped"),
    Symbol("torch._dynamo.eval_frame#_torchdynamo_disable", "torch.compiler.disable"),
    Symbol("torch._dynamo.eval_frame:OptimizedModule._orig_mod", "the module that torch.compile wrapped"),
    Symbol(
        "torch._dynamo.variables.functions:PolyfilledFunctionVariable._get_polyfill_handlers",
        "functions that a user has substituted",
        "torch.compiler.substitute_in_graph",
    ),
    # -- functions that rules answer
    Symbol("torch._C:_has_torch_function", "which fused kernels eager takes"),
    Symbol("torch._C:_has_torch_function_unary", "which fused kernels eager takes"),
    Symbol("torch._C:_has_torch_function_variadic", "which fused kernels eager takes"),
    Symbol("torch._C._autograd:_push_saved_tensors_default_hooks", "hooks on saved tensors are refused or noted"),
    Symbol("torch._C._autograd:_pop_saved_tensors_default_hooks", "hooks on saved tensors are refused or noted"),
    # -- settings of the process
    Symbol("torch._C:_get_cudnn_enabled", "setting of the process"),
    Symbol("torch._C:_set_cudnn_enabled", "setting of the process"),
    Symbol("torch._C:_get_cudnn_benchmark", "setting of the process"),
    Symbol("torch._C:_set_cudnn_benchmark", "setting of the process"),
    Symbol("torch._C:_get_cudnn_deterministic", "setting of the process"),
    Symbol("torch._C:_set_cudnn_deterministic", "setting of the process"),
    Symbol("torch._C:_get_cudnn_allow_tf32", "setting of the process"),
    Symbol("torch._C:_set_cudnn_allow_tf32", "setting of the process"),
    Symbol("torch._C:_get_cublas_allow_tf32", "setting of the process"),
    Symbol("torch._C:_set_cublas_allow_tf32", "setting of the process"),
    Symbol("torch._C:_get_mkldnn_enabled", "setting of the process"),
    Symbol("torch._C:_set_mkldnn_enabled", "setting of the process"),
    Symbol("torch._C:_get_mkldnn_deterministic", "setting of the process"),
    Symbol("torch._C:_set_mkldnn_deterministic", "setting of the process"),
    Symbol("torch._C:_get_nnpack_enabled", "setting of the process"),
    Symbol("torch._C:_set_nnpack_enabled", "setting of the process"),
    Symbol("torch._C:_get_flash_sdp_enabled", "setting of the process"),
    Symbol("torch._C:_set_sdp_use_flash", "setting of the process"),
    Symbol("torch._C:_get_mem_efficient_sdp_enabled", "setting of the process"),
    Symbol("torch._C:_set_sdp_use_mem_efficient", "setting of the process"),
    Symbol("torch._C:_get_math_sdp_enabled", "setting of the process"),
    Symbol("torch._C:_set_sdp_use_math", "setting of the process"),
    Symbol("torch._C:_get_cudnn_sdp_enabled", "setting of the process"),
    Symbol("torch._C:_set_sdp_use_cudnn", "setting of the process"),
    Symbol("torch._C:_get_overrideable_sdp_enabled", "setting of the process"),
    Symbol("torch._C:_set_sdp_use_overrideable", "setting of the process"),
    Symbol("torch.backends.mha:_is_fastpath_enabled", "setting of the process"),
)  # fmt: skip
