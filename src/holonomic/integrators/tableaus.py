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

Coefficients are exact: fractions, or decimals of 36 digits where they are irrational or known as numbers alone. Those of DOP853,
which its code has to 30 digits, were moved to the nearest solution of their order conditions: by less than 6e-29, for dense output
by 5e-27, and no double changed. `exact` has what `precision="double-double"` takes; all else takes the doubles next to it.

References
----------
[HNW93] Sec. II.1 and II.4 - II.6 (its y is our x). [HW96] Sec. IV.2 for step control with memory and for the
stiffness test; the constants of both are those of the codes DOPRI5 and DOP853.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fractions import Fraction

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
    """One explicit Runge-Kutta method; all arrays are float64, contiguous and read-only, made of exact numbers.

    Exact numbers are whole ones, and texts such as "1/3", "0.6" or "0.6 - 1/3".

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
    exact : dict or None
        A, b, c, error, D, extra_A and extra_c as arrays of fractions; None where doubles are among them.
    is_exact : bool
        Whether there are no doubles among them.
    """

    name: str
    order: int
    A: Any
    b: Any
    c: Any
    error: tuple[Any, ...] = ()
    error_order: int = 0
    dense: str = "hermite"
    dense_order: int = 3
    D: Any = None
    extra_A: np.ndarray | None = None
    extra_c: np.ndarray | tuple = ()
    exponent: float = 0.0
    beta: float = 0.0
    safety: float = 0.9
    fac_min: float = 0.2
    fac_max: float = 10.0
    foresees: bool = False
    stiff_bound: float = 0.0
    given: dict[str, np.ndarray] = field(init=False, repr=False)
    dense_P: np.ndarray = field(init=False)

    def __post_init__(self):
        s, extra = len(self.b), len(self.extra_c)
        rows = s + 1 + extra
        given = {
            "A": (self.A, (s, s)), "b": (self.b, (s,)), "c": (self.c, (s,)), "error": (self.error, (-1, s + 1)),
            "D": ([] if self.D is None else self.D, (-1, rows)), "extra_c": (self.extra_c, (extra,)),
            "extra_A": ([] if self.extra_A is None else self.extra_A, (extra, rows)),
        }  # fmt: skip
        arrays = {name: np.array(values, dtype=object).reshape(shape) for name, (values, shape) in given.items()}
        object.__setattr__(self, "given", arrays)
        for name, values in arrays.items():
            object.__setattr__(self, name, _frozen(values))
        object.__setattr__(self, "error", tuple(self.error))
        object.__setattr__(self, "dense_P", _frozen(_dense_polynomials(self.b, self.D)))

    @cached_property
    def is_exact(self) -> bool:
        values = (value for array in self.given.values() for value in array.flat)
        return all(isinstance(value, str) or float(value).is_integer() for value in values)

    @cached_property
    def exact(self) -> dict[str, np.ndarray] | None:
        if not self.is_exact:
            return None
        made = {name: [_fraction(value) for value in values.flat] for name, values in self.given.items()}
        return {name: np.array(values, dtype=object).reshape(self.given[name].shape) for name, values in made.items()}

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


def _double(value) -> float:
    """A number, or a text that stands for one, as a double; a difference is that of two doubles."""
    if not isinstance(value, str):
        return float(value)
    first, _, other = value.partition(" - ")
    if other:
        return _double(first) - _double(other)
    above, _, below = value.partition("/")
    return int(above) / int(below) if below else float(value)


def _fraction(value) -> Fraction:
    """The same without rounding."""
    from fractions import Fraction

    if not isinstance(value, str):
        return Fraction(int(value))
    first, _, other = value.partition(" - ")
    return Fraction(first) - _fraction(other) if other else Fraction(value)


def _frozen(values):
    """Return a contiguous read-only float64 copy."""
    given = np.asarray(values)
    array = np.array([_double(value) for value in given.ravel()], dtype=np.float64).reshape(given.shape)
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


def _row(text: str, n: int) -> Any:
    """A row of length n from its first numbers; the others are 0."""
    given = text.split()
    return given + ["0"] * (n - len(given))


def _rows(*texts: str) -> Any:
    """A square of rows."""
    return [_row(text, len(texts)) for text in texts]


def _sparse(n, rows) -> Any:
    """Build rows of length n from {column: weight}."""
    return [[entries.get(column, "0") for column in range(n)] for entries in rows]


EULER = Tableau("Euler", order=1, A=[[0]], b=[1], c=[0], dense_order=1)

HEUN = Tableau("Heun", order=2, A=[[0, 0], [1, 0]], b=["1/2", "1/2"], c=[0, 1], dense_order=2)

MIDPOINT = Tableau("Midpoint", order=2, A=_rows("", "1/2"), b=[0, 1], c=[0, "1/2"], dense_order=2)

RK4 = Tableau("RK4", order=4, A=_rows("", "1/2", "0 1/2", "0 0 1"), b=_row("1/6 1/3 1/3 1/6", 4), c=_row("0 1/2 1/2 1", 4))

