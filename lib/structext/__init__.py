"""StrucText-Eval: structured text grown from an abstract tree, questions on it, and a check of each answer.

Two dials set how hard it is: `depth` levels below the root, and `width`, where every inner node has depth × width
children; a third, `size`, says how much one node holds. What stands in a node means nothing, so that only the structure
can lead to the answer. Generator (`generate`) and solver (`solve`) share no finder: where they agree, two readings do.

Mode `corrected` mends the faults of the official data, mode `faithful` keeps them (see lib.structext.generate.samples).
"""
