"""Verbs known to the question patterns, with their inflected forms."""

import re

_VERBS = """
accept access achieve activate adapt add adopt affect aggregate aim align allocate allow append
apply arrive ask assign associate assume attach attempt avoid balance become begin belong block
boot break bring build bump bypass calculate call carry cause check choose clean clear collect
combine come communicate compare compile complete comply compress compute configure connect consist
consume contain continue control convert copy correspond count cover create decide declare
decrease dedicate deduce default define degrade delegate delete deliver depend deploy deprecate
derive describe deserialize design detect determine differ disable discard discover display
distinguish do download draw drop echo eliminate embed emit emulate enable encode encounter end
enforce enhance ensure enter establish evaluate examine exceed exclude execute exist exit expand
expect explain expose express extend extract fail feature fetch fill filter find finish fit fix
flush focus follow force format forward gather generate get give go grant group guarantee guard
handle happen have help hide hold identify ignore illustrate implement imply import improve include
incorporate increase indicate influence inherit inject insert install instantiate instruct
integrate intend interpret introduce invoke involve issue join keep know lack last launch lead
learn leave let leverage limit link list listen live load locate lock log look lose lower maintain
make manage map mark match maximize mean measure merge minimize mirror modify monitor mount move
need normalize notify obtain occur offer omit open operate order output overlap override overwrite
own parse pass perform permit persist pick place point poll possess power prefer prepare present
preserve prevent print process produce propagate propose protect prove provide publish pull push put
query queue raise reach read receive recognize recommend record recreate redirect reduce refer
reference reflect refresh refuse register reject relate release rely remain remove rename render
repeat replace replicate report represent request require reset reside resolve respect respond
restart restore restrict result resume retain retrieve retry return reuse rewrite rotate route run
sample save say scale scan schedule scrape secure see seek select send separate serialize serve set
ship show shut signal simplify simulate skip solve sort specify split stand start state stay stop
store stream strip submit suffer suggest supply support suppress switch synchronize take target tell
terminate test throw tolerate track transfer transform translate transmit treat trigger try turn
understand update upgrade use validate vary verify wait want warn watch weigh withstand work wrap
write yield"""
# forms in "-s" that are as often a plural noun: "the displays attached to X"
_ALSO_NOUNS = """
access aim attempt balance block boot break build bypass call cause change check copy control count
cover decrease default design display download draw drop echo embed end exit export feature filter
fit fix flush force format forward group guard handle help hold import increase influence interest
issue join last launch lead limit link list live load lock log look map mark match measure merge
mirror mount move need offer open order output own pass pick place point poll power present print
process produce pull push query queue raise reach read record reference refresh release report
request reset result return route run sample scale scan schedule set ship show signal sort split
stand start state stay stop store stream strip supply support switch take target test throw track
transfer transform trigger try turn update upgrade use wait want watch work wrap yield"""
_IRREGULAR = """
bought bound broken brought built chosen done drawn driven fed found given held hidden kept known
led left lost made meant met put read run seen sent set shown shut sold split taken told wired
written"""
_NOT_AN_ACTION = """
advised allowed based bed believed designed embed exceed expected feed hundred indeed intended
interested need needed proceed recommended red related required seed speed supposed thought unused
used"""


def third_person(verb: str) -> str:
    """Inflect a verb: "store" -> "stores", "carry" -> "carries", "process" -> "processes"."""
    if verb in ("have", "do", "go"):
        return {"have": "has", "do": "does", "go": "goes"}[verb]
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if re.search(r"(?:s|x|z|ch|sh)$", verb) else "s")


# form -> base
FORMS: dict[str, str] = {third_person(verb): verb for verb in _VERBS.split()}
BASE: dict[str, str] = {**FORMS, **{verb: verb for verb in _VERBS.split()}}
NOUN_LIKE = frozenset(map(third_person, _ALSO_NOUNS.split()))
_ACTIONS, _NO_ACTIONS = frozenset(_IRREGULAR.split()), frozenset(_NOT_AN_ACTION.split())


def is_participle(word: str) -> bool:
    """Return whether `word` looks like a past participle of an action."""
    word = word.lower()
    is_regular = word.endswith("ed") and len(word) > 4 and word not in _NO_ACTIONS
    return is_regular or word in _ACTIONS
