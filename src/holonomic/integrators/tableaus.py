"""Coefficients of the explicit Runge-Kutta methods, and of the curve that joins the ends of a step.

One step of size h from (t, x):

    K_i = f(t + c_i h, x + h Σ_{j<i} A_ij K_j),  i = 0 .. s-1        y = x + h Σ_i b_i K_i

`y` is then moved to the constraints, which gives the new point x1, and K_s = f(t + h, x1) is evaluated there.
K_s serves the error estimate, the dense output and the next step. Dense output of high order needs extra
stages K_{s+1}, ...: row i of `extra_A` holds the weights of K_0 .. K_{s+i} (and zeros behind).

Dense output is a polynomial in θ, 0 ≤ θ ≤ 1, in one form for all methods:

    x(θ) = x + h Σ_j b_j(θ) K_j + θ²(3 - 2θ) (x1 - y)        b_j(θ) = Σ_k P_jk θ^(k+1)

It passes through the *moved* point x1 with the slope K_s there, and the move changes no slope at either end.
The same curve without y, and with less rounding (P of DOP853 has entries up to 545 that cancel: b_j(θ) comes
out to 6e-14 from P and to 3e-15 in this form), is

    x(θ) = x + θ²(3 - 2θ) (x1 - x) + h [θ(1-θ)² K_0 - θ²(1-θ) K_s + Σ_ij β_i(θ) D_ij K_j]
    β(θ) = θ²(1-θ)², θ³(1-θ)², θ³(1-θ)³, θ⁴(1-θ)³

the cubic with the right values and slopes at both ends, plus terms (no, one or four rows of D) that
vanish there with their slopes. [HNW93] Sec. II.6; DOPRI5 and DOP853, the codes of that book, nest it.

References
----------
[HNW93] Sec. II.1 and II.4 - II.6 (its y is our x). [HW96] Sec. IV.2 for step control with memory and for the
stiffness test; the constants of both are those of the codes DOPRI5 and DOP853.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = ["DOP853", "EULER", "HEUN", "MIDPOINT", "RK4", "RK23", "RK45", "TABLEAUS", "Tableau"]

_BUMPS = np.array(  # β_i by powers θ¹ .. θ⁷
    [
        [0.0, 1.0, -2.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, -2.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, -3.0, 3.0, -1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, -3.0, 3.0, -1.0],
    ]
)


@dataclass(frozen=True, eq=False)
class Tableau:
    """One explicit Runge-Kutta method; all arrays are float64, contiguous and read-only.

    Parameters
    ----------
    name : str
        The name users know.
    order : int
        Order p of the step.
    A, b, c : array_like
        Stage weights (s, s), strictly lower; step weights (s,); stage times (s,).
    error : tuple of array_like
        Weights e of the estimates h Σ_j e_j K_j = y - (embedded y), each (s + 1,): the last multiplies K_s.
        One for a pair; DOP853 has two, of orders 5 and 3, joined to ‖E5‖² / √(‖E5‖² + 0.02 ‖E3‖²);
        none for a method without estimate.
    error_order : int
        The estimate (for DOP853 the joined one) is O(h^(error_order + 1)); 0 without estimate.
    dense : str
        Which curve: "hermite", "shampine" (RK45) or "hairer" (DOP853).
    dense_order : int
        Over one step the curve misses the solution by O(h^(dense_order + 1)).
    D : array_like
        Weights (0, 1 or 4 rows) over K_0 .. K_s and the extra stages; see the top of this file.
    extra_A, extra_c : array_like
        Extra stages for dense output, (n_extra, s + 1 + n_extra) and (n_extra,).
    exponent, beta : float
        Step control h_new = h safety err_old^beta / err^exponent, with err_old no smaller than 1e-4; beta = 0
        is control without memory. After a rejection: h_new = h safety / err^exponent.
    safety, fac_min, fac_max : float
        Safety factor and bounds of h_new / h.
    foresees : bool
        Whether h_new is also bounded by what the last two steps foretell ([HW96] (IV.8.25)).
    stiff_bound : float
        Stability limits the step when h ‖K_s - K_{s-1}‖ / ‖x1 - X‖ exceeds this, with X the argument of the
        last stage (there c = 1). The codes call it stiff at the 15th such step, and forget after 6 in a row
        without. 0: no such test.

    Attributes
    ----------
    dense_P : ndarray
        (s + 1 + n_extra, degree), the polynomials b_j(θ), made from b and D.
    """

    name: str
    order: int
    A: np.ndarray
    b: np.ndarray
    c: np.ndarray
    error: tuple[np.ndarray, ...] = ()
    error_order: int = 0
    dense: str = "hermite"
    dense_order: int = 3
    D: np.ndarray | None = None
    extra_A: np.ndarray | None = None
    extra_c: np.ndarray | tuple = ()
    exponent: float = 0.0
    beta: float = 0.0
    safety: float = 0.9
    fac_min: float = 0.2
    fac_max: float = 10.0
    foresees: bool = False
    stiff_bound: float = 0.0
    dense_P: np.ndarray = field(init=False)

    def __post_init__(self):
        s, extra = len(self.b), len(self.extra_c)
        rows = s + 1 + extra
        shapes = {"A": (s, s), "b": (s,), "c": (s,), "extra_c": (extra,)}
        for name, shape in shapes.items():
            self._keep(name, getattr(self, name), shape)
        self._keep("extra_A", np.zeros((0, rows)) if self.extra_A is None else self.extra_A, (extra, rows))
        self._keep("D", np.zeros((0, rows)) if self.D is None else self.D, (-1, rows))
        object.__setattr__(self, "error", tuple(_frozen(weights, (s + 1,)) for weights in self.error))
        self._keep("dense_P", _dense_polynomials(self.b, self.D), (rows, -1))

    def _keep(self, name, values, shape):
        object.__setattr__(self, name, _frozen(values, shape))

    def __repr__(self):
        return f"Tableau({self.name}, order {self.order}, {self.n_stages} stages)"

    @property
    def n_stages(self) -> int:
        """Number of stages s of the step itself."""
        return len(self.b)

    @property
    def n_extra(self) -> int:
        """Number of further stages that dense output needs."""
        return len(self.extra_c)

    @property
    def n_slopes(self) -> int:
        """Number of all slopes K_j: the stages, f at the new point, the extra stages."""
        return self.n_stages + 1 + self.n_extra


def _frozen(values, shape):
    """Return a contiguous read-only float64 copy; an array of any other size than `shape` is refused."""
    array = np.array(values, dtype=np.float64, order="C").reshape(shape)
    array.flags.writeable = False
    return array


def _dense_polynomials(b, D):
    """Expand the curve into powers of θ: row j of the result holds P_j0, P_j1, ..., the weights of K_j."""
    s, degree = len(b), 3 + len(D)
    P = D.T @ _BUMPS[: len(D), :degree]
    P[:s, 1:3] += np.outer(b, [3.0, -2.0])  # θ²(3 - 2θ) times y - x = h Σ b_j K_j
    P[0, :3] += [1.0, -2.0, 1.0]  # θ(1-θ)², the slope at the start
    P[s, 1:3] += [-1.0, 1.0]  # -θ²(1-θ), the slope at the end
    return P


def _sparse(n, rows):
    """Build rows of length n from {column: weight}."""
    table = np.zeros((len(rows), n))
    for row, entries in zip(table, rows, strict=True):
        for position, weight in entries.items():
            row[position] = weight
    return table


EULER = Tableau("Euler", order=1, A=[[0]], b=[1], c=[0], dense_order=1)

HEUN = Tableau("Heun", order=2, A=[[0, 0], [1, 0]], b=[1 / 2, 1 / 2], c=[0, 1], dense_order=2)

MIDPOINT = Tableau("Midpoint", order=2, A=[[0, 0], [1 / 2, 0]], b=[0, 1], c=[0, 1 / 2], dense_order=2)

RK4 = Tableau(
    "RK4",
    order=4,
    A=[[0, 0, 0, 0], [1 / 2, 0, 0, 0], [0, 1 / 2, 0, 0], [0, 0, 1, 0]],
    b=[1 / 6, 1 / 3, 1 / 3, 1 / 6],
    c=[0, 1 / 2, 1 / 2, 1],
)

# [bogacki-shampine-1989]. No code of the book: control without memory, bounds as for RK45.
RK23 = Tableau(
    "RK23",
    order=3,
    A=[[0, 0, 0], [1 / 2, 0, 0], [0, 3 / 4, 0]],
    b=[2 / 9, 1 / 3, 4 / 9],
    c=[0, 1 / 2, 3 / 4],
    error=([-5 / 72, 1 / 12, 1 / 9, -1 / 8],),
    error_order=2,
    exponent=1 / 3,
)

# [dormand-prince-1980], also [HNW93] Sec. II.5; dense output [shampine-1986]; control as in DOPRI5.
RK45 = Tableau(
    "RK45",
    order=5,
    A=[
        [0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
    ],
    b=[35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    c=[0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1],
    error=([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40],),
    error_order=4,
    dense="shampine",
    dense_order=4,
    D=[
        [
            -12715105075 / 11282082432,
            0,
            87487479700 / 32700410799,
            -10690763975 / 1880347072,
            701980252875 / 199316789632,
            -1453857185 / 822651844,
            69997945 / 29380423,
        ]
    ],
    exponent=1 / 5 - 0.75 * 0.04,
    beta=0.04,
    stiff_bound=2.5,  # at the limit steps stay at 2.7
)

# fmt: off
_A853 = _sparse(12, [  # row: {column: weight}; the other weights are 0
    {},
    {0: 0.0526001519587677318785587544488},
    {0: 0.0197250569845378994544595329183, 1: 0.0591751709536136983633785987549},
    {0: 0.0295875854768068491816892993775, 2: 0.0887627564304205475450678981324},
    {0: 0.241365134159266685502369798665, 2: -0.884549479328286085344864962717,
     3: 0.924834003261792003115737966543},
    {0: 0.037037037037037037037037037037, 3: 0.170828608729473871279604482173,
     4: 0.125467687566822425016691814123},
    {0: 0.037109375, 3: 0.170252211019544039314978060272, 4: 0.0602165389804559606850219397283,
     5: -0.017578125},
    {0: 0.0370920001185047927108779319836, 3: 0.170383925712239993810214054705,
     4: 0.107262030446373284651809199168, 5: -0.0153194377486244017527936158236,
     6: 8.27378916381402288758473766002e-3},
    {0: 0.624110958716075717114429577812, 3: -3.36089262944694129406857109825,
     4: -0.868219346841726006818189891453, 5: 27.5920996994467083049415600797,
     6: 20.1540675504778934086186788979, 7: -43.4898841810699588477366255144},
    {0: 0.477662536438264365890433908527, 3: -2.48811461997166764192642586468,
     4: -0.590290826836842996371446475743, 5: 21.2300514481811942347288949897,
     6: 15.2792336328824235832596922938, 7: -33.2882109689848629194453265587,
     8: -0.0203312017085086261358222928593},
    {0: -0.93714243008598732571704021658, 3: 5.18637242884406370830023853209,
     4: 1.09143734899672957818500254654, 5: -8.14978701074692612513997267357,
     6: -18.5200656599969598641566180701, 7: 22.7394870993505042818970056734,
     8: 2.49360555267965238987089396762, 9: -3.0467644718982195003823669022},
    {0: 2.27331014751653820792359768449, 3: -10.5344954667372501984066689879,
     4: -2.00087205822486249909675718444, 5: -17.9589318631187989172765950534,
     6: 27.9488845294199600508499808837, 7: -2.85899827713502369474065508674,
     8: -8.87285693353062954433549289258, 9: 12.3605671757943030647266201528,
     10: 0.643392746015763530355970484046},
])
_B853 = _sparse(12, [
    {0: 0.0542937341165687622380535766363, 5: 4.45031289275240888144113950566,
     6: 1.89151789931450038304281599044, 7: -5.8012039600105847814672114227,
     8: 0.31116436695781989440891606237, 9: -0.152160949662516078556178806805,
     10: 0.201365400804030348374776537501, 11: 0.0447106157277725905176885569043},
])[0]
_EXTRA853 = _sparse(16, [
    {0: 0.0561675022830479523392909219681, 6: 0.253500210216624811088794765333,
     7: -0.246239037470802489917441475441, 8: -0.124191423263816360469010140626,
     9: 0.15329179827876569731206322685, 10: 8.20105229563468988491666602057e-3,
     11: 7.56789766054569976138603589584e-3, 12: -8.298e-3},
    {0: 0.0318346481635021405060768473261, 5: 0.0283009096723667755288322961402,
     6: 0.0535419883074385676223797384372, 7: -0.0549237485713909884646569340306,
     10: -1.08347328697249322858509316994e-4, 11: 3.82571090835658412954920192323e-4,
     12: -3.40465008687404560802977114492e-4, 13: 0.141312443674632500278074618366},
    {0: -0.428896301583791923408573538692, 5: -4.69762141536116384314449447206,
     6: 7.68342119606259904184240953878, 7: 4.06898981839711007970213554331,
     8: 0.356727187455281109270669543021, 12: -1.39902416515901462129418009734e-3,
     13: 2.9475147891527723389556272149, 14: -9.15095847217987001081870187138},
])
_THIRD853 = _sparse(13, [{0: 31 / 127, 8: 12675 / 17272, 11: 3 / 136}])[0]  # a formula of order 3
_E5_853 = _sparse(13, [
    {0: 0.01312004499419488073250102996, 5: -1.225156446376204440720569753,
     6: -0.4957589496572501915214079952, 7: 1.664377182454986536961530415, 8: -0.350328848749973681688648729,
     9: 0.3341791187130174790297318841, 10: 0.08192320648511571246570742613,
     11: -0.02235530786388629525884427845},
])[0]
_D853 = _sparse(16, [
    {0: -8.4289382761090128651353491142, 5: 0.5667149535193777696253178359,
     6: -3.0689499459498916912797304727, 7: 2.384667656512069828772814968, 8: 2.1170345824450282767155149946,
     9: -0.8713915837779729920678990749, 10: 2.240437430260788275854177165,
     11: 0.6315787787694688181557024929, 12: -0.0889903364513333108206981174,
     13: 18.148505520854727256656404962, 14: -9.1946323924783554000451984436,
     15: -4.4360363875948939664310572},
    {0: 10.427508642579134603413151009, 5: 242.28349177525818288430175319, 6: 165.20045171727028198505394887,
     7: -374.54675472269020279518312152, 8: -22.113666853125306036270938578,
     9: 7.7334326684722638389603898808, 10: -30.674084731089398182061213626,
     11: -9.3321305264302278729567221706, 12: 15.697238121770843886131091075,
     13: -31.139403219565177677282850411, 14: -9.3529243588444783865713862664,
     15: 35.81684148639408375246589854},
    {0: 19.985053242002433820987653617, 5: -387.03730874935176555105901742,
     6: -189.17813819516756882830838328, 7: 527.80815920542364900561016686,
     8: -11.573902539959630126141871134, 9: 6.8812326946963000169666922661,
     10: -1.000605096691083840318386098, 11: 0.7777137798053443209286926574,
     12: -2.7782057523535084065932004339, 13: -60.196695231264120758267380846,
     14: 84.320405506677161018159903784, 15: 11.99229113618278932803513003},
    {0: -25.693933462703749003312586129, 5: -154.18974869023643374053993627,
     6: -231.52937917604549567536039109, 7: 357.6391179106141237828534991, 8: 93.405324183624310003907691704,
     9: -37.458323136451633156875139351, 10: 104.09964950896230045147246184,
     11: 29.840293426660503123344363579, 12: -43.533456590011143754432175058,
     13: 96.3245539591882829483949506, 14: -39.177261675615439165231486172,
     15: -149.72683625798562581422125276},
])
# fmt: on

# [HNW93] Sec. II.5 and II.6, numbers and control as in DOP853; 12 stages after [prince-dormand-1981].
DOP853 = Tableau(
    "DOP853",
    order=8,
    A=_A853,
    b=_B853,
    c=[
        0,
        0.0526001519587677318785587544488,  # (12 - 2 sqrt 6) / 135
        0.0789002279381515978178381316732,  # (6 - sqrt 6) / 45
        0.118350341907227396726757197510,  # (6 - sqrt 6) / 30
        0.281649658092772603273242802490,  # (6 + sqrt 6) / 30
        1 / 3,
        1 / 4,
        4 / 13,
        127 / 195,
        3 / 5,
        6 / 7,
        1,
    ],
    error=(_E5_853, np.append(_B853, 0.0) - _THIRD853),
    error_order=7,  # the joined estimate is h^(2 * 6) / h^4
    dense="hairer",
    dense_order=7,
    D=_D853,
    extra_A=_EXTRA853,
    extra_c=[1 / 10, 1 / 5, 7 / 9],
    exponent=1 / 8,
    fac_min=0.333,
    fac_max=6.0,
    foresees=True,  # DOP853 has no memory; with it a fifth instead of a third of the steps is rejected in sharp turns
    stiff_bound=4.0,  # at the limit steps swing between 4.4 and 5.8
)

TABLEAUS = {tableau.name: tableau for tableau in (EULER, HEUN, MIDPOINT, RK4, RK23, RK45, DOP853)}
