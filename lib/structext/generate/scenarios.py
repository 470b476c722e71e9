"""The vocabularies of Real-Test: 32 scenarios, each with things, typed fields, words and a kind of business.

A scenario's line is: name; business; things (names of nodes); fields as name:type; words of its paragraphs.
A type is `person`, `town`, `date`, `code`, or a range with its unit: 38-75s, 0.2-3.5mm (with as many decimals).
"""

import re
from datetime import date, timedelta
from random import Random
from typing import NamedTuple


def words_of(text: str) -> list[str]:
    """The words of a text, as a list that can be read."""
    return text.split()


PEOPLE = words_of("""
Ada Ben Carla Dmitri Elif Femi Greta Hugo Ines Jonas Karin Leo Mira Nils Oona Pavel Rosa Sven Tara Uma
Vera Wim Yara Zoltan
""")
SURNAMES = words_of("""
Abara Berg Costa Dahl Eriksen Fontana Gruber Haas Ito Jansen Keller Lindt Moreau Novak Okafor Petrov
Quist Rossi Sato Toth Ueda Varga Weber Ziegler
""")
TOWNS = words_of("""
Aarhus Bergen Cardiff Dresden Esbjerg Faro Ghent Haifa Izmir Jena Kyoto Leeds Malmo Nantes Osaka Porto
Quito Riga Sofia Turin Utrecht Vilnius Wellington Xalapa York Zagreb
""")
VERBS = words_of("carries covers crosses fills follows holds keeps leaves meets needs opens reaches shows turns uses")
_STATES_OF = ("actual", "agreed", "expected", "final", "first", "last", "planned", "previous", "reported")
_AMOUNTS_OF = ("average", "highest", "lowest")  # of numbers only


class Field(NamedTuple):
    """A field and what it can hold."""

    name: str
    kind: str

    @property
    def qualifiers(self) -> tuple[str, ...]:
        """What can stand before its name, so that a file has many fields and no two of one name."""
        return _STATES_OF + (_AMOUNTS_OF if self.kind[0].isdigit() else ())

    def draw(self, rng: Random) -> str:
        """A value of this type."""
        if self.kind == "person":
            return f"{rng.choice(PEOPLE)} {rng.choice(SURNAMES)}"
        if self.kind == "town":
            return rng.choice(TOWNS)
        if self.kind == "date":
            return str(date(2021, 1, 1) + timedelta(rng.randrange(1800)))
        if self.kind == "code":
            return f"{rng.choice(SURNAMES)[:2].upper()}{rng.randrange(1000, 10000)}"
        low, high, unit = re.fullmatch(r"([\d.]+)-([\d.]+)(|\D.*)", self.kind).groups()
        decimals = len(low.partition(".")[2])
        return f"{rng.uniform(float(low), float(high)):.{decimals}f} {unit}".strip()


class Scenario(NamedTuple):
    """The words of one field of life."""

    name: str
    business: str
    things: list[str]
    fields: list[Field]
    words: list[str]


