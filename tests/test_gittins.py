"""Gittins indices against slow twins, published values, limits and a hostile cache directory."""

import ast
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import naive_gittins
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from helpers import gittins_fingerprint
from ocucb import _files, gittins
from ocucb.gittins import _bernoulli, _gaussian, _numerics, _tables
from ocucb.gittins._bernoulli_kernels import calibrate
from ocucb.gittins._kernels import offsets

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module", autouse=True)
def cache_directory(tmp_path_factory):
    """Tables of these tests live in a directory of their own."""
    directory = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tables, "folder", lambda: directory)
        yield directory


def evaluate(m, T, horizon):
    m, T = np.broadcast_arrays(np.asarray(m, float), np.asarray(T, float))
    out = np.empty(m.size)
    offsets(m.ravel(), T.ravel(), gittins.surrogate(horizon), out)
    return out.reshape(m.shape)


def assert_close(value, true):
    """The accuracy that is promised: 1e-8 absolute and 1e-6 relative."""
    error = np.abs(value - true)
    assert np.max(error) <= 1e-8
    assert np.all(error <= 1e-6 * np.abs(true))


def every_entry(d):
    m = np.arange(1, d)
    return m, d - m


def read(name):
    return np.loadtxt(DATA / name, delimiter=",", skiprows=1).T


# The Gaussian index


@pytest.mark.parametrize(("m", "pulls"), [(2, (1, 2, 10, 1000)), (3, (1, 2, 7, 400)), (4, (1, 20))])
def test_adaptive_quadrature(m, pulls):
    for T in pulls:
        true = naive_gittins.gaussian_by_quadrature(m, T)
        assert gittins.index(m, T) == pytest.approx(true, rel=1e-9, abs=1e-10)
        assert_close(evaluate(m, T, 2000), true)


def test_published_values():
    m, T, true = read("gittins.csv")
    assert np.max(np.abs(evaluate(m, T, 100_000) - true)) <= 1e-8
    for each in zip(m, T, true, strict=True):
        assert gittins.index(*each[:2]) == pytest.approx(each[2], abs=1e-9)


def test_every_entry_at_horizon_500():
    diagonals = range(2, 502)
    with ThreadPoolExecutor() as pool:
        twins = pool.map(lambda d: naive_gittins.gaussian_diagonal(d, points=10), diagonals)
        for d, true in zip(diagonals, twins, strict=True):
            assert_close(evaluate(*every_entry(d), 500), true)


@pytest.mark.parametrize("horizon", [10_000, 100_000])
def test_samples_of_the_slow_twin(horizon):
    m, T, true = read("gittins_samples.csv")
    covered = m + T <= horizon + 1
    assert horizon + 1 in m + T
    assert_close(evaluate(m[covered], T[covered], horizon), true[covered])


@pytest.mark.parametrize(
    "horizon", [1_000, 10_000, 100_000, pytest.param(1_000_000, marks=pytest.mark.slow)]
)
def test_every_entry_of_random_diagonals(horizon):
    # The backward pass is itself checked above; here it shows what interpolation between the
    # surrogate's diagonals costs, on whole diagonals between and beside them.
    rng = np.random.default_rng(horizon)
    diagonals = np.exp(rng.uniform(math.log(257), math.log(horizon + 1), 8)).astype(int)
    for d in [*diagonals.tolist(), horizon + 1]:
        m, T = every_entry(d)
        assert_close(evaluate(m, T, horizon), gittins.index(m, T))


def test_surrogate_at_the_edges_of_its_regions():
    for d in [255, 256, 257, 258, 311, 312, 313, 1265, 1266]:
        m, T = every_entry(d)
        assert_close(evaluate(m, T, 1265), gittins.index(m, T))