# [bogacki-shampine-1989]. No code of the book: control without memory, bounds as for RK45.
RK23 = Tableau(
    "RK23",
    order=3,
    A=_rows("", "1/2", "0 3/4"),
    b=_row("2/9 1/3 4/9", 3),
    c=_row("0 1/2 3/4", 3),
    error=(_row("-5/72 1/12 1/9 -1/8", 4),),
    error_order=2,
    exponent=1 / 3,
)

# [dormand-prince-1980], also [HNW93] Sec. II.5; dense output [shampine-1986]; control as in DOPRI5.
RK45 = Tableau(
    "RK45",
    order=5,
    A=_rows(
        "",
        "1/5",
        "3/40 9/40",
        "44/45 -56/15 32/9",
        "19372/6561 -25360/2187 64448/6561 -212/729",
        "9017/3168 -355/33 46732/5247 49/176 -5103/18656",
    ),
    b=_row("35/384 0 500/1113 125/192 -2187/6784 11/84", 6),
    c=_row("0 1/5 3/10 4/5 8/9 1", 6),
    error=(_row("71/57600 0 -71/16695 71/1920 -17253/339200 22/525 -1/40", 7),),
    error_order=4,
    dense="shampine",
    dense_order=4,
    D=[
        _row(
            "-12715105075/11282082432 0 87487479700/32700410799 -10690763975/1880347072 701980252875/199316789632 "
            "-1453857185/822651844 69997945/29380423",
            7,
        )
    ],
    exponent=1 / 5 - 0.75 * 0.04,
    beta=0.04,
    stiff_bound=2.5,  # at the limit steps stay at 2.7
)

