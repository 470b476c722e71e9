"""Units of measurement in their usual spellings, so that 30 s equals 0.5 min (paper, 4.4).

Memory units are multiples of 1024 in any spelling, as in industrial records: 1 GB is 1024 MB.
"""

import re
from fractions import Fraction

Unit = tuple[str, Fraction]  # dimension, and factor to its first unit

# dimension -> a line per unit: its factor to the first one, and its spellings. Case matters if it
# distinguishes units: mW and MW, Mb and MB.
_UNITS = {
    "time": (
        "1 s sec secs second seconds",
        "1/1000 ms msec",
        "1/1000000 us μs",
        "1/1000000000 ns",
        "60 min mins minute minutes",
        "3600 h hr hrs hour hours",
        "86400 d day days",
        "604800 week weeks",
        "1209600 fortnight fortnights",
    ),
    "month": ("1 month months", "12 y yr yrs year years"),
    "memory": (
        "1 B byte bytes",
        "1024 KB kB kb KiB",
        "1048576 MB mb MiB",
        "1073741824 GB gb GiB",
        "1099511627776 TB tb TiB",
    ),
    "bits": ("1 bit bits", "1000 kbit Kbit", "1000000 Mb Mbit", "1000000000 Gb Gbit"),
    "bits/time": ("1 bps", "1000 kbps", "1000000 Mbps", "1000000000 Gbps"),
    "length": (
        "1 m metre metres meter meters",
        "1/1000 mm",
        "1/100 cm",
        "1/1000000 um μm",
        "1/1000000000 nm",
        "1000 km",
        "1609344/1000 mile miles",
        "127/5000 inch inches",
        "381/1250 ft foot feet",
    ),
    "mass": (
        "1 g gram grams",
        "1/1000 mg",
        "1/1000000 ug μg",
        "1000 kg",
        "1000000 t tonne tonnes",
        "45359237/100000 lb lbs pound pounds",
    ),
    "volume": ("1 l L litre litres liter liters", "1/1000 ml mL", "1000 m3"),
    "area": ("1 m2", "1/10000 cm2", "1/1000000 mm2", "10000 ha hectare hectares"),
    "length/time": ("1852/3600 kt kn knot knots", "1609344/3600000 mph"),
    "pressure": (
        "1 Pa",
        "1000 kPa",
        "1000000 MPa",
        "100000 bar bars",
        "100 mbar hPa",
        "6894757/1000 psi",
    ),
    "voltage": ("1 V volt volts", "1/1000 mV", "1000 kV"),
    "DC voltage": ("1 VDC", "1/1000 mVDC", "1000 kVDC"),
    "AC voltage": ("1 VAC", "1/1000 mVAC", "1000 kVAC"),
    "current": ("1 A amp amps ampere amperes", "1/1000 mA", "1/1000000 uA μA", "1/1000000000 nA"),
    "capacitance": ("1 pF", "1000 nF", "1000000 uF μF"),
    "charge": ("1 Ah", "1/1000 mAh"),
    "power": ("1 W watt watts", "1/1000 mW", "1000 kW", "1000000 MW"),
    "apparent power": ("1 VA", "1000 kVA"),
    "energy": ("1 Wh", "1000 kWh", "1000000 MWh", "1/3600 J", "1000/3600 kJ", "1000000/3600 MJ"),
    "frequency": ("1 Hz hertz", "1000 kHz", "1000000 MHz", "1000000000 GHz"),
    "sampling": ("1 S/s", "1000 kS/s", "1000000 MS/s", "1000000000 GS/s"),
    "rotation": ("1 rpm r/min RPM",),
    "torque": ("1 Nm N·m",),  # "N m" is read as N·m
    "force": ("1 N newton newtons", "1000 kN"),
    "resistance": ("1 Ω ohm ohms", "1/1000 mΩ", "1000 kΩ", "1000000 MΩ"),
    "sound": ("1 dB decibel decibels",),
    "sound by A": ("1 dBA",),
    "parts": ("1 ppm",),
    "celsius": ("1 °C C degC Celsius",),
    "fahrenheit": ("1 °F degF Fahrenheit",),
    "angle": ("1 ° degree degrees deg",),
    "K": ("1 K k",),  # kelvin or thousands: as written
    "share": ("1 % percent",),
    "USD": ("1 $ USD dollar dollars",),
    "EUR": ("1 € EUR euro euros",),
    "GBP": ("1 £ GBP",),
    "JPY": ("1 ¥ JPY yen",),
    "": ("1000 thousand", "1000000 million", "1000000000 billion"),
}

_EXACT: dict[str, Unit] = {
    spelling: (dimension, Fraction(factor))
    for dimension, units in _UNITS.items()
    for factor, *spellings in map(str.split, units)
    for spelling in spellings
}
_PREFIXES = {
    "kilo": "k",
    "mega": "M",
    "giga": "G",
    "tera": "T",
    "milli": "m",
    "micro": "μ",
    "nano": "n",
    "centi": "c",
    "kibi": "Ki",
    "mebi": "Mi",
    "gibi": "Gi",
    "tebi": "Ti",
}
_NAMES = {
    "watt": "W",
    "volt": "V",
    "hertz": "Hz",
    "gram": "g",
    "metre": "m",
    "meter": "m",
    "litre": "l",
    "liter": "l",
    "second": "s",
    "pascal": "Pa",
    "ampere": "A",
    "amp": "A",
    "byte": "B",
    "bit": "bit",
    "newton": "N",
    "ohm": "Ω",
    "bar": "bar",
    "farad": "F",
    "joule": "J",
}
_EXACT |= {
    f"{prefix}{name}{plural}": _EXACT[short + symbol]
    for prefix, short in _PREFIXES.items()
    for name, symbol in _NAMES.items()
    for plural in ("", "s")
    if short + symbol in _EXACT
}
_FOLDED: dict[str, set[Unit]] = {}
for _spelling, _unit in _EXACT.items():
    _FOLDED.setdefault(_spelling.casefold(), set()).add(_unit)
_CURRENT = re.compile(r"([km]?)[Vv](?:olts?)? ?([ADad])\.?[Cc]\.?")  # V DC, volts d.c.


def unit_of(spelling: str) -> Unit | None:
    """Return (dimension, factor) of a unit, or None; case is ignored if unambiguous."""
    if spelling in _EXACT:
        return _EXACT[spelling]
    if current := _CURRENT.fullmatch(spelling):
        return _EXACT[f"{current[1]}V{current[2].upper()}C"]
    if spelling == "N m":
        return _EXACT["Nm"]
    if "/" in spelling:
        over, under = map(unit_of, spelling.split("/", 1))
        is_rate = over and under and over[0] and under[0]  # mg/L, km/h; not and/or
        return (f"{over[0]}/{under[0]}", over[1] / under[1]) if is_rate else None
    meant = _FOLDED.get(spelling.casefold(), set()) if len(spelling) > 1 else set()
    return next(iter(meant)) if len(meant) == 1 else None
