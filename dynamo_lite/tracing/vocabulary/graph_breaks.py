"""The table of graph breaks: id → the error's class, what happened, what to write instead.

The texts are templates; the caller that raises the error fills in the names. One row a graph break, so that
documentation and tests can walk the table. Rows about control flow: control_flow_graph_breaks.py.
"""

from __future__ import annotations

from dynamo_lite import errors
from dynamo_lite.tracing.vocabulary.control_flow_graph_breaks import OF_CONTROL_FLOW, GraphBreakRow

GRAPH_BREAKS: dict[str, GraphBreakRow] = {
    "data-dependent-branch": GraphBreakRow(
        errors.DataDependent,
        "A branch depends on the data of a tensor, which is not known during export.",
        "compute both sides and pick with torch.where, use torch.cond, or move the decision out of the module.",
    ),
    "data-dependent-value": GraphBreakRow(
        errors.DataDependent,
        "{what} needs the data of a tensor, which is not known during export.",
        "keep the value as a tensor (a 0-d tensor works with most operators), or pass it in as a Python argument.",
    ),
    "data-dependent-shape": GraphBreakRow(
        errors.DataDependent,
        "The size of the result of {operator} depends on the data of a tensor.",
        "use an operator whose size does not depend on data: torch.where with a mask, masked_fill, topk, padding.",
    ),
    "caught-operator-error": GraphBreakRow(
        errors.DataDependent,
        "{operator} raises an error for some data, which a handler of the program (`try`, `with`) may catch. The "
        "exported program has no handlers: it would end with the error.",
        "use a form that returns the failure as a tensor (torch.linalg.cholesky_ex, inv_ex, solve_ex) and torch.where, "
        "make the data valid first (torch.clamp), or take the call out of the handler.",
    ),
    "no-meta-kernel": GraphBreakRow(
        errors.UnsupportedOperator,
        "The operator {operator} cannot be run on tensors without data: {reason}",
        "register a fake kernel for it (torch.library.register_fake), or use another operator.",
    ),
    "unrecordable-id": GraphBreakRow(
        errors.UnrecordableValue,
        "{function}() of an object gives its address, which differs from run to run.",
        "use it as a key or compare it, while the object lives; else key the table by something that the object holds "
        "(a name, an index).",
    ),
    "object-lifetime": GraphBreakRow(
        errors.UnrecordableValue,
        "The program sees when objects die (weak references, __del__, generators within `try`), and {what}.",
        "hold what must live in a variable, and do not decide by whether an object is still alive.",
    ),
    "unrecordable-value": GraphBreakRow(
        errors.UnrecordableValue,
        "The program uses the result of {function}(), which differs from call to call and cannot be written down.",
        "for random numbers use torch's operators (torch.rand, torch.randint); make what a generator with a constant "
        "seed gives in __init__, and keep it as a buffer or an attribute; pass anything else in as an argument.",
    ),
    "tensor-repr": GraphBreakRow(
        errors.DataDependent,
        "The text of a tensor shows its data, which is not known during export.",
        "format its shape or dtype instead, or return the tensor and print it outside.",
    ),
    "error-text": GraphBreakRow(
        errors.DataDependent,
        "The program reads the message of an error that was raised on tensors without data. In eager it may be worded "
        "in another way.",
        "catch the error by its class, or ask for the sizes or dtypes before the call instead of trying it.",
    ),
    "numpy-function": GraphBreakRow(
        errors.UnsupportedCall,
        "The program uses {function} on an array made of a tensor, which cannot be recorded as torch operators.",
        "compute it with torch's functions on the tensor, or make it a custom operator (torch.library.custom_op).",
    ),
    "numpy-output": GraphBreakRow(
        errors.UnsupportedCall,
        "The program returns a numpy array made of a tensor; an exported program returns tensors.",
        "return torch.from_numpy(array), and convert it outside.",
    ),
    "gradient-hook": GraphBreakRow(
        errors.UnsupportedEffect,
        "The backward of the program runs a hook on gradients ({function}); the exported program does not hold it.",
        "remove the hook before export, register it on an input or a parameter outside of forward, scale the gradient "
        "by operators (detach()), or export under torch.no_grad() or without tensors that require grad.",
    ),
    "inference-output": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program returns a tensor that it makes within torch.inference_mode. In eager it is an inference tensor, "
        "which autograd refuses to save and which cannot be changed outside of that mode; the program's is not one.",
        "write torch.no_grad() in forward, and torch.inference_mode() around calls of the model and of the program, or "
        'return a clone() made outside of it; pass effects="drop" if an ordinary tensor will do.',
    ),
    "constant-gradient": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program reads {target}, a tensor that was computed from others that require grad before the call. In "
        "eager a gradient flows through it; the exported program holds it as a constant.",
        'compute it in forward, or keep it detach()ed; pass effects="drop" if the gradient may be lost.',
    ),
    "backward-in-forward": GraphBreakRow(
        errors.UnsupportedEffect,
        "{function} runs the autograd engine and adds to the .grad of tensors{where}.",
        "call it outside of the branch, loop or transform, or compute the gradients as values (torch.autograd.grad, "
        "torch.func.grad), and return them.",
    ),
    "kept-gradient": GraphBreakRow(
        errors.UnsupportedEffect,
        "The step keeps the gradients of one call for the next: {target} {what}.",
        "call zero_grad() (or set .grad to None) in the step, before backward() or at its end. To accumulate over "
        "calls, run the step once before the export, so that .grad is a tensor: the program keeps it as a buffer.",
    ),
    "optimizer-state": GraphBreakRow(
        errors.UnsupportedEffect,
        "The first step of {optimizer} makes its state ({names}) other than from constants or as the start of a "
        "sum, or does more than later steps; the exported program cannot begin with it.",
        "take one step before the export (of the step itself, or with gradients of zero and restored parameters): the "
        'program then holds the state in buffers. Pass effects="drop" if each call is a first step.',
    ),
    "first-step-in-branch": GraphBreakRow(
        errors.UnsupportedEffect,
        "One side of a branch on data takes the first step of {optimizer}, which makes its state ({names}). A program "
        "can begin with it if that step computes what later ones do, and nothing but step() reads the state.",
        "take one step before the export (of the step itself, or with gradients of zero and restored parameters): the "
        "program then holds the state in buffers.",
    ),
    "scheduler-step": GraphBreakRow(
        errors.UnsupportedEffect,
        "{scheduler}.step() within the step counts in Python numbers, and computes the learning rate from them as "
        "constants; the exported program cannot carry them.",
        "call it outside of the step, and make the optimizer with a rate that is a tensor (lr=torch.tensor(1e-3)): the "
        "scheduler changes it in place, and the program reads it in each call. Or compute the rate in the step, from a "
        "buffer that counts.",
    ),
    "input-gradient": GraphBreakRow(
        errors.UnsupportedEffect,
        "backward() leaves a gradient in {target}, an argument of the call: {old} before the step, {new} after it. An "
        "exported program does not set .grad.",
        'return the gradient, and set .grad to None in the step; pass effects="drop" if it may be lost.',
    ),
    "gradient-left": GraphBreakRow(
        errors.UnsupportedEffect,
        "The step leaves gradients in .grad ({target}). An exported program does not set .grad.",
        "call zero_grad() at the end of the step, or return the gradients.",
    ),
    "opaque-transform": GraphBreakRow(
        errors.UnsupportedCall,
        "{function} compiles or transforms the function that it is given, which a trace cannot look into.",
        "call the plain function in forward; compile the exported program instead.",
    ),
    "dispatch-mode": GraphBreakRow(
        errors.UnsupportedCall,
        "The program enters a TorchDispatchMode ({function}), which works below the operators that are recorded.",
        "enter it around the exported program, or write it as a torch.overrides.TorchFunctionMode, which is traced.",
    ),
    "container-function": GraphBreakRow(
        errors.UnsupportedCall,
        "{name}, which is registered with torch.utils._pytree for a container of the call, {what}.",
        "let flatten and unflatten only take the container apart and put it together again, without changing anything.",
    ),
    "container-state": GraphBreakRow(
        errors.UnsupportedCall,
        "The program reads {what}, which the registered unflatten function does not restore: it is {old} in the "
        "argument, and {new} in what the program gets.",
        "register functions that keep it (in the context, if it is a constant), or pass it as an argument.",
    ),
    "result-state": GraphBreakRow(
        errors.UnsupportedEffect,
        "{target} is {old} in eager, and {new} in what the program would return: its registered unflatten function "
        "makes the object of the tensors alone.",
        "register functions that keep it (in the context, if it is a constant), or return the tensors; "
        'pass effects="drop" if it may be lost.',
    ),
    "container-mutated": GraphBreakRow(
        errors.UnsupportedEffect,
        "{function} changes in place what the registered functions of a container have computed from an input; the "
        "caller's own tensor would not change.",
        "let flatten give the tensors themselves, or return the new value.",
    ),
    "registered-container": GraphBreakRow(
        errors.UnsupportedCall,
        "The program uses torch.utils._pytree on a {name}, which was not a container there before an export took it.",
        "register the class before (torch.export.register_dataclass, torch.utils._pytree.register_pytree_node), or "
        "use the tree functions on its parts.",
    ),
    "outside-iterator": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program uses {what}, an iterator that lives on from call to call; the exported program would replay what "
        "it gave at export.",
        "make the iterator inside of forward, or pass the value in as an argument.",
    ),
    "outside-object": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program uses {what}, an object older than the call, whose state can be neither recorded nor restored.",
        "read it in __init__ and keep the result.",
    ),
    "lock-held": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program {what}.",
        "take and release the lock inside of forward (`with lock:`), or leave it to the caller.",
    ),
    "background-code": GraphBreakRow(
        errors.UnsupportedCall,
        "The program calls {function}: code that runs in another thread or process, in an event loop, or when an "
        "object dies is not recorded.",
        "call the function itself in forward; start threads, processes and event loops around the exported program.",
    ),
    "outside-world": GraphBreakRow(
        errors.UnrecordableValue,
        "{function}() reaches outside of the process (files, the network, other processes).",
        "read what the program needs in __init__ and keep it; write results outside of forward. (A file that is only "
        "read, and whether a path is there, are taken, with a guard.)",
    ),
    "opaque-call": GraphBreakRow(
        errors.UnsupportedCall,
        "The program calls {function}, which is written in C and in no table: what it reads and changes is not known.",
        "declare what it does: dynamo_lite.allow(fn, pure=True) if its result depends on its arguments alone, "
        "dynamo_lite.assume_constant_result(fn) to keep the result of this call, or "
        "dynamo_lite.substitute(fn, python_version) to trace a Python version of it instead.",
    ),
    "collective": GraphBreakRow(
        errors.UnsupportedCall,
        "{what}.",
        "{rewrite}.",
    ),
    "global-rng": GraphBreakRow(
        errors.UnsupportedEffect,
        "{function} changes the state of a random number generator outside of the program.",
        "seed before calling the program; make what a generator with a constant seed gives in __init__, and keep it.",
    ),
    "tensor-attribute": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program uses the attribute {name!r} of a tensor, which the exported program cannot carry.",
        "return the value from forward, or keep it in a variable of forward.",
        {
            "requires_grad": "for gradients with respect to an argument use a detached copy (x = x.detach()."
            "requires_grad_()); use p.detach() instead of turning off the flag of a parameter p.",
        },
    ),
    "made-leaf": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program returns a tensor that requires grad only because it set requires_grad itself; the exported "
        "program has no operator for that, and returns one that does not.",
        "call requires_grad_() on the result outside of forward, make it a parameter, or return it detach()ed; "
        'pass effects="drop" if it may be lost.',
    ),
    "autograd-graph": GraphBreakRow(
        errors.UnrecordableValue,
        "The program looks into the autograd graph (Tensor.grad_fn, the base of a view), which a recording does not "
        "have as eager has it.",
        "ask requires_grad instead, or look at the graph outside of forward.",
    ),
    "tensor-data-assigned": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program replaces the storage of a tensor that is older than the call ({name}).",
        "write into it with copy_(), which the exported program carries.",
    ),
    "tensor-reshaped": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program changes the sizes or strides of a parameter, a buffer or a constant in place ({name}).",
        "use the operator without the underscore, which returns a view and leaves the tensor as it is.",
    ),
    "python-state": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program changes {target} from {old} to {new}, and a later call would see it; the exported program "
        "cannot carry that.",
        "keep it as a tensor in a registered buffer (register_buffer) and update that, or return it from forward; "
        'pass effects="drop" if it may be lost.',
    ),
    "new-state-tensor": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program stores a tensor in {target}, which a later call would see; the exported program cannot carry "
        "it{why}.",
        "register a buffer of that shape in __init__ (register_buffer) and copy_() into it, or return the tensor; "
        'pass effects="drop" if it may be lost.',
    ),
    "parameter-assigned": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program replaces the parameter {target}.",
        "update it in place (copy_(), under torch.no_grad()), or make it a buffer.",
    ),
    "constant-mutated": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program changes {target} in place, which is neither an input nor a registered buffer, and cannot become a "
        "buffer: it is on a numpy array's memory or shares another tensor's, or strict=False is given.",
        "register a tensor with its own memory as a buffer (register_buffer), or clone() it first.",
    ),
    "constant-shares-memory": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program reads {target}, which is not a registered parameter or buffer and shares memory with {other}. As "
        "a constant of the program it would keep its value when that changes.",
        "read the parameter or buffer itself, or keep a clone() (numpy: a copy()) of it.",
    ),
    "input-container": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program changes {target}, a container that was passed in; the caller's own would stay as it was.",
        'return the new container, or work on a copy of it; pass effects="drop" if the change may be lost.',
    ),
    "changed-and-returned": GraphBreakRow(
        errors.UnsupportedEffect,
        "In eager {what}; the program returns a new container, and the caller's own stays as it was.",
        'return a new container, and leave the one that was passed in as it is; effects="refuse" notes this only.',
    ),
    "copied-result": GraphBreakRow(
        errors.UnsupportedEffect,
        "In eager {what}, as a branch on data goes; the program's result has memory of its own.",
        'return a clone() on each side of the branch; effects="refuse" notes this only.',
    ),
    "global-state": GraphBreakRow(
        errors.UnsupportedEffect,
        "After forward {target} is {new}; before, it was {old}. The exported program cannot carry that.",
        'restore it before forward returns (use it as a context manager); pass effects="drop" if it may be lost.',
    ),
    "autocast-cache": GraphBreakRow(
        errors.UnsupportedEffect,
        "{function} uses a parameter that autocast has cast before: eager goes on with that cast, of {what}, until the "
        "outermost autocast region ends; the exported program casts at each use.",
        "do so in an autocast region of its own, or give torch.autocast cache_enabled=False.",
    ),
    "process-state": GraphBreakRow(
        errors.UnsupportedEffect,
        "{function} reads or changes a setting of the whole process; the exported program cannot carry that.",
        "call it outside of forward; give factories their dtype and device explicitly.",
    ),
    "foreign-tensor": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program reads a tensor that an earlier call of the program stored.",
        "register a buffer in __init__ (register_buffer) and copy_() into it, or compute the tensor in each call.",
    ),
    "input-identity": GraphBreakRow(
        errors.UnrecordableValue,
        "The program asks whether two tensors, {left} and {right}, are the same object (`is`).",
        "pass the tensors as arguments of their own, or pass a flag for it.",
    ),
    "tensor-subclass": GraphBreakRow(
        errors.UnsupportedCall,
        "The program needs the class of a tensor, {name}, a subclass of torch.Tensor, which a trace does not keep.",
        "use plain tensors in forward.",
    ),
    "unknown-tensor": GraphBreakRow(
        errors.UnsupportedCall,
        "The program made a tensor by something else than an operator, which is not recorded.",
        "make it with an operator (clone(), detach(), torch.empty_like, ...).",
    ),
    "script-object": GraphBreakRow(
        errors.UnsupportedCall,
        "The program uses a {kind}, an object of C++ (a ScriptObject): an operator is given it, or a method of it is "
        "called. An exported program cannot hold it.",
        "give operators tensors: weights unpacked (outside of forward), or a custom operator that packs them itself.",
    ),
    "script-module": GraphBreakRow(
        errors.UnsupportedCall,
        "The program calls {function}, compiled by TorchScript, which {what}. That is not recorded.",
        "call the Python module that it was made from.",
    ),
    "script-trace": GraphBreakRow(
        errors.UnsupportedCall,
        "The program calls {function}(), which runs the model on the data of its example inputs. They are not known "
        "during export.",
        "trace it before the export, in __init__, and call the traced module; or call the Python module itself.",
    ),
    "generator-argument": GraphBreakRow(
        errors.UnsupportedCall,
        "An operator is given a torch.Generator that is older than the call, or draws by data: the exported program "
        "cannot carry the generator's state.",
        "leave `generator` out: the program then draws from the default generator; or make the generator in forward, "
        "with a constant seed: what it draws is a constant.",
    ),
    "shared-buffer-assigned": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program assigns the buffer {target}, whose memory another name shares; after that they would differ.",
        "write into it with copy_(), or register two buffers.",
    ),
    "expanded-buffer-assigned": GraphBreakRow(
        errors.UnsupportedEffect,
        "The program assigns the buffer {target}, whose elements share memory (it was expanded); the exported program "
        "would copy the new value into it, and there is no room for it.",
        "register a clone() of the expanded tensor.",
    ),
    "buffer-becomes-shared": GraphBreakRow(
        errors.UnsupportedEffect,
        "After forward the buffer {target} shares its memory with another tensor; the exported program would copy it.",
        "assign a clone(), or write into the buffer with copy_().",
    ),
    "async-forward": GraphBreakRow(
        errors.UnsupportedCall,
        "{function} is asynchronous; what it returns is not a tensor but something to await.",
        "make it an ordinary function.",
    ),
    **OF_CONTROL_FLOW,
}
