# The laboratory's readers: each is trained on lessons of its own and asked about tables of its own;
# one analysis. A reader uses one core, so several train side by side.

wildcard_constraints: seed=r"\d+"

done = [path for notebook in study.stages for path in records(notebook)]
wanted = [f"{figures}/reader.md", *expand(rows("cells", seed="{seed}"), seed=study.runs)]


rule reader:
    output: f"{data}/models/reader-{{seed}}/training.json", records("00_reader", ["{seed}"])
    params: **stage("00_reader", "00_reader-{seed}")
    threads: own_cores
    shell: RUN


rule reading:
    input: f"{data}/models/reader-{{seed}}/training.json"
    output: rows("cells", seed="{seed}"), records("01_read", ["{seed}"])
    params: **stage("01_read", "01_read-{seed}")
    threads: own_cores
    shell: RUN


rule reader_analysis:
    input: expand(rows("cells", seed="{seed}"), seed=study.runs)
    output: f"{figures}/reader.md", records("02_forms")
    params: **stage("02_forms")
    shell: RUN
