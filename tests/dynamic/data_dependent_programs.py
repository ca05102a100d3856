"""Programs that ask about data, as source text: each must be refused with a `torch._check` that settles the question.

`x` is a float tensor of shape [6, 4]; `t` an int64 tensor [3, 1, 2], `k` the number 2 in a tensor.
"""

PROGRAMS: dict[str, str] = {
    "if_on_an_item": """
def forward(x, t, k):
    n = k.item()
    if n > 1:
        return x + n
    return x - n
""",
    "elif_on_an_item": """
def forward(x, t, k):
    n = k.item()
    if x.shape[1] > 100:
        return x
    elif n == 2:
        return x + n
    return x - n
""",
    "else_branch": """
def forward(x, t, k):
    n = k.item()
    if n >= 5:
        return x + n
    else:
        return x - n
""",
    "conditional_expression": """
def forward(x, t, k):
    n = k.item()
    return x * 2 if n != 3 else x
""",
    "and_of_two": """
def forward(x, t, k):
    n = k.item()
    m = t[0].item()
    if n > 1 and m < 10:
        return x + n
    return x
""",
    "or_of_two": """
def forward(x, t, k):
    n = k.item()
    m = t[0].item()
    if n > 10 or m == 3:
        return x + n
    return x
""",
    "not_of_one": """
def forward(x, t, k):
    n = k.item()
    if not n == 7:
        return x + n
    return x
""",
    "truth_of_an_item": """
def forward(x, t, k):
    n = k.item()
    if n:
        return x / n
    return x
""",
    "unnamed_item": """
def forward(x, t, k):
    if k.item() > 1:
        return x + 1
    return x
""",
    "int_of_a_tensor": """
def forward(x, t, k):
    n = int(k)
    if n + 1 < 9:
        return x[:, n]
    return x
""",
    "bool_item": """
def forward(x, t, k):
    positive = (k > 0).item()
    if positive:
        return x + 1
    return x
""",
    "negated_bool_item": """
def forward(x, t, k):
    flag = (k > 5)
    if not flag.item():
        return x + 1
    return x
""",
    "float_item": """
def forward(x, t, k):
    scale = x.abs().sum().item()
    if scale > 0.5:
        return x / scale
    return x
""",
    "in_a_loop": """
def forward(x, t, k):
    n = k.item()
    for i in range(3):
        if n > i:
            x = x + n
    return x
""",
    "in_a_helper": """
def helper(x, count):
    if count < 4:
        return x + count
    return x

def forward(x, t, k):
    return helper(x, k.item())
""",
    "in_a_lambda": """
def forward(x, t, k):
    n = k.item()
    pick = lambda: x + 1 if n < 4 else x
    return pick()
""",
    "in_a_comprehension": """
def forward(x, t, k):
    n = k.item()
    parts = [x * i for i in range(4) if i != 2 or n > 1]
    return parts
""",
    "several_lines": """
def forward(x, t, k):
    n = k.item()
    y = torch.add(
        x,
        1 if n > 1
        else 2,
    )
    return y
""",
    "while_loop": """
def forward(x, t, k):
    n = k.item()
    i = 0
    while n > 1 and i < 2:
        x = x + n
        i += 1
    return x
""",
    "size_of_nonzero": """
def forward(x, t, k):
    rows = torch.nonzero(t > 1)
    if rows.shape[0] > 1:
        return x[: rows.shape[0]]
    return x
""",
    "size_of_a_mask": """
def forward(x, t, k):
    kept = x[x > -100]
    if kept.shape[0] == x.numel():
        return kept.view(6, 4)
    return kept
""",
    "size_against_a_size": """
def forward(x, t, k):
    kept = t[t > 1]
    other = t[t < 3]
    if kept.shape[0] == other.shape[0]:
        return kept + other
    return kept
""",
    "unique_values": """
def forward(x, t, k):
    values = torch.unique(t)
    if len(values) > 2:
        return values * 2
    return values
""",
    "element_of_a_list": """
def forward(x, t, k):
    sizes = t.tolist()
    if sizes[0] > sizes[1]:
        return x + sizes[0]
    return x
""",
    "value_in_a_dict": """
def forward(x, t, k):
    config = {"n": k.item()}
    if config["n"] == 2:
        return x + 1
    return x
""",
    "attribute": """
class Box:
    pass

def forward(x, t, k):
    box = Box()
    box.n = k.item()
    if box.n % 2 == 0:
        return x + 1
    return x
""",
    "minimum": """
def forward(x, t, k):
    n = min(k.item(), 10)
    return x[:n] if n <= x.shape[0] else x
""",
    "remainder": """
def forward(x, t, k):
    n = t.sum().item()
    if n % 3 == 0:
        return x + n // 3
    return x
""",
    "chained": """
def forward(x, t, k):
    n = k.item()
    if 0 < n < 5:
        return x + n
    return x
""",
    "equality_with_a_size": """
def forward(x, t, k):
    n = k.item() * 3
    if n == x.shape[0]:
        return x + 1
    return x
""",
    "match_statement": """
def forward(x, t, k):
    n = k.item()
    match n:
        case 0:
            return x
        case 2:
            return x + 2
    return x - 1
""",
    "membership": """
def forward(x, t, k):
    n = k.item()
    return x + 1 if n in (1, 2) else x
""",
    "sorting": """
def forward(x, t, k):
    a, b = t[0].item(), t[1].item()
    low, high = sorted([a, b])
    return x * low + high
""",
    "truncated_float": """
def forward(x, t, k):
    n = int((x.abs().sum() * 0.01).item())
    if n > x.shape[0]:
        return x * n
    return x + n
""",
    "part_of_a_number": """
def forward(x, t, k):
    half = (k * 3).item() // 2
    if half < 4:
        return x + half
    return x
""",
    "multiple_of_a_number": """
def forward(x, t, k):
    n = (k + 1).item() * 2 + 1
    if n > 3:
        return x + n
    return x
""",
    "shifted_number": """
def forward(x, t, k):
    n = (k + 1).item() - 1
    if n * 2 > 3:
        return x + n
    return x
""",
    "try_block": """
def forward(x, t, k):
    n = k.item()
    try:
        if n > 1:
            return x + 1
    except Exception:
        return x - 1
    return x
""",
    "truth_of_a_size_in_a_method": """
class Model(torch.nn.Module):
    def forward(self, x, rows):
        if rows.size(0):
            return x + 1
        return x

def forward(x, t, k):
    return Model()(x, t.nonzero())
""",
}
