"""The rows that PyTorch can run too, by Python's torch: what bench/threads measures ours against.

    python3 bench/peers/pytorch.py THREADS [ROW...]

Prints a line of JSON for each row: the least time of all repetitions, of eager code, of compiled code
where torch.compile works, and of both memory formats where there are images.
"""

import json
import math
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

REPETITIONS = 7
REPETITION_S = 0.05


def least_us(call):
    for _ in range(3):
        call()
    begin = time.perf_counter()
    call()
    times = max(1, int(REPETITION_S / (time.perf_counter() - begin)))
    best = math.inf
    for _ in range(REPETITIONS):
        begin = time.perf_counter()
        for _ in range(times):
            call()
        best = min(best, (time.perf_counter() - begin) / times * 1e6)
    return best


def inference(*calls):
    """The best of several ways to write the same call."""
    with torch.inference_mode():
        return min(least_us(call) for call in calls)


def unary(function, count=1 << 20):
    x = torch.linspace(-4, 4, count)
    return inference(lambda: function(x))


def chain(x):
    return torch.tanh(x) * torch.sigmoid(x) + torch.relu(x)


def traced_chain(count):
    x = torch.linspace(-4, 4, count)
    fast = torch.compile(chain)
    return inference(lambda: chain(x), lambda: fast(x))


def matmul(n, dtype=torch.float32):
    a, b = torch.rand(n, n).to(dtype), torch.rand(n, n).to(dtype)
    return inference(lambda: a @ b)


def taped_add():
    a, b = torch.ones(1, requires_grad=True), torch.ones(1)
    return least_us(lambda: a + b)


def both_formats(make):
    """Calls of make(format) for channels first and channels last."""
    return [make(torch.contiguous_format), make(torch.channels_last)]


def conv2d(which):
    def make(memory_format):
        x = torch.rand(32, 64, 56, 56).contiguous(memory_format=memory_format)
        w = torch.rand(64, 64, 3, 3).contiguous(memory_format=memory_format)
        dy = torch.rand(32, 64, 56, 56).contiguous(memory_format=memory_format)
        if which == "forward":
            return lambda: F.conv2d(x, w, padding=1)
        mask = [which == "input", which == "filter", False]
        return lambda: torch.ops.aten.convolution_backward(
            dy, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, mask)
    return inference(*both_formats(make))


def batch_norm():
    scale, offset = torch.ones(64), torch.zeros(64)

    def make(memory_format):
        x = torch.randn(32, 64, 56, 56).contiguous(memory_format=memory_format)
        return lambda: torch.native_batch_norm(x, scale, offset, None, None, True, 0.1, 1e-3)
    return inference(*both_formats(make))


def layer_norm():
    x, scale, offset = torch.randn(8192, 768), torch.ones(768), torch.zeros(768)
    return inference(lambda: F.layer_norm(x, (768,), scale, offset, 1e-3))


def max_pool():
    def make(memory_format):
        x = torch.rand(32, 64, 112, 112).contiguous(memory_format=memory_format)
        return lambda: F.max_pool2d(x, 3, 2, ceil_mode=True)
    return inference(*both_formats(make))


def softmax():
    x = torch.randn(256, 1000)
    return inference(lambda: torch.softmax(x, -1))


def gather():
    table, rows = torch.randn(50_000, 128), torch.randint(0, 50_000, (4096,))
    return inference(lambda: F.embedding(rows, table))


def scatter_nd():
    dy, rows = torch.randn(4096, 128), torch.randint(0, 50_000, (4096,))
    return inference(lambda: torch.ops.aten.embedding_dense_backward(dy, rows, 50_000, -1, False))


def of_long_rows(function):
    x = torch.randn(256, 10_000)
    return inference(lambda: function(x))


def attention_einsum():
    q, k, v = (torch.rand(8, 8, 128, 64) for _ in range(3))
    return inference(lambda: torch.einsum(
        "bhqk,bhkd->bhqd", torch.einsum("bhqd,bhkd->bhqk", q, k), v))


def dense_apply():
    layer, x = nn.Linear(10, 10), torch.rand(1000, 10)
    return inference(lambda: layer(x))


def recurrent_predict(cell, steps, features, units):
    layer, x = cell(features, units, batch_first=True), torch.rand(1, steps, features)
    state = None

    def call():
        nonlocal state
        outputs, state = layer(x, state)
        return outputs[:, -1]
    return inference(call)


class Recurrent(nn.Module):
    def __init__(self, cell, features, units):
        super().__init__()
        self.cell, self.dense = cell(features, units, batch_first=True), nn.Linear(units, 1)

    def forward(self, x):
        return self.dense(self.cell(x)[0][:, -1])


