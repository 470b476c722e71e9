# The laboratory's readers: each is trained on lessons of its own and asked about tables of its own;
# one analysis. A reader uses one core, so several train side by side.

wildcard_constraints: seed=r"\d+"

has_gpu = Path("/dev/nvidia0").exists()
done = [*records("00_reader", study.runs), *records("01_read", study.runs), *records("02_forms")]
wanted = [f"{figures}/reader.md", *expand(rows("cells", seed="{seed}"), seed=study.runs)]


rule reader:
    output: f"{data}/models/reader-{{seed}}/training.json", records("00_reader", ["{seed}"])
    params: **stage("00_reader", "00_reader-{seed}", wildcard="seed")
    threads: cores if has_gpu else 1
    shell: RUN


rule reading:
    input: f"{data}/models/reader-{{seed}}/training.json"
    output: rows("cells", seed="{seed}"), records("01_read", ["{seed}"])
    params: **stage("01_read", "01_read-{seed}", wildcard="seed")
    threads: cores if has_gpu else 1
    priority: 10
    shell: RUN


rule reader_analysis:
    input: expand(rows("cells", seed="{seed}"), seed=study.runs)
    output: f"{figures}/reader.md", records("02_forms")
    params: **stage("02_forms")
    shell: RUN
