"""English names of Wikidata's commonest units, for graphs that have no label of them.

https://www.wikidata.org/wiki/Wikidata:Units. A label of the graph comes first.
"""

from __future__ import annotations

UNITS = {
    **{"Q11573": "metre", "Q828224": "kilometre", "Q174728": "centimetre", "Q174789": "millimetre"},
    **{"Q3710": "foot", "Q218593": "inch", "Q482798": "yard", "Q253276": "mile"},
    **{"Q25343": "square metre", "Q712226": "square kilometre", "Q35852": "hectare", "Q81292": "acre"},
    **{"Q232291": "square mile", "Q857027": "square foot", "Q25517": "cubic metre", "Q11582": "litre"},
    **{"Q11570": "kilogram", "Q41803": "gram", "Q191118": "tonne", "Q100995": "pound", "Q48013": "ounce"},
    **{"Q11574": "second", "Q7727": "minute", "Q25235": "hour", "Q573": "day", "Q23387": "week"},
    **{"Q5151": "month", "Q577": "year", "Q25267": "degree Celsius", "Q42289": "degree Fahrenheit"},
    **{
        "Q11579": "kelvin",
        "Q11229": "percent",
        "Q180154": "kilometre per hour",
        "Q182429": "metre per second",
    },
    **{"Q25236": "watt", "Q6982035": "megawatt", "Q25250": "volt", "Q39369": "hertz"},
    **{"Q4917": "United States dollar", "Q4916": "euro", "Q25224": "pound sterling", "Q8146": "Japanese yen"},
}
