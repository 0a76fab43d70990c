"""What RADAU5 and PHEM56 need, the public Fortran codes of Hairer and Wanner and of Arnold and Murua.

Compiled with gfortran 12 -O2, measured on one core of a shared Xeon of 2.8 GHz, where CPU times were good to a factor of
two: RADAU5 on the index-2 or index-3 form with atol = rtol = tol (an analytic Jacobian for the seven-body mechanism,
differences for the car axis), PHEM56 with atol = rtol = tol, also with its projection of positions. Digits of q at the end.
`evaluations` are those of the right-hand side, without those for difference Jacobians (10 for each of 10 unknowns).
"""

from __future__ import annotations

# tol, digits, evaluations, factorizations, seconds
CODES = {
    ("seven-body", "RADAU5"): [
        (1e-4, 2.8, 802, 93, 0.0022), (1e-6, 4.18, 1053, 97, 0.0026), (1e-8, 5.83, 1690, 145, 0.0041),
        (1e-10, 6.8, 3138, 259, 0.0074), (1e-11, 7.48, 4363, 364, 0.0104),
    ],
    ("seven-body", "PHEM56"): [
        (1e-4, 3.49, 247, 247, 0.0006), (1e-6, 5.72, 601, 601, 0.0013), (1e-8, 7.8, 1255, 1255, 0.0015),
        (1e-10, 9.85, 3055, 3055, 0.0041), (1e-11, 10.86, 4801, 4801, 0.0076),
    ],
    ("seven-body", "PHEM56 with projection"): [
        (1e-4, 4.85, 511, 590, 0.0013), (1e-6, 6.71, 1045, 1203, 0.0026), (1e-8, 8.78, 2005, 2330, 0.0031),
        (1e-10, 10.36, 3859, 4495, 0.0055), (1e-11, 11.15, 5299, 6176, 0.0087),
    ],
    ("car-axis", "RADAU5"): [
        (1e-4, 2.89, 849, 98, 0.00049), (1e-6, 4.41, 1762, 203, 0.001), (1e-8, 5.97, 3785, 419, 0.0021),
        (1e-10, 7.58, 8131, 884, 0.0045), (1e-11, 8.39, 11893, 1283, 0.0065),
    ],
}  # fmt: skip

# the C program limit_seven_body.c on that machine, ms by tolerance: what the times above are scaled by
C_PROGRAM = {1e-7: 0.16, 1e-10: 0.51}