class Encoder(nn.Module):
    """One encoder layer with its attention in one projection, as the other peer has it."""
    WIDTH, HEADS = 256, 4

    def __init__(self):
        super().__init__()
        self.project, self.merge = nn.Linear(self.WIDTH, 3 * self.WIDTH), nn.Linear(256, 256)
        self.widen, self.narrow = nn.Linear(self.WIDTH, 1024), nn.Linear(1024, self.WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(self.WIDTH), nn.LayerNorm(self.WIDTH)

    def forward(self, x):
        heads = [part.unflatten(-1, (self.HEADS, -1)).transpose(1, 2)
                 for part in self.project(x).chunk(3, -1)]
        mixed = F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        x = self.norm1(x + self.merge(mixed))
        return self.norm2(x + self.narrow(torch.relu(self.widen(x))))


def mlp(inputs=784, units=512):
    return nn.Sequential(nn.Linear(inputs, units), nn.ReLU(), nn.Linear(units, units), nn.ReLU(),
                         nn.Linear(units, 10))


def cnn():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1600, 128), nn.ReLU(),
                         nn.Linear(128, 10))


def train(make, shape, wanted_shape=None, can_compile=True, memory_formats=(None,)):
    """A step of Adam; the loss is cross-entropy of ten classes where no shape is wanted."""
    best = math.inf
    for memory_format in memory_formats:
        for is_compiled in (False, True) if can_compile else (False,):
            model, x = make(), torch.rand(shape)
            if memory_format is not None:
                model, x = (part.to(memory_format=memory_format) for part in (model, x))
            wanted = torch.rand(wanted_shape) if wanted_shape else torch.randint(10, shape[:1])
            adam = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
            call = torch.compile(model) if is_compiled else model

            def step():
                adam.zero_grad(set_to_none=True)
                result = call(x)
                loss = F.mse_loss(result, wanted) if wanted_shape else F.cross_entropy(result, wanted)
                loss.backward()
                adam.step()
            best = min(best, least_us(step))
    return best


FORMATS = (torch.contiguous_format, torch.channels_last)
ROWS = {
    "op_add_1": lambda: inference(lambda a=torch.ones(1), b=torch.ones(1): a + b),
    "op_relu_16": lambda: unary(torch.relu, 16),
    "op_add_1_taped": taped_add,
    "relu_1m": lambda: unary(torch.relu),
    "tanh_1m": lambda: unary(torch.tanh),
    "sigmoid_1m": lambda: unary(torch.sigmoid),
    "chain_1m": lambda: unary(chain),
    "chain_1m_traced": lambda: traced_chain(1 << 20),
    "chain_16m_traced": lambda: traced_chain(1 << 24),
    "sum_16m": lambda: unary(torch.sum, 1 << 24),
    "softmax_256x1000": softmax,
    "batch_norm": batch_norm,
    "layer_norm": layer_norm,
    **{f"matmul_{n}": lambda n=n: matmul(n) for n in (64, 256, 512, 1024, 2048, 4096)},
    **{f"matmul_bf16_{n}": lambda n=n: matmul(n, torch.bfloat16) for n in (512, 2048)},
    "gather": gather,
    "scatter_nd": scatter_nd,
    "top_k": lambda: of_long_rows(lambda x: torch.topk(x, 10)),
    "sort": lambda: of_long_rows(lambda x: torch.sort(x, stable=True)),
    "attention_einsum": attention_einsum,
    "max_pool": max_pool,
    "conv2d": lambda: conv2d("forward"),
    "conv2d_grad_input": lambda: conv2d("input"),
    "conv2d_grad_filter": lambda: conv2d("filter"),
    "dense_apply": dense_apply,
    "rnn_predict_small": lambda: recurrent_predict(nn.RNN, 16, 4, 10),
    "rnn_predict": lambda: recurrent_predict(nn.RNN, 100, 32, 128),
    "lstm_predict": lambda: recurrent_predict(nn.LSTM, 50, 64, 128),
    "small_train": lambda: train(lambda: mlp(64, 128), (64, 64)),
    "mlp_train": lambda: train(mlp, (64, 784)),
    "rnn_train": lambda: train(lambda: Recurrent(nn.RNN, 32, 128), (32, 100, 32), (32, 1), False),
    "lstm_train": lambda: train(lambda: Recurrent(nn.LSTM, 64, 128), (32, 50, 64), (32, 1), False),
    "cnn_train": lambda: train(cnn, (64, 1, 28, 28), memory_formats=FORMATS),
    "transformer_train": lambda: train(Encoder, (8, 128, 256), (8, 128, 256)),
}


def main():
    torch.set_num_threads(int(sys.argv[1]))
    for name in sys.argv[2:] or ROWS:
        if name in ROWS:
            print(json.dumps({"name": name, "us": ROWS[name]()}), flush=True)


if __name__ == "__main__":
    main()