def test_monotone_in_m_and_T():
    # To 1e-9, the error of the surrogate; the true differences can be smaller still.
    counts = np.unique(np.geomspace(1, 10_000, 400).astype(int))
    m, T = np.meshgrid(counts, counts, indexing="ij")
    g = np.where(m + T <= 10_001, 0.0, np.nan)
    inside = m + T <= 10_001
    g[inside] = evaluate(m[inside], T[inside], 10_000)
    assert np.all((np.diff(g, axis=0) > -1e-9) | ~inside[1:])
    assert np.all((np.diff(g, axis=1) < 1e-9) | ~inside[:, 1:])
    neighbours = np.arange(1, 3000)
    assert np.all(np.diff(evaluate(neighbours, 7, 10_000)) > 0)
    assert np.all(np.diff(evaluate(500, neighbours, 10_000)) < 0)


def test_scaling_limit():
    # sqrt(T) g(rT, T) = G(r) - 0.5826 / sqrt(T) + O(1/T), 0.5826 = -zeta(1/2) / sqrt(2 pi).
    for ratio in (0.25, 1, 4):
        limit = gittins.brownian_limit(ratio)
        for T in (400, 1600, 6400, 16_000):
            scaled = math.sqrt(T) * evaluate(ratio * T, T, 100_000) + 0.5825971579 / math.sqrt(T)
            assert abs(scaled - limit) < 0.5 / T


def test_limit_near_the_end():
    # With few rounds left compared with T the posterior mean is a Brownian motion X, and stopping
    # the integral of X is self-similar: the boundary is -alpha sqrt(rounds left), where alpha
    # solves alpha I_2(-alpha) = I_3(-alpha); I_k(z) integrates (y - z)^k / k! phi(y) over y > z.
    def integral(k, z):
        before, last = naive_gittins.norm_pdf(z), ndtr(-z)
        for j in range(1, k + 1):
            before, last = last, (before - z * last) / j
        return last

    alpha = brentq(lambda x: x * integral(2, -x) - integral(3, -x), 0.1, 2.0)
    assert alpha == pytest.approx(0.638833, abs=1e-6)
    ratio = 1 / 256
    assert gittins.brownian_limit(ratio) == pytest.approx(alpha * math.sqrt(ratio), rel=3e-3)


def test_index_broadcasts_and_scales():
    m, T = np.array([[1], [2], [50]]), np.array([1, 2, 3, 40])
    g = gittins.index(m, T)
    assert g.shape == (3, 4)
    assert np.all(g[0] == 0)
    assert g[2, 3] == pytest.approx(float(gittins.index(50, 40)), abs=1e-8)
    assert np.allclose(gittins.index(m, T, sigma=2.5), 2.5 * g)
    assert gittins.index(3, 1).shape == ()
    assert gittins.index([], []).size == 0


def test_beyond_the_horizon_is_not_a_number():
    table = gittins.surrogate(1000)
    assert math.isnan(gittins.offset(10**6, 10**6, table))
    assert gittins.offset(1, 10**6, table) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gittins.index(0, 1), "m must be a whole number >= 1, got 0."),
        (lambda: gittins.index([1, 2.5], 1), "m must be a whole number >= 1, got 2.5."),
        (lambda: gittins.index(1, -3), "T must be a whole number >= 1, got -3."),
        (lambda: gittins.index(math.nan, 1), "m must be a whole number >= 1, got nan."),
        (lambda: gittins.index(1, 1, -1.0), "sigma must be finite and at least 0, got -1.0."),
        (lambda: gittins.index(10**8, 1), "m \\+ T must be at most 1000001, got 100000001."),
        (lambda: gittins.surrogate(0), "horizon must be at least 1, got 0."),
        (lambda: gittins.surrogate(2.5), "horizon must be a whole number, got 2.5."),
        (lambda: gittins.brownian_limit(1000), "ratio must lie between 1/256 and 256, got 1000."),
        (lambda: gittins.bernoulli_surrogate(5001), "from 1 to 5000, got 5001."),
        (lambda: gittins.bernoulli_surrogate(0), "horizon must be at least 1, got 0."),
        (lambda: gittins.bernoulli_surrogate(9, (0, 1)), "two positive numbers, got \\(0, 1\\)."),
        (lambda: gittins.plot(5), "horizon must be at least 100, got 5."),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# The author's approximation