_LINES = """
athletics; Athletics Club; relay-heat sprint-final long-jump shot-put steeplechase decathlon warm-up-track;
  lap_time:38.0-75.0s coach:person venue:town meet_date:date bib:code wind:0.1-4.0m/s crowd:200-9000people
  stride:1.20-2.60m; runner baton lane hurdle medal stopwatch spikes podium referee javelin heat record landing sprint
finance; Capital; equity-fund bond-desk pension-plan index-tracker money-market hedge-book trust-account;
  yield:0.10-9.90% manager:person branch:town settlement_date:date account:code fee:0.05-2.50% assets:10-900MEUR
  maturity:1-30years; dividend ledger coupon broker margin audit portfolio hedge quarter interest capital rating swap
  invoice
glassware; Glassworks; wine-goblet beaker tumbler carafe flask vase petri-dish; wall_thickness:0.8-6.5mm blower:person
  workshop:town firing_date:date mould:code volume:20-2500ml kiln_heat:480-1150C batch:12-480pieces; furnace rim stem
  annealing crystal polish frit lathe pipe colour bubble gather etching seal
railways; Rail; night-express freight-train signal-box depot branch-line level-crossing tram-stop; speed:30-310km/h
  driver:person terminus:town service_date:date unit:code gauge:600-1676mm delay:0-95min length:40-750m; sleeper
  platform ballast coupling timetable switch carriage pantograph conductor ticket buffer bogie whistle cargo
bakery; Bakery; rye-loaf croissant sourdough baguette cinnamon-roll pretzel fruit-tart; oven_heat:160-270C baker:person
  shop:town baking_date:date recipe:code flour:120-2400g proving:20-960min price:0.80-9.50EUR; dough crust yeast butter
  oven crumb peel scoring starter kneading glaze tray sugar rolling
hospital; Clinic; surgery-ward maternity-unit radiology pharmacy intensive-care day-clinic laboratory; beds:4-120beds
  physician:person site:town admission_date:date patient:code pulse:48-140bpm dose:5-900mg stay:1-45days; nurse chart
  bandage syringe monitor triage ward recovery scan blood gauze referral rounds theatre
astronomy; Observatory; radio-dish solar-scope star-cluster red-giant comet dwarf-planet space-probe;
  magnitude:0.10-19.90mag observer:person station:town exposure_date:date plate:code distance:4-990ly aperture:8-820cm
  exposure:2-3600s; lens orbit nebula eclipse spectrum mirror tracking parallax transit dome corona filter mount flare
library; Library; reading-room map-archive children-corner rare-books newspaper-hall media-desk bookbinding;
  shelves:3-480m librarian:person branch:town loan_date:date signature:code volumes:90-98000books fine:0.10-25.00EUR
  pages:24-1400pages; catalogue folio index spine author edition loan shelf parchment reader chapter stamp atlas novel
fishing; Fisheries; cod-trawler shrimp-boat salmon-farm oyster-bed fish-auction ice-house net-loft; catch:40-18000kg
  skipper:person port:town landing_date:date licence:code depth:4-900m mesh:16-160mm crew:2-38people; net hook tide
  buoy hull gill harbour winch quota bait rudder deck herring anchor
brewing; Brewery; pale-ale wheat-beer stout lager porter cider alcohol-free; bitterness:6-98IBU brewer:person
  brewhouse:town tapping_date:date vat:code strength:0.5-12.5% wort:100-9600l lagering:7-190days; malt hops barrel
  kettle foam mash cellar bottle yeast spigot grain filter tap sediment
aviation; Airways; short-haul cargo-jet control-tower hangar training-flight air-ambulance runway-north;
  altitude:900-12800m pilot:person airport:town departure_date:date flight:code fuel:300-98000kg seats:4-480seats
  range:200-14500km; wing rotor flap taxiway beacon cabin throttle turbine slot gate cockpit radar rudder apron
forestry; Forestry; oak-stand pine-nursery sawmill peat-bog beech-grove timber-yard fire-lane; height:2.0-48.0m
  ranger:person district:town felling_date:date parcel:code area:1-980ha age:3-310years moisture:8-62%; bark seedling
  chainsaw moss resin log canopy stump beetle trail root acorn thinning cone
telecom; Networks; core-router base-station fibre-ring data-hub call-center switch-room satellite-link;
  bandwidth:10-9800Mbps engineer:person exchange:town rollout_date:date circuit:code latency:1-280ms
  uptime:91.00-99.99% subscribers:80-99000lines; antenna packet cable roaming signal mast handover spectrum port modem
  outage carrier tariff relay
theater; Theater; main-stage rehearsal-room costume-shop box-office puppet-show opera-night foyer;
  ticket:5.00-180.00EUR director:person tour_stop:town premiere_date:date production:code seats:40-2600seats
  runtime:35-270min lights:12-480lamps; curtain prompt mask chorus scenery actor applause aria script balcony cue usher
  wig drama
farming; Farm; dairy-barn wheat-field potato-patch orchard hen-house greenhouse hay-meadow; yield:1.5-14.5t/ha
  farmer:person market:town harvest_date:date plot:code acreage:1-420ha rainfall:120-1450mm animals:6-2400head; tractor
  plough seed fodder manure silo fence irrigation calf straw barley soil milking crop
shipping; Lines; container-ship tugboat ferry dry-dock oil-tanker lighthouse customs-pier; draught:1.2-16.5m
  captain:person port:town sailing_date:date voyage:code tonnage:200-240000t knots:4-32kn containers:12-18000TEU; crane
  cargo hull mooring pilot ballast manifest keel propeller berth galley chart bridge pallet
mining; Mining; copper-pit salt-mine gravel-quarry ore-crusher conveyor tailings-pond shaft-three; ore_grade:0.10-6.90%
  foreman:person site:town blasting_date:date seam:code depth:15-2900m output:300-88000t/d dust:0.1-9.5mg/m3; drill
  gallery helmet slag vein dynamite lamp hoist gravel pump fault tunnel core survey
textiles; Mills; wool-blanket linen-sheet silk-scarf denim-roll dye-house loom-hall knit-cap;
  thread_count:60-1200threads weaver:person mill:town dyeing_date:date bolt:code weight:40-980g/m2 width:60-320cm
  shrinkage:0.1-8.5%; spindle weft warp shuttle fleece dye hem bobbin yarn felt pattern selvage stitch carding
weather; Weather Service; coast-station rain-gauge storm-front ice-core balloon-launch frost-hollow wind-park;
  pressure:955-1048hPa forecaster:person station:town reading_date:date sensor:code rainfall:0.2-98.5mm wind:1-190km/h
  humidity:12-100%; cloud drizzle gust isobar thaw hail barometer fog sunshine ridge lightning dew snow forecast
chess; Chess Club; opening-prep blitz-arena junior-cup endgame-study team-match simul-event club-ladder;
  rating:900-2850Elo player:person host:town round_date:date board:code moves:12-140moves clock:1-180min
  prize:20-9500EUR; rook gambit knight castle bishop pawn stalemate fork tempo pin queen check draw tactic
software; Software; login-module report-engine mobile-app test-suite build-server search-index billing-job;
  coverage:20.0-99.9% maintainer:person office:town release_date:date commit:code memory:16-64000MB latency:1-2900ms
  tickets:1-480tickets; branch cache merge patch thread schema queue parser token kernel socket widget rollback sprint
geology; Survey; basalt-flow limestone-bed fault-zone granite-dome river-delta lava-tube glacier-tongue;
  thickness:0.5-480.0m geologist:person camp:town sampling_date:date core:code age:1-3900Ma hardness:1.0-9.5Mohs
  density:1.20-5.60g/cm3; quartz fossil strata erosion mica magma hammer shale crystal ridge sediment fold crater
  outcrop
furniture; Joinery; oak-table arm-chair book-shelf wardrobe bunk-bed writing-desk foot-stool; width:30-320cm
  joiner:person showroom:town delivery_date:date article:code weight:2.5-140.0kg price:35-4800EUR drying:2-72h; dowel
  veneer hinge varnish drawer plane mortise leg glue grain sandpaper panel cushion castor
museum; Museum; coin-cabinet fossil-hall portrait-wing armoury ethnology-room print-room sculpture-court;
  visitors:30-9900people curator:person lender:town opening_date:date inventory:code insured:1-900kEUR humidity:30-65%
  objects:4-9600objects; vitrine label bronze canvas plinth guide amphora frame restoration relic tapestry audio donor
  vault
energy; Power; solar-farm wind-turbine gas-plant pump-storage biogas-unit substation heat-grid; output:1-1450MW
  operator:person grid_node:town startup_date:date meter:code efficiency:18.0-94.0% voltage:110-380000V
  emissions:2-980g/kWh; turbine panel boiler cable load inverter steam relay blade transformer battery reactor fuse
  valve
sailing; Yacht Club; dinghy-race keelboat regatta-start sail-loft spinnaker winter-berth rescue-boat; mast:4.5-62.0m
  helm:person marina:town regatta_date:date hull:code sail_area:6-980m2 speed:2.0-38.0kn crew:1-24people; jib tiller
  tack knot boom buoy gybe halyard deck cleat wind rudder lee mooring
cycling; Cycles; hill-climb time-trial velodrome bike-shop gravel-tour criterium mountain-stage; gradient:1.0-24.0%
  rider:person start_town:town stage_date:date frame:code power:120-1450W distance:8-290km cadence:50-140rpm; saddle
  chain gear peloton wheel pedal breakaway helmet summit brake bottle tyre handlebar sprint
pharmacy; Pharma; cough-syrup pain-tablet eye-drops skin-cream vaccine-vial vitamin-pack nasal-spray; dose:2-1200mg
  chemist:person plant:town expiry_date:date lot:code shelf_life:3-60months purity:95.00-99.99% price:1.20-480.00EUR;
  blister capsule label powder mixer trial leaflet ointment sterile tablet buffer ampoule assay pipette
cinema; Films; short-film night-shoot sound-stage cutting-room animation documentary matinee; budget:12-9800kEUR
  director:person location:town shooting_date:date reel:code runtime:6-240min frames:24-120fps
  admissions:90-98000people; camera script stunt trailer lens extra scene score projector costume clapper tripod
  dialogue set
construction; Builders; office-tower foot-bridge school-annex parking-deck water-tower road-tunnel roof-garden;
  height:3.0-240.0m engineer:person site:town handover_date:date permit:code concrete:20-98000m3 budget:40-9900kEUR
  workers:3-640people; scaffold crane rebar mortar beam brick girder drawing slab plaster trench rivet formwork helmet
gardening; Nursery; rose-bed herb-spiral pond-edge vegetable-plot rock-garden hedge-row compost-bay; spacing:5-180cm
  gardener:person nursery:town planting_date:date plant:code acidity:4.2-8.1pH water:0.5-24.0l height:4-310cm; spade
  bulb mulch trellis petal pruning seedling rake blossom pot weed fern stem watering
archaeology; Excavations; roman-villa burial-mound pottery-kiln stone-circle harbor-wall hill-fort sunken-ship;
  depth:0.10-9.80m excavator:person museum:town dig_date:date find:code age:200-9800years extent:2-4800m2
  fragments:3-9700sherds; trowel shard layer mosaic coin trench amulet grid bone plaster sieve inscription hearth bead
"""


def _scenario(block: str) -> Scenario:
    name, business, things, fields, words = (part.strip() for part in block.split(";"))
    return Scenario(name, business, things.split(), [Field(*field.split(":")) for field in fields.split()],
                    words.split())


SCENARIOS = [_scenario(block) for block in re.split(r"\n(?=\S)", _LINES.strip())]
