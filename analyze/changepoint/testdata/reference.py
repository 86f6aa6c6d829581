"""Writes otava.json: seeded series with the change points that Apache Otava finds in them.

Run: pip install apache-otava==0.8.0 && python3 reference.py > otava.json
"""
import json

import numpy as np
from otava.analysis import compute_change_points


def steps(r, n, *levels):
    return np.repeat(levels, -(-n // len(levels)))[:n] + r.normal(size=n)


SERIES = {
    "equal": lambda r: r.normal(100, 1, 300),
    "one step": lambda r: 100 + steps(r, 300, 0, 3),
    "small step": lambda r: 100 + steps(r, 200, 0, 1),
    "steps up and down": lambda r: 100 + steps(r, 300, 0, 2, 0, 4, 1),
    "many steps": lambda r: 100 + steps(r, 400, *([0, 3] * 10)),
    "heavy tails": lambda r: 100 + r.standard_t(2, 300) + np.repeat([0, 4], 150),
    "two modes": lambda r: 100 + 5.0 * r.integers(0, 2, 300) + r.normal(0, 0.3, 300),
    "two modes, step": lambda r: 100 + 5.0 * r.integers(0, 2, 300) + r.normal(0, 0.3, 300) + np.repeat([0, 4], 150),
    "drift": lambda r: 100 + np.linspace(0, 10, 300) + r.normal(size=300),
    "random walk": lambda r: 100 + np.cumsum(r.normal(0, 0.5, 300)),
    "quantised": lambda r: np.round(steps(r, 300, 0, 2, 1)) + 100,
    "constant": lambda r: np.repeat([5.0, 7.0, 5.0], 60),
    "outliers": lambda r: 100 + steps(r, 300, 0, 2) + 30.0 * (r.random(300) < 0.03),
    "wave": lambda r: 100 + 3 * np.sin(np.arange(300) / 20) + r.normal(size=300),
    "log ratios": lambda r: 0.02 * steps(r, 250, 0, -2.5),
    "few": lambda r: 100 + steps(r, 12, 0, 8),
    "variance": lambda r: r.normal(100, np.repeat([1, 6, 1], 80), 240),
    "step at the end": lambda r: 100 + r.normal(size=203) + 4 * (np.arange(203) >= 197),
}

lists = []
for seed, (name, make) in enumerate(SERIES.items()):
    series = [round(float(v), 3) for v in make(np.random.default_rng(seed))]
    for window, p in (50, 0.001), (30, 0.01):
        points, weak = compute_change_points(series, window_len=window, max_pvalue=p)
        lists.append({"name": name, "window": window, "p": p, "points": [int(c.index) for c in points],
                      "weak": [int(c.index) for c in weak], "series": series if window == 50 else None})
print("[\n" + ",\n".join(json.dumps(one) for one in lists) + "\n]")