# fmt: off
_A853 = _sparse(12, [  # row: {column: weight}; the other weights are 0
    {},
    {0: "0.0526001519587677318785587544488016090"},
    {0: "0.0197250569845378994544595329183006034", 1: "0.0591751709536136983633785987549018101"},
    {0: "0.0295875854768068491816892993774509051", 2: "0.0887627564304205475450678981323527152"},
    {0: "0.241365134159266685502369798664510126", 2: "-0.884549479328286085344864962717060604",
     3: "0.924834003261792003115737966542746858"},
    {0: "1/27", 3: "0.170828608729473871279604482173202698",
     4: "0.125467687566822425016691814123093598"},
    {0: "0.037109375", 3: "0.170252211019544039314978060271714357",
     4: "0.0602165389804559606850219397282856426", 5: "-0.017578125"},
    {0: "0.0370920001185047927108779319836353763", 3: "0.170383925712239993810214054704487671",
     4: "0.107262030446373284651809199167799038", 5: "-0.0153194377486244017527936158236234778",
     6: "0.00827378916381402288758473766000908457"},
    {0: "0.624110958716075717114429577812008306", 3: "-3.36089262944694129406857109824579762",
     4: "-0.868219346841726006818189891451191790", 5: "27.5920996994467083049415600796851585",
     6: "20.1540675504778934086186788978851661", 7: "-43.4898841810699588477366255144032922"},
    {0: "0.477662536438264365890433908527364751", 3: "-2.48811461997166764192642586468226073",
     4: "-0.590290826836842996371446475742146742", 5: "21.2300514481811942347288949897046321",
     6: "15.2792336328824235832596922937475855", 7: "-33.2882109689848629194453265586958823",
     8: "-0.0203312017085086261358222928592925528"},
    {0: "-0.937142430085987325717040216580357349", 3: "5.18637242884406370830023853208924092",
     4: "1.09143734899672957818500254653690116", 5: "-8.14978701074692612513997267356856827",
     6: "-18.5200656599969598641566180701129133", 7: "22.7394870993505042818970056733597273",
     8: "2.49360555267965238987089396761888172", 9: "-3.04676447189821950038236690220005500"},
    {0: "2.27331014751653820792359768449376032", 3: "-10.5344954667372501984066689878922632",
     4: "-2.00087205822486249909675718443384820", 5: "-17.9589318631187989172765950533628813",
     6: "27.9488845294199600508499808837121661", 7: "-2.85899827713502369474065508673573054",
     8: "-8.87285693353062954433549289258464472", 9: "12.3605671757943030647266201527573729",
     10: "0.643392746015763530355970484046068676"},
])
_B853 = _sparse(12, [
    {0: "0.0542937341165687622380535766362538016", 5: "4.45031289275240888144113950565563469",
     6: "1.89151789931450038304281599043593298", 7: "-5.80120396001058478146721142269715195",
     8: "0.311164366957819894408916062369758618", 9: "-0.152160949662516078556178806805373221",
     10: "0.201365400804030348374776537500701900", 11: "0.0447106157277725905176885569042431788"},
])[0]
_EXTRA853 = _sparse(16, [
    {0: "0.0561675022830479523392909219681164841", 6: "0.253500210216624811088794765331817300",
     7: "-0.246239037470802489917441475440109752", 8: "-0.124191423263816360469010140625093993",
     9: "0.153291798278765697312063226848962049", 10: "0.00820105229563468988491666602045239131",
     11: "0.00756789766054569976138603589564301016", 12: "-0.00829799999999999999999999999978748941"},
    {0: "0.0318346481635021405060768473262029754", 5: "0.0283009096723667755288322961441524724",
     6: "0.0535419883074385676223797384401767237", 7: "-0.0549237485713909884646569340370666298",
     10: "-1.08347328697249322858509317000264798e-4", 11: "3.82571090835658412954920192292788280e-4",
     12: "-3.40465008687404560802977114461186535e-4", 13: "0.141312443674632500278074618365703122"},
    {0: "-0.428896301583791923408573538688366138", 5: "-4.69762141536116384314449447195860178",
     6: "7.68342119606259904184240953881046771", 7: "4.06898981839711007970213554316177668",
     8: "0.356727187455281109270669543019754191", 12: "-0.00139902416515901462129418009730189046",
     13: "2.94751478915277233895562721487862202", 14: "-9.15095847217987001081870187134857301"},
])
_THIRD853 = _sparse(13, [{0: "31/127", 8: "12675/17272", 11: "3/136"}])[0]  # a formula of order 3
_E5_853 = _sparse(13, [
    {0: "0.0131200449941948807325010299538017931", 5: "-1.22515644637620444072056975285438371",
     6: "-0.495758949657250191521407995053848127", 7: "1.66437718245498653696153041514804928",
     8: "-0.350328848749973681688648728983864940", 9: "0.334179118713017479029731884142084760",
     10: "0.0819232064851157124657074260859569942", 11: "-0.0223553078638862952588442784377960474"},
])[0]
_D853 = _sparse(16, [
    {0: "-8.42893827610901286513534911569520056", 5: "0.566714953519377769625317836615339825",
     6: "-3.06894994594989169127973047254581092", 7: "2.38466765651206982877281496872739299",
     8: "2.11703458244502827671551499474202206", 9: "-0.871391583777972992067899075134241047",
     10: "2.24043743026078827585417716381305826", 11: "0.631578778769468818155702493063240428",
     12: "-0.0889903364513333108206981168141464055", 13: "18.1485055208547272566564049646031337",
     14: "-9.19463239247835540004519844436602718", 15: "-4.43603638759489396643105719700876113"},
    {0: "10.4275086425791346034131510078190383", 5: "242.283491775258182884301753193368656",
     6: "165.200451717270281985053948869435976", 7: "-374.546754722690202795183121517362806",
     8: "-22.1136668531253060362709385773977868", 9: "7.73343266847226383896038988090689652",
     10: "-30.6740847310893981820612136276925595", 11: "-9.33213052643022787295672217039780205",
     12: "15.6972381217708438861310910748601246", 13: "-31.1394032195651776772828504095419813",
     14: "-9.35292435884447838657138626772758165", 15: "35.8168414863940837524658985437298261"},
    {0: "19.9850532420024338209876536175435554", 5: "-387.037308749351765551059017421230198",
     6: "-189.178138195167568828308383280172416", 7: "527.808159205423649005610166859072391",
     8: "-11.5739025399596301261418711343123708", 9: "6.88123269469630001696669226613561219",
     10: "-1.00060509669108384031838609707978539", 11: "0.777713779805344320928692657329870909",
     12: "-2.77820575235350840659320043374931139", 13: "-60.1966952312641207582673808461007657",
     14: "84.3204055066771610181599037841961772", 15: "11.9922911361827893280351300283672410"},
    {0: "-25.6939334627037490033125861293452189", 5: "-154.189748690236433740539936271073551",
     6: "-231.529379176045495675360391089413512", 7: "357.639117910614123782853499099271645",
     8: "93.4053241836243100039076917036365346", 9: "-37.4583231364516331568751393513667082",
     10: "104.099649508962300451472461844399448", 11: "29.8402934266605031233443635786790454",
     12: "-43.5334565900111437544321750582499258", 13: "96.3245539591882829483949506004348629",
     14: "-39.1772616756154391652314861715807197", 15: "-149.726836257985625814221252755391900"},
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
        "0.0526001519587677318785587544488016090",  # (12 - 2 sqrt 6) / 135
        "0.0789002279381515978178381316732024135",  # (6 - sqrt 6) / 45
        "0.118350341907227396726757197509803620",  # (6 - sqrt 6) / 30
        "0.281649658092772603273242802490196380",  # (6 + sqrt 6) / 30
        *_row("1/3 1/4 4/13 127/195 3/5 6/7 1", 7),
    ],
    error=(_E5_853, [f"{b} - {third}" for b, third in zip([*_B853, "0"], _THIRD853, strict=True)]),
    error_order=7,  # the joined estimate is h^(2 * 6) / h^4
    dense="hairer",
    dense_order=7,
    D=_D853,
    extra_A=_EXTRA853,
    extra_c=_row("1/10 1/5 7/9", 3),
    exponent=1 / 8,
    fac_min=0.333,
    fac_max=6.0,
    foresees=True,  # DOP853 has no memory; with it a fifth instead of a third of the steps is rejected in sharp turns
    stiff_bound=4.0,  # at the limit steps swing between 4.4 and 5.8
)

TABLEAUS = {tableau.name: tableau for tableau in (EULER, HEUN, MIDPOINT, RK4, RK23, RK45, DOP853)}
