"""Numbers that elementary functions of pairs need: π, log 2, terms of series, sines and exponentials.

Whole numbers of 300 bits, so that every pair and every exact piece is right to its last bit.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

BITS = 300
ONE = 1 << BITS


def as_pair(exact: Fraction) -> tuple[float, float]:
    """The pair next to a number."""
    high = float(exact)
    return high, float(exact - Fraction(high))


def pairs_of(numbers) -> np.ndarray:
    """Pairs next to numbers, one per row."""
    return np.array([as_pair(Fraction(each)) for each in numbers])


def in_pieces(exact: Fraction, count: int) -> np.ndarray:
    """Doubles whose sum is a number to 53 bits each."""
    pieces = []
    for _ in range(count):
        pieces.append(float(exact))
        exact -= Fraction(pieces[-1])
    return np.array(pieces)


def _arctan_of_inverse(n: int) -> int:
    """arctan(1/n), times ONE."""
    power, total, k = ONE // n, 0, 1
    while power:
        total += power // k if k % 4 == 1 else -(power // k)
        power //= n * n
        k += 2
    return total


def _log_2() -> int:
    """log 2 = 2 artanh(1/3), times ONE."""
    power, total, k = ONE // 3, 0, 1
    while power:
        total += power // k
        power //= 9
        k += 2
    return 2 * total


PI = Fraction(4 * (4 * _arctan_of_inverse(5) - _arctan_of_inverse(239)), ONE)
LOG_2 = Fraction(_log_2(), ONE)
TURN_STEPS, EXP_STEPS = 16, 64  # sines are tabulated at multiples of π/16, exponentials at multiples of 1/64


def exponential(x: Fraction) -> Fraction:
    """e^x of a small number."""
    term, total, k = ONE, ONE, 1
    while term:
        term = term * x.numerator // (x.denominator * k)
        if term == -1:
            break
        total += term
        k += 1
    return Fraction(total, ONE)


def sine(x: Fraction) -> Fraction:
    """sin x for |x| <= π/2."""
    scaled = x.numerator * ONE // x.denominator
    square, term, total, k = scaled * scaled >> BITS, scaled, scaled, 1
    while abs(term) > 1:
        term = -(term * square >> BITS) // ((k + 1) * (k + 2))
        total += term
        k += 2
    return Fraction(total, ONE)


def _turns() -> np.ndarray:
    """sin(k π/16) for k = 0 .. 31."""
    quarter = [sine(PI * k / TURN_STEPS) for k in range(TURN_STEPS // 2 + 1)]
    quarter[0], quarter[-1] = Fraction(0), Fraction(1)
    half = quarter + quarter[-2:0:-1]
    return pairs_of(half + [-each for each in half])


SINES = _turns()
PI_PIECES, PI_INVERSE = in_pieces(PI / TURN_STEPS, 4), float(TURN_STEPS / PI)
LOG_2_PIECES, LOG_2_INVERSE = in_pieces(LOG_2, 4), float(1 / LOG_2)
REST = 40  # exponentials at k/64 stand from k = -40 on
EXPONENTIALS = pairs_of(exponential(Fraction(k, EXP_STEPS)) for k in range(-REST, REST + 1))
EXPONENTIALS_LESS_ONE = pairs_of(exponential(Fraction(k, EXP_STEPS)) - 1 for k in range(-REST, REST + 1))
SINE_TERMS = pairs_of(Fraction((-1) ** k, math.factorial(2 * k + 1)) for k in range(1, 12))
COSINE_TERMS = pairs_of(Fraction((-1) ** k, math.factorial(2 * k)) for k in range(1, 12))
EXP_TERMS = pairs_of(Fraction(1, math.factorial(k)) for k in range(2, 14))
ARTANH_TERMS = pairs_of(Fraction(1, 2 * k + 1) for k in range(1, 21))
LOG_2_PAIR = pairs_of([LOG_2])
