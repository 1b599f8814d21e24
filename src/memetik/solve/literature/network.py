"""A small neural network: layers of tanh, trained by Adam on samples drawn as it goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

Sampler = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
"""Gives inputs (N, i) and what `Judge` compares their outputs with, (N, ...)."""

Judge = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Gives the error of outputs (N, o), (N, e), and half the slope of its sum of squares by them, (N, o)."""


def plain_error(outputs: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The error of outputs that are to be what is wanted."""
    return outputs - wanted, outputs - wanted


RATE, DECAY_1, DECAY_2, EPSILON = 2e-3, 0.9, 0.999, 1e-8
"""Adam's step at first (it falls to zero as a cosine), and its other constants."""


class Network:
    """y = W_k tanh(... tanh(W_1 x + b_1) ...) + b_k, in single precision."""

    def __init__(self, weights: Sequence[np.ndarray], biases: Sequence[np.ndarray]):
        self.weights, self.biases = list(weights), list(biases)

    @classmethod
    def random(cls, sizes: Sequence[int], rng: np.random.Generator) -> Network:
        """Weights drawn so that every layer keeps the size of its input."""
        pairs = list(pairwise(sizes))
        weights = [(rng.standard_normal((i, o)) / np.sqrt(i)).astype(np.float32) for i, o in pairs]
        return cls(weights, [np.zeros(o, dtype=np.float32) for _, o in pairs])

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Outputs (N, o) of inputs (N, i)."""
        return self._activations(inputs.astype(np.float32))[-1].astype(float)

    def train(
        self, sampler: Sampler, steps: int, batch: int, rng: np.random.Generator, judge: Judge = plain_error,
        advance: Callable[[float], None] = lambda steps: None,
    ) -> float:  # fmt: skip
        """Lowers the mean squared error on the sampler's pairs; gives that of the last steps. `advance` is called after
        each step."""
        parameters = [*self.weights, *self.biases]
        first = [np.zeros_like(p) for p in parameters]
        second = [np.zeros_like(p) for p in parameters]
        error = 0.0
        for step in range(1, steps + 1):
            inputs, wanted = (array.astype(np.float32) for array in sampler(rng, batch))
            gradients, loss = self._gradients(inputs, wanted, judge)
            error = loss if step == 1 else 0.99 * error + 0.01 * loss
            rate = RATE * 0.5 * (1.0 + np.cos(np.pi * step / steps)) * np.sqrt(1 - DECAY_2**step) / (1 - DECAY_1**step)
            for p, m, v, g in zip(parameters, first, second, gradients, strict=True):
                m *= DECAY_1
                m += (1 - DECAY_1) * g
                v *= DECAY_2
                v += (1 - DECAY_2) * g * g
                p -= np.float32(rate) * m / (np.sqrt(v) + EPSILON)
            advance(1)
        return error

    def arrays(self) -> dict[str, np.ndarray]:
        """What it is made of, by name."""
        named = {f"weight_{k}": weight for k, weight in enumerate(self.weights)}
        return named | {f"bias_{k}": bias for k, bias in enumerate(self.biases)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Network:
        """The network of these `arrays`."""
        count = len(arrays) // 2
        return cls([arrays[f"weight_{k}"] for k in range(count)], [arrays[f"bias_{k}"] for k in range(count)])

    def _activations(self, inputs: np.ndarray) -> list[np.ndarray]:
        layers = [inputs]
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            value = layers[-1] @ weight + bias
            layers.append(value if k == len(self.weights) - 1 else np.tanh(value))
        return layers

    def _gradients(self, inputs: np.ndarray, wanted: np.ndarray, judge: Judge) -> tuple[list[np.ndarray], float]:
        layers = self._activations(inputs)
        error, slope = judge(layers[-1], wanted)
        slope = slope * np.float32(2.0 / error.size)
        weights, biases = [], []
        for k in reversed(range(len(self.weights))):
            weights.append(layers[k].T @ slope)
            biases.append(slope.sum(axis=0))
            if k:
                slope = (slope @ self.weights[k].T) * (1.0 - layers[k] * layers[k])
        return [*reversed(weights), *reversed(biases)], float((error * error).mean())