def test_approximation_follows_the_formula():
    pulls, t, horizon = 20, 101, 5000
    left = horizon - t
    beta = min(
        left / (4 * math.log(left) ** 1.5), left / (4 * pulls * math.sqrt(math.log(left / pulls)))
    )
    assert beta > 1
    expected = math.sqrt(2 / pulls * math.log(beta))
    assert gittins.approximate_offset(pulls, t, horizon) == pytest.approx(expected)


def test_approximation_is_defined_in_every_round():
    horizon = 300
    for t in range(1, horizon + 1):
        for pulls in range(1, t + 1):
            value = gittins.approximate_offset(pulls, t, horizon)
            assert 0 <= value < 4
            if horizon - t <= max(1, pulls):
                assert value == 0


def test_approximation_is_near_the_index():
    for pulls, t in [(1, 1), (10, 100), (100, 1000)]:
        exact = float(gittins.index(10_000 - t + 1, pulls))
        assert gittins.approximate_offset(pulls, t, 10_000) == pytest.approx(exact, rel=0.5)


# The cache


def small_table():
    return np.arange(5.0)


def stored(name="probe"):
    """Read the table with an empty memory; say whether it had to be built."""
    built = []

    def build():
        built.append(True)
        return small_table()

    _tables.forget()
    assert np.array_equal(_tables.table(name, build), small_table())
    return not built


@pytest.fixture
def probe(tmp_path, monkeypatch):
    monkeypatch.setattr(_tables, "folder", lambda: tmp_path / "ocucb")
    monkeypatch.setattr(_tables, "_memory", {})
    return tmp_path / "ocucb" / "probe.table"


def test_cache_keeps_a_table(probe):
    assert not stored()
    assert stored()
    assert list(probe.parent.iterdir()) == [probe]
    first = _tables.table("probe", small_table)
    assert _tables.table("probe", small_table) is first


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:20],
        lambda data: data[:-8],
        lambda data: data + bytes(8),
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data: b"a foreign file that happens to have this name, and some length to it",
    ],
)
def test_damaged_file_is_rebuilt(probe, spoil):
    stored()
    probe.write_bytes(spoil(probe.read_bytes()))
    assert not stored()
    assert stored()


def test_another_version_is_not_trusted(probe):
    stored("probe-v1")
    probe.with_name("probe-v1.table").rename(probe.with_name("probe-v2.table"))
    assert not stored("probe-v2")


def test_unusable_directory_costs_only_time(probe):
    probe.parent.write_text("a file where the directory should be")
    assert not stored()
    assert not stored()


