"""OpenSim's own force curves of Schutte1993Muscle_Deprecated and RigidTendonMuscle, for files that give none."""

from __future__ import annotations

from .functions import Function, SimmSpline

_SHORTENING = (
    "0.010417 0.021739 0.034091 0.047619 0.0625 0.078947 0.097222 0.117647 0.140625 0.166667 0.196429 0.230769 0.270833 "
    "0.318182 0.375 0.444444 0.53125 0.642857 0.791667"
)
_LENGTHENING = (
    "1.482014 1.601571 1.655791 1.686739 1.706751 1.720753 1.731099 1.739055 1.745365 1.75049 1.754736 1.758312 1.761364 "
    "1.763999 1.766298 1.768321 1.770115 1.771717 1.773155 1.774455"
)


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(word) for word in text.split())


SPLINES: dict[str, Function] = {
    "tendon_force_length_curve": SimmSpline(
        _numbers(
            "-10 -0.002 -0.001 0 0.00131 0.00281 0.00431 0.00581 0.00731 0.00881 0.0103 0.0118 0.0123 9.2 9.201 9.202 20"
        ),
        _numbers("0 0 0 0 0.0108 0.0257 0.0435 0.0652 0.0915 0.123 0.161 0.208 0.227 345 345 345 345"),
    ),
    "active_force_length_curve": SimmSpline(
        _numbers(
            "-5.307692 -4.307692 -1.923077 -0.884615 -0.269231 0.230769 0.461538 0.52725 0.62875 0.71875 0.86125 1.045 1.2175 "
            "1.43875 1.5 1.615385 2 2.961538 3.692308 5.461538 9.901902"
        ),
        _numbers(
            "0.012188 0.021899 0.036466 0.052493 0.075312 0.114158 0.157859 0.226667 0.636667 0.856667 0.95 0.993333 0.77 "
            "0.246667 0.193821 0.133252 0.072683 0.044417 0.036341 0.021899 0.007332"
        ),
    ),
    "passive_force_length_curve": SimmSpline(
        _numbers("-5 0.998 0.999 1 1.1 1.2 1.3 1.4 1.5 1.6 1.601 1.602 5"),
        _numbers("0 0 0 0 0.035 0.12 0.26 0.55 1.17 2 2 2 2"),
    ),
    "force_velocity_curve": SimmSpline(
        (-1.001, *(round(-1.0 + 0.05 * i, 2) for i in range(41))),
        (0.0, 0.0, *_numbers(_SHORTENING), 1.0, *_numbers(_LENGTHENING)),
    ),
}