def test_unwritable_directory_costs_only_time(probe, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError("read-only file system")

    monkeypatch.setattr(_files.os, "open", refuse)
    assert not stored()
    assert not stored()


def test_failed_rename_leaves_nothing_behind(probe, monkeypatch):
    def refuse(*args):
        raise PermissionError("somebody holds the file")

    monkeypatch.setattr(_files.os, "replace", refuse)
    assert not stored()
    assert list(probe.parent.iterdir()) == []


def test_two_processes_at_once(probe):
    program = f"""
import pathlib, time
import numpy as np
from ocucb.gittins import _tables
_tables.folder = lambda: pathlib.Path({str(probe.parent)!r})
for k in range(200):
    _tables.forget()
    (pathlib.Path({str(probe)!r})).unlink(missing_ok=True)
    assert np.array_equal(_tables.table("probe", lambda: np.arange(5.0)), np.arange(5.0))
"""
    source = str(Path(gittins.__file__).parents[2])
    both = [
        subprocess.Popen([sys.executable, "-c", program], cwd=source, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in both:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
    assert stored()
    assert list(probe.parent.iterdir()) == [probe]


def test_surrogate_survives_its_cache_file(cache_directory):
    before = gittins.surrogate(300)
    _tables.forget()
    assert np.array_equal(gittins.surrogate(300), before)
    for file in cache_directory.glob("gittins-gaussian-*"):
        file.write_bytes(b"damaged")
    _tables.forget()
    assert np.array_equal(gittins.surrogate(300), before)


# The same bits everywhere

SOURCE = Path(gittins.__file__).parent
LINEAR_ALGEBRA = "dot einsum inner linalg matmul matvec polynomial tensordot vdot vecdot vecmat"


def test_tables_do_not_depend_on_threads_or_addresses():
    program = """
import sys
import numpy as np
threads, pool, junk = map(int, sys.argv[1:])
kept = [np.empty(size, np.uint8) for size in range(1, junk, 24)][::2]
from ocucb.gittins import _bernoulli, _gaussian
_bernoulli.cores = _gaussian.cores = lambda: pool
import helpers
print(helpers.gittins_fingerprint())
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(threads), str(pool), str(junk)],
            cwd=Path(__file__).parent,
            env=os.environ
            | dict.fromkeys(["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"], str(threads)),
            stdout=subprocess.PIPE,
            text=True,
        )
        for threads, pool, junk in [(1, 1, 0), (2, 5, 30_000)]
    ]
    printed = {process.communicate(timeout=120)[0].strip() for process in processes}
    assert printed == {gittins_fingerprint()}


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="all cores are lent")
def test_pools_have_the_cores_that_the_process_may_use(monkeypatch):
    """Not those of the machine, of which a container or a batch system may lend a few."""
    used = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, threads):
            used.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3, 7})
    for module in (_bernoulli, _gaussian):
        monkeypatch.setattr(module, "ThreadPoolExecutor", Pool)
    gittins_fingerprint()
    assert set(used) == {3}


def test_numerics_do_not_depend_on_alignment():
    rng = np.random.default_rng(1)
    a, b, x = rng.normal(size=(67, 61)), rng.normal(size=(61, 66)), rng.normal(size=61)

    def moved(array, items):
        out = np.empty(array.size + 8)[items : items + array.size].reshape(array.shape)
        out[:] = array
        return out

    for items in range(8):
        c, d, y = moved(a, items), moved(b, 3 * items % 8), moved(x, items)
        assert np.array_equal(_numerics.product(a, b), _numerics.product(c, d))
        assert np.array_equal(_numerics.polynomials(x, b), _numerics.polynomials(y, d))
        assert np.array_equal(_numerics.lagrange_weights(a, x), _numerics.lagrange_weights(c, y))
        assert np.array_equal(_numerics.chebyshev_sums(a, a, 9), _numerics.chebyshev_sums(c, c, 9))


def test_tables_are_built_without_blas_and_lapack(monkeypatch):
    before = gittins_fingerprint()

    def refuse(*args, **kwargs):
        raise AssertionError("BLAS or LAPACK is used")

    for name in LINEAR_ALGEBRA.split():
        if callable(getattr(np, name, None)):
            monkeypatch.setattr(np, name, refuse)
    for name, function in vars(np.linalg).items():
        if callable(function) and not isinstance(function, type):
            monkeypatch.setattr(np.linalg, name, refuse)
    assert gittins_fingerprint() == before


@pytest.mark.parametrize("name", sorted(p.name for p in SOURCE.glob("*.py")))
def test_no_linear_algebra_of_numpy_in_the_source(name):
    for node in ast.walk(ast.parse((SOURCE / name).read_text())):
        assert not isinstance(node, ast.MatMult)
        if isinstance(node, ast.Attribute):
            assert node.attr not in LINEAR_ALGEBRA.split(), f"line {node.lineno}"


def test_chebyshev_coefficients_invert_the_values():
    points = -np.cos(np.pi * np.arange(64) / 63)
    values = np.polynomial.chebyshev.chebvander(points, 63)
    inverse = np.linalg.inv(values)
    assert np.allclose(_numerics.chebyshev_coefficients(64), inverse, rtol=0, atol=1e-14)


def test_gauss_legendre():
    abscissae, weights = _numerics.gauss_legendre(64)
    expected = np.polynomial.legendre.leggauss(64)
    assert np.allclose(abscissae, expected[0], rtol=0, atol=1e-15)
    assert np.allclose(weights, expected[1], rtol=1e-11, atol=0)


def test_polynomials_and_weights():
    rng = np.random.default_rng(2)
    x, values = np.arange(-4, 4) + rng.uniform(0, 0.5, 8), rng.normal(size=(8, 5))
    coefficients = _numerics.polynomials(x, values)
    assert np.allclose(np.vander(x, 8, increasing=True) @ coefficients, values)
    at = rng.uniform(-4, 4, 3)
    weights = _numerics.lagrange_weights(np.repeat(x[:, None], 3, axis=1), at)
    assert np.allclose(weights.T @ values, np.vander(at, 8, increasing=True) @ coefficients)


# Bernoulli rewards


def exact_bernoulli(m, a, b):
    return calibrate(m, a, b, a / (a + b), 1e-14, np.empty(m + 2), np.empty(m + 2))


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_bernoulli_against_all_stopping_rules(m):
    table = gittins.bernoulli_surrogate(30)
    for s, f in [(0, 0), (1, 0), (0, 1), (2, 3), (0, 9), (9, 0), (4, 4)]:
        best = float(naive_gittins.bernoulli_by_enumeration(m, s + 1, f + 1))
        assert gittins.bernoulli_index(m, s, f, table) == pytest.approx(best, abs=1e-14)


def test_bernoulli_block_is_exact_for_any_prior():
    for prior in [(1.0, 1.0), (0.5, 0.5), (2.0, 7.5)]:
        table = gittins.bernoulli_surrogate(40, prior)
        for s, f, m in [(0, 0, 40), (3, 2, 30), (0, 20, 20), (20, 0, 15), (12, 17, 11)]:
            twin = naive_gittins.bernoulli_by_bisection(m, prior[0] + s, prior[1] + f)
            assert gittins.bernoulli_index(m, s, f, table) == pytest.approx(twin, abs=1e-12)


def test_bernoulli_calibration_at_a_long_horizon():
    for m, a, b in [(200, 1.0, 1.0), (150, 3.0, 40.0), (150, 40.0, 3.0)]:
        twin = naive_gittins.bernoulli_by_bisection(m, a, b)
        assert exact_bernoulli(m, a, b) == pytest.approx(twin, abs=1e-12)


@pytest.mark.parametrize("horizon", [300, pytest.param(1000, marks=pytest.mark.slow)])
def test_bernoulli_surrogate(horizon):
    table = gittins.bernoulli_surrogate(horizon)
    rng = np.random.default_rng(4)
    errors = []
    while len(errors) < 3000:
        T = int(np.exp(rng.uniform(0, math.log(horizon)))) - 1
        m = int(np.exp(rng.uniform(0, math.log(horizon))))
        s = int(rng.choice([rng.integers(T + 1), min(T, 2), T]))
        if m + T <= horizon:
            error = abs(
                gittins.bernoulli_index(m, s, T - s, table)
                - exact_bernoulli(m, s + 1.0, T - s + 1.0)
            )
            assert error < (1e-14 if m + T <= 128 else 4e-5)
            errors.append(error)
    assert np.sqrt(np.mean(np.square(errors))) < 2e-6


def test_bernoulli_index_is_sane():
    table = gittins.bernoulli_surrogate(300)
    assert gittins.bernoulli_index(1, 2, 1, table) == pytest.approx(3 / 5)
    assert math.isnan(gittins.bernoulli_index(300, 1, 0, table))
    for s, f in [(0, 0), (5, 60), (100, 30)]:
        rounds = range(1, 301 - s - f)
        values = [gittins.bernoulli_index(m, s, f, table) for m in rounds]
        assert np.all(np.diff(values) > -2e-6)
        assert (s + 1) / (s + f + 2) <= values[0] <= values[-1] < 1


def test_bernoulli_gittins_never_beats_bayes():
    table = gittins.bernoulli_surrogate(16)
    for horizon in (2, 3, 5, 10, 16):
        optimal, played = naive_gittins.two_armed_values(
            horizon, lambda m, s, f: gittins.bernoulli_index(m, s, f, table)
        )
        assert played <= optimal + 1e-12
        assert played >= 0.998 * optimal


def test_picture():
    figure = gittins.plot(1000)
    left, right = figure.axes[:2]
    assert left.get_xlabel() == "rounds left m"
    assert any("Brownian" in line.get_label() for line in right.lines)
